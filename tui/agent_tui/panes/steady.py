"""Owns how a row is written when terminals differ about its characters: each stays in its own cells.

Refuses to trust a count: behind a character that is not certain the cursor goes to where the next belongs,
so that nothing of a model pushes a question off the screen. One that could reach beyond the piece that its
widget draws is not drawn at all.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from rich.cells import split_graphemes
from rich.segment import Segment
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.strip import Strip

from agent_tui_core.cell_widths import cell_width, is_certain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType

_DOUBTFUL: Final = re.compile(
    "[^\x00-\xac\xae-\u02ff\u0370-\u0377\u0400-\u0482\u2010-\u2027\u2030-\u205e\u2190-\u23e8\u2500-\u25fd"
    "\u3001-\u3029\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3\uff01-\uff5e]"
)
"""A quick look: what this does not find is certain, or a control of ours."""
_IN_ITS_PLACE: Final = "\ufffd"


def steadied(update: RenderableType | None) -> RenderableType | None:
    """What draws the same, and trusts no count."""
    match update:
        case LayoutUpdate():
            return _Whole(update.strips, update.region)
        case ChopsUpdate():
            return _Chops(update.chops, update.spans, update.chop_ends)
        case _:
            return update


class _Whole(LayoutUpdate):
    def render_segments(self, console: Console) -> str:
        rows: list[str] = []
        for y, row in enumerate(self.strips, self.region.y):
            x = self.region.x
            for strip in row:
                rows.append(written(strip, x, y, console))
                x += strip.cell_length
        return "".join(rows)


class _Chops(ChopsUpdate):
    def render_segments(self, console: Console) -> str:
        pieces: list[str] = []
        for y, first, last in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is None or x > last or end <= first:
                    continue
                within = first <= x < last and end <= last
                shown = strip if within else strip.crop(0, min(end, last) - x)
                pieces.append(written(shown, x, y, console))
        return "".join(pieces)


def written(strip: Strip, x: int, y: int, console: Console) -> str:
    """The strip as the terminal reads it, from column `x` of row `y`, both counted from 0."""
    start = f"\x1b[{y + 1};{x + 1}H"
    drawn = strip.render(console)
    if drawn.isascii() or not _DOUBTFUL.search(drawn) or all(map(_is_steady, _words(strip))):
        return start + drawn
    return start + "".join(_steadied(strip, x, y, console))


def _words(strip: Strip) -> Iterator[str]:
    return (segment.text for segment in strip if not segment.control)


def _is_steady(text: str) -> bool:
    return text.isascii() or all(map(_is_certain, set(text)))


_is_certain = functools.lru_cache(8_192)(is_certain)


def _steadied(strip: Strip, x: int, y: int, console: Console) -> Iterator[str]:
    end = x + strip.cell_length
    for text, style, control in strip:
        if control or _is_steady(text):
            piece = Strip([Segment(text, style, control)])
            x += piece.cell_length
            yield piece.render(console)
            continue
        moved, x = _with_moves(text, x, y, end)
        yield Strip([Segment(moved, style)]).render(console)


@functools.lru_cache(2_048)
def _with_moves(text: str, x: int, y: int, end: int) -> tuple[str, int]:
    """A text with the cursor put right behind each doubtful character, and the column behind it."""
    pieces: list[str] = []
    for first, stop, cells in split_graphemes(text)[0]:
        grapheme = text[first:stop]
        if _is_steady(grapheme):
            pieces.append(grapheme)
        else:
            fits = x + sum(map(_reach, grapheme)) <= end
            pieces.append(grapheme if fits else _IN_ITS_PLACE.ljust(cells)[:cells])
            pieces.append(f"\x1b[{y + 1};{x + cells + 1}H")
        x += cells
    return "".join(pieces), x


def _reach(char: str) -> int:
    """The most cells that a terminal could give it."""
    return cell_width(char) if _is_certain(char) else 2
