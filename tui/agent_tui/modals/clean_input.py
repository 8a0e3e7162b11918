"""Owns a line to write in whose pastes are cleaned; refuses to act on what is written."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from agent_tui_core.text import safe_line


class CleanInput(Input):
    """One line; a paste loses what could move a terminal, and its line breaks."""

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert_text_at_cursor(safe_line(event.text))
