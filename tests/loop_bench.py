"""Owns one agent on a bench: real worker, loop, calls, rules and desk, a clock and a model moved by hand.

Refuses to wait: a step runs the event loop for a number of turns, so a next step can fall into the middle.
"""

from __future__ import annotations

import asyncio
import itertools
import selectors
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any, Self, TypeVar

from agent_tui_core.agent.approvals import ApprovalDesk
from agent_tui_core.agent.calls import Calls
from agent_tui_core.agent.conversation import Conversation
from agent_tui_core.agent.gate import AgentIdentity, PersonGate
from agent_tui_core.agent.loop import Loop, LoopSettings
from agent_tui_core.agent.permissions import PermissionRules, Permissions
from agent_tui_core.blocks import Json
from agent_tui_core.errors import HistoryError, ProviderError
from agent_tui_core.events import (
    Body,
    Event,
    MessageCommitted,
    RunEnded,
    RunStarted,
    StreamEvent,
    ToolEnded,
    ToolProposed,
)
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.messages import Message, ModelRequest
from agent_tui_core.runtime.entries import EndEntry, ProseEntry, ToolEntry, UserEntry
from agent_tui_core.runtime.journal import WorkerJournal
from agent_tui_core.runtime.outbox import Outbox, Subscription
from agent_tui_core.runtime.resume import Happened
from agent_tui_core.runtime.transcript import Transcript
from agent_tui_core.runtime.worker import Worker, WorkerIdentity
from agent_tui_core.tools.base import Tool, ToolContext
from agent_tui_core.tools.registry import ToolRegistry
from agent_tui_core.wire.openai import request_body
from strict_validator import check_chat_request, check_messages

T = TypeVar("T")
AT_REST = {"idle", "interrupted", "failed", "limit"}
TURNS = 1000
"""Turns of the event loop after which nothing moves any more, if it does not wait for a hand."""


class _Turns(selectors.DefaultSelector):
    """Stops its event loop when nothing is ready any more, or after a number of turns."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None
        self.stop: Callable[[], None] = lambda: None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Never wait while turns are counted."""
        if self.left is None:
            return super().select(timeout)
        self.left -= 1
        if timeout != 0 or self.left < 0:
            self.stop()
        return super().select(0)


class ManualTime(asyncio.SelectorEventLoop):
    """An event loop that is moved by hand: its turns and its clock."""

    def __init__(self) -> None:
        self._turns = _Turns()
        super().__init__(self._turns)
        self._turns.stop = self.stop
        self.now = 0.0

    def time(self) -> float:
        """What the clock says."""
        return self.now

    def turn(self, turns: int) -> None:
        """Go on for so many turns, or until nothing is ready."""
        self._turns.left = turns
        try:
            self.run_forever()
        finally:
            self._turns.left = None


class HandMadeModel:
    """Streams what is put into `line`, and judges each request by the rules."""

    def __init__(self) -> None:
        self.line: asyncio.Queue[StreamEvent | ProviderError] | None = None
        """Of the stream that is open."""
        self.open = 0
        self.calls = 0
        """Calls that the open stream has begun."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield what comes, until an error comes or the answer ends."""
        check_chat_request(request_body(request))
        line: asyncio.Queue[StreamEvent | ProviderError] = asyncio.Queue()
        self.line = line
        self.open += 1
        self.calls = 0
        try:
            while True:
                step = await line.get()
                if isinstance(step, ProviderError):
                    raise step
                yield step
                if type(step).__name__ == "AnswerEnded":
                    return
        finally:
            self.open -= 1
            self.line = None

    async def models(self) -> list[str]:
        """One."""
        return ["m"]

    async def aclose(self) -> None:
        """Nothing is held."""


