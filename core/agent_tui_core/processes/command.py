"""Owns one command of an agent: in its sandbox if there is one, and what it leaves running when it ended.

Refuses to judge the command. An interrupt or a deadline ends all of it; what ends by itself may leave more.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from agent_tui_core.errors import ToolError
from agent_tui_core.processes.background import AgentBackground, LeftRunning
from agent_tui_core.processes.environment import child_environment
from agent_tui_core.processes.output import OUTPUT_LIMIT
from agent_tui_core.processes.runner import ProcessOutput, Run
from agent_tui_core.processes.sandbox import AgentSandbox
from agent_tui_core.records import dataclass

SETTLE = 0.25
"""Seconds that what a command started may go on before it counts as left running."""


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """What became of a command."""

    output: ProcessOutput
    left: LeftRunning | None = None
    """What goes on."""
    ended: bool = False
    """Something went on and was ended, because it had to."""
    boxed: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command runs."""

    cwd: Path
    sandbox: AgentSandbox | None = None
    background: AgentBackground | None = None
    """Without it, nothing that a command started outlives it."""
    environment: tuple[str, ...] = ()


async def run_command(
    argv: Sequence[str],
    shown: str,
    place: Place,
    *,
    timeout: float,
    report: Callable[[str], None] | None = None,
    spawned: Callable[[int], None] = lambda _pid: None,
) -> CommandOutput:
    """Run `argv`, which a person knows as `shown`, until it ends, its time is over or this task is cancelled.

    `report` gets pieces of its output, `spawned` the id of its process.
    Raises `ToolError` when it cannot be started, or only without the sandbox that it has to run in.
    """
    started = time.monotonic()
    run = await _started(argv, place, report)
    spawned(run.child.pid)
    adopted: LeftRunning | None = None
    timed_out = more = False
    try:
        try:
            async with asyncio.timeout(timeout):
                more = await _command_ended(run)
        except TimeoutError:
            timed_out = True
        if more and place.background is not None and not place.background.full:
            adopted = place.background.adopt(run, shown)
    finally:
        if adopted is None:
            await _closed(run)
    seconds = time.monotonic() - started
    if run.status.trouble and run.out.total == 0 and not timed_out:
        raise ToolError(f"the sandbox could not be made, so nothing was run: {run.status.trouble}")
    output = run.result(timed_out, seconds)
    if run.status.exit_code is not None:
        output = replace(output, exit_code=run.status.exit_code)
    return CommandOutput(output, adopted, more and adopted is None, run.boxed)


async def _started(argv: Sequence[str], place: Place, report: Callable[[str], None] | None) -> Run:
    environment = child_environment(os.environ, place.environment)
    descriptors: list[int] = []
    boxed = None
    try:
        if place.sandbox is not None:
            boxed = await _finished(place.sandbox.wrapped, argv, descriptors)
            environment |= place.sandbox.variables if boxed else {}
        return Run(
            boxed or argv,
            place.cwd,
            environment,
            limit=OUTPUT_LIMIT,
            report=report,
            boxed=boxed is not None,
            keep=descriptors,
        )
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


async def _finished(
    wrapped: Callable[[Sequence[str], list[int]], list[str] | None],
    argv: Sequence[str],
    descriptors: list[int],
) -> list[str] | None:
    """Do it in a thread, and come back only when that is done: until then it opens descriptors."""
    thread = asyncio.ensure_future(asyncio.to_thread(wrapped, argv, descriptors))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.wait({thread})
        raise


async def _command_ended(run: Run) -> bool:
    """Wait for the command itself; return whether something that it started goes on."""
    await run.news.wait()
    if run.child.exited.is_set() and (run.boxed or not run.child.signal(0)):
        return False
    deadline = time.monotonic() + SETTLE
    while run.child.members():
        if time.monotonic() > deadline:
            return True
        await asyncio.sleep(0.02)
    return False


async def _closed(run: Run) -> None:
    try:
        if not _is_over(run):
            await run.child.end()
        await run.last_bytes()
    finally:
        run.close()


def _is_over(run: Run) -> bool:
    """Whether the warden of a sandbox saw nobody else and ended: what is left is an end that is under way."""
    code = run.child.exit_code
    return run.boxed and run.child.exited.is_set() and code is not None and 0 <= code < 128
