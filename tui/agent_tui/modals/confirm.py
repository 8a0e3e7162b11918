"""Owns a question with yes and no; refuses to take typing, or a bare enter, for a yes."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from agent_tui.modals.key_button import KeyButton
from agent_tui.modals.yes_no import YesNoScreen
from agent_tui.panes.beneath import Beneath
from agent_tui.panes.wording import cut
from agent_tui_core.text import safe_line, safe_text

_MOST_TITLE = 150


class ConfirmModal(YesNoScreen):
    """A question whose answer is No unless the person says otherwise: y, n, esc, or a click."""

    DEFAULT_CSS = """
    ConfirmModal {
        align: center middle;
        #frame {
            width: 100%; max-width: 64; height: auto; max-height: 100%;
            border: round $border-blurred; background: $background; padding: 1 2;
            &.-listens { border: round $warning; }
        }
        #title { height: auto; text-style: bold; color: $primary; margin-bottom: 1; }
        #body { height: auto; max-height: 40vh; margin-bottom: 1; scrollbar-size-vertical: 1; }
        #body Static { height: auto; }
        #keys { height: 1; }
        #state { height: 1; color: $text-muted; margin-top: 1; }
        #state.-listens { color: $success; }
    }
    """

    def __init__(
        self,
        title: str,
        body: str,
        yes_label: str,
        *,
        beneath: Beneath | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`yes_label` says what a yes does, such as "Stop 3"."""
        super().__init__(beneath, clock=clock)
        self._title_text = cut(safe_line(title), _MOST_TITLE)
        self._body = safe_text(body)
        self._yes_label = safe_line(yes_label)

    def compose(self) -> ComposeResult:
        """Title, body, the two answers, and whether they are listened to."""
        with Vertical(id="frame"):
            yield Static(Content(self._title_text), id="title", markup=False)
            with VerticalScroll(id="body", can_focus=False):
                yield Static(Content(self._body), markup=False)
            with Horizontal(id="keys"):
                yield KeyButton("n", "No (enter)", "later")
                yield KeyButton("y", self._yes_label, "deny")
            yield Static(id="state", markup=False)

    def on_paste(self, event: events.Paste) -> None:
        """Close: a paste is for the prompt, where `ArmedScreen`, whose handler Textual calls too, puts it."""
        del event
        self.settle(False)

    def scroll_by_key(self, key: str) -> bool:
        """A body that is longer than its place can be read without a mouse."""
        body = self.query_one("#body", VerticalScroll)
        match key:
            case "up" | "pageup":
                body.scroll_page_up(animate=False)
            case "down" | "pagedown":
                body.scroll_page_down(animate=False)
            case _:
                return False
        return True
