"""Owns a child that leads its own session: its start, the thread that waits for it, the end of its group.

Refuses to read what it says, and to wait for anything but its own end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from agent_tui_core.errors import ToolError
from agent_tui_core.processes.table import descendants, group_members, number_inside

TERM_GRACE = 2.0
"""Seconds between TERM and KILL."""

_KILL_WAIT = 1.0
_WARDENS = frozenset({1, 2})
"""The numbers, in a sandbox, of the two that wait for the command and end with it."""

_ending: set[asyncio.Event] = set()
"""One for each group between its TERM and its KILL; set, it means: do not wait."""


def end_at_once() -> None:
    """Kill, without further grace, every group that is being ended; call it in the event loop's thread."""
    for hurry in _ending:
        hurry.set()


class Child:
    """A process that leads its own session and has no terminal; `boxed`, it is the sandbox of a command.

    asyncio's own `wait` is not used: it can wait for the pipe's end, which a grandchild may hold open. There
    is no await between the start and the owner's `finally`, so a cancellation cannot fall in between.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        *,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.DEVNULL,
        stderr: int = subprocess.STDOUT,
        boxed: bool = False,
        news: asyncio.Event | None = None,
        keep: Sequence[int] = (),
    ) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603
                list(argv),
                cwd=cwd,
                env=dict(environment),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                pass_fds=tuple(keep),
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"cannot start the command in {cwd}: {error}") from error
        self.exited = asyncio.Event()
        """Set when the process itself ended; others of its group may live."""
        self._news = news
        self._loop = asyncio.get_running_loop()
        self._boxed = boxed
        self._gone = False
        try:
            threading.Thread(target=self._reap, name=f"reap-{self._process.pid}", daemon=True).start()
        except RuntimeError as error:
            self.signal(signal.SIGKILL)
            self._process.wait()
            raise ToolError(f"cannot watch the command: {error}") from error

    @property
    def pid(self) -> int:
        """Its number, which is that of its group too."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Negative for a signal; None while it lives."""
        return self._process.returncode

    def members(self) -> list[int]:
        """Return who of its group lives, or of its sandbox, whatever they did to leave; wardens left out."""
        # Who forks and ends while the table is read gives its child to a parent that was looked at already.
        return self._members() or self._members()

    def _members(self) -> list[int]:
        if self._boxed:
            return [pid for pid in descendants(self.pid) if number_inside(pid) not in _WARDENS]
        if self._gone or not self.signal(0):
            return []
        living = group_members(self.pid)
        return [self.pid] if living is None else living

    def signal(self, number: int) -> bool:
        """Send to the whole group; False when there is nobody left who could get it."""
        # Once the group was seen empty its number may belong to somebody else.
        if not self._gone:
            try:
                os.killpg(self._process.pid, number)
            except (ProcessLookupError, PermissionError):
                self._gone = self.exited.is_set()
                return not self._gone
        return not self._gone

    async def end(self) -> None:
        """TERM, after 2 s KILL, and the wait until the group is gone.

        Cancellations meanwhile hurry it up and are passed on when it is done.
        """
        hurry = asyncio.Event()
        ending = asyncio.create_task(self._end(hurry))
        cancelled = False
        _ending.add(hurry)
        while not ending.done():
            try:
                await asyncio.shield(ending)
            except asyncio.CancelledError:
                cancelled = True
                hurry.set()
        _ending.discard(hurry)
        if cancelled:
            raise asyncio.CancelledError

    async def _end(self, hurry: asyncio.Event) -> None:
        if self.exited.is_set() and not self.signal(0):
            return
        if self._boxed:
            # The sandbox would end at once, and with it, without a word, all that is in it.
            for pid in self.members():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGTERM)
        else:
            self.signal(signal.SIGTERM)
        try:
            await self._is_gone(TERM_GRACE, hurry)
        finally:
            self.signal(signal.SIGKILL)
        await self._is_gone(_KILL_WAIT, asyncio.Event())

    async def _is_gone(self, seconds: float, hurry: asyncio.Event) -> bool:
        """Wait until leader and group are gone; False after `seconds`, or when hurried."""
        deadline = time.monotonic() + seconds
        pause = 0.002
        while not self.exited.is_set() or self.signal(0):
            if hurry.is_set() or time.monotonic() >= deadline:
                return False
            await asyncio.sleep(pause)  # no event tells that a group became empty
            pause = min(pause * 2, 0.1)
            if self._boxed and not self.exited.is_set() and not self.members():
                return True
            # The dead can wait long to be collected by a slow init.
            if self.exited.is_set() and pause > 0.01 and group_members(self.pid) == []:
                self._gone = True
        return True

    def _reap(self) -> None:
        self._process.wait()
        with suppress(RuntimeError):  # the loop was closed before an unkillable process ended
            self._loop.call_soon_threadsafe(self._has_exited)

    def _has_exited(self) -> None:
        self.exited.set()
        if self._news is not None:
            self._news.set()
