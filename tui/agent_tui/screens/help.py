"""Owns the help screen: all keys of the registry, and how it works in a few words; refuses to act."""

from __future__ import annotations

import textwrap
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from agent_tui.actions import Actions
from agent_tui.panes.painting import QuickScreen

_HOW_IT_WORKS = (
    ("Agents run side by side.", "Each has its own conversation. The one with ▸ is the one you talk to."),
    ("Nothing runs unasked.", "A call that changes something waits for you: ◆ waiting for you."),
    ("Type at any time.", "A busy agent queues your prompt; esc stops that agent alone, and it can go on."),
    (
        "Nothing is lost.",
        (
            "Messages and what is queued are on disk before anything acts; agent-tui --resume brings "
            "them back. Only a half-written draft may be lost."
        ),
    ),
)
_COLUMN = 22


class HelpScreen(ModalScreen[None], QuickScreen[None]):
    """Keys by group, and how it works."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,enter", "dismiss", "close", priority=True, show=False),
    ]
    AUTO_FOCUS = "VerticalScroll"

    def __init__(self, actions: Actions, notice: str = "") -> None:
        super().__init__()
        self._actions = actions
        self._notice = notice

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            yield Static(Content.styled("Help", "bold $text-accent"), id="help-title", markup=False)
            with VerticalScroll(id="help-body"):
                yield _HelpText(self._actions, self._notice)
            yield Static(
                Content.assemble(
                    ("↑ ↓ pgup pgdn", "bold $text-accent"),
                    (" scroll   ", "$text-muted"),
                    ("esc", "bold $text-accent"),
                    (" back", "$text-muted"),
                ),
                id="help-foot",
                markup=False,
            )


class _HelpText(Static):
    """The words, wrapped to the width there is, with the sentences kept in their column."""

    def __init__(self, actions: Actions, notice: str) -> None:
        super().__init__("", markup=False)
        self._actions = actions
        self._notice = notice

    def on_resize(self, event: events.Resize) -> None:
        self.update(help_content(self._actions, self._notice, event.size.width))


def help_content(actions: Actions, notice: str, width: int) -> Content:
    """All keys by group, and how it works, for a screen of this width."""
    lines: list[Content] = []
    if notice:
        lines += [*_wrapped(Content(""), notice, width, style="$text-secondary"), Content("")]
    for group, members in actions.groups():
        lines.append(Content.styled(group, "bold"))
        for action in members:
            keys = action.display.strip() or actions["palette"].display
            lines += _wrapped(Content.styled(f"  {keys}", "bold $text-accent"), action.help, width, _COLUMN)
        lines.append(Content(""))
    lines.append(Content.styled("How it works", "bold"))
    for head, rest in _HOW_IT_WORKS:
        lines.append(Content.styled(f"  {head}", "bold $text-accent"))
        lines += _wrapped(Content(""), rest, width, 4)
    return Content("\n").join(lines)


def _wrapped(head: Content, text: str, width: int, column: int = 0, style: str = "") -> list[Content]:
    """`head`, then `text` beside it from `column` on, wrapped."""
    rows = textwrap.wrap(text, max(width - column, 16)) or [""]
    first = Content.assemble(head, " " * max(column - head.cell_length, 1 if column else 0), (rows[0], style))
    return [first, *(Content.assemble(" " * column, (rest, style)) for rest in rows[1:])]
