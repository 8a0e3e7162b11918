"""Owns a run as its receiver sees it: the events in order, the blocks in them, the end in one value.

Refuses to keep a conversation: what nobody receives of a run goes with whoever followed it.
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


class Reception:
    """What came of one run and nobody took yet, and its end; any number may wait for more."""

    __slots__ = ("_by_hand", "_events", "_moved", "_over", "_proposed", "_ready")

    def __init__(self, *, by_hand: bool) -> None:
        """`by_hand`: a call is given out when it may run, with its final input; else when it was made."""
        self._by_hand = by_hand
        self._events: deque[Event] = deque()
        self._ready: deque[ContentBlock] = deque()
        self._proposed: dict[str, ToolUse] = {}
        self._over = False
        self._moved = asyncio.Event()

    def put(self, event: Event) -> None:
        """Add what happened."""
        self._events.append(event)
        self._moved.set()

    def end(self) -> None:
        """The run is over: all who receive get to know it."""
        self._over = True
        self._moved.set()

    async def event(self) -> Event | None:
        """The next event; None at the end, however often it is asked."""
        return self._events.popleft() if await self._more() else None

    async def block(self) -> ContentBlock | None:
        """The next block; None at the end."""
        while not self._ready:
            if not (self._events or await self._more()):
                return None
            self._ready += self._blocks(self._events.popleft().body)
        return self._ready.popleft()

    async def _more(self) -> bool:
        """Wait while it is empty; False at its end."""
        while not (self._events or self._over):
            self._moved.clear()
            await self._moved.wait()
        return bool(self._events)

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


class Received:
    """The journal of a client's loop: its events wait in a reception, a new one for each run."""

    def __init__(self, *, by_hand: bool) -> None:
        """`by_hand`: as in `Reception`."""
        self.agent_id = new_id()
        self._by_hand = by_hand
        self._run_id: str | None = None
        self._seq = 0
        self._reception = Reception(by_hand=by_hand)

    async def commit(self, *bodies: Body) -> None:
        """Show."""
        for body in bodies:
            self.emit(body)

    def emit(self, body: Body) -> None:
        """Show."""
        self._seq += 1
        self._reception.put(Event(self.agent_id, self._run_id, self._seq, time.time(), body))

    def owe(self, *bodies: Body) -> None:
        """Show: nothing is kept here, so nothing is owed."""
        for body in bodies:
            self.emit(body)

    def begin(self) -> Reception:
        """A run begins: what comes now is received there, and what came before stays where it was."""
        self._run_id = new_id()
        self._reception = Reception(by_hand=self._by_hand)
        return self._reception
