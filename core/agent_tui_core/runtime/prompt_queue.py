"""Owns the prompts that wait for one agent, and that history has them; refuses to send one.

Each change counts at once and is written at once, in the order in which it was made. A prompt that was taken
to be sent stays stored until history has its run, which takes it out in the same transaction: whenever the
program ends, a prompt is in the queue or in the history, and never in both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from agent_tui_core.agent.prompts import with_words
from agent_tui_core.errors import HistoryError
from agent_tui_core.history.queued import PlacedPrompt
from agent_tui_core.messages import QueuedPrompt

STORED_AFTER: Final = 0.05
"""Seconds after which a prompt is stored whose run has not begun: most have by then, with one write less."""

Keep: TypeAlias = Callable[[Sequence[PlacedPrompt], Sequence[str]], Awaitable[None]]
"""`keep(put, gone)`: have these prompts stored and those ids not, in one transaction; or `HistoryError`."""


class PromptQueue:
    """What waits, oldest first. All methods but `settled` return at once."""

    def __init__(self, keep: Keep | None = None, *, attended: bool = True) -> None:
        """Without `keep` it is kept nowhere, and nothing says that it is.

        Unless `attended`, what an earlier life left is sent by an express order alone.
        """
        self.tell: Callable[[], None] = lambda: None
        """Called after each change that can be seen."""
        self.warn: Callable[[str], None] = lambda _words: None
        """Called when a change could not be written."""
        self._keep = keep
        self._attended = attended
        self._waiting: list[PlacedPrompt] = []
        self._sending: PlacedPrompt | None = None
        """Is not shown: it is on its way, and its run has not begun yet."""
        self._late: asyncio.TimerHandle | None = None
        """Stores what is being sent, unless its run is written before."""
        self._is_stored = False
        """What is being sent was stored."""
        self._unwritten: set[str] = set()
        """Ids whose last change could not be written; it is tried again with the next."""
        self._writes: set[asyncio.Task[None]] = set()

    @property
    def prompts(self) -> tuple[QueuedPrompt, ...]:
        """What waits, oldest first."""
        return tuple(placed.prompt for placed in self._waiting)

    @property
    def sends(self) -> bool:
        """A prompt is on its way, and its run has not begun yet."""
        return self._sending is not None

    def restore(self, left: Iterable[PlacedPrompt]) -> None:
        """Have what an earlier life left, in its order. None of it is sent by itself until `release`."""
        self._waiting = [
            replace(placed, prompt=replace(placed.prompt, kept=True, held=True)) for placed in left
        ]

    def release(self) -> None:
        """The person goes on with this agent: what an earlier life left is sent in its turn."""
        if any(placed.prompt.held for placed in self._waiting):
            self._waiting = [replace(each, prompt=replace(each.prompt, held=False)) for each in self._waiting]
            self.tell()

    def prompted(self) -> None:
        """The person said something to this agent, and so goes on with it."""
        if self._attended:
            self.release()

    def add(self, prompt: QueuedPrompt, *, first: bool = False) -> None:
        """Queue a new prompt behind the others, or before them."""
        self._insert(prompt, first=first)

    def put_back(self, prompt: QueuedPrompt, *, held: bool = False) -> None:
        """Queue a prompt again that nothing came of, before all others; one that is there stays there."""
        self._hurry()
        self._sending = None
        if all(placed.prompt.id != prompt.id for placed in self._waiting):
            self._insert(replace(prompt, kept=False, held=held), first=True)

    def take(self) -> QueuedPrompt | None:
        """Take the oldest off to send it; what is held is not sent."""
        for index, placed in enumerate(self._waiting):
            if not placed.prompt.held:
                del self._waiting[index]
                self._sending, self._is_stored = placed, True
                self.tell()
                return placed.prompt
        return None

    def send(self, prompt: QueuedPrompt) -> None:
        """A prompt, taken or new, begins to be sent. A new one is stored if that takes long.

        Hooks may stand before its run, or a folder that hangs; else it is not written twice.
        """
        if self._sending is None:
            self._sending, self._is_stored = PlacedPrompt(prompt, self._first_place()), False
            self._late = asyncio.get_running_loop().call_later(STORED_AFTER, self._store_sending)

    def runs(self, kept: bool) -> None:
        """Its run is being written, or was: from here on that says that there is this prompt.

        What was stored later than the run would not be taken out by it.
        """
        self._hurry()
        if kept:
            self._sending = None

    def give_up(self) -> None:
        """What was being sent has no run, and was given back: it is nobody's here any more."""
        self._hurry()
        sending, self._sending = self._sending, None
        if sending is not None and self._is_stored:
            self._write((), [sending.prompt.id])

    def remove(self, prompt_id: str) -> str | None:
        """Take a prompt back and return its text; None when it does not wait."""
        index = self._index(prompt_id)
        if index is None:
            return None
        placed = self._waiting.pop(index)
        self._write((), [prompt_id])
        self.tell()
        return placed.prompt.text

    def edit(self, prompt_id: str, text: str) -> bool:
        """Change the words of a prompt that waits; False when it does not, or when they are blank."""
        index = self._index(prompt_id)
        if index is None or not text.strip():
            return False
        placed = self._waiting[index]
        blocks = with_words(placed.prompt.blocks, text) if placed.prompt.blocks else ()
        edited = replace(placed.prompt, text=text, blocks=blocks, kept=False)
        self._waiting[index] = replace(placed, prompt=edited)
        self._write([self._waiting[index]])
        self.tell()
        return True

    def move(self, prompt_id: str, index: int) -> bool:
        """Let a prompt wait at another place, counted from 0; False when it does not wait."""
        before = self._index(prompt_id)
        if before is None:
            return False
        self._waiting.insert(index, self._waiting.pop(before))
        first = 0 if self._sending is None else self._sending.place + 1
        self._waiting = [replace(each, place=place) for place, each in enumerate(self._waiting, first)]
        self._write(self._waiting)
        self.tell()
        return True

    def retry(self) -> None:
        """Write what could not be written before."""
        if self._unwritten:
            self._write(())

    async def settled(self) -> None:
        """Wait until all changes are written, or could not be; what could not is tried once more."""
        self.retry()
        while self._writes:
            await asyncio.wait(self._writes)

    # --- what is stored -------------------------------------------------------------------------------------

    def _store_sending(self) -> None:
        self._late = None
        if self._sending is not None:
            self._is_stored = True
            self._write([self._sending])

    def _hurry(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _index(self, prompt_id: str) -> int | None:
        return next((i for i, placed in enumerate(self._waiting) if placed.prompt.id == prompt_id), None)

    def _first_place(self) -> int:
        return min((placed.place for placed in self._waiting), default=0) - 1

    def _insert(self, prompt: QueuedPrompt, *, first: bool) -> None:
        last = max((placed.place for placed in self._waiting), default=-1)
        placed = PlacedPrompt(prompt, self._first_place() if first else last + 1)
        self._waiting.insert(0 if first else len(self._waiting), placed)
        self._write([placed])
        self.tell()

    def _write(self, put: Sequence[PlacedPrompt], gone: Sequence[str] = ()) -> None:
        """Begin to write; writes are kept in the order in which they were begun."""
        stored = [*self._waiting, *([self._sending] if self._sending else [])]
        again, self._unwritten = self._unwritten - {each.prompt.id for each in put} - {*gone}, set()
        put = [*put, *(placed for placed in stored if placed.prompt.id in again)]
        gone = [*gone, *(again - {placed.prompt.id for placed in stored})]
        if self._keep is None:
            return
        task = asyncio.create_task(self._written(self._keep, put, gone), name="queued prompts")
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _written(self, keep: Keep, put: Sequence[PlacedPrompt], gone: Sequence[str]) -> None:
        try:
            await keep(put, gone)
        except HistoryError as error:
            if not self._unwritten:
                self.warn(
                    f"The queue was not saved, and its last change is lost if the program ends: {error}"
                )
            self._unwritten |= {*gone, *(placed.prompt.id for placed in put)}
            return
        texts = {placed.prompt.id: placed.prompt.text for placed in put}
        changed = False
        for index, placed in enumerate(self._waiting):
            prompt = placed.prompt
            if not prompt.kept and texts.get(prompt.id) == prompt.text:
                self._waiting[index] = replace(placed, prompt=replace(prompt, kept=True))
                changed = True
        if changed:
            self.tell()
