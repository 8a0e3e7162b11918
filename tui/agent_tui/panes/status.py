"""Owns the two fixed rows of the dashboard: what all agents do, and which keys matter; refuses layouts.

Both are one cell high for ever and are drawn anew only when their words change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from agent_tui.actions import Action
from agent_tui.panes.painting import PaintedWords
from agent_tui.panes.wording import Part, cut_middle, one_line, plural, row, state_name
from agent_tui_core.events import AgentState

# By the width of the terminal alone: a notice that changed with the counts beside it would flicker.
_DEMO_NOTICES = (
    (170, " demo: scripted agents, real tools — f1 tells how to connect a model "),
    (130, " demo: scripted agents — f1 connects a model "),
    (112, " demo: scripted agents — f1 "),
    (0, " demo — f1 "),
)
_PLACE_CELLS = 30
_SHOWN: tuple[AgentState, ...] = (
    "streaming",
    "running",
    "connecting",
    "summarising",
    "retrying",
    "stopping",
    "failed",
    "limit",
    "interrupted",
    "queued",
    "idle",
)
_LOUD = "bold reverse $text-warning"
# Reverse, because a theme of the terminal's own colors has no muted ones to write on.
_STATE_STYLES: dict[AgentState, str] = {
    "streaming": "$text-success",
    "running": "$text-primary",
    "failed": "$text-error",
    "retrying": "$text-warning",
}


class Row(PaintedWords):
    """A line that writes itself for the width that it has, and is drawn only when its words change."""

    DEFAULT_CSS = """
    Row { height: 1; width: 1fr; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._write: Callable[[int], Content] = lambda _width: Content("")
        self._shown = Content("")
        self._strip: Strip | None = None
        self._width = 0
        self._told: object = None

    def show(self, write: Callable[[int], Content]) -> None:
        """Draw the line that `write` makes for a width, as `row` does, if it is another than the one shown.

        Who has no place yet is written when it has one, so that the first frame is whole.
        """
        self._write = write
        if not self._width:
            return
        content = write(self._width)
        if self._shown == content and self._shown.spans == content.spans:
            return
        self._shown, self._strip = content, None
        self.refresh()

    def _tells(self, said: object) -> bool:
        """Whether this is news; rows are told at every frame what they say already."""
        news, self._told = said != self._told, said
        return news

    def render(self) -> Content:
        """The words, for those who ask where in them the pointer is."""
        return self._shown

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strip of the last drawing; Textual's own way to draw a line costs five times as much."""
        width = self.outer_size.width
        if width != self._width:
            self._width, self._shown, self._strip = width, self._write(width), None
        if self._strip is None:
            self._strip = self.draw_words(self._shown, width)
        whole = crop.x == 0 and crop.width == width
        return [self._strip if whole else self._strip.crop(crop.x, crop.right)] * crop.height

    def notify_style_update(self) -> None:
        """Textual says that styles or the theme changed."""
        super().notify_style_update()
        self._strip = None


class StatusRow(Row):
    """The top row: agents by state, who waits, the demo notice and the workspace."""

    def report(
        self,
        states: Iterable[AgentState],
        waiting: int,
        *,
        approve_key: str,
        wanted: int,
        forms_key: str,
        sandbox: str,
        is_bad: bool,
        demo: bool,
        workspace: Path | None,
    ) -> None:
        """Write the row; `waiting` counts open questions of all agents, `wanted` results given by hand."""
        counts = Counter(states)
        if not self._tells((counts, waiting, wanted, sandbox, is_bad, workspace)):
            return
        left: list[Part] = [(" agent-tui ", "bold $text-accent"), (f" {plural(counts.total(), 'agent')}", "")]
        if waiting:
            left.append(("  ", ""))
            key = f" — {approve_key}" if approve_key else ""
            left.append((f" ◆ {waiting} {_wait(waiting)} for you{key} ", _LOUD))
        if wanted:
            key = f" — {forms_key}" if forms_key else ""
            left += [("  ", ""), (f"◇ {plural(wanted, 'result')} wanted{key}", "$text-warning")]
        for state in _SHOWN:
            if counts[state]:
                left.append(("  ", ""))
                left.append((f"{counts[state]} {state_name(state)}", _STATE_STYLES.get(state, "$text-muted")))
        place = f" {cut_middle(one_line(_home(workspace)), _PLACE_CELLS)} " if workspace else ""

        def write(width: int) -> Content:
            right: list[Part] = []
            if demo:
                notice = next(words for least, words in _DEMO_NOTICES if width >= least)
                right.append((notice, "$text-secondary"))
            if sandbox and _cells(left) + _cells(right) + cell_len(sandbox) + 3 <= width:
                right.append((f" {sandbox} ", "$text-warning" if is_bad else "$text-muted"))
            if _cells(left) + _cells(right) + cell_len(place) + 2 <= width:
                right.append((place, "$text-muted"))
            return row(left, right, width)

        self.show(write)


class KeyRow(Row):
    """The bottom row: the keys that matter, the most important first, as many as fit."""

    class Pressed(Message):
        """A key's word was clicked."""

        def __init__(self, action: Action) -> None:
            super().__init__()
            self.action = action

    def __init__(self, actions: Sequence[Action], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._actions = actions
        self._places: list[tuple[int, int, Action]] = []

    def report(self, lit: Collection[str], useless: Collection[str]) -> None:
        """Write the row. Actions with a `lit` id stand out; those that are `useless` now are dim."""
        if not self._tells((lit, useless)):
            return

        def write(width: int) -> Content:
            shown = _as_many_as_fit(self._actions, width)
            parts: list[Part] = []
            self._places.clear()
            at = 0
            for action in shown:
                key, label = f" {action.first_key} ", f"{action.label} "
                if action.id in lit:
                    styles = (_LOUD, _LOUD)
                elif action.id in useless:
                    styles = ("$text-muted", "$text-muted")
                else:
                    styles = ("bold $text-accent", "")
                parts += [(key, styles[0]), (label, styles[1])]
                self._places.append((at, at + cell_len(key + label), action))
                at += cell_len(key + label)
            if len(shown) < len(self._actions):
                parts.append((" …", "$text-muted"))
            return row(parts, [], width)

        self.show(write)

    def on_click(self, event: events.Click) -> None:
        """A click on a key's word does what the key does."""
        for start, end, action in self._places:
            if start <= event.x < end:
                self.post_message(self.Pressed(action))


def _as_many_as_fit(actions: Sequence[Action], width: int) -> list[Action]:
    shown: list[Action] = []
    used = 0
    for index, action in enumerate(actions):
        used += cell_len(action.first_key) + cell_len(action.label) + 3
        last = index == len(actions) - 1
        if used + (0 if last else 2) > width:
            break
        shown.append(action)
    return shown


def _cells(parts: list[Part]) -> int:
    return sum(cell_len(text) for text, _ in parts)


def _wait(number: int) -> str:
    return "waits" if number == 1 else "wait"


def _home(path: Path) -> str:
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)
