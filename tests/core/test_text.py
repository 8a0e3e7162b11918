"""What an approval shows of foreign text: the same for every character, alone or among others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_tui_core import text
from agent_tui_core.text import visible_text


def _one_by_one(foreign: str) -> str:
    return "".join(char if text._is_plain(char) else f"\\u{{{ord(char):x}}}" for char in foreign)


@given(st.text())
def test_text_is_spelt_out_as_each_of_its_characters(foreign: str) -> None:
    assert visible_text(foreign) == _one_by_one(foreign)


def test_what_cannot_be_seen_or_looks_alike_is_spelt_out() -> None:
    assert visible_text("a\tb\r\n\x1b\u202e\u200b\xa0é日") == (
        "a\\u{9}b\\u{d}\n\\u{1b}\\u{202e}\\u{200b}\\u{a0}é日"
    )


def test_what_was_looked_up_is_bounded() -> None:
    every = "".join(map(chr, range(0x100, 0x4000)))
    assert visible_text(every) == _one_by_one(every)
    assert len(text._SPELT_OUT) <= text._MOST_SPELT_OUT
