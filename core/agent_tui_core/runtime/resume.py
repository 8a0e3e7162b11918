"""Owns what a crash leaves open in one agent's past, and how it ends; refuses to read or write a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from agent_tui_core.blocks import Text, ToolResult
from agent_tui_core.events import (
    Body,
    MessageCommitted,
    RunEnded,
    RunStarted,
    ToolEnded,
    ToolProposed,
)
from agent_tui_core.messages import Message, Usage

INTERRUPTED = "interrupted: the program ended before this call had a result"

Happened: TypeAlias = tuple[str, float, Body]
"""Run id, seconds since the epoch, and what happened."""


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """What has to be committed so that the last run has its end."""

    run_id: str
    bodies: tuple[Body, ...]
    prompt: str | None
    """The prompt that nothing came of: it goes back to the person."""


@dataclass(slots=True)
class _LastRun:
    run_id: str
    prompt: Message | None
    committed: bool = False
    """The prompt is in the conversation."""
    calls: list[ToolProposed] = field(default_factory=list)
    """The calls of the last assistant message, while no tool message follows it."""
    results: dict[str, ToolResult] = field(default_factory=dict)
    iterations: int = 0


def left_open(past: Sequence[Happened]) -> LeftOpen | None:
    """Return what ends the last run; None when it has its end."""
    run = _last_run(past)
    if run is None:
        return None
    bodies: list[Body] = []
    results = []
    for proposed in run.calls:
        result = run.results.get(proposed.key)
        if result is None:
            result = ToolResult(proposed.call.id, INTERRUPTED, is_error=True)
            bodies.append(ToolEnded(proposed.key, result, "cancelled", 0.0))
        results.append(result)
    if results:
        bodies.append(MessageCommitted(Message("tool", tuple(results))))
    bodies.append(RunEnded("interrupted", "the program ended", run.iterations, Usage()))
    unsent = None if run.committed or run.prompt is None else _written(run.prompt)
    return LeftOpen(run.run_id, tuple(bodies), unsent)


def _last_run(past: Sequence[Happened]) -> _LastRun | None:
    run: _LastRun | None = None
    for run_id, _, body in past:
        match body:
            case RunStarted(prompt):
                run = _LastRun(run_id, prompt)
            case RunEnded():
                run = None
            case _ if run is not None:
                _follow(run, body)
            case _:
                pass
    return run


def _follow(run: _LastRun, body: Body) -> None:
    match body:
        case MessageCommitted(message):
            run.committed = run.committed or message.role == "user"
            run.iterations += message.role == "assistant"
            if message.role == "tool":
                run.calls.clear()
        case ToolProposed():
            run.calls.append(body)
        case ToolEnded(key=key, result=result):
            run.results[key] = result
        case _:
            pass


def _written(prompt: Message) -> str:
    return next((block.text for block in prompt.blocks if isinstance(block, Text)), "")
