"""Owns a drawn part of an entry: how to draw it, how high it is, and its lines while they are kept.

Refuses to know what it shows. A part that was dropped keeps its height and is drawn again when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from agent_tui.panes.lines import BLANK, Line

Draw: TypeAlias = Callable[[int, bool], list[Line]]
"""Makes the lines for a width; the second argument asks for the colours of code."""


class Unit:
    """A part of an entry that is drawn, kept and dropped as one."""

    __slots__ = (
        "_characters",
        "_draw",
        "_width",
        "breaks",
        "colored",
        "gap",
        "height",
        "late",
        "lines",
        "value",
    )

    def __init__(
        self,
        draw: Draw,
        *,
        size: tuple[int, int] = (0, 0),
        gap: bool = False,
        late: bool = False,
        value: object = None,
    ) -> None:
        self._draw = draw
        self._characters, self.breaks = size
        self.gap = gap
        """A blank row stands before it."""
        self.late = late
        """It has colours that are made only when it is seen."""
        self.value = value
        """What it was made of, so that the same again need not be drawn again."""
        self.lines: list[Line] | None = None
        self.colored = False
        self.height: int | None = None
        self._width = 0

    def rows(self, width: int) -> int:
        """Its height, guessed while it was not drawn for this width."""
        if self.height is None or self._width != width:
            return self.gap + 1 + self.breaks + self._characters // max(1, width)
        return self.height

    def shown(self, width: int) -> list[Line] | None:
        """Its lines for this width with all of their colours, if they are kept."""
        kept = self._width == width and (self.colored or not self.late)
        return self.lines if kept else None

    def draw(self, width: int, *, seen: bool) -> list[Line]:
        """Its lines for this width, drawn now unless they are kept."""
        wants_colors = seen and self.late and not self.colored
        if self.lines is None or self._width != width or wants_colors:
            self.colored = seen
            lines = self.drawn(width, seen)
            self.lines = [BLANK, *lines] if self.gap else lines
            self.height, self._width = len(self.lines), width
        return self.lines

    def drawn(self, width: int, seen: bool) -> list[Line]:
        """Its lines, drawn anew; for `draw`."""
        return self._draw(width, seen)

    def drop(self) -> None:
        """Forget the lines; the height stays."""
        self.lines, self.colored = None, False
