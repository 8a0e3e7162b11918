"""Owns how one agent comes back from its history, and how the run that it was left with is gone on with.

Refuses to know what the program was ended by. What waits for somebody outside is taken up, all else ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from agent_tui_core.agent.conversation import Conversation
from agent_tui_core.events import (
    Body,
    Compacted,
    CompactionUndone,
    MessageCommitted,
    PromptReturned,
    RunEnded,
    ToolProposed,
    ToolStarted,
)
from agent_tui_core.runtime.journal import WorkerJournal
from agent_tui_core.runtime.outbox import Outbox
from agent_tui_core.runtime.prompt_queue import PromptQueue
from agent_tui_core.runtime.resume import Happened, LeftOpen, left_open, unanswered
from agent_tui_core.runtime.runner import Runner

GoesOn = Callable[[str, float], bool]
"""Whether a call that waits for somebody outside is still worth it: its key, and until when it waits."""


def nothing_goes_on(_key: str, _until: float) -> bool:
    """Nobody outside is expected to answer."""
    return False


class Revival:
    """One agent's way back."""

    def __init__(
        self,
        conversation: Conversation,
        outbox: Outbox,
        journal: WorkerJournal,
        runner: Runner,
        queue: PromptQueue,
    ) -> None:
        self._conversation = conversation
        self._outbox = outbox
        self._journal = journal
        self._runner = runner
        self._queue = queue
        self._left: LeftOpen | None = None

    async def restore(self, past: Sequence[Happened], goes_on: GoesOn) -> None:
        """Take up what history has, and end what cannot go on. Raises `HistoryError`."""
        for run_id, at, body in past:
            self._journal.replay(run_id, at, body)
        self._remember([body for _, _, body in past])
        left = left_open(past, goes_on)
        if left is None:
            self._give_back(past)
            return
        if left.prompt is not None:
            self._queue.put_back(left.prompt, held=True)
        self._outbox.run_id = left.run_id
        await self._journal.commit(*left.bodies)
        self._remember(left.bodies)
        self._left = left if left.calls is not None else None
        self._outbox.run_id = None

    def _give_back(self, past: Sequence[Happened]) -> None:
        """The last prompt went back to the input box, which nobody keeps: so it does again."""
        if (last := unanswered(past)) is None:
            return
        prompt, reason = last
        if all(waiting.id != prompt.id for waiting in self._queue.prompts):
            self._journal.emit(PromptReturned(prompt.text, reason))

    def take(self) -> LeftOpen | None:
        """The run that is to be gone on with, once."""
        left, self._left = self._left, None
        return left

    def show(self, left: LeftOpen) -> None:
        """Say what the agent does while it waits again."""
        for body in _waiting(left):
            self._journal.activity.after(body)
        self._outbox.append(self._journal.activity.snapshot())

    async def finish(
        self, left: LeftOpen, *, stopped: Callable[[], bool], leaves: Callable[[], bool]
    ) -> RunEnded:
        """Go on with a run. What interrupts it before it does ends it here, unless the agent `leaves`."""
        assert left.calls is not None
        try:
            if stopped():
                raise asyncio.CancelledError
            return await self._runner.take_up(left.calls)
        except asyncio.CancelledError:
            if leaves():
                raise
            bodies, ended = left.given_up()
            await self._journal.commit(*bodies, ended)
            self._remember(bodies)
            return ended

    def _remember(self, bodies: Sequence[Body]) -> None:
        for body in bodies:
            match body:
                case MessageCommitted(message):
                    self._conversation.append(message)
                case Compacted():
                    self._conversation.compact(body)
                case CompactionUndone(compaction_id):
                    self._conversation.undo_compaction(compaction_id)
                case _:
                    pass


def _waiting(left: LeftOpen) -> Iterator[Body]:
    assert left.calls is not None
    for key, call in left.calls.calls:
        if (waits := left.calls.outside.get(key)) is not None:
            yield ToolProposed(key, call, "")
            yield ToolStarted(key, waits.input, waits.until)