class Bench:
    """One agent through all its lives; `happened` is its history."""

    def __init__(self) -> None:
        self.loop = ManualTime()
        self.model = HandMadeModel()
        self.running: list[asyncio.Future[str]] = []
        """The tools that run, oldest first."""
        self.happened: list[Happened] = []
        self.records_left = 10**9
        """How often history can be written before the disk is full."""
        self.refusals_left = 10**9
        """How often it cannot be written then, before there is room again."""
        self.worker: Worker
        self.desk: ApprovalDesk
        self.events: list[Event]
        self.journal: WorkerJournal
        self._subscription: Subscription
        self.run(self.revive())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do this on the bench's own event loop."""
        return self.loop.run_until_complete(work)

    def turn(self, turns: int = TURNS) -> None:
        """Let everything go on for so many turns."""
        self.act(lambda: None, turns)

    def act(self, do: Callable[[], T], turns: int = TURNS) -> T:
        """Do this, then let everything go on for so many turns."""
        done: list[T] = []
        self.loop.call_soon(lambda: done.append(do()))
        self.loop.turn(turns)
        self.events += self._subscription.take()
        [value] = done
        return value

    def say(self, *steps: StreamEvent | ProviderError, turns: int = TURNS) -> None:
        """Let the model send this on the stream that is open."""
        line = self.model.line
        assert line is not None, "no stream is open"

        def put() -> None:
            for step in steps:
                line.put_nowait(step)

        self.act(put, turns)

    def close(self) -> None:
        """End everything, whatever state it is in."""
        self.run(_cancel_all())
        self.loop.close()

    async def revive(self) -> None:
        """Begin a life from what history has; the one before ends as by kill -9."""
        self.happened = list(self.happened)  # what the old life still records goes nowhere
        await _cancel_all()
        self.model.line = None
        self.running.clear()
        self._assemble(self.happened)
        self.events = []
        self._subscription = self.worker.subscribe()
        self._subscription.take()  # a picture of the present, which counts as no event
        await self.worker.restore(list(self.happened))
        self.events += self._subscription.take()

    def _assemble(self, happened: list[Happened]) -> None:
        async def record(run_id: str, *bodies: Body) -> None:
            await asyncio.sleep(0)
            self.records_left -= 1
            if self.records_left < 0 < self.refusals_left:
                self.refusals_left -= 1
                raise HistoryError("the disk is full")
            happened.extend((run_id, self.loop.now, body) for body in bodies)

        folder = Path("/")
        outbox = Outbox("agent")
        self.journal = journal = WorkerJournal(outbox, record)
        conversation = Conversation()
        schema: dict[str, Json] = {"type": "object", "properties": {"a": {"type": "integer"}}}
        tools = ToolRegistry(
            [
                Tool("Peek", "Looks.", schema, self._work, writes=False),
                Tool("Poke", "Changes.", schema, self._work),
            ]
        )
        permissions = Permissions(PermissionRules(allow=["Peek"]))
        self.desk = ApprovalDesk(lambda _request, answer: permissions.session.add_allow(answer.rule))
        gate = PersonGate(AgentIdentity("agent", "a", "m", folder), permissions, self.desk)
        hooks = Hooks()
        calls = Calls(tools, hooks, gate, journal, ToolContext(folder, "agent"))
        settings = LoopSettings("m", tools=tools, max_tool_iterations=2, retries=2)
        loop = Loop(self.model, conversation, calls, journal, settings, jitter=lambda: 1.0)
        who = WorkerIdentity("agent", 1, "a", "m", "p", folder)
        self.worker = Worker(who, conversation, outbox, journal, loop, hooks)

    async def _work(self, _input: dict[str, Any]) -> str:
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.running.append(done)
        try:
            return await done
        finally:
            self.running.remove(done)

    # --- what always holds ----------------------------------------------------------------------------------

    def check(self, *, wholly: bool = True) -> None:
        """Raise AssertionError when an invariant is broken.

        `wholly`: also what would be sent next (the model judges what is sent), and what history would tell.
        """
        sequence = [event.seq for event in self.events]
        assert sequence == sorted(set(sequence)), "events are numbered in order"
        if not self.worker.busy:
            self._check_rest()
            happened = self.told_to_history()
            self._check_ends(happened)
            if wholly:
                self._check_told(happened)
        if wholly:
            self._check_request()

    def _check_request(self) -> None:
        messages = self.worker.conversation.request
        wire = request_body(ModelRequest("m", messages))["messages"]
        if wire:
            probe = [] if wire[-1]["role"] != "assistant" else [{"role": "user", "content": "and then?"}]
            check_messages([*wire, *probe])

    def told_to_history(self) -> list[Happened]:
        """What history has, and what it will have before anything else."""
        owed = [(run_id, self.loop.now, body) for run_id, bodies in self.journal.owed for body in bodies]
        return [*self.happened, *owed]

    def _check_rest(self) -> None:
        assert self.worker.state in AT_REST, self.worker.state
        assert self.desk.pending == ()
        assert self.running == []
        assert self.model.open == 0
        assert not asyncio.all_tasks(self.loop), "every task has ended"

    def _check_ends(self, happened: list[Happened]) -> None:
        for bodies in ([event.body for event in self.events], [body for _, _, body in happened]):
            proposed = Counter(body.key for body in bodies if isinstance(body, ToolProposed))
            ended = Counter(body.key for body in bodies if isinstance(body, ToolEnded))
            assert proposed == ended, "each call has one end"
            assert set(proposed.values()) <= {1}
        runs = [(run_id, body) for run_id, _, body in happened if isinstance(body, RunStarted | RunEnded)]
        for (first, opening), (second, closing) in zip(runs[::2], runs[1::2], strict=True):
            assert first == second
            assert isinstance(opening, RunStarted)
            assert isinstance(closing, RunEnded)
        committed = [body.message for _, _, body in happened if isinstance(body, MessageCommitted)]
        assert tuple(committed) == self.worker.conversation.messages, "history is the conversation"
        _check_alternation(committed)
        _check_results(happened)

    def _check_told(self, happened: list[Happened]) -> None:
        replayed = [Event("agent", run_id, n, at, body) for n, (run_id, at, body) in enumerate(happened)]
        begun = {run_id for run_id, _, body in happened if isinstance(body, RunStarted)}
        seen = told([each for each in self.events if each.run_id in begun or each.run_id is None])
        kept = told(replayed)
        assert seen == kept, f"what was seen is what history tells: {seen} != {kept}"


