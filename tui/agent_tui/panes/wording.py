"""Owns how states, counts and times read, and how a line is cut to its cells; refuses to fold or to draw.

Every foreign string that leaves this module is safe for a terminal, and only ever literal content.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from rich.cells import cell_len, chop_cells, set_cell_size
from textual.content import Content

from agent_tui.feed import is_silent
from agent_tui.panes.lines import printable
from agent_tui_core.config.modes import Mode
from agent_tui_core.events import AgentState
from agent_tui_core.records import dataclass
from agent_tui_core.runtime.transcript import Transcript
from agent_tui_core.text import safe_line

Part: TypeAlias = tuple[str, str]
"""Text and its style."""

TOLD_AFTER = 60.0
"""Seconds of a model's silence after which its pane has a line that says so."""

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SPINS_PER_SECOND = 4
_STILL = "◌"
"""In the place of a glyph that turns: nothing moves."""
_TURNS = ""
_COMMAND_CELLS = 40


@dataclass(frozen=True, slots=True)
class StateWords:
    """A state as a person reads it."""

    glyph: str
    words: str
    style: str


_STATES: dict[AgentState, StateWords] = {
    "idle": StateWords("○", "idle", "$text-muted"),
    "queued": StateWords("◌", "queued", "$text-muted"),
    "connecting": StateWords(_TURNS, "connecting", "$text-secondary"),
    "streaming": StateWords(_TURNS, "streaming", "$text-success"),
    "summarising": StateWords(_TURNS, "summarising", "$text-secondary"),
    "waiting": StateWords("◆", "waiting for you", "bold $text-warning"),
    "running": StateWords(_TURNS, "running", "$text-primary"),
    "retrying": StateWords("↻", "retrying", "$text-warning"),
    "stopping": StateWords(_TURNS, "stopping…", "$text-error"),
    "interrupted": StateWords("■", "interrupted", "$text-error"),
    "failed": StateWords("✗", "failed", "bold $text-error"),
    "limit": StateWords("▣", "stopped at limit", "$text-warning"),
}


def state_words(transcript: Transcript, now: float) -> StateWords:
    """Glyph, words and style for what an agent does now."""
    known = _STATES[transcript.state]
    silent = is_silent(transcript, now)
    turning = _STILL if silent else _SPINNER[int(now * _SPINS_PER_SECOND) % len(_SPINNER)]
    words = known.words
    if transcript.state == "running" and silent:
        words = f"quiet for {age(transcript.silent_for(now))} inside {_inside(transcript)}"
    elif transcript.state == "running" and transcript.detail:
        words = f"{words} {one_line(transcript.detail)}"
    elif transcript.state == "retrying":
        words = _retrying(transcript, now)
    elif transcript.state == "summarising":
        words = f"{words}: {now - transcript.state_since:.0f} s, {count(transcript.summary_tokens)} tokens"
    elif silent:
        words = f"silent {seconds(transcript.silent_for(now))}"
    return StateWords(known.glyph or turning, words, "$text-warning" if silent else known.style)


def _inside(transcript: Transcript) -> str:
    """What runs, and that its process lives: "`npm test` (pid 4242 alive)"."""
    calls = transcript.running_calls()
    if not calls:
        return one_line(transcript.detail) or "a tool"
    oldest, more = calls[0], len(calls) - 1
    command = (oldest.input or {}).get("command")
    name = (
        f"`{cut(one_line(command), _COMMAND_CELLS)}`" if isinstance(command, str) else one_line(oldest.name)
    )
    lives = f" (pid {oldest.pid} alive)" if oldest.pid is not None else ""
    return f"{name}{lives}{f' and {more} more' if more else ''}"


def _retrying(transcript: Transcript, now: float) -> str:
    """How long until the request is made again, and why: "retrying in 25 s: rate limit"."""
    request = transcript.clock.retrying
    if request is None:
        return f"retrying {one_line(transcript.detail)}".rstrip()
    return f"retrying in {max(0, math.ceil(transcript.clock.retry_at - now))} s: {one_line(request.reason)}"


