"""Owns an editor of several lines that survives every undo, and whose pastes are cleaned; refuses to send."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.widgets import TextArea

from agent_tui_core.text import safe_text

if TYPE_CHECKING:
    from textual.document._edit import Edit


class Editor(TextArea):
    """Textual's editor, with the cursor inside the text whenever its rows are counted anew.

    `_undo_batch` and `_redo_batch` are Textual's private names (8.2). Its own count the rows while the cursor
    stands where the text that goes was. Where that takes the scrollbar away, looking for the cursor raises
    ValueError. They also wrap only the rows that they believe changed.
    """

    def _undo_batch(self, edits: Sequence[Edit]) -> None:
        for edit in reversed(edits):
            edit.undo(self)
        self._settle(edits[:1])

    def _redo_batch(self, edits: Sequence[Edit]) -> None:
        for edit in edits:
            edit.do(self, record_selection=False)
        self._settle(edits[-1:])

    def _settle(self, last: Iterable[Edit]) -> None:
        """Wrap the text, put the cursor where the last edit wants it, and only then count the rows."""
        self.wrapped_document.wrap(self.wrap_width, self.indent_width)
        for edit in last:
            edit.after(self)
        self._build_highlight_map()
        self.post_message(self.Changed(self))
        self.update_suggestion()
        self._refresh_size()

    async def _on_paste(self, event: events.Paste) -> None:
        """Let a paste bring no control but the line feed and the tab."""
        event.stop()
        event.prevent_default()
        start, end = self.selection
        self.replace(clean_paste(event.text), start, end, maintain_selection_offset=False)


def clean_paste(text: str) -> str:
    """What a paste may bring into an editor: no control but the line feed and the tab."""
    return "\t".join(safe_text(part) for part in text.split("\t"))
