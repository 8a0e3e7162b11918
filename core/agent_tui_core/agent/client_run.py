"""Owns one run of a client: its task, what is received of it, and its one end; refuses to begin another.

Everything that a caller may ask of a run is asked of this object, so that whoever still follows an earlier
run never meets a later one.
"""

from __future__ import annotations

import asyncio
import itertools
from contextvars import ContextVar
from dataclasses import field
from typing import Final

from agent_tui_core.agent.calls import Answers
from agent_tui_core.agent.conversation import Conversation
from agent_tui_core.agent.loop import Loop
from agent_tui_core.agent.received import LastRun, Reception, last_run
from agent_tui_core.events import RunEnded
from agent_tui_core.messages import Message, Usage
from agent_tui_core.records import dataclass
from agent_tui_core.system_limits import how_a_run_broke

_entered: Final[ContextVar[frozenset[int]]] = ContextVar("_entered", default=frozenset())
"""The numbers of what the current code runs within: an object would hold the task that holds the context."""
_numbers: Final = itertools.count()


class Within:
    """Knows the code that runs within something: its task, and the tasks and threads that this one starts."""

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = next(_numbers)

    def enter(self) -> None:
        """The current task, and what it starts, is inside from now on."""
        _entered.set(_entered.get() | {self._number})

    def leave(self) -> None:
        """The current task is outside again."""
        _entered.set(_entered.get() - {self._number})

    @property
    def holds_us(self) -> bool:
        """The code that asks is inside."""
        return self._number in _entered.get()


@dataclass(slots=True)
class Sending:
    """A run that is about to begin: hooks look at what it shall ask."""

    within: Within = field(default_factory=Within)
    interrupted: bool = False
    """It shall end as it begins. Set from any thread."""


class ClientRun:
    """One run, from the moment it was sent."""

    def __init__(self, loop: Loop, conversation: Conversation, reception: Reception) -> None:
        self.reception = reception
        self.within = Within()
        self.ended: LastRun | None = None
        self._loop = loop
        self._conversation = conversation
        self._told = False
        """The error of the run was raised."""
        self._cancelled = False

    def begin(self, message: Message | None, answers: Answers | None) -> None:
        """Start it; what the conversation has more at its end came of this run."""
        self._began = len(self._conversation.messages)
        self._event_loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._go(message, answers))
        self._task.add_done_callback(self._settle)

    @property
    def going_on(self) -> bool:
        """It has not come to its end."""
        if not self._task.done():
            return True
        self._settle(self._task)
        return False

    def interrupt(self) -> bool:
        """Stop it, from any task or thread; False when it has ended."""
        if self._task.done():
            return False
        try:
            self._event_loop.call_soon_threadsafe(self._cancel)
        except RuntimeError:  # the event loop was closed meanwhile
            return False
        return True

    async def over(self) -> None:
        """Wait for the end."""
        while self.going_on:
            await asyncio.wait({self._task})

    async def raise_failure(self) -> None:
        """Wait for the end, and raise what made it fail: once."""
        await self.over()
        if self._told:
            return
        self._told = True
        if not self._task.cancelled():
            self._task.result()
        if self.ended is not None and self.ended.error is not None:
            raise self.ended.error

    async def _go(self, message: Message | None, answers: Answers | None) -> RunEnded:
        self.within.enter()
        return await self._loop.run(message, answers)

    def _cancel(self) -> None:
        """Cancel once: a second time would break into the closing of the connection."""
        if not self._task.done() and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    def _settle(self, task: asyncio.Task[RunEnded]) -> None:
        """Sum it up, once: the first who sees that the task is done does it, before the next run begins.

        A callback of the task comes a turn of the event loop later than that, and ended the *next* run for
        its receiver.
        """
        if self.ended is not None:
            return
        ended = self._loop.ended
        if ended is None and task.cancelled():
            ended = RunEnded("interrupted", "by you", 0, Usage())
        elif ended is None:
            ended = RunEnded(
                "failed", how_a_run_broke(task.exception() or RuntimeError("no end")), 0, Usage()
            )
        self.ended = last_run(ended, self._conversation.messages[self._began :], self._loop.failure)
        self.reception.end()
