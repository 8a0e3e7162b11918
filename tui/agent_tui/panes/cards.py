"""Owns the card of a tool call: its head, its preview while arguments stream, its output, its diff.

Refuses to draw more than a few rows until a person unfolds it; a row that was cut says so with `…`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice

from rich.cells import cell_len

from agent_tui.panes.diffs import DiffRow, diff_rows, draw_diff
from agent_tui.panes.lines import Line, Segment, chop, clean_text, printable, shorten, wrap, wrap_text
from agent_tui.panes.units import Unit
from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.runtime.entries import ToolEntry, ToolStatus
from agent_tui_core.text import safe_line

OUTPUT_ROWS = 8
"""Rows of a result on a folded card."""
LIVE_ROWS = 6
"""Rows of the output of a running tool."""
DIFF_ROWS = 16
_CHUNK = 200
_MOST_COMMAND_ROWS = 6
_MOST_COMMAND = 10_000
"""Characters of a command that are wrapped to see how many rows are not shown."""

_TELLING = {
    "Bash": "command",
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "Grep": "pattern",
    "Glob": "pattern",
}
_STREAMED = {"Write": "content", "Edit": "new_string"}
_STATUS: dict[ToolStatus, tuple[str, str, str]] = {
    "proposed": ("◌", "running", "writing…"),
    "judging": ("◌", "running", "checking…"),
    "waiting": ("◆", "waiting", "waiting for you"),
    "running": ("●", "running", "running"),
    "ok": ("✓", "ok", ""),
    "error": ("✗", "error", "error"),
    "denied": ("⊘", "error", "denied"),
    "cancelled": ("■", "warning", "cancelled"),
    "timed_out": ("✗", "error", "timed out"),
    "not_run": ("○", "muted", "not run"),
}


class CardPart:
    """A tool call from its first fragment to its result."""

    behind = False

    def __init__(self, entry: ToolEntry, *, gap: bool, clock: Callable[[], float]) -> None:
        self.units: list[Unit] = []
        self.unfolded = False
        self.entry = entry
        self._gap = gap
        self._clock = clock

    def fold(self) -> bool:
        self.unfolded = not self.unfolded
        return True

    def guess(self, width: int) -> int:
        return 2 + self._gap if width else 2

    def update(self) -> tuple[int, list[Unit]]:
        removed, entry, now = self.units, self.entry, self._clock()
        draw = card_head if self.unfolded else folded_card
        self.units = [Unit(lambda width, _s: draw(entry, width, now), gap=self._gap)]
        if self.unfolded:
            self.units += _unfolded(entry)
        return 0, removed


def folded_card(entry: ToolEntry, width: int, now: float) -> list[Line]:
    """Draw the head and the first rows of what there is to see."""
    lines = card_head(entry, width, now)
    lines += _wrapped_reason(entry, width)
    if entry.preview is not None and entry.preview.kind == "diff":
        lines += _folded_diff(entry, entry.preview.content, width)
    elif entry.status in {"proposed", "judging", "waiting"}:
        lines += _streamed_content(entry, width)
    if entry.status == "running":
        return lines + _live_output(entry, width)
    return lines + _folded_result(entry, width)


def card_head(entry: ToolEntry, width: int, now: float) -> list[Line]:
    """Draw the glyph, the tool, its most telling argument and at the right what it does, in words."""
    glyph, style, _ = _STATUS[entry.status]
    words = status_words(entry, now)
    name = shorten(printable(safe_line(entry.name)) or "tool", min(24, max(4, width - cell_len(words) - 8)))
    argument = telling_argument(entry)
    bar = _bar(entry)
    left: tuple[Segment, ...] = (*bar, (f"{glyph} ", f"card {style}"), (name, "card-title"), ("  ", "card"))
    used, right = _cells(left), cell_len(words) + 1
    room = width - used - right - 1
    first_row = argument.split("\n", 1)[0]
    fits = first_row == argument and len(argument) <= room and cell_len(argument) <= room
    if room < 10 or (not fits and entry.name == "Bash"):
        lines = [_ended(left, "", words, style, width)]
        rows = wrap_text(argument[:_MOST_COMMAND], "card-argument", width - 4)
        shown = rows[:_MOST_COMMAND_ROWS]
        lines += [
            Line((*bar, ("  ", "card margin"), *row.segments), "card", row.join) for row in shown if row.text
        ]
        cut = len(argument) > _MOST_COMMAND
        if cut or len(rows) > len(shown):
            more = f"{len(argument):,} characters in all" if cut else _more(len(rows) - len(shown))
            lines.append(_note(entry, f"… {more}"))
        return lines
    return [_ended(left, shorten(first_row, room), words, style, width)]


def status_words(entry: ToolEntry, now: float) -> str:
    """What a call does or came to, with how long it took."""
    words = _STATUS[entry.status][2]
    if entry.status == "running" and entry.started_at is not None:
        return f"{words} {seconds_words(max(0.0, now - entry.started_at), whole=True)}"
    if entry.status in {"ok", "error", "timed_out"} or (entry.status == "cancelled" and entry.seconds):
        return f"{words} {seconds_words(entry.seconds)}".strip()
    return words


def seconds_words(seconds: float, *, whole: bool = False) -> str:
    """A duration as people say it: 40 ms, 0.4 s, 12 s, 2 min 5 s."""
    if seconds < 0.095 and not whole:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10 and not whole:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{int(seconds)} s"
    if seconds < 3600:
        return f"{int(seconds) // 60} min {int(seconds) % 60} s"
    return f"{int(seconds) // 3600} h {int(seconds) % 3600 // 60} min"


def telling_argument(entry: ToolEntry) -> str:
    """The argument that says most about a call, clean: a command, a path, a pattern, else all as JSON."""
    arguments = _arguments(entry)
    value = arguments.get(_TELLING.get(entry.name, ""))
    if isinstance(value, str):
        return clean_text(value).strip("\n")
    if not arguments:
        return clean_text("".join(entry.raw[:1]))[:80].replace("\n", " ") if entry.raw else ""
    return printable(safe_line(json.dumps(_plain(arguments), ensure_ascii=False)))


def _arguments(entry: ToolEntry) -> JsonObject:
    if entry.input is not None:
        return entry.input
    from agent_tui_core.wire.partial_json import partial_object

    return partial_object("".join(entry.raw))


def _plain(value: Json) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return [_plain(inner) for inner in value]


def _wrapped_reason(entry: ToolEntry, width: int) -> list[Line]:
    if entry.status not in {"denied", "cancelled", "not_run"} or not entry.reason:
        return []
    by = {"hook": "a hook", "rule": "a rule", "person": "you", "policy": "the policy"}.get(
        entry.decided_by or ""
    )
    said = f"by {by}: " if by and entry.status == "denied" else ""
    _, style, _ = _STATUS[entry.status]
    lead: tuple[Segment, ...] = (*_bar(entry), ("  ", "card margin"))
    return wrap(
        [(said, "card-note"), (clean_text(entry.reason), f"card {style}")], width - 1, first=lead, fill="card"
    )


def _streamed_content(entry: ToolEntry, width: int) -> list[Line]:
    """The end of a text that is being written as an argument, so that a long one is seen to grow."""
    value = _arguments(entry).get(_STREAMED.get(entry.name, ""))
    if not isinstance(value, str) or not value:
        return []
    rows = clean_text(value[-8_000:]).rstrip("\n").split("\n")
    return [_output_row(entry, row, width) for row in rows[-LIVE_ROWS:]]


def _live_output(entry: ToolEntry, width: int) -> list[Line]:
    if not entry.progress:
        return []
    rows = clean_text(entry.progress).rstrip("\n").split("\n")
    return [_output_row(entry, row, width) for row in rows[-LIVE_ROWS:]]


def _folded_result(entry: ToolEntry, width: int) -> list[Line]:
    if entry.result is None or entry.status in {"denied", "not_run"}:
        return []
    if entry.preview is not None and entry.preview.kind == "diff" and not entry.result.is_error:
        return []
    text = clean_text(entry.result.content).rstrip("\n")
    if not text.strip():
        return [_note(entry, "no output")]
    rows = text.split("\n")
    if len(rows) <= OUTPUT_ROWS + 1:
        return [_output_row(entry, row, width) for row in rows]
    tail = OUTPUT_ROWS // 2 if entry.name == "Bash" else 0
    head, hidden = OUTPUT_ROWS - tail, len(rows) - OUTPUT_ROWS
    lines = [_output_row(entry, row, width) for row in rows[:head]]
    lines.append(_note(entry, f"… {_more(hidden)}"))
    return lines + [_output_row(entry, row, width) for row in rows[len(rows) - tail :]]


def _folded_diff(entry: ToolEntry, unified: str, width: int) -> list[Line]:
    enough = (DIFF_ROWS + 1) * width  # of one giant line: it alone fills what is shown
    rows = [replace(row, text=row.text[:enough]) for row in islice(diff_rows(unified), DIFF_ROWS + 4)]
    lines = draw_diff(rows, width - 4, escape=False, files=False)
    more = unified.count("\n") - len(rows)
    cut = len(lines) > DIFF_ROWS or more > 0
    shown = [
        Line((*_bar(entry), ("  ", "card margin"), *line.segments), line.fill, line.join)
        for line in lines[:DIFF_ROWS]
    ]
    if cut:
        hidden = max(1, more + max(0, len(lines) - DIFF_ROWS))
        shown.append(_note(entry, f"… {_more(hidden)}"))
    return shown


def _unfolded(entry: ToolEntry) -> list[Unit]:
    units = [Unit(lambda width, _s: _wrapped_reason(entry, width))]
    if entry.preview is not None and entry.preview.kind == "diff":
        rows = list(diff_rows(entry.preview.content))
        units += [
            Unit(partial(_diff_chunk, entry, rows[start : start + _CHUNK]), size=(0, min(_CHUNK, len(rows))))
            for start in range(0, len(rows), _CHUNK)
        ]
    text = entry.progress if entry.status == "running" else entry.result.content if entry.result else ""
    output = clean_text(text).rstrip("\n").split("\n") if text else []
    for start in range(0, len(output), _CHUNK):
        chunk = output[start : start + _CHUNK]
        units.append(Unit(partial(_output_chunk, entry, chunk), size=(sum(map(len, chunk)), len(chunk))))
    units.append(Unit(lambda _w, _s: [_note(entry, "▴ show less")]))
    return units


def _diff_chunk(entry: ToolEntry, rows: list[DiffRow], width: int, _seen: bool) -> list[Line]:
    lines = draw_diff(rows, width - 4, escape=False, files=False)
    return [
        Line((*_bar(entry), ("  ", "card margin"), *line.segments), line.fill, line.join) for line in lines
    ]


def _output_chunk(entry: ToolEntry, rows: list[str], width: int, _seen: bool) -> list[Line]:
    lead: tuple[Segment, ...] = (*_bar(entry), ("  ", "card margin"))
    style = _output_style(entry)
    return [
        line
        for row in rows
        for line in chop([(row, style)], width - 1, first=lead, fill="card", mark="card mark")
    ]


def _output_row(entry: ToolEntry, row: str, width: int) -> Line:
    text = (shorten(row, width - 5), _output_style(entry))
    return Line((*_bar(entry), ("  ", "card margin"), text), "card")


def _output_style(entry: ToolEntry) -> str:
    return "card error" if entry.status in {"error", "timed_out"} and entry.name != "Bash" else "card-output"


def _note(entry: ToolEntry, words: str) -> Line:
    return Line((*_bar(entry), ("  ", "card margin"), (words, "card-note")), "card")


def _bar(entry: ToolEntry) -> tuple[Segment, ...]:
    return (("▎ ", f"card {_STATUS[entry.status][1]} margin"),)


def _ended(left: tuple[Segment, ...], middle: str, words: str, style: str, width: int) -> Line:
    """A row with words at its right end."""
    spare = max(1, width - _cells(left) - cell_len(middle) - cell_len(words) - 1)
    row = (*left, (middle, "card-argument"), (" " * spare, "card"), (words, f"card {style}"), (" ", "card"))
    return Line(tuple(segment for segment in row if segment[0]), "card")


def _more(count: int) -> str:
    return f"{count} more line{'' if count == 1 else 's'}"


def _cells(segments: tuple[Segment, ...]) -> int:
    return sum(cell_len(text) for text, _ in segments)
