"""Owns what a row of a sheet is: where it comes from, and what it shows; refuses to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agent_tui.panes.lines import Line


class Spot(NamedTuple):
    """A row of the sheet."""

    entry: int
    unit: int
    row: int


class Row(NamedTuple):
    """A row on the screen: where it comes from and what it shows."""

    spot: Spot
    line: Line


class UnitRows:
    """The last rows of a unit, from the last upward, as long as its lines and its place stay the same."""

    __slots__ = ("lines", "place", "rows")

    def __init__(self, place: tuple[int, int, int], lines: Sequence[Line]) -> None:
        """`place` is entry, unit and how many rows are wanted at most."""
        self.place, self.lines = place, lines
        entry, number, most = place
        last, first = len(lines) - 1, max(0, len(lines) - most)
        self.rows = [Row(Spot(entry, number, row), lines[row]) for row in range(last, first - 1, -1)]
