"""Owns what a drawn line is before it has colours, and the wrapping of text to cells; refuses Textual.

A line is text with style *names*; a palette makes colours of them when the line comes on screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, chop_cells, split_graphemes

from agent_tui_core.text import safe_text

Segment: TypeAlias = tuple[str, str]
"""A piece of text and the names of its styles, separated by spaces."""

_WORD = re.compile(r" *[^ ]+| +")
_UNRULY = re.compile(r"[\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
CONTINUED = "↪ "
"""Stands before the rest of a line of code that was too long."""


class Line(NamedTuple):
    """One row of the screen: segments from the left, the style of the rest, how a copy joins the next row."""

    segments: tuple[Segment, ...]
    fill: str = ""
    join: str = "\n"

    @property
    def text(self) -> str:
        """The characters of the row, decoration included."""
        return "".join(text for text, _ in self.segments)


BLANK = Line(())


def clean_text(foreign: str) -> str:
    """Return `safe_text(foreign)` without what reorders or breaks a row: such marks are spelt out."""
    text = safe_text(foreign)
    return _UNRULY.sub(_spell, text) if _UNRULY.search(text) else text


def printable(text: str) -> str:
    """Return text for one row: any control character that came from elsewhere becomes a space."""
    if text.isprintable():
        return text
    if _CONTROL.search(text):
        text = _CONTROL.sub(" ", text)
    return _UNRULY.sub(_spell, text) if _UNRULY.search(text) else text


def _spell(match: re.Match[str]) -> str:
    char = match.group()
    return " " if char in "\u2028\u2029" else f"\\u{{{ord(char):x}}}"


def row_spans(text: str, width: int) -> list[tuple[int, int]]:
    """Return where each row of one line of text starts and ends when wrapped at words to `width` cells."""
    width = max(1, width)
    if text.isascii() and text.isprintable():
        if len(text) <= width:
            return [(0, len(text))]
        if plain := _plain_spans(text, width):
            return plain
    elif cell_len(text) <= width:
        return [(0, len(text))]
    spans: list[tuple[int, int]] = []
    start = end = used = 0
    for begin, stop, cells in _units(text, width):
        if used and used + cells > width:
            spans.append((start, end))
            begin = _skip_spaces(text, begin, stop)
            start, used = begin, cell_len(text[begin:stop])
        else:
            used += cells
        end = stop
    spans.append((start, end))
    return [(a, _strip_end(text, a, b)) for a, b in spans]


def _plain_spans(text: str, width: int) -> list[tuple[int, int]]:
    """The rows of text with a cell for each character; none when a word or a gap is too long."""
    spans: list[tuple[int, int]] = []
    start, length = 0, len(text)
    if text[-1] == " ":
        return []
    while length - start > width:
        space = text.rfind(" ", start, start + width + 1)
        end = _strip_end(text, start, space)
        if end <= start:
            return []
        spans.append((start, end))
        start = _skip_spaces(text, space, length)
        after = text.find(" ", start)
        if (length if after < 0 else after) - end > width:
            return []  # a word that is torn together with the spaces before it
    spans.append((start, length))
    return spans


def _units(text: str, width: int) -> Iterable[tuple[int, int, int]]:
    """The pieces that are never torn: words with the spaces before them, wide characters, bits of giants."""
    for match in _WORD.finditer(text):
        begin, stop = match.span()
        word = match.group()
        cells = cell_len(word)
        if cells <= width and cells == len(word):
            yield begin, stop, cells
            continue
        yield from _torn(word, begin, width)


def _torn(word: str, begin: int, width: int) -> Iterable[tuple[int, int, int]]:
    if word.isascii():
        for offset in range(0, len(word), width):
            piece = min(width, len(word) - offset)
            yield begin + offset, begin + offset + piece, piece
        return
    start, stop, size = 0, 0, 0
    for left, right, wide in split_graphemes(word)[0]:
        if size and (wide > 1 or size + wide > width):
            yield begin + start, begin + stop, size
            start, size = left, 0
        stop, size = right, size + wide
        if wide > 1:
            yield begin + start, begin + stop, size
            start, size = right, 0
    if stop > start:
        yield begin + start, begin + stop, size


def _skip_spaces(text: str, begin: int, stop: int) -> int:
    while begin < stop and text[begin] == " ":
        begin += 1
    return begin


def _strip_end(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1] == " ":
        end -= 1
    return end


def wrap(
    segments: Sequence[Segment],
    width: int,
    *,
    first: tuple[Segment, ...] = (),
    rest: tuple[Segment, ...] | None = None,
    fill: str = "",
) -> list[Line]:
    """Wrap styled text at words; `first` and `rest` stand before the first and every other row."""
    rest = first if rest is None else rest
    room = max(1, width - max(_cells(first), _cells(rest)))
    rows: list[tuple[Segment, ...]] = []
    joins: list[str] = []
    for paragraph in _split_at_breaks(segments):
        text = "".join(piece for piece, _ in paragraph)
        spans = row_spans(text, room)
        for index, (start, end) in enumerate(spans):
            rows.append(cut_segments(paragraph, start, end))
            later = spans[index + 1][0] if index + 1 < len(spans) else None
            joins.append("\n" if later is None else text[end:later][:1])
    return [
        Line((first if index == 0 else rest) + row, fill, join)
        for index, (row, join) in enumerate(zip(rows, joins, strict=True))
    ]


def wrap_text(
    text: str, style: str, width: int, *, first: tuple[Segment, ...] = (), fill: str = ""
) -> list[Line]:
    """Wrap clean text of one style at words; every LF starts a new row."""
    return wrap([(text, style)], width, first=first, fill=fill)


def chop(
    segments: Sequence[Segment],
    width: int,
    *,
    first: tuple[Segment, ...] = (),
    rest: tuple[Segment, ...] | None = None,
    fill: str = "",
    mark: str = "mark",
) -> list[Line]:
    """Break one line of code or output at the last cell; further rows start with a mark of continuation."""
    rest = first if rest is None else rest
    text = "".join(piece for piece, _ in segments)
    room = max(1, width - _cells(first))
    if cell_len(text) <= room:
        return [Line(first + tuple(segment for segment in segments if segment[0]), fill)]
    lines: list[Line] = []
    start = 0
    pieces = [text[: len(_head(text, room))]]
    pieces += chop_cells(text[len(pieces[0]) :], max(1, room - cell_len(CONTINUED)))
    for index, piece in enumerate(pieces):
        lead = first if index == 0 else (*rest, (CONTINUED, mark))
        end = start + len(piece)
        join = "" if index + 1 < len(pieces) else "\n"
        lines.append(Line(lead + cut_segments(segments, start, end), fill, join))
        start = end
    return lines


def _head(text: str, room: int) -> str:
    head = chop_cells(text[: room * 8 + 8], room)
    return next((piece for piece in head if piece), text[:1])


def cut_segments(segments: Sequence[Segment], start: int, end: int) -> tuple[Segment, ...]:
    """Return the characters from `start` to `end` of styled text."""
    if len(segments) == 1:
        text, style = segments[0]
        return ((text[start:end], style),) if end > start else ()
    cut: list[Segment] = []
    position = 0
    for text, style in segments:
        after = position + len(text)
        if after > start and position < end:
            cut.append((text[max(0, start - position) : end - position], style))
        if after >= end:
            break
        position = after
    return tuple(cut)


def shorten(text: str, width: int) -> str:
    """Return one row of text that fits, ended by `…` when it was cut."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return "…"[: max(0, width)]
    kept = _head(text, width - 1)
    return (kept if cell_len(kept) < width else "") + "…"


def _split_at_breaks(segments: Sequence[Segment]) -> list[list[Segment]]:
    paragraphs: list[list[Segment]] = [[]]
    for text, style in segments:
        first, *others = text.split("\n")
        if first:
            paragraphs[-1].append((first, style))
        paragraphs += [[(piece, style)] if piece else [] for piece in others]
    return paragraphs


def _cells(segments: Sequence[Segment]) -> int:
    return sum(cell_len(text) for text, _ in segments)
