"""What an approval shows of foreign text: all of it, and nothing that a terminal draws otherwise."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui_core import text
from agent_tui_core.cell_widths import cell_width, is_certain
from agent_tui_core.lookalikes import script
from agent_tui_core.text import visible_command, visible_text
from properties import tried

_ESCAPE = re.compile(r"\\u\{([0-9a-f]+)\}")
DEVIOUS = (
    "aZ0_-. \n'\u0430\u043e\u0436\u0301\u0302\u05b0\u05d0\u0903\u0915\u094d\u200d\ufe0f"
    "\U0001f3fb\U0001f44d\u302e\U00016ff0\u3248\u115f"
)


def _read_back(shown: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), shown)


@tried()
@given(st.text() | st.text(alphabet=DEVIOUS))
def test_what_is_shown_says_each_character_and_each_of_them_is_certain(foreign: str) -> None:
    for shown in (visible_text(foreign), visible_command(foreign)):
        if "\\u{" not in foreign:
            assert _read_back(shown) == foreign
        assert all(char == "\n" or is_certain(char) for char in shown)


@tried()
@given(st.text(alphabet=DEVIOUS))
def test_a_mark_stands_on_a_letter_of_its_script_and_not_twice(foreign: str) -> None:
    shown = visible_text(foreign)
    for at, char in enumerate(shown):
        if cell_width(char) == 0 and char != "\n":
            before = shown[:at].rstrip(
                "".join(each for each in shown if unicodedata.category(each)[0] == "M")
            )
            letter, marks = before[-1:], shown[len(before) : at + 1]
            assert unicodedata.category(letter)[0] == "L"
            assert script(char) in {script(letter), "COMBINING"}
            assert len(marks) == len(set(marks)) <= 2


def test_what_cannot_be_seen_or_looks_alike_is_spelt_out() -> None:
    assert visible_text("a\tb\r\n\x1b\u202e\u200b\xa0é日") == (
        "a\\u{9}b\\u{d}\n\\u{1b}\\u{202e}\\u{200b}\\u{a0}é日"
    )


@pytest.mark.parametrize(
    "mark",
    [
        "\u0903",
        "\U0001f3fb",
        "\u302e",
        "\u302f",
        "\U00016ff0",
        "\U00016ff1",
        "\u3248",
        "\u034f",
        "\u17b4",
        "\u1161",
        "\u2630",
    ],
)
def test_what_terminals_draw_in_other_cells_than_libraries_count_is_spelt_out(mark: str) -> None:
    for before in ("", "a", "\u0915", "\u3042", "👍"):
        assert visible_text(before + mark) == f"{before}\\u{{{ord(mark):x}}}"


@pytest.mark.parametrize(
    "plain",
    [
        "echo é漢",
        "Việt Nam",
        "e\u0301",
        "שָׁלוֹם",
        "Привет, мир",
        "日本語テキスト",
        "Ελληνικά",
        "ไทยนี้",
        "한국어",
        "✨ 🚀 done",
        "Δx",
    ],
)
def test_letters_of_any_script_are_what_they_seem(plain: str) -> None:
    assert visible_command(plain) == plain


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("cat p\u0430ypal.txt", "cat p\\u{430}ypal.txt"),
        ("./\u0441\u043e\u0440\u0443 x", "./\\u{441}\\u{43e}\\u{440}\\u{443} x"),
        ("rm \u03bfld", "rm \\u{3bf}ld"),
        ("\uff52m x", "\\u{ff52}m x"),
        ("\U0001d42bm x", "\\u{1d42b}m x"),
        ("rm \u13aa\u13a2", "rm \\u{13aa}\\u{13a2}"),
        ("caf\u00e9\u0430", "caf\u00e9\\u{430}"),
    ],
)
def test_a_letter_that_looks_latin_is_marked_where_it_stands(foreign: str, shown: str) -> None:
    assert visible_text(foreign) == shown


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("echo \u2019$(id)\u2019", "echo \\u{2019}$(id)\\u{2019}"),
        ("rm \u2013rf x", "rm \\u{2013}rf x"),
        ("cat \u2044etc", "cat \\u{2044}etc"),
        ("a\u037e b", "a\\u{37e} b"),
        ("git commit -m 'don\u2019t \u2014 yet'", "git commit -m 'don\u2019t \u2014 yet'"),
    ],
)
def test_a_sign_that_looks_like_one_of_the_shell_is_marked_in_a_command(foreign: str, shown: str) -> None:
    assert visible_command(foreign) == shown


def test_what_was_looked_up_is_bounded() -> None:
    every = " ".join(map(chr, range(0x100, 0x4000)))
    assert _read_back(visible_text(every)) == every
    assert len(text._KINDS) <= text._MOST_KINDS
