"""Owns the help screen: all keys of the registry, and how it works in a few words; refuses to act."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from agent_tui.actions import Action, Actions

_HOW_IT_WORKS = (
    ("Agents run side by side.", "Each has its own conversation. The one with ▸ is the one you talk to."),
    ("Nothing runs unasked.", "A call that changes something waits for you: ◆ waiting for you."),
    ("Type at any time.", "A busy agent queues your prompt; esc stops that agent alone, and it can go on."),
    ("Nothing is lost.", "Every message is on disk before anything acts; agent-tui --resume brings it back."),
)
_KEY_COLUMN = 17


class HelpScreen(ModalScreen[None]):
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
                yield Static(self._content(), markup=False)
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

    def _content(self) -> Content:
        parts: list[Content] = []
        if self._notice:
            parts += [Content.styled(self._notice, "$text-secondary"), Content("")]
        for group, actions in self._actions.groups():
            lines = [_line(action) for action in actions if action.display.strip() or action.in_palette]
            parts += [Content.styled(group, "bold"), *lines, Content("")]
        parts.append(Content.styled("How it works", "bold"))
        for head, rest in _HOW_IT_WORKS:
            parts.append(Content.assemble(("  " + head, "$text-accent"), f" {rest}"))
        return Content("\n").join(parts)


def _line(action: Action) -> Content:
    keys = action.display or "ctrl+p"
    gap = " " * max(1, _KEY_COLUMN - cell_len(keys))
    return Content.assemble("  ", (keys, "bold $text-accent"), gap, action.help)
