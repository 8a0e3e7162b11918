"""Owns a run as its receiver sees it: the events in order, the blocks in them, the end in one value.

Refuses to keep anything: what nobody receives is gone with the next run.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from agent_tui_core.blocks import ContentBlock, Reasoning, Text, ToolUse
from agent_tui_core.errors import AgentTuiError
from agent_tui_core.events import (
    Body,
    Event,
    MessageCommitted,
    ReasoningDelta,
    RunEnd,
    RunEnded,
    TextDelta,
    ToolJudged,
    ToolProposed,
)
from agent_tui_core.messages import Message, StopReason, Usage, new_id
from agent_tui_core.records import dataclass


@dataclass(frozen=True, slots=True)
class LastRun:
    """How the last run of a client ended."""

    end: RunEnd
    """One of "completed", "interrupted", "failed" and "limit"."""
    stop_reason: StopReason | None
    """Why the last answer of the run ended; None when none came."""
    usage: Usage
    """Tokens of all answers of the run together; None where the server did not count."""
    message: Message | None
    """The last answer of the run, also when it broke off; None when none came."""
    error: AgentTuiError | None
    """What made the run fail; `receive` raises it too."""
    iterations: int
    """How often the model was asked, retries not counted."""
    reason: str = ""
    """The end in words, for a person; empty when completed."""


def last_run(ended: RunEnded, came: Sequence[Message], error: AgentTuiError | None) -> LastRun:
    """Sum up a run; `came` is what it added to the conversation."""
    answer = next((message for message in reversed(came) if message.role == "assistant"), None)
    stop_reason = answer.stop_reason if answer else None
    return LastRun(ended.end, stop_reason, ended.usage, answer, error, ended.iterations, ended.reason)


class _Line:
    """The events of one run that nobody took yet, and its end; any number may wait at it."""

    __slots__ = ("_moved", "ended", "events")

    def __init__(self) -> None:
        self.events: deque[Event] = deque()
        self.ended = False
        self._moved = asyncio.Event()

    def put(self, event: Event) -> None:
        self.events.append(event)
        self._moved.set()

    def end(self) -> None:
        self.ended = True
        self._moved.set()

    async def moved(self) -> bool:
        """Wait while it is empty; False at its end."""
        while not (self.events or self.ended):
            self._moved.clear()
            await self._moved.wait()
        return bool(self.events)


class Received:
    """The journal of a client's loop: its events wait in a line, a new one for each run."""

    def __init__(self, *, by_hand: bool) -> None:
        """`by_hand`: a call is given out when it may run, with its final input; else when it was made."""
        self.agent_id = new_id()
        self._by_hand = by_hand
        self._run_id: str | None = None
        self._seq = 0
        self._line = _Line()
        self._ready: deque[ContentBlock] = deque()
        self._proposed: dict[str, ToolUse] = {}

    async def commit(self, *bodies: Body) -> None:
        """Show."""
        for body in bodies:
            self.emit(body)

    def emit(self, body: Body) -> None:
        """Show."""
        self._seq += 1
        self._line.put(Event(self.agent_id, self._run_id, self._seq, time.time(), body))

    def owe(self, *bodies: Body) -> None:
        """Show: nothing is kept here, so nothing is owed."""
        for body in bodies:
            self.emit(body)

    def begin(self) -> None:
        """A run begins: what was not received of the one before it is dropped."""
        self._run_id = new_id()
        self._line = _Line()
        self._ready.clear()
        self._proposed.clear()

    def end(self) -> None:
        """The run is over: all who receive get to know it."""
        self._line.end()

    async def event(self) -> Event | None:
        """The next event; None at the end, however often it is asked."""
        line = self._line
        return line.events.popleft() if await line.moved() else None

    async def block(self) -> ContentBlock | None:
        """The next block; None at the end."""
        line = self._line
        while not self._ready:
            if not (line.events or await line.moved()):
                return None
            self._ready += self._blocks(line.events.popleft().body)
        return self._ready.popleft()

    def _blocks(self, body: Body) -> Sequence[ContentBlock]:
        match body:
            case TextDelta(text) if text:
                return (Text(text),)
            case ReasoningDelta(text) if text:
                return (Reasoning(text),)
            case MessageCommitted(message) if not self._by_hand:
                return message.tool_uses
            case ToolProposed(key, call):
                self._proposed[key] = call
            case ToolJudged(key, True, input=input_) if self._by_hand:
                return (replace(self._proposed[key], input=input_),)
            case _:
                pass
        return ()
