"""Owns a scrollable widget for given lines, such as the diff of an approval; refuses to hide the rest.

Its lines are made for the width at hand, part by part, when they are reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, TypeAlias

from textual.binding import BindingType

from agent_tui.panes.diffs import DiffRow, command_lines, diff_rows, draw_diff, number_width, text_lines
from agent_tui.panes.lines import Line
from agent_tui.panes.scrolled_lines import ScrolledLines
from agent_tui.panes.units import Unit

Draw: TypeAlias = Callable[[int], list[Line]]
"""Makes lines for a width."""

_CHUNK = 200


class LinesView(ScrolledLines, can_focus=True):
    """Lines that are drawn for the width at hand, from the first row on, with keys to move in them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up", "scroll_rows(-1)", "Up"),
        ("down", "scroll_rows(1)", "Down"),
        ("pageup", "scroll_page(-1)", "Page up"),
        ("pagedown", "scroll_page(1)", "Page down"),
        ("home", "scroll_to_start", "First line"),
        ("end", "scroll_to_end", "Last line"),
    ]

    def __init__(
        self,
        draws: Sequence[Draw] = (),
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.show(draws)

    def show(self, draws: Sequence[Draw]) -> None:
        """Show these lines instead, from the first row."""
        self.start_again()
        self.sheet.add(_Drawn(draws))
        self.sheet.to_start()
        self.show_changes()

    @property
    def lines_below(self) -> int:
        """How many rows are below the screen; 0 when the last one is on it."""
        if self.sheet.following or not self._shown.height:
            return 0
        return max(0, self.sheet.total - self.sheet.above(self._height) - self._height)

    def marker_words(self) -> str:
        """Say how much is below."""
        below = self.lines_below
        return f" ↓ {below + 1} more lines " if below else ""

    def action_scroll_rows(self, rows: int) -> None:
        """Move by rows."""
        self.scroll_rows(rows)

    def action_scroll_page(self, direction: int) -> None:
        """Move by a screen."""
        self.scroll_page(direction)

    def action_scroll_to_start(self) -> None:
        """Go to the first row."""
        self.scroll_to_start()

    def action_scroll_to_end(self) -> None:
        """Go to the last row."""
        self.scroll_to_end()


def diff_draws(unified: str, *, escape: bool = True, files: bool = True) -> list[Draw]:
    """A unified diff for a `LinesView`, in parts that are drawn when they are reached."""
    rows = list(diff_rows(unified))
    digits = number_width(rows)
    return [
        partial(_diff_part, rows[start : start + _CHUNK], digits, escape, files)
        for start in range(0, len(rows), _CHUNK)
    ]


def command_draws(command: str, *, escape: bool = True) -> list[Draw]:
    """A command line for a `LinesView`."""
    return [lambda width: command_lines(command, width, escape=escape)]


def text_draws(text: str, *, escape: bool = True) -> list[Draw]:
    """Text, such as an input as JSON, for a `LinesView`."""
    rows = text.split("\n")
    return [
        partial(_text_part, "\n".join(rows[start : start + _CHUNK]), escape)
        for start in range(0, len(rows), _CHUNK)
    ]


def _diff_part(rows: list[DiffRow], digits: int, escape: bool, files: bool, width: int) -> list[Line]:
    return draw_diff(rows, width, escape=escape, files=files, digits=digits)


def _text_part(text: str, escape: bool, width: int) -> list[Line]:
    return text_lines(text, width, escape=escape)


class _Drawn:
    """Fixed lines as a part of a sheet."""

    behind = False

    def __init__(self, draws: Sequence[Draw]) -> None:
        self.units: list[Unit] = []
        self._draws = draws

    def fold(self) -> bool:
        return False

    def guess(self, width: int) -> int:
        return len(self._draws) * _CHUNK if width else 1

    def update(self) -> tuple[int, list[Unit]]:
        removed = self.units
        self.units = [Unit(partial(_unit_lines, draw), size=(0, _CHUNK)) for draw in self._draws]
        return 0, removed


def _unit_lines(draw: Draw, width: int, _seen: bool) -> list[Line]:
    return draw(width)
