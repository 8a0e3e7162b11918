"""Owns where panes stand: how many columns and rows, and when a list is better; refuses to know an agent."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TypeAlias

from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget

from agent_tui.panes.roster import Roster

READABLE = Size(40, 8)
"""The smallest pane that a person can read an agent in."""
COMFORTABLE_WIDTH = 60
ROSTER_WIDTH = 32
_SQUARE = 2.0
"""Cells are about twice as high as they are wide."""

Tiling: TypeAlias = tuple[int, ...]
"""Panes in each row, from the top."""


def tile(count: int, size: Size) -> Tiling | None:
    """How to put this many panes into this space; None when some would be too small to read."""
    if count == 1:
        return (1,)
    best: tuple[float, Tiling] | None = None
    for rows in range(1, count + 1):
        height = size.height // rows
        if height < READABLE.height:
            break
        fewest, extra = divmod(count, rows)
        tiling = tuple(fewest + (1 if row < extra else 0) for row in range(rows))
        if size.width // max(tiling) < READABLE.width:
            continue
        strain = sum(panes * _strain(size.width / panes, height) for panes in tiling) / count
        if best is None or strain < best[0]:
            best = (strain, tiling)
    return best[1] if best else None


def _strain(width: float, height: float) -> float:
    narrow = max(0.0, math.log(COMFORTABLE_WIDTH / width))
    return abs(math.log(width / (_SQUARE * height))) + 1.5 * narrow


def regions(tiling: Tiling, size: Size) -> list[Region]:
    """The place of each pane; together they fill the space, without gap or overlap."""
    placed: list[Region] = []
    for (top, bottom), panes in zip(_shares(size.height, len(tiling)), tiling, strict=True):
        placed += [
            Region(left, top, right - left, bottom - top) for left, right in _shares(size.width, panes)
        ]
    return placed


def roster_split(size: Size) -> tuple[Region, Region]:
    """The places of the list and of the pane beside it, or below it where there is no room beside."""
    if size.width >= READABLE.width + ROSTER_WIDTH:
        width = min(max(size.width * 3 // 10, ROSTER_WIDTH), 46)
        return Region(0, 0, width, size.height), Region(width, 0, size.width - width, size.height)
    height = max(min(size.height // 3, 9), 1)
    return Region(0, 0, size.width, height), Region(0, height, size.width, max(size.height - height, 0))


class Tiled(Layout):
    """A Textual layout for panes, and for a roster beside one pane."""

    name = "tiled"

    def arrange(
        self,
        parent: Widget,
        children: list[Widget],
        size: Size,
        greedy: bool = True,  # noqa: ARG002 - Textual's signature
    ) -> ArrangeResult:
        """Place the displayed children."""
        parent.pre_layout(self)
        rosters = [child for child in children if isinstance(child, Roster)]
        panes = [child for child in children if not isinstance(child, Roster)]
        placed: list[tuple[Widget, Region]] = []
        if rosters and panes:
            placed = list(zip([rosters[0], panes[0]], roster_split(size), strict=True))
        elif panes:
            tiling = tile(len(panes), size) or (1,) * len(panes)
            placed = list(zip(panes, regions(tiling, size), strict=True))
        return [WidgetPlacement(region, NULL_OFFSET, NULL_SPACING, child) for child, region in placed]


def _shares(length: int, parts: int) -> list[tuple[int, int]]:
    edges = [length * part // parts for part in range(parts + 1)]
    return list(pairwise(edges))
