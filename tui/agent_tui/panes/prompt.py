"""Owns the box in which a person writes: its keys, its growth, its drafts, and whom it talks to.

Refuses to know what an agent is: it keeps a draft for each key that it is given, posts what was sent from
which, and shows the name that it is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import TextArea

from agent_tui.keyboard import is_text
from agent_tui.panes.drafts import Drafts, Returned
from agent_tui.panes.editor import Editor, clean_paste
from agent_tui.panes.painting import Painted
from agent_tui_core.text import safe_line

if TYPE_CHECKING:
    from rich.style import Style
    from textual.geometry import Region
    from textual.strip import Strip

MOST_ROWS = 6
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
        """The person sent a prompt to the agent `to`; `now` means: interrupt what runs, go on with this.

        The draft says to whom, not the selection: that may have moved on before this is handled.
        """

        def __init__(self, text: str, to: str, *, now: bool = False) -> None:
            super().__init__()
            self.text = text
            self.to = to
            self.now = now

    class TakeBack(Message):
        """Up was pressed in an empty box. The shell may answer with `put_back` of a queued prompt.

        The box recalls its newest prompt at once; what is put back takes the place of that recall.
        """

        def __init__(self, to: str) -> None:
            super().__init__()
            self.to = to

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
        self._drafts = Drafts()
        self._key = ""
        self._draft = self._drafts[""]
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

    def open(self, key: str) -> None:
        """Show the draft of this key: its words, its cursor, its undo, and what came back meanwhile.

        What is written while there is no agent, under the empty key, becomes the draft of the first.
        """
        if key == self._key:
            return
        self._keep()
        if not self._key:
            self._drafts.move("", key)
        self._key, self._draft = key, self._drafts[key]
        draft, editor = self._draft, self._editor
        editor.history = type(editor.history)(
            editor.history.max_checkpoints,
            editor.history.checkpoint_timer,
            editor.history.checkpoint_max_characters,
        )  # a new one, because loading text empties what is there
        editor.load_text(draft.text)
        if draft.history is not None:
            editor.history = draft.history
        if draft.selection is not None:
            editor.selection = draft.selection
        self._say(draft.note)
        returned, draft.returned = draft.returned, []
        if returned:
            self.put_back("\n".join(each.text for each in returned), returned[-1].reason)

    def keep_only(self, keys: Collection[str]) -> bool:
        """Forget the drafts of all other agents; says whether one had words, which up can recall now."""
        self._keep()
        gone = [key for key in self._drafts.keys if key and key not in keys]
        had_words = [self._drafts.forget(key) for key in gone]
        if self._key in gone:
            self._key = ""
            self._draft = self._drafts[""]
            self._editor.load_text(self._draft.text)
        return any(had_words)

    def _keep(self) -> None:
        draft, editor = self._draft, self._editor
        draft.text, draft.selection, draft.history = editor.text, editor.selection, editor.history

    def put_back(self, text: str, reason: str, key: str | None = None) -> bool:
        """Give a prompt back to its draft, in front of what is half typed there.

        Says whether that draft is open; otherwise the prompt stands there when it opens.
        """
        if key is not None and key != self._key:
            self._drafts[key].returned.append(Returned(text, reason))
            return False
        walk = self._draft.walk
        if walk.shows(self.text):
            own = walk.draft
            walk.rest()
            self._write(own)
        text = clean_paste(text)
        if self.text.strip():
            with self._context():
                self._editor.insert(f"{text}\n", (0, 0), maintain_selection_offset=True)
        else:
            walk.rest()
            self._write(text)
        self._say(reason)
        return True

    def _say(self, note: str) -> None:
        """Have the frame say this until the next key; nothing: what the keys do."""
        self._draft.note = note
        self.set_class(bool(note), "-returned")
        self.border_subtitle = Content(safe_line(note)) if safe_line(note) else Content(_HINT)

    def receive(self, event: events.Key) -> None:
        """Take a key that was typed while something else had the focus, as if it had been typed here."""
        self.last_key_at = self._clock()
        if is_text(event) and event.character is not None:
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
        draft = self._draft.walk.draft
        self._drafts.sent.add(text)
        self._draft.walk.rest()
        self._write(draft)
        self.post_message(self.Submitted(text, self._key, now=now))

    def walk(self, step: int) -> bool:
        """Show the prompt before (-1) or after (1) in the history; False when there is none."""
        walk = self._draft.walk
        if step < 0 and not self.text and not walk.walking:
            self.post_message(self.TakeBack(self._key))
        text = walk.step(step, self.text)
        if text is None:
            return False
        self._write(text)
        return True

    def key_came(self, event: events.Key) -> bool:
        """Note a key of the editor, and do what the box itself does with it; True when that is all."""
        self.last_key_at = self._clock()
        if self._draft.note:
            self._say("")
        if event.key in _SENDS | _SENDS_NOW:
            self.submit(now=event.key in _SENDS_NOW)
        elif event.key in _NEW_LINE:
            self.insert("\n")
        elif not event.is_printable or is_text(event):
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
