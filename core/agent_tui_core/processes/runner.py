"""Owns one run of a program from its start to the end of its group: input, a bounded output, a deadline.

Refuses a terminal and every environment variable that is not on the list; knows nothing of shells.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from agent_tui_core.errors import ToolError
from agent_tui_core.processes.child import Child
from agent_tui_core.processes.environment import child_environment
from agent_tui_core.processes.output import OUTPUT_LIMIT, KeptOutput
from agent_tui_core.processes.pipes import Pipes, Progress, Reader, Writer
from agent_tui_core.processes.warden import Status
from agent_tui_core.records import dataclass
from agent_tui_core.system_limits import system_limit

_LAST_BYTES = 0.25


@dataclass(frozen=True, slots=True)
class ProcessOutput:
    """What a process left behind."""

    text: str
    """What it wrote, undecodable bytes replaced; bounded, see `KeptOutput.text`. stdout and stderr as they
    came, or stdout alone when they were taken apart."""
    exit_code: int | None
    """Negative for a signal; None when it could not be seen to end."""
    timed_out: bool
    total_bytes: int
    file: Path | None
    """Where more of the output is, when `text` is not all of it."""
    seconds: float
    errors: str = ""
    """stderr, bounded in the same way, when it was taken apart."""


async def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout: float | None,
    report: Callable[[str], None] | None = None,
    environment: Collection[str] = (),
    variables: Mapping[str, str] | None = None,
    limit: int = OUTPUT_LIMIT,
    input: bytes | None = None,
    separate: bool = False,
) -> ProcessOutput:
    """Run `argv` until it ends, its time is over or this task is cancelled; then nothing of its group lives.

    `report` gets pieces of the output while it runs; `environment` names further variables that the child may
    inherit, `variables` are set for it. `input` is all it can read; with `separate` stderr is kept apart. The
    group gets TERM and, 2 s later, KILL; a second cancellation skips the wait. Raises `ToolError` when the
    process cannot be started.
    """
    started = time.monotonic()
    given = child_environment(os.environ, environment) | dict(variables or {})
    run = Run(argv, cwd, given, limit=limit, report=report, input=input, separate=separate)
    timed_out = False
    try:
        try:
            async with asyncio.timeout(timeout):
                await run.child.exited.wait()
        except TimeoutError:
            timed_out = True
        finally:
            await run.child.end()
        await run.last_bytes()
    finally:
        run.close()
    return run.result(timed_out, time.monotonic() - started)


class Run:
    """A started child and what moves its bytes; whoever made it ends the child and closes this."""

    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        *,
        limit: int,
        report: Callable[[str], None] | None = None,
        input: bytes | None = None,
        separate: bool = False,
        boxed: bool = False,
        keep: Sequence[int] = (),
    ) -> None:
        self.boxed = boxed
        self.news = asyncio.Event()
        """Set when the command ended, or all of its sandbox."""
        self.status = Status(self.news)
        """What the warden of a sandbox says, in the place of stderr."""
        pipes = Pipes()
        try:
            out, child_out = pipes.incoming()
            err, child_err = pipes.incoming() if separate or boxed else (None, subprocess.STDOUT)
            into, child_in = pipes.outgoing() if boxed or input is not None else (None, subprocess.DEVNULL)
            self.child = Child(
                argv,
                cwd,
                environment,
                stdin=child_in,
                stdout=child_out,
                stderr=child_err,
                boxed=boxed,
                news=self.news,
                keep=keep,
            )
        except OSError as error:
            pipes.failed()
            raise ToolError(f"cannot start the command: {system_limit(error) or error}") from error
        except BaseException:
            pipes.failed()
            raise
        pipes.started()
        self.out = KeptOutput(limit)
        self.errors = KeptOutput(limit)
        self.reader = Reader(out, self.out, Progress(report) if report else None)
        self._error_reader = None if err is None else Reader(err, self.status if boxed else self.errors)
        # A warden goes when its input ends, so nothing is written to it.
        self._writer = None if into is None else Writer(into, input)

    async def last_bytes(self) -> None:
        """Wait for the ends of the pipes, shortly: somebody outside the group may still hold them."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_BYTES):
                await self.reader.ended.wait()
                if self._error_reader is not None:
                    await self._error_reader.ended.wait()

    def close(self) -> None:
        """Move no more bytes."""
        self.reader.close()
        if self._error_reader is not None:
            self._error_reader.close()
        if self._writer is not None:
            self._writer.close()
        self.out.close()
        self.errors.close()

    def result(self, timed_out: bool, seconds: float) -> ProcessOutput:
        """What there is to say of it once it was closed."""
        return ProcessOutput(
            self.out.text(),
            self.child.exit_code,
            timed_out,
            self.out.total + self.errors.total,
            self.out.file,
            seconds,
            self.errors.text(),
        )
