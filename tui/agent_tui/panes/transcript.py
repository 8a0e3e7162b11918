"""Owns the widget that shows what one agent did; refuses to change the transcript, and to lay anything out.

The feed calls `tick` on the frame clock; what it costs depends on what is new and visible, not on the length
of the transcript. CSS may colour and size the widget; a border or padding costs a slower way of drawing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import assert_never

from textual import events

from agent_tui.panes.remarks import RemarkPart, end_lines, notice_lines, user_lines
from agent_tui.panes.scrolled_lines import ScrolledLines
from agent_tui.panes.sheet import Part
from agent_tui_core.runtime.entries import (
    EndEntry,
    Entry,
    NoticeEntry,
    ProseEntry,
    ToolEntry,
    UserEntry,
)
from agent_tui_core.runtime.transcript import Transcript


class TranscriptView(ScrolledLines):
    """One agent's transcript, following its end unless the reader scrolled up."""

    def __init__(
        self,
        transcript: Transcript,
        *,
        clock: Callable[[], float] = time.time,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.transcript = transcript
        self._clock = clock
        self._parts: list[Part] = []
        self._live_calls: set[int] = set()
        self._second = 0
        self.behind = False
        """A long text was not read to its end: the next frame goes on."""
        self._unfolded = False
        transcript.dirty.update(range(len(transcript.entries)))

    def tick(self) -> bool:
        """Show what became dirty since the last tick; return whether anything was painted.

        A view that has no size keeps the transcript dirty and costs nothing.
        """
        size = self.size
        if not size.width or not size.height or not self.is_attached:
            return False
        dirty = self.transcript.dirty
        second = int(self._clock())
        if second != self._second:
            self._second = second
            dirty |= self._live_calls
        if size != self._shown:
            self._take_size(size)
        elif not dirty:
            return False
        self._read()
        return self._then_go_on(self._show())

    def toggle(self, entry_index: int) -> bool:
        """Fold or unfold a tool call or a reasoning; return whether there was something to fold."""
        if not 0 <= entry_index < len(self._parts):
            return False
        if not self._parts[entry_index].fold():
            return False
        self.sheet.refold(entry_index)
        self.show_changes()
        return True

    def toggle_reasoning(self) -> bool:
        """Fold or unfold every reasoning; return whether they are unfolded now."""
        from agent_tui.panes.prose import ReasoningPart

        self._unfolded = not self._unfolded
        for index, part in enumerate(self._parts):
            if isinstance(part, ReasoningPart):
                part.unfolded = None
                self.sheet.refold(index)
        self.show_changes()
        return self._unfolded

    def show_changes(self) -> bool:
        """Read what is new before anything is drawn for a new size, and go on with a text that is behind."""
        size = self.size
        if size.width and size != self._shown:
            self._take_size(size)
            self._read()
        elif self.behind:
            self._read()
        return self._then_go_on(super().show_changes())

    def _then_go_on(self, painted: bool) -> bool:
        self._go_on_with({row.spot.entry for row in self._rows})
        return painted

    def on_resize(self, _event: events.Resize) -> None:
        """Read what came while it had no size; what is drawn then is the business of `ScrolledLines`."""
        if self.size.width and self.size.height and self.transcript.dirty:
            self._read()

    def on_unmount(self) -> None:
        """Let go of what was read, as `ScrolledLines` does of what was drawn."""
        self._parts = []
        self._live_calls.clear()

    def on_click(self, event: events.Click) -> None:
        """Fold or unfold what is under the pointer; the marker belongs to the lines."""
        if event.chain != 1 or event.button != 1 or self._pressed != (event.x, event.y):
            return
        on_marker = self._marker and event.y == self._height - 1
        if not on_marker and 0 <= event.y < len(self._rows):
            self.toggle(self._rows[event.y].spot.entry)

    def _read(self) -> None:
        entries, dirty = self.transcript.entries, self.transcript.dirty
        known = len(self._parts)
        if not self._shown.width:
            self._take_size(self.size)
        for index in sorted(dirty):
            if index < known:
                self._note_live(index, entries[index])
                self.sheet.touch(index)
        for index in range(known, len(entries)):
            self._note_live(index, entries[index])
            part = self._part(entries[index], gap=index > 0)
            self._parts.append(part)
            self.sheet.add(part)
            dirty.add(index)
        read = dirty.copy()
        dirty.clear()
        self.behind = False
        self._go_on_with(read)

    def _go_on_with(self, entries: set[int]) -> None:
        """Have the next frame read on where one frame was not enough."""
        for index in entries:
            if self._parts[index].behind:
                self.transcript.dirty.add(index)
                self.behind = True

    def _note_live(self, index: int, entry: Entry) -> None:
        if isinstance(entry, ToolEntry) and entry.status == "running":
            self._live_calls.add(index)
        else:
            self._live_calls.discard(index)

    def _part(self, entry: Entry, *, gap: bool) -> Part:
        # What draws prose and cards is imported here, or before by `warm_up`: a first frame has neither.
        match entry:
            case ProseEntry(kind="reasoning"):
                from agent_tui.panes.prose import ReasoningPart

                return ReasoningPart(entry, gap=gap, unfolded=lambda: self._unfolded)
            case ProseEntry():
                from agent_tui.panes.prose import ProsePart

                return ProsePart(entry, gap=gap)
            case ToolEntry():
                from agent_tui.panes.cards import CardPart

                return CardPart(entry, gap=gap, clock=self._clock)
            case UserEntry():
                return RemarkPart(lambda width: user_lines(entry, width), gap=gap)
            case NoticeEntry():
                return RemarkPart(lambda width: notice_lines(entry, width), gap=gap)
            case EndEntry():
                return RemarkPart(lambda width: end_lines(entry, width), gap=gap)
            case _:
                assert_never(entry)