def told(events: list[Event]) -> list[tuple[object, ...]]:
    """What a transcript says, without what history does not keep: cut calls, blank words, notices."""
    transcript = Transcript()
    transcript.apply(events)
    said: list[tuple[object, ...]] = []
    for entry in transcript.entries:
        match entry:
            case UserEntry():
                said.append(("user", entry.text, entry.staged))
            case ProseEntry() if entry.text.strip():
                said.append((entry.kind, entry.text, entry.cut))
            case ToolEntry() if entry.key:
                said.append((entry.key, entry.name, entry.status, entry.result, entry.decided_by, entry.rule))
            case EndEntry():
                said.append(("end", entry.end, entry.reason))
            case _:
                pass
    assert transcript.waiting == {}
    return said


def _check_alternation(messages: list[Message]) -> None:
    """No user message stands alone: it is committed with what came of it."""
    for message, following in itertools.pairwise([*messages, None]):
        assert message is not None
        if message.role == "user":
            assert following is not None
            assert following.role == "assistant"


def _check_results(happened: list[Happened]) -> None:
    """The model reads of each call what its end says, and nothing else."""
    keys: list[str] = []
    ends = {body.key: body.result for _, _, body in happened if isinstance(body, ToolEnded)}
    for _, _, body in happened:
        if isinstance(body, ToolProposed):
            keys.append(body.key)
        elif isinstance(body, MessageCommitted) and body.message.role == "tool":
            assert [ends[key] for key in keys] == list(body.message.tool_results)
            keys.clear()
    assert keys == []


async def _cancel_all() -> None:
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in others:
            task.cancel()
        await asyncio.wait(others)
