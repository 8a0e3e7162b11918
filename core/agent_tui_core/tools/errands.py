"""Owns one program that is told of a call and then left alone: its start, its last words, its end.

Refuses to know what becomes of the call. The program leads its own session and may outlive us.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from agent_tui_core.errors import ToolError
from agent_tui_core.processes.child import Child
from agent_tui_core.processes.environment import child_environment
from agent_tui_core.processes.output import KeptOutput
from agent_tui_core.processes.pipes import Pipes, Reader

LAST_WORDS = 4_000
"""Characters of its output that are kept."""
_LAST_BYTES = 0.25
_LOOK_EVERY = 5.0


class Errand:
    """A program on its way. Whoever sent it calls `end` or `leave`."""

    def __init__(self, argv: Sequence[str], cwd: Path, environment: Mapping[str, str], input: bytes) -> None:
        """Start it with `input` to read; raises `ToolError` when it cannot be started."""
        pipes = Pipes()
        # A file, not a pipe: nobody has to stay to write the rest.
        with tempfile.TemporaryFile() as said:
            said.write(input)
            said.seek(0)
            try:
                ours, theirs = pipes.incoming()
                self._child = Child(argv, cwd, environment, stdin=said.fileno(), stdout=theirs)
            except BaseException:
                pipes.failed()
                raise
        pipes.started()
        self._descriptor = ours
        self._kept = KeptOutput(LAST_WORDS)
        self._reader = Reader(ours, self._kept)

    @property
    def running(self) -> bool:
        """Whether the program itself lives; what it started may live longer."""
        return not self._child.exited.is_set()

    @property
    def exit_code(self) -> int | None:
        """Negative for a signal; None while it lives."""
        return self._child.exit_code

    async def exited(self) -> None:
        """Wait until the program itself ended."""
        await self._child.exited.wait()

    async def empty(self) -> None:
        """Wait until the program and all of its group are gone.

        Once nobody is left the number of the group may become somebody else's: so somebody has to look.
        """
        await self.exited()
        while True:
            if not self._child.signal(0):
                return
            await asyncio.sleep(_LOOK_EVERY)  # no event tells that a group became empty

    async def last_words(self) -> str:
        """What it wrote, bounded; call it when it ended."""
        with suppress(TimeoutError):  # somebody whom it started may hold the pipe
            async with asyncio.timeout(_LAST_BYTES):
                await self._reader.ended.wait()
        return self._kept.text().strip()

    async def end(self, grace: float = 0.0) -> None:
        """After `grace` seconds to end by itself: TERM, after 2 s KILL, for the whole group."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self.exited()
        finally:
            try:
                await self._child.end()
            finally:
                self._reader.close()
                self._kept.close()

    def leave(self) -> None:
        """Let it run on without us: what it writes goes nowhere from now on, and does not end it."""
        drain = None
        if not self._reader.ended.is_set() and self._child.signal(0):
            drain = os.dup(self._descriptor)
        self._reader.close()
        self._kept.close()
        if drain is not None:
            os.set_blocking(drain, True)
            with suppress(ToolError):
                Child(["cat"], Path("/"), child_environment(os.environ), stdin=drain)
            os.close(drain)


def program(said: str, base: Path) -> str:
    """The program that a setting names; what is no bare name counts from `base`, never from a workspace.

    Raises `ToolError` when there is no such program.
    """
    if "/" in said or said.startswith("~"):
        found = base / Path(said).expanduser()
        if os.access(found, os.X_OK) and found.is_file():
            return str(found)
        raise ToolError(f"there is no program {found} (or it may not be run)")
    whole = os.pathsep.join(
        each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(each).is_absolute()
    )
    if (path := shutil.which(said, path=whole)) is not None:
        return path
    raise ToolError(f"there is no program {said!r} on the PATH")


def how_it_ended(code: int | None) -> str:
    """An exit code in words."""
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
