"""One table of widths, against a real terminal: what it draws is what is counted, or it is spelt out."""

from __future__ import annotations

import random
import sys
import unicodedata
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from textual.strip import Strip

from agent_tui.panes.cell_table import take_over
from agent_tui.panes.steady import written
from agent_tui_core.cell_widths import cell_width, is_certain
from agent_tui_core.lookalikes import script
from agent_tui_core.text import visible_command, visible_text
from tmux_screen import needs_tmux, tmux_screen

_NOT_DRAWN = {"Cc", "Cs", "Cn"}
ASSIGNED = [
    char for char in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(char) not in _NOT_DRAWN
]


def _in_its_place(char: str) -> str:
    """A character as an approval may show it: a mark behind a letter of its script."""
    if unicodedata.category(char)[0] != "M":
        return char
    of = script(char)
    return _LETTERS.get("LATIN" if of == "COMBINING" else of, "a") + char


_LETTERS = {
    script(char): char
    for char in reversed(ASSIGNED)
    if unicodedata.category(char)[0] == "L" and is_certain(char) and visible_text(char) == char
} | {"LATIN": "a"}


@pytest.fixture(autouse=True)
def one_table() -> None:
    take_over()


def test_whoever_counts_cells_counts_by_the_table_of_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNICODE_VERSION", "4.1.0")
    assert [
        char for char in ASSIGNED if char not in "\u200d\ufe0f" and cell_len(char) != cell_width(char)
    ] == []


@needs_tmux
@pytest.mark.timeout(200)
def test_every_assigned_character_is_as_wide_as_a_terminal_draws_it_or_is_spelt_out(tmp_path: Path) -> None:
    shown = [
        text for char in ASSIGNED if is_certain(char) and visible_text(text := _in_its_place(char)) == text
    ]
    assert len(shown) > 139_000
    assert {unicodedata.category(text[-1]) for text in shown} >= {"Lo", "Mn", "So", "Sk"}
    with tmux_screen(tmp_path, 80, 24) as terminal:
        drawn = terminal.cells(shown)
        wrong = [
            (f"{ord(text[-1]):x}", cells, cell_len(text))
            for text, cells in zip(shown, drawn, strict=True)
            if cells != cell_len(text)
        ]
        assert wrong == []
        # What is not certain is spelt out in ASCII, of which nobody doubts the width.
        for char in ASSIGNED:
            if not is_certain(char):
                assert visible_text(_in_its_place(char)).endswith(f"\\u{{{ord(char):x}}}")


@needs_tmux
def test_a_text_is_as_wide_as_the_terminal_draws_it(tmp_path: Path) -> None:
    texts = [
        visible_command(text)
        for text in ("e\u0301x", "שָׁלוֹם", "ไทยนี้", "日本é", "👍\U0001f3fb!", "क्ष\u0903", "각")
    ]
    with tmux_screen(tmp_path, 80, 24) as terminal:
        assert terminal.cells(texts) == [cell_len(text) for text in texts]


@needs_tmux
@pytest.mark.timeout(200)
def test_what_a_widget_draws_never_reaches_beyond_its_cells(tmp_path: Path) -> None:
    doubtful = [char for char in ASSIGNED if not is_certain(char) and unicodedata.category(char) != "Co"]
    draw = random.Random(18)
    console = Console(force_terminal=True, color_system=None)
    with tmux_screen(tmp_path, 40, 24) as terminal:
        for _ in range(60):
            rows = [
                "".join(draw.choices([*doubtful, *"a\u0301\u0301漢👍"], k=draw.randint(1, 60)))
                for _ in range(24)
            ]
            strips = [Strip([Segment(row)]).crop(0, draw.randint(1, 9)) for row in rows]
            drawn = [written(strip, 3, y, console) for y, strip in enumerate(strips)]
            shown = terminal.show("".join([f"\x1b[{y + 1};1H{'#' * 40}" for y in range(24)]) + "".join(drawn))
            for row, strip in zip(shown, strips, strict=False):
                assert row.startswith("###")
                assert row.endswith("#" * (37 - strip.cell_length)), (strip.text, row)
