"""Owns the entries that are a few rows: what the person said, notices, ends of runs; refuses Markdown."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len

from agent_tui.panes.lines import BLANK, Line, Segment, clean_text, wrap, wrap_text
from agent_tui.panes.units import Unit
from agent_tui_core.runtime.entries import EndEntry, NoticeEntry, UserEntry

_NOTICE_GLYPHS = {"info": "·", "warning": "▲", "error": "✗"}
_STAGED = "no answer yet"
_ENDS = {
    "interrupted": ("■ interrupted", "warning"),
    "failed": ("✗ failed", "error"),
    "limit": ("■ stopped at the limit", "warning"),
    "completed": ("✓ completed", "muted"),
}


class RemarkPart:
    """An entry that is drawn as a whole."""

    behind = False

    def __init__(self, draw: Callable[[int], list[Line]], *, gap: bool) -> None:
        self.units: list[Unit] = []
        self._draw = draw
        self._gap = gap

    def fold(self) -> bool:
        return False

    def guess(self, width: int) -> int:
        return len(self._draw(width)) + self._gap

    def update(self) -> tuple[int, list[Unit]]:
        removed, draw = self.units, self._draw  # a unit that held its part would be a circle
        self.units = [Unit(lambda width, _seen: draw(width), gap=self._gap)]
        return 0, removed


def user_lines(entry: UserEntry, width: int) -> list[Line]:
    """Draw what the person said: a bar at its left, hollow until something came of it."""
    bar = (("┊ " if entry.staged else "▌ ", "user-bar"),)
    lines = wrap_text(clean_text(entry.text), "user", width, first=bar, fill="user")
    if entry.returned is not None:
        lines += _note("came back to the input box", entry.returned, bar, width)
    elif entry.unanswered is not None:
        lines += _note("nothing came of it", entry.unanswered, bar, width)
    elif entry.staged:
        last = lines[-1]
        spare = width - cell_len(last.text)
        if spare > len(_STAGED) + 1:
            note = " " * (spare - len(_STAGED) - 1) + _STAGED + " "
            lines[-1] = last._replace(segments=(*last.segments, (note, "user-note margin")))
    return lines


def _note(what: str, reason: str, bar: tuple[Segment, ...], width: int) -> list[Line]:
    words = f"↩ {what}{f': {clean_text(reason)}' if reason else ''}"
    return wrap_text(words, "user-note", width, first=bar, fill="user")


def notice_lines(entry: NoticeEntry, width: int) -> list[Line]:
    """Draw a notice of the program."""
    words = f"{_NOTICE_GLYPHS[entry.level]} {clean_text(entry.text)}"
    return wrap([(words, entry.level)], width, rest=(("  ", "margin"),))


def end_lines(entry: EndEntry, width: int) -> list[Line]:
    """Draw how a run ended, when it did not complete."""
    words, style = _ENDS[entry.end]
    reason = clean_text(entry.reason)
    joint = ": " if entry.end == "failed" else " — "
    text = [(words, f"{style} strong"), (joint + reason if reason else "", style)]
    return wrap(text, width, rest=(("  ", "margin"),)) or [BLANK]
