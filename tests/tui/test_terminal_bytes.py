"""The tokenizer of terminal output, and the list of what it lets through, can both fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile_strings import HOSTILE
from terminal_bytes import plain_trespasses, text_of, tokens, trespasses

_HARMLESS = 24
"""Strings that hold no control sequence and no turning mark: markup, wide and joined characters."""


@given(st.binary(max_size=200))
def test_no_byte_is_left_out_whatever_a_program_writes(output: bytes) -> None:
    assert b"".join(token.raw for token in tokens(output)) == output


def test_sequences_and_text_are_told_apart() -> None:
    output = b"a\x1b[1;2Hb\x1b]2;t\x07c\x1bPq\x1b\\d\x1b(0e\x9bf\xc2\x9bg\x07h\x1b"
    kinds = [token.kind for token in tokens(output)]
    assert kinds == [
        *("text", "csi", "text", "string", "text", "string", "text", "escape", "text", "broken", "text"),
        *("c1", "text", "control", "text", "escape"),
    ]
    assert text_of(output) == "abcdefgh"


@pytest.mark.parametrize(
    "ours",
    [
        "\x1b[0;1;38;2;1;2;3;48;2;255;0;9mx\x1b[0m",
        "\x1b[24;80H",
        "x\n\x1b[2;1H",
        "x\r\n\x1b[2;1H",
        "\x1b[?1049h\x1b[?25l\x1b[?1000;1003l\x1b[?2026$p\x1b[>25u\x1b[<u",
        "\x1b]2;agent-tui — 4 agents, 1 waits for you\x07",
        "\x1b[22;2t\x1b[23;2t",
        "漢字 👩🏽‍🚀 [bold]",
    ],
)
def test_what_the_dashboard_writes_is_let_through(ours: str) -> None:
    assert trespasses(ours.encode(), rows=24, columns=80) == []


@pytest.mark.parametrize(
    "foreign",
    [
        "\x1b[5m",
        "\x1b[31m",
        "\x1b[38;5;196m",
        "\x1b[25;1H",
        "\x1b[H",
        "\x1b[2J",
        "\x1b[?1337h",
        "\x1b]2;owned\x07",
        "\x1b]2;agent-tui — 4 agents\x1b]52;c;x\x07",
        "\x1b]8;;http://x\x07",
        "\x1bc",
        "\x07",
        "\r",
        "\x08",
        "\x7f",
        "\n",
        "\nx",
        "\r\x1b[2;1H",
        "\r\nx",
        "\n\x1b[0m",
        "\r\n\n\x1b[2;1H",
        "\x9b5m",
        "\u202e",
    ],
)
def test_what_it_does_not_write_is_found(foreign: str) -> None:
    assert trespasses(f"before{foreign}after".encode(), rows=24, columns=80)


def test_nearly_every_hostile_string_would_be_found_if_it_got_out() -> None:
    silent = [
        string
        for string in HOSTILE
        if not trespasses(f"a{string}b".encode("utf-8", "replace"), rows=24, columns=80)
    ]
    assert len(HOSTILE) >= 90
    assert len(HOSTILE) - len(silent) >= 68
    assert len(silent) <= _HARMLESS


def test_a_command_may_print_lines_and_its_own_colours_and_nothing_else() -> None:
    assert plain_trespasses(b"\x1b[32mok\x1b[0m\r\n") == []
    assert plain_trespasses(b"\x1b[2Jok\r\n")
    assert plain_trespasses(b"\x9b2J")
