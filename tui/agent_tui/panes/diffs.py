"""Owns the drawing of unified diffs and of commands as lines; refuses to hide a character when told so.

The lines that a header announces are counted: a removed line that reads like a header is a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from agent_tui.panes.lines import Line, Segment, chop, clean_text
from agent_tui_core.records import dataclass
from agent_tui_core.text import visible_text

_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)$")
_MARKS = {"added": "+", "removed": "-", "same": " "}


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A line of a diff with its number in the file that has it."""

    kind: Literal["added", "removed", "same", "hunk", "file", "note"]
    text: str
    number: int | None = None


def diff_lines(unified: str, width: int, *, escape: bool = True, files: bool = True) -> list[Line]:
    """Draw a unified diff; `escape` spells out what is invisible, as an approval must."""
    return draw_diff(diff_rows(unified), width, escape=escape, files=files)


def command_lines(command: str, width: int, *, escape: bool = True) -> list[Line]:
    """Draw a whole command line; every LF starts a row, every long row goes on below."""
    lines: list[Line] = []
    for number, text in enumerate(command.split("\n")):
        lead = (("$ " if number == 0 else "  ", "command bullet margin"),)
        lines += chop(
            _seen(text, "command", escape),
            width,
            first=lead,
            rest=(("  ", "command margin"),),
            fill="command",
        )
    return lines


def text_lines(text: str, width: int, *, escape: bool = True, style: str = "command") -> list[Line]:
    """Draw text as it is, row by row, such as the JSON of an input."""
    lines: list[Line] = []
    for row in text.split("\n"):
        lines += chop(_seen(row, style, escape), width, fill=style, mark=f"{style} mark")
    return lines


def draw_diff(
    rows: Iterable[DiffRow], width: int, *, escape: bool, files: bool, digits: int | None = None
) -> list[Line]:
    """Draw rows of a diff."""
    rows = list(rows)
    if digits is None:
        digits = number_width(rows)
    lines: list[Line] = []
    started = False
    for row in rows:
        if row.kind == "hunk":
            if started:
                lines.append(Line((("⋯", "diff-hunk"), (_plain(row.text, escape), "diff-hunk")), "diff"))
        elif row.kind in {"file", "note"}:
            if files or row.kind == "note":
                lines += chop(_seen(row.text, "diff-hunk", escape), width, fill="diff", mark="diff mark")
        else:
            started = True
            lines += _draw_row(row, digits, width, escape)
    return lines


def number_width(rows: Iterable[DiffRow]) -> int:
    """The digits of the highest line number."""
    return len(str(max((row.number for row in rows if row.number is not None), default=0)))


def _draw_row(row: DiffRow, digits: int, width: int, escape: bool) -> list[Line]:
    style = "diff" if row.kind == "same" else f"diff-{row.kind}"
    mark = style if row.kind == "same" else f"{style}-mark"
    lead: tuple[Segment, ...] = ((f"{row.number or '':>{digits}} ", f"{style} diff-number"),)
    first = (*lead, (f"{_MARKS[row.kind]} ", mark))
    rest: tuple[Segment, ...] = ((" " * (digits + 1), f"{style} diff-number"),)
    return chop(
        _seen(row.text, style, escape), width, first=first, rest=rest, fill=style, mark=f"{style} mark"
    )


def diff_rows(unified: str) -> Iterator[DiffRow]:
    """Read a unified diff row by row."""
    old = new = old_left = new_left = 0
    for line in _rows(unified):
        sign, text = line[:1], line[1:]
        if old_left > 0 and sign == "-":
            yield DiffRow("removed", text, old)
            old, old_left = old + 1, old_left - 1
        elif new_left > 0 and sign == "+":
            yield DiffRow("added", text, new)
            new, new_left = new + 1, new_left - 1
        elif old_left > 0 and new_left > 0 and sign in {" ", ""}:
            yield DiffRow("same", text, new)
            old, new, old_left, new_left = old + 1, new + 1, old_left - 1, new_left - 1
        elif hunk := _HUNK.match(line):
            old, new = int(hunk[1]), int(hunk[3])
            old_left, new_left = int(hunk[2] or 1), int(hunk[4] or 1)
            yield DiffRow("hunk", hunk[5])
        elif line.startswith(("--- ", "+++ ")):
            yield DiffRow("file", line)
        else:
            yield DiffRow("note", line)


def _rows(text: str) -> Iterator[str]:
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    if start < len(text):
        yield text[start:]


def _seen(text: str, style: str, escape: bool) -> list[Segment]:
    """One row as it may be shown; a tab is an arrow of another colour, so that it is no space."""
    if not escape:
        return [(_plain(text, escape), style)]
    pieces: list[Segment] = []
    for number, piece in enumerate(text.split("\t")):
        if number:
            pieces.append(("→   ", f"{style} faint"))
        if piece:
            pieces.append((visible_text(piece), style))
    return pieces


def _plain(text: str, escape: bool) -> str:
    return visible_text(text) if escape else clean_text(text).replace("\n", " ")
