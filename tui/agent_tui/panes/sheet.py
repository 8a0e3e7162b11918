"""Owns where a reader is in a transcript, and which of its rows are drawn; refuses colours and Textual.

Positions are (entry, unit, row), never row numbers of the whole, so that nothing above needs to be drawn to
show what is on screen. Some screens of rows stay drawn; the rest are drawn again when scrolled to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from agent_tui.panes.lines import Line
from agent_tui.panes.rows import Row, Spot, UnitRows
from agent_tui.panes.units import Unit

SCREENS_KEPT = 5
FEWEST_KEPT = 100
"""Rows that stay drawn in the lowest pane."""
_MEASURED = 20_000
"""Characters that are drawn at once only to count their rows."""
_MOST_MEASURED = 200


class Part(Protocol):
    """One entry as units."""

    units: list[Unit]

    @property
    def behind(self) -> bool:
        """There is more to read than one frame was allowed to."""

    def fold(self) -> bool:
        """Fold or unfold it; return whether there was something to fold."""

    def update(self) -> tuple[int, list[Unit]]:
        """Read the entry again; return the first unit that is new, and what stood there and below it."""

    def guess(self, width: int) -> int:
        """Rows that it may have, before it was read once."""


class _Placed:
    __slots__ = ("built", "part", "rows")

    def __init__(self, part: Part, rows: int) -> None:
        self.part = part
        self.built = False
        self.rows = rows


class Sheet:
    """Parts below each other, a width, and the place of the reader."""

    def __init__(self) -> None:
        self.width = 0
        self.following = True
        self.total = 0
        """Rows of the whole, guessed where nothing was drawn yet."""
        self.unseen = 0
        """Rows that came while the reader was elsewhere."""
        self._placed: list[_Placed] = []
        self._anchor = Spot(0, 0, 0)
        self._drawn: dict[Unit, int] = {}
        self._above: int | None = 0
        self._shown: dict[Unit, UnitRows] = {}

    def __len__(self) -> int:
        return len(self._placed)

    @property
    def rows_kept(self) -> int:
        """Rows that are drawn now."""
        return sum(self._drawn.values())

    # --- what changes ---------------------------------------------------------------------------------------

    def resize(self, width: int) -> None:
        """Take a new width: what is on screen is drawn anew first, the rest when it is reached."""
        if width == self.width:
            return
        spot = self._anchor
        unit = self._unit(spot)
        share = spot.row / unit.rows(self.width) if unit is not None and self.width else 0.0
        self.width = width
        for unit_drawn in self._drawn:
            unit_drawn.drop()
        self._drawn.clear()
        for placed in self._placed:
            placed.rows = self._count(placed)
        self.total = sum(placed.rows for placed in self._placed)
        if unit is not None and spot.row:
            height = len(self._lines(spot.entry, spot.unit))
            self._anchor = spot._replace(row=min(height - 1, round(share * height)))
        self._above = None

    def add(self, part: Part) -> None:
        """Put a part below the others."""
        before = self.total
        placed = _Placed(part, part.guess(self.width))
        self._placed.append(placed)
        self.total += placed.rows
        if not self.following:
            self._take_news(len(self._placed) - 1, before)

    def touch(self, index: int) -> None:
        """Read one part again; one that was never on screen is read when it comes there."""
        if self._placed[index].built or not self.following:
            self._take_news(index, self.total)

    def refold(self, index: int) -> None:
        """Read a part again that a person folded or unfolded: nothing of it is news."""
        if self._placed[index].built:
            self._update(index)
            self._above = None

    def _take_news(self, index: int, before: int) -> None:
        """Read a part and count what it added, by drawing it unless that would take long."""
        placed = self._placed[index]
        if not placed.built:
            guess = placed.part.guess(self.width)
            self.total += guess - placed.rows
            placed.rows = guess
        if placed.built or placed.rows * self.width <= _MEASURED:
            first = self._update(index)
            units = placed.part.units
            if not self.following and len(units) - first <= _MOST_MEASURED:
                for number in range(first, len(units)):
                    self._lines(index, number)
        if not self.following:
            self.unseen = max(0, self.unseen + self.total - before)
        if index <= self._anchor.entry:
            self._above = None

    def _update(self, index: int) -> int:
        placed = self._placed[index]
        first, removed = placed.part.update()
        fresh = placed.part.units[first:]
        rows = sum(unit.rows(self.width) for unit in fresh)
        rows -= sum(unit.rows(self.width) for unit in removed) if placed.built else placed.rows
        placed.built = True
        placed.rows += rows
        self.total += rows
        kept = set(fresh)
        for unit in removed:
            if unit not in kept:
                self._drawn.pop(unit, None)
        return first

    # --- where the reader is --------------------------------------------------------------------------------

    def window(self, height: int) -> list[Row]:
        """The rows on a screen of this height; at most as many."""
        rows = self._last_rows(height) if self.following else self._rows_from(self._anchor, height)
        if not self.following and len(rows) < height:
            rows = self._last_rows(height)
        if rows and rows[0].spot != self._anchor:
            self._anchor, self._above = rows[0].spot, None
        self._drop_far_units(rows, max(FEWEST_KEPT, SCREENS_KEPT * height))
        return rows

    def scroll(self, rows: int, height: int) -> None:
        """Move by rows (up when negative); reaching the end follows it again."""
        window = self.window(height)
        if not window or not rows:
            return
        if rows < 0:
            back = list(self._backward(window[0].spot, -rows))
            if not back:
                return
            self._leave()
            self._anchor = back[-1].spot
        else:
            if self.following:
                return
            ahead = self._rows_from(window[0].spot, height + rows)
            self._anchor = ahead[max(0, len(ahead) - height)].spot
            if next(iter(self._forward(ahead[-1].spot)), None) is None:
                self.to_end()
        self._above = None

    def to_start(self) -> None:
        """Go to the first row."""
        if self._placed:
            self._leave()
            self._anchor, self._above = Spot(0, 0, 0), 0

    def to_end(self) -> None:
        """Go to the last row and follow what comes."""
        self.following, self.unseen, self._above = True, 0, None

    def settle(self, height: int) -> None:
        """Follow again when nothing is below the screen."""
        if not self.following and len(self._rows_from(self._anchor, height + 1)) <= height:
            self.to_end()

    def _leave(self) -> None:
        if self.following:
            self.following, self.unseen = False, 0

    def above(self, height: int) -> int:
        """How many rows are above the screen, guessed where nothing was drawn yet."""
        if self.following:
            return max(0, self.total - height)
        if self._above is None:
            entry, number, row = self._anchor
            before = sum(placed.rows for placed in self._placed[:entry])
            units = self._placed[entry].part.units[:number] if entry < len(self._placed) else []
            self._above = before + sum(unit.rows(self.width) for unit in units) + row
        return self._above

    # --- walking --------------------------------------------------------------------------------------------

    def rows_between(self, start: Spot | None, end: Spot | None) -> Iterator[Row]:
        """All rows from one to another, both included; None is the first or the last."""
        first = Spot(0, 0, 0) if start is None else start
        for row in self._rows(first):
            if end is not None and row.spot > end:
                return
            yield row

    def _rows(
        self, spot: Spot, lines_of: Callable[[int, int], Sequence[Line]] | None = None
    ) -> Iterator[Row]:
        lines_of = lines_of or self._lines
        for entry in range(spot.entry, len(self._placed)):
            self._build(entry)
            number = spot.unit if entry == spot.entry else 0
            while number < len(self._placed[entry].part.units):
                skipped = spot.row if (entry, number) == spot[:2] else 0
                for row, line in enumerate(lines_of(entry, number)[skipped:], skipped):
                    yield Row(Spot(entry, number, row), line)
                number += 1

    def _forward(self, spot: Spot) -> Iterator[Row]:
        rows = self._rows(spot)
        next(rows, None)
        return rows

    def _backward(self, spot: Spot, most: int) -> Iterator[Row]:
        left = most
        for entry in range(min(spot.entry, len(self._placed) - 1), -1, -1):
            self._build(entry)
            count = len(self._placed[entry].part.units)
            top = min(spot.unit, count - 1) if entry == spot.entry else count - 1
            for number in range(top, -1, -1):
                lines = self._lines(entry, number)
                end = min(spot.row, len(lines)) if (entry, number) == spot[:2] else len(lines)
                for row in range(end - 1, -1, -1):
                    if left <= 0:
                        return
                    left -= 1
                    yield Row(Spot(entry, number, row), lines[row])

    def _rows_from(self, spot: Spot, height: int) -> list[Row]:
        return list(islice(self._rows(spot, self._seen), height))

    def _last_rows(self, height: int) -> list[Row]:
        """What `_backward` gives from the end, the right way round; a frame of a stream makes few of them."""
        shown: dict[Unit, UnitRows] = {}
        rows: list[Row] = []
        for entry, number in self._upward():
            unit = self._placed[entry].part.units[number]
            lines = unit.shown(self.width) or self._seen(entry, number)
            known = self._shown.get(unit)
            if known is None or known.lines is not lines or known.place != (entry, number, height):
                known = UnitRows((entry, number, height), lines)
            shown[unit] = known
            rows += known.rows
            if len(rows) >= height:
                break
        self._shown = shown
        del rows[height:]
        rows.reverse()
        return rows

    def _upward(self) -> Iterator[tuple[int, int]]:
        for entry in range(len(self._placed) - 1, -1, -1):
            self._build(entry)
            for number in range(len(self._placed[entry].part.units) - 1, -1, -1):
                yield entry, number

    def _seen(self, entry: int, number: int) -> Sequence[Line]:
        """The lines with their late colours, now that some come on screen."""
        lines, unit = self._lines(entry, number), self._placed[entry].part.units[number]
        return unit.draw(self.width, seen=True) if unit.late and not unit.colored else lines

    # --- drawing and dropping -------------------------------------------------------------------------------

    def _build(self, entry: int) -> None:
        if not self._placed[entry].built:
            self._update(entry)
            if entry <= self._anchor.entry:
                self._above = None

    def _lines(self, entry: int, number: int) -> Sequence[Line]:
        placed = self._placed[entry]
        unit = placed.part.units[number]
        before = unit.rows(self.width)
        lines = unit.draw(self.width, seen=unit.colored)
        self._drawn[unit] = len(lines)
        if len(lines) != before:
            placed.rows += len(lines) - before
            self.total += len(lines) - before
            if (entry, number) < self._anchor[:2]:
                self._above = None
        return lines

    def _drop_far_units(self, rows: Sequence[Row], most: int) -> None:
        kept = self.rows_kept
        if kept <= most:
            return
        seen = {self._placed[row.spot.entry].part.units[row.spot.unit] for row in rows}
        for unit in list(self._drawn):
            if kept <= most:
                return
            if unit not in seen:
                kept -= self._drawn.pop(unit)
                unit.drop()

    def _unit(self, spot: Spot) -> Unit | None:
        if spot.entry >= len(self._placed):
            return None
        units = self._placed[spot.entry].part.units
        return units[spot.unit] if spot.unit < len(units) else None

    def _count(self, placed: _Placed) -> int:
        if not placed.built:
            return placed.part.guess(self.width)
        return sum(unit.rows(self.width) for unit in placed.part.units)
