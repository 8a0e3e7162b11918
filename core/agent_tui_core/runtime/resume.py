"""Owns what an end of the program leaves open in one agent's past, and what becomes of each of it.

Refuses to read or write a database. Calls that wait for somebody outside can be gone on with, all else ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TypeAlias

from agent_tui_core.agent.conversation import CANCELLED, CUT_OFF, PROGRAM_ENDED
from agent_tui_core.agent.outside import LeftCalls, WaitsOutside
from agent_tui_core.agent.prompts import with_words
from agent_tui_core.blocks import Image, Text, ToolResult
from agent_tui_core.events import (
    Body,
    MessageCommitted,
    RunEnded,
    RunStarted,
    ToolEnded,
    ToolProposed,
    ToolStarted,
)
from agent_tui_core.messages import Message, QueuedPrompt, Usage
from agent_tui_core.records import dataclass

TOO_LATE = "no result came from outside in time: it was waited for until {}, when the program did not run"

Happened: TypeAlias = tuple[str, float, Body]
"""Run id, seconds since the epoch, and what happened."""


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """What has to be committed so that the last run has its end, or can be gone on with."""

    run_id: str
    bodies: tuple[Body, ...]
    prompt: QueuedPrompt | None = None
    """The prompt that nothing came of: it waits in the queue again."""
    calls: LeftCalls | None = None
    """The run goes on with these calls: some of them wait for somebody outside."""

    def given_up(self) -> tuple[list[Body], RunEnded]:
        """What ends a run that could go on, because a person does not want it to."""
        assert self.calls is not None
        results = dict(self.calls.results)
        bodies: list[Body] = []
        for key, call in self.calls.calls:
            if key not in results:
                results[key] = ToolResult(call.id, CANCELLED, is_error=True)
                bodies.append(ToolEnded(key, results[key], "cancelled", 0.0))
        bodies.append(MessageCommitted(Message("tool", tuple(results[key] for key, _ in self.calls.calls))))
        ended = RunEnded("interrupted", "by you", self.calls.iterations, self.calls.usage)
        return bodies, ended


@dataclass(slots=True)
class _LastRun:
    run_id: str
    prompt: Message | None
    committed: bool = False
    """The prompt is in the conversation."""
    calls: list[ToolProposed] = field(default_factory=list)
    """The calls of the last assistant message, while no tool message follows it."""
    results: dict[str, ToolResult] = field(default_factory=dict)
    outside: dict[str, WaitsOutside] = field(default_factory=dict)
    """The calls that somebody outside has, by key."""
    iterations: int = 0
    usage: Usage = field(default_factory=Usage)


def left_open(
    past: Sequence[Happened], goes_on: Callable[[str, float], bool] = lambda _key, _until: False
) -> LeftOpen | None:
    """Return what becomes of the last run; None when it has its end.

    `goes_on(key, until)` says whether a call that somebody outside has is worth waiting for.
    """
    run = _last_run(past)
    if run is None:
        return None
    waiting = {
        key: waits
        for key, waits in run.outside.items()
        if key not in run.results and goes_on(key, waits.until)
    }
    bodies: list[Body] = []
    for proposed in run.calls:
        if proposed.key not in run.results and proposed.key not in waiting:
            ended = _ended(proposed, run.outside.get(proposed.key))
            run.results[proposed.key] = ended.result
            bodies.append(ended)
    if waiting:
        calls = tuple((each.key, each.call) for each in run.calls)
        left = LeftCalls(calls, run.results, waiting, run.iterations, run.usage)
        return LeftOpen(run.run_id, tuple(bodies), calls=left)
    if run.calls:
        results = tuple(run.results[each.key] for each in run.calls)
        bodies.append(MessageCommitted(Message("tool", results)))
    bodies.append(RunEnded("interrupted", PROGRAM_ENDED, run.iterations, Usage()))
    unsent = None if run.committed or run.prompt is None else _unsent(run.prompt)
    return LeftOpen(run.run_id, tuple(bodies), unsent)


def unanswered(past: Sequence[Happened]) -> tuple[QueuedPrompt, str] | None:
    """The prompt of the last run, where nothing came of it, and why; None when something did."""
    prompt: Message | None = None
    reason = ""
    for _, _, body in past:
        match body:
            case RunStarted():
                prompt = body.prompt
            case MessageCommitted(message) if prompt is not None and message.id == prompt.id:
                prompt = None
            case RunEnded():
                reason = body.reason or body.end
            case _:
                pass
    return None if prompt is None else (_unsent(prompt), reason)


def _ended(proposed: ToolProposed, waited: WaitsOutside | None) -> ToolEnded:
    if waited is None or time.time() < waited.until:
        result = ToolResult(proposed.call.id, CUT_OFF, is_error=True)
        return ToolEnded(proposed.key, result, "cancelled", 0.0)
    words = TOO_LATE.format(time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(waited.until)))
    result = ToolResult(proposed.call.id, words, is_error=True)
    return ToolEnded(proposed.key, result, "timed_out", waited.until - waited.since)


def _last_run(past: Sequence[Happened]) -> _LastRun | None:
    run: _LastRun | None = None
    for run_id, at, body in past:
        match body:
            case RunStarted(prompt):
                run = _LastRun(run_id, prompt)
            case RunEnded():
                run = None
            case _ if run is not None:
                _follow(run, at, body)
            case _:
                pass
    return run


def _follow(run: _LastRun, at: float, body: Body) -> None:
    match body:
        case MessageCommitted(message):
            run.committed = run.committed or message.role == "user"
            run.iterations += message.role == "assistant"
            run.usage = run.usage.plus(message.usage or Usage())
            if message.role == "tool":
                run.calls.clear()
        case ToolProposed():
            run.calls.append(body)
        case ToolStarted(key, input, until) if until is not None:
            run.outside[key] = WaitsOutside(input, at, until)
        case ToolEnded(key=key, result=result):
            run.results[key] = result
        case _:
            pass


def _unsent(prompt: Message) -> QueuedPrompt:
    """The prompt as it was before it became a message; behind the first text is what hooks added."""
    written = next((block.text for block in prompt.blocks if isinstance(block, Text)), "")
    pictures = tuple(block for block in prompt.blocks if isinstance(block, Image))
    return QueuedPrompt(prompt.id, written, blocks=with_words(pictures, written) if pictures else ())