def silence_words(transcript: Transcript, now: float, model: str, *, chosen: bool) -> str:
    """The line that a pane has of a silence that lasts; empty while there is none."""
    silent = transcript.silent_for(now)
    if silent < TOLD_AFTER or transcript.state == "running":
        return ""
    remedy = "; esc stops it" if chosen else ""
    return f"Nothing came from {one_line(model)} for {seconds(silent)}{remedy}."


def one_line(foreign: str) -> str:
    """A foreign name or sentence as one line that can neither move the terminal nor turn its own order."""
    return printable(safe_line(foreign))


def state_name(state: AgentState) -> str:
    """The state in words, for counts."""
    return _STATES[state].words


def mode_word(mode: Mode) -> Part:
    """What stands behind a name: the mode, where it is not the one that asks."""
    if mode == "ask":
        return "", ""
    return f" {mode}", "bold $text-warning" if mode == "auto" else "$text-secondary"


def duration(seconds: float) -> str:
    """`0:07`, `12:45`, `3:05:12`: never jumps in width more than it must."""
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def age(seconds: float) -> str:
    """`now`, `12 s`, `7 min`, `3 h`: how long ago, in few cells."""
    whole = max(0, int(seconds))
    if whole < 1:
        return "now"
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 3600 else f"{whole // 3600} h"


def seconds(passed: float) -> str:
    """`29 s`, `1 min 12 s`, `2 h 5 min`: how long something lasts."""
    whole = max(0, int(passed))
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
    )


def count(number: int) -> str:
    """`950`, `1.2k`, `48k`, `1.3M`."""
    if number < 1_000:
        return str(number)
    if number < 9_950:
        return f"{number / 1_000:.1f}k"
    if number < 999_500:
        return f"{number / 1_000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def plural(number: int, one: str, many: str = "") -> str:
    """`1 agent`, `2 agents`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def cut(text: str, width: int) -> str:
    """`text` in at most `width` cells; a cut is marked with … at its end."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    return "…" if width == 1 else chop_cells(text, width - 1)[0].rstrip() + "…"


def cut_middle(text: str, width: int) -> str:
    """The same with the … in the middle: for names whose end tells them apart, as models and paths."""
    if cell_len(text) <= width or width < 7:
        return cut(text, width)
    head = (width - 1) // 3
    tail = text[::-1]
    return chop_cells(text, head)[0] + "…" + chop_cells(tail, width - 1 - head)[0][::-1]


def cut_start(text: str, width: int) -> str:
    """The same with the … at the beginning: for what grows at its end."""
    if cell_len(text) <= width or width < 2:
        return cut(text, width)
    return "…" + chop_cells(text[::-1], width - 1)[0][::-1].lstrip()


def row(left: list[Part], right: list[Part], width: int) -> Content:
    """One line of exactly `width` cells: `left` and `right` at its ends; `left` gives way, with a mark."""
    tail = sum(cell_len(text) for text, _ in right)
    if tail > width:
        return Content.assemble(*_fit(right, width))
    fitted = _fit(left, max(0, width - tail - (1 if right else 0)))
    gap = width - tail - sum(cell_len(text) for text, _ in fitted)
    return Content.assemble(*fitted, " " * gap, *right)


def padded(text: str, width: int) -> str:
    """`text` in exactly `width` cells."""
    return set_cell_size(cut(text, width), width)


def _fit(parts: list[Part], width: int) -> list[Part]:
    fitted: list[Part] = []
    for index, (text, style) in enumerate(parts):
        cells, more = cell_len(text), any(rest for rest, _ in parts[index + 1 :])
        if cells <= width and not (more and cells == width):
            fitted.append((text, style))
            width -= cells
            continue
        fitted.append((cut(text + (" …" if more else ""), width), style))
        break
    return fitted
