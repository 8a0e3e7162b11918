"""Owns what a modal has to write in: a line whose pastes are cleaned, and a text area that goes for good.

Refuses to act on what is written.
"""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from agent_tui.panes.editor import Editor
from agent_tui_core.text import safe_line


class CleanInput(Input):
    """One line; a paste loses what could move a terminal, and its line breaks."""

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert_text_at_cursor(safe_line(event.text))


class PassingTextArea(Editor):
    """A text area that nothing remembers once its modal is closed.

    Textual's has the app call it when the theme changes, and stays in that list until the theme does.
    """

    def on_unmount(self) -> None:
        """Leave the list."""
        watchers = getattr(self.app, "__watchers", {}).get("theme", [])
        watchers[:] = [each for each in watchers if each[0] is not self]
