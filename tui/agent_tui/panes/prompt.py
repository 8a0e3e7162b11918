"""Owns the box in which a person writes: its keys, its growth, its history, and whom it talks to.

Refuses to know what an agent is: it posts what was sent, and shows the name that it is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import TextArea

from agent_tui.panes.editor import Editor, clean_paste
from agent_tui.panes.painting import Painted
from agent_tui_core.text import safe_line

if TYPE_CHECKING:
    from rich.style import Style
    from textual.geometry import Region
    from textual.strip import Strip

MOST_ROWS = 6
_MOST_ENTRIES = 500
_HINT = "enter send · ctrl+j new line"

_LEFT_TO_THE_APP = frozenset({"f6", "f7", "ctrl+w", "ctrl+c"})
"""Keys that a TextArea takes for itself (select line, select all, delete word, copy)."""
_SENDS = frozenset({"enter"})
_SENDS_NOW = frozenset({"alt+enter", "ctrl+g"})
"""Some terminals (macOS, Windows) take alt+enter for themselves, so there is a second chord."""
_NEW_LINE = frozenset({"ctrl+j", "shift+enter", "shift+\r"})
"""The last is how Textual 8.2 reads xterm's own form of shift+enter (CSI 27;2;13~)."""


class PromptBox(Widget):
    """A multi-line prompt of one to six rows. Its growth is the only layout that it causes."""

    DEFAULT_CSS = f"""
    PromptBox {{
        height: auto;
        border: round $border-blurred;
        border-title-color: $primary;
        border-title-style: bold;
        border-subtitle-color: $text-muted;
        background: $background;
        &:focus-within {{ border: round $border; }}
        &.-returned {{ border-subtitle-color: $warning; }}
        TextArea {{
            height: auto;
            min-height: 1;
            max-height: {MOST_ROWS};
            border: none;
            padding: 0 1;
            background: $background;
            scrollbar-size-vertical: 1;
            &:focus {{ border: none; }}
            & .text-area--placeholder {{ color: $text-muted; }}
        }}
    }}
    """

    class Submitted(Message):
        """The person sent a prompt; `now` means: interrupt what runs and go on with this."""

        def __init__(self, text: str, *, now: bool = False) -> None:
            super().__init__()
            self.text = text
            self.now = now

    class TakeBack(Message):
        """Up was pressed in an empty box. The shell may answer with `put_back` of a queued prompt.

        The box recalls its newest prompt at once; what is put back takes the place of that recall.
        """

    def __init__(
        self,
        *,
        placeholder: str = "Write to the agent…",
        clock: Callable[[], float] = time.monotonic,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.last_key_at = float("-inf")
        """When the last key reached the box, on `clock`."""
        self._clock = clock
        self._whom = ""
        self._editor = _Editor(self, placeholder)
        self._recall = _Recall()
        self.border_subtitle = Content(_HINT)

    def compose(self) -> ComposeResult:
        """One editor; the frame carries the rest."""
        yield self._editor

    @property
    def text(self) -> str:
        """What is in the box now."""
        return self._editor.text

    def address(self, whom: str) -> None:
        """Say whom the box talks to, such as "2 tester"; an empty name says nothing."""
        if whom == self._whom:  # asked at every frame; Textual draws a border anew for the same title too
            return
        self._whom, name = whom, safe_line(whom)
        self.border_title = Content(f"to {name} ▸") if name else None

    def focus(self, scroll_visible: bool = True) -> PromptBox:
        """Put the cursor into the box."""
        self._editor.focus(scroll_visible)
        return self

    def put_back(self, text: str, reason: str) -> None:
        """Give a prompt back: into the box if it holds nothing of the person's own, else into the history."""
        if not self.text or self._recall.shows(self.text):
            self._recall.rest()
            self._write(text)
            said = reason
        else:
            self._recall.add(text)
            said = f"{reason} (up brings it back)"
        self.set_class(True, "-returned")
        self.border_subtitle = Content(safe_line(said)) if safe_line(said) else None

    def receive(self, event: events.Key) -> None:
        """Take a key that was typed while something else had the focus, as if it had been typed here."""
        self.last_key_at = self._clock()
        if event.is_printable and event.character is not None:
            self.insert(event.character)
        elif event.key == "backspace":
            with self._context():
                self._editor.action_delete_left()

    def insert(self, text: str) -> None:
        """Insert text at the cursor, as a paste does: many lines stay one prompt."""
        cleaned = clean_paste(text)
        start, end = self._editor.selection
        with self._context():  # else the editor's last message keeps the question that passed this on
            self._editor.replace(cleaned, start, end, maintain_selection_offset=False)

    def submit(self, *, now: bool = False) -> None:
        """Send what is in the box, unless it is blank. A draft that the history had covered comes back."""
        text = self.text.strip("\n").rstrip()
        if not text.strip():
            return
        draft = self._recall.draft if self._recall.walking else ""
        self._recall.add(text)
        self._recall.rest()
        self._write(draft)
        self.post_message(self.Submitted(text, now=now))

    def walk(self, step: int) -> bool:
        """Show the prompt before (-1) or after (1) in the history; False when there is none."""
        if step < 0 and not self.text and not self._recall.walking:
            self.post_message(self.TakeBack())
        text = self._recall.walk(step, self.text)
        if text is None:
            return False
        self._write(text)
        return True

    def key_came(self, event: events.Key) -> bool:
        """Note a key of the editor, and do what the box itself does with it; True when that is all."""
        self.last_key_at = self._clock()
        if self.has_class("-returned"):
            self.set_class(False, "-returned")
            self.border_subtitle = Content(_HINT)
        if event.key in _SENDS | _SENDS_NOW:
            self.submit(now=event.key in _SENDS_NOW)
        elif event.key in _NEW_LINE:
            self.insert("\n")
        else:
            return False
        return True

    def _write(self, text: str) -> None:
        self._editor.text = clean_paste(text)
        self._editor.move_cursor(self._editor.document.end)


class _Editor(Editor, Painted, inherit_bindings=False):
    """Textual's editor without the keys that belong to the app."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding for binding in Binding.make_bindings(TextArea.BINDINGS) if binding.key not in _LEFT_TO_THE_APP
    ]

    def __init__(self, box: PromptBox, placeholder: str) -> None:
        super().__init__(placeholder=Content(placeholder), highlight_cursor_line=False)
        self.cursor_blink = False
        self._box = box
        self._looks: Style | None = None
        """The style under which Textual last read what the text, the cursor and a selection look like."""

    def notify_style_update(self) -> None:
        """Textual says that styles or the theme changed."""
        super().notify_style_update()
        self._looks = None

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw rows; Textual reads seven styles anew for each, which is a fifth of what a key costs."""
        looks = self.rich_style
        if looks == self._looks:
            return super(TextArea, self).render_lines(crop)
        self._looks = looks
        return super().render_lines(crop)

    async def _on_key(self, event: events.Key) -> None:
        if self._box.key_came(event):
            event.stop()
            event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._box.insert(event.text)

    def action_paste(self) -> None:
        self._box.insert(self.app.clipboard)

    def action_cursor_up(self, select: bool = False) -> None:
        on_edge = self.navigator.is_first_wrapped_line(self.selection.end)
        if select or not on_edge or not self._box.walk(-1):
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        on_edge = self.navigator.is_last_wrapped_line(self.selection.end)
        if select or not on_edge or not self._box.walk(1):
            super().action_cursor_down(select)


class _Recall:
    """The prompts that were sent, and a walk through them that keeps every change made on the way."""

    def __init__(self) -> None:
        self._sent: list[str] = []
        self._changed: dict[int, str] = {}
        self._at: int | None = None

    @property
    def walking(self) -> bool:
        return self._at is not None

    @property
    def draft(self) -> str:
        return self._changed.get(len(self._sent), "")

    def shows(self, text: str) -> bool:
        """Whether `text` is a sent prompt that is shown unchanged, over an empty draft."""
        return (
            self._at is not None
            and self._at < len(self._sent)
            and text == self._sent[self._at]
            and not self.draft
        )

    def add(self, text: str) -> None:
        """Append a prompt; a walk that is under way stays where it is, and the draft stays the draft."""
        if self._sent and self._sent[-1] == text:
            return
        end = len(self._sent)
        if end in self._changed:
            self._changed[end + 1] = self._changed.pop(end)
        if self._at == end:
            self._at = end + 1
        self._sent.append(text)
        if len(self._sent) > _MOST_ENTRIES and not self.walking:
            del self._sent[0]
            self._changed.clear()

    def rest(self) -> None:
        """End the walk."""
        self._changed.clear()
        self._at = None

    def walk(self, step: int, shown: str) -> str | None:
        here = len(self._sent) if self._at is None else self._at
        there = here + step
        if not 0 <= there <= len(self._sent):
            return None
        self._changed[here] = shown
        self._at = there
        text = self._changed.get(there)
        if text is None:
            text = self._sent[there]
        if there == len(self._sent):
            self._at = None
        return text
