"""What the bytes of a terminal mean, however they are cut: alt with a key, esc, letters and pastes."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events

from agent_tui.screens.terminal_keys import KeyParser, learn_alt_keys

learn_alt_keys()
FOLLOWERS = [
    "\x1b[A",
    "\x1b[<0;3;4M",
    "\x1b[I",
    "\x1b[200~x\x1b[201~",
    "words that go on for more than a line",
    "",
]


class Terminal:
    """A parser on a made-up clock, and what it said."""

    def __init__(self) -> None:
        self.now = 100.0
        self.parser = KeyParser()
        self.said: list[str] = []
        self.typed = ""

    def read(self, text: str) -> None:
        self._note(self.parser.feed(text, self.now))

    def wait(self) -> None:
        """More time than any sequence takes; Textual's own clock cannot be made up, so it is wound."""
        self.now += 1
        if self.parser._inner._timeout_time is not None:
            self.parser._inner._timeout_time = 0.0
        self._note(self.parser.tick(self.now))
        assert not self.parser.waits

    def _note(self, messages: object) -> None:
        assert hasattr(messages, "__iter__")
        for message in messages:
            if isinstance(message, events.Key):
                self.said.append(message.key)
                if message.is_printable:
                    self.typed += message.character or ""
            elif isinstance(message, events.Paste):
                self.said.append(f"paste {message.text}")


@pytest.mark.parametrize("follower", FOLLOWERS)
@pytest.mark.parametrize("char", "0123456789acdyzAYZ.,-=/")
def test_alt_and_a_key_is_one_key_and_no_text_whatever_comes_in_the_same_reading(
    char: str, follower: str
) -> None:
    alone, together = Terminal(), Terminal()
    alone.read(f"\x1b{char}")
    [key] = alone.said
    assert key.startswith("alt+")
    assert alone.typed == ""
    after = Terminal()
    after.read(follower)
    after.wait()
    together.read(f"\x1b{char}{follower}")
    together.wait()
    assert together.said == [key, *after.said]
    assert together.typed == after.typed


def test_alt_and_enter_is_told_from_enter() -> None:
    terminal = Terminal()
    terminal.read("\x1b\r\x1b[A\r")
    assert terminal.said == ["alt+enter", "up", "enter"]


def test_iterms_word_keys_stay_what_they_were() -> None:
    terminal = Terminal()
    terminal.read("\x1bb\x1bf")
    assert terminal.said == ["ctrl+left", "ctrl+right"]


def test_escape_and_a_letter_that_comes_in_the_next_reading_are_two_keys() -> None:
    terminal = Terminal()
    terminal.read("\x1b")
    terminal.read("y\x1b")
    terminal.read("\x1b[A")
    assert terminal.said == ["escape", "y", "escape", "up"]
    assert terminal.typed == "y"


def test_an_arrow_that_is_cut_after_its_escape_is_an_arrow() -> None:
    terminal = Terminal()
    terminal.read("\x1b")
    terminal.read("[A")
    assert terminal.said == ["up"]


def test_a_paste_that_holds_escapes_presses_no_key() -> None:
    bad = "echo hi\x1b\x1by\ry\x1b[A" + "\x1bq\r" * 40
    terminal = Terminal()
    terminal.read(f"a\x1b[200~{bad}\x1b[201~b")
    assert terminal.said == ["a", f"paste {bad}", "b"]


@given(
    parts=st.lists(
        st.sampled_from(
            [
                "a",
                "ä",
                " ",
                "\r",
                "\x1b2",
                "\x1bx",
                "\x1b[A",
                "\x1b[15~",
                "\x1b[200~one\ntwo\x1b[201~",
                "\x1b[200~\x1b[201~",
            ]
        ),
        max_size=12,
    ),
    cuts=st.lists(st.integers(0, 120), max_size=6),
)
def test_keys_and_pastes_are_the_same_wherever_the_reading_is_cut_but_after_an_escape(
    parts: list[str], cuts: list[int]
) -> None:
    text = "".join(parts)
    whole, pieces = Terminal(), Terminal()
    for part in parts:
        whole.read(part)
    at = 0
    for cut in [*sorted({cut for cut in cuts if cut < len(text)}), len(text)]:
        if cut < len(text) and text[cut - 1] == "\x1b" and text[cut] not in "[O":
            continue
        pieces.read(text[at:cut])
        at = cut
    whole.wait()
    pieces.wait()
    assert pieces.said == whole.said
    assert pieces.typed == whole.typed


@pytest.mark.parametrize("start", ["\x1b[", "\x1b[2", "\x1b[200"])
def test_what_only_begins_like_a_paste_is_given_up_after_a_while(start: str) -> None:
    terminal = Terminal()
    terminal.read(start)
    assert terminal.parser.waits
    terminal.wait()
    terminal.read("x")
    assert terminal.said[-1] == "x"


def test_every_letter_and_digit_has_an_alt_key_but_those_that_begin_a_sequence() -> None:
    for char in set(string.ascii_letters + string.digits) - set("ONPXbf"):
        terminal = Terminal()
        terminal.read(f"\x1b{char}")
        shift = "shift+" if char.isupper() else ""
        assert terminal.said == [f"alt+{shift}{char.lower()}"]
