"""Owns how the reports of a session's rooms become lines for a width; refuses colours, scrolling and acting.

All texts of a report are foreign: what could hide in them is spelt out, and nothing is cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len

from agent_tui.panes.lines import row_spans
from agent_tui_core.runtime.report import ReportRow, ReportSection
from agent_tui_core.text import visible_text

RowKey: TypeAlias = tuple[str, str]
"""The section's title and the row's id."""
Part: TypeAlias = tuple[str, str]
"""Text and the name of its look: title, head, count, bad, plain, state, detail, verb, empty."""

_INDENT = 4
_DETAIL = 6
_LONGEST_STATE = 28
_LEAST_TITLE = 16


class ReportLine(NamedTuple):
    """One row of the screen."""

    parts: tuple[Part, ...]
    key: RowKey | None = None
    """The row that it belongs to; None for headings and what stands between."""
    is_first: bool = False
    """The first line of its row, where its mark and its button stand."""


def spelt(foreign: str) -> str:
    """Foreign text in which nothing hides; only the line feed ends a line."""
    return foreign if foreign.isascii() and foreign.isprintable() else visible_text(foreign)


def report_lines(sections: Sequence[ReportSection], width: int) -> list[ReportLine]:
    """All sections, each with a heading, its rows or what it says without any."""
    lines: list[ReportLine] = []
    for number, section in enumerate(sections):
        if number:
            lines.append(ReportLine(()))
        lines += _section(section, width)
    return lines


def _section(section: ReportSection, width: int) -> Iterator[ReportLine]:
    title = spelt(section.title)
    bad = sum(row.bad for row in section.rows)
    counted = f"  {len(section.rows)}" if section.rows else ""
    for head in _wrapped(title, max(width - 20, _LEAST_TITLE)):
        warned = f"  ▲ {bad} to look at" if bad else ""
        yield ReportLine(((head, "head"), (counted, "count"), (warned, "bad")))
        counted, bad = "", 0
    if not section.rows:
        for line in _wrapped(spelt(section.empty) or "Nothing here.", width - _INDENT):
            yield ReportLine(((" " * _INDENT + line, "empty"),))
    for row in section.rows:
        yield from _row(row, (section.title, row.id), width)


def _row(row: ReportRow, key: RowKey, width: int) -> Iterator[ReportLine]:
    """Mark and title at the left, state and button at the right; what is too long goes on below."""
    state, verb = spelt(row.state), spelt(row.verb)
    if row.bad:
        state = f"▲ {state}" if state else "▲ look at this"
    details = [spelt(row.detail)] if row.detail else []
    if cell_len(state) > _LONGEST_STATE:
        details.insert(0, state)
        state = "▲" if row.bad else ""
    tail: list[Part] = []
    if state:
        tail.append((f"  {state}", "bad" if row.bad else "state"))
    if verb:
        tail += [("  ", "plain"), (f" {verb} ", "verb")]
    used = sum(cell_len(text) for text, _ in tail)
    room = width - _INDENT - used
    if room < _LEAST_TITLE:
        details, tail, used, room = [*([state] if state else []), *details], [], 0, width - _INDENT
    first, *rest = _wrapped(spelt(row.title) or "(no name)", room)
    gap = " " * (room - cell_len(first))
    yield ReportLine(((" " * _INDENT, "plain"), (first, "title"), (gap, "plain"), *tail), key, True)
    for line in rest:
        yield ReportLine(((" " * _INDENT + line, "title"),), key)
    for detail in details:
        for line in _wrapped(detail, width - _DETAIL):
            yield ReportLine(((" " * _DETAIL + line, "detail"),), key)


def _wrapped(text: str, width: int) -> list[str]:
    return [
        line[start:end] for line in text.split("\n") for start, end in row_spans(line, max(width, 8))
    ] or [""]
