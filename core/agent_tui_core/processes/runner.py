"""Owns the life of one child process: its own session, a bounded output, a deadline, an end of its group.

Refuses a terminal, input, and every environment variable that is not on the list; knows nothing of shells.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent_tui_core.errors import ToolError
from agent_tui_core.processes.output import OUTPUT_LIMIT, KeptOutput

TERM_GRACE = 2.0
"""Seconds between TERM and KILL."""

_KILL_WAIT = 1.0
_LAST_BYTES = 0.25
_CHUNK = 2**16
_PROCESSES_LOOKED_AT = 2_000
_REPORT_EVERY = 0.1
_REPORT_BYTES = 4_000
_REPORT_BUDGET = 400_000

_ending: set[asyncio.Event] = set()
"""One for each group between its TERM and its KILL; set, it means: do not wait."""

_INHERITED = ("PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL")
_FIXED = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
}


@dataclass(frozen=True, slots=True)
class ProcessOutput:
    """What a process left behind."""

    text: str
    """stdout and stderr as they came, undecodable bytes replaced; bounded, see `KeptOutput.text`."""
    exit_code: int | None
    """Negative for a signal; None when it could not be seen to end."""
    timed_out: bool
    total_bytes: int
    file: Path | None
    """Where more of the output is, when `text` is not all of it."""
    seconds: float


async def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout: float | None,
    report: Callable[[str], None] | None = None,
    environment: Collection[str] = (),
    limit: int = OUTPUT_LIMIT,
) -> ProcessOutput:
    """Run `argv` until it ends, its time is over or this task is cancelled; then nothing of its group lives.

    `report` gets pieces of the output while it runs; `environment` names further variables that the child
    may inherit. The group gets TERM and, 2 s later, KILL; a second cancellation skips the wait. Raises
    `ToolError` when the process cannot be started.
    """
    started = time.monotonic()
    kept = KeptOutput(limit)
    progress = _Progress(report) if report else None
    read_end, write_end = os.pipe()
    try:
        child = _Child(argv, cwd, child_environment(os.environ, environment), write_end)
    except BaseException:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    reader = _Reader(read_end, kept, progress)
    timed_out = False
    try:
        try:
            async with asyncio.timeout(timeout):
                await child.exited.wait()
        except TimeoutError:
            timed_out = True
        finally:
            await _end_whatever_happens(child)
        with suppress(TimeoutError):  # somebody outside the group may still hold the pipe
            async with asyncio.timeout(_LAST_BYTES):
                await reader.ended.wait()
    finally:
        reader.close()
        kept.close()
    return ProcessOutput(
        kept.text(), child.exit_code, timed_out, kept.total, kept.file, time.monotonic() - started
    )


def end_at_once() -> None:
    """Kill, without further grace, every group that is being ended; call it in the event loop's thread."""
    for hurry in _ending:
        hurry.set()


def child_environment(environ: Mapping[str, str], names: Collection[str] = ()) -> dict[str, str]:
    """Return what a child inherits: a short list, what `names` adds, and no key of a provider, ever."""
    allowed = {
        name: value
        for name, value in environ.items()
        if (name in _INHERITED or name.startswith("LC_") or name in names)
        and not name.upper().endswith("API_KEY")
    }
    return allowed | _FIXED


class _Child:
    """A process that leads its own session, and the thread that waits for it.

    asyncio's own `wait` is not used: it can wait for the pipe's end, which a grandchild may hold open. There
    is no await between the start and the owner's `finally`, so a cancellation cannot fall in between.
    """

    def __init__(self, argv: Sequence[str], cwd: Path, environment: dict[str, str], output: int) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603
                list(argv),
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"cannot start the command in {cwd}: {error}") from error
        self.exited = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._gone = False
        try:
            threading.Thread(target=self._reap, name=f"reap-{self._process.pid}", daemon=True).start()
        except RuntimeError as error:
            self.signal(signal.SIGKILL)
            self._process.wait()
            raise ToolError(f"cannot watch the command: {error}") from error

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode

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

    async def gone(self, seconds: float, hurry: asyncio.Event) -> bool:
        """Wait until leader and group are gone; False after `seconds`, or when hurried."""
        deadline = time.monotonic() + seconds
        pause = 0.002
        while not self.exited.is_set() or self.signal(0):
            if hurry.is_set() or time.monotonic() >= deadline:
                return False
            await asyncio.sleep(pause)  # no event tells that a group became empty
            pause = min(pause * 2, 0.1)
            if self.exited.is_set() and pause > 0.01 and _only_zombies(self._process.pid):
                self._gone = True
        return True

    def _reap(self) -> None:
        self._process.wait()
        with suppress(RuntimeError):  # the loop was closed before an unkillable process ended
            self._loop.call_soon_threadsafe(self.exited.set)


def _only_zombies(group: int) -> bool:
    """Whether all that is left of a group is dead and only waits to be collected by a slow init."""
    try:
        with os.scandir("/proc") as entries:
            numbers = [entry.name for entry in entries if entry.name.isdecimal()]
    except OSError:
        return False  # no /proc on this system
    if len(numbers) > _PROCESSES_LOOKED_AT:
        return False
    for number in numbers:
        with suppress(OSError):
            fields = Path("/proc", number, "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[2]) == group and fields[0] not in (b"Z", b"X"):
                return False
    return True


async def _end_whatever_happens(child: _Child) -> None:
    """End the group; cancellations meanwhile hurry it up and are passed on when it is done."""
    hurry = asyncio.Event()
    ending = asyncio.create_task(_end_group(child, hurry))
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


async def _end_group(child: _Child, hurry: asyncio.Event) -> None:
    if child.exited.is_set() and not child.signal(0):
        return
    child.signal(signal.SIGTERM)
    try:
        await child.gone(TERM_GRACE, hurry)
    finally:
        child.signal(signal.SIGKILL)
    await child.gone(_KILL_WAIT, asyncio.Event())


class _Reader:
    """Moves bytes from the pipe to where they are kept, a bounded chunk for each turn of the event loop."""

    def __init__(self, descriptor: int, kept: KeptOutput, progress: _Progress | None) -> None:
        self.ended = asyncio.Event()
        self._descriptor = descriptor
        self._kept = kept
        self._progress = progress
        self._loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def close(self) -> None:
        if not self.ended.is_set():
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self.ended.set()
            if self._progress:
                self._progress.close()

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            return
        self._kept.feed(chunk)
        if self._progress:
            self._progress.feed(chunk)


class _Progress:
    """Passes output on at a pace that a person can see: at most ten small pieces a second, then sparser."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._waiting = bytearray()
        self._skipped = False
        self._budget = _REPORT_BUDGET
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0

    def feed(self, chunk: bytes) -> None:
        self._waiting += chunk[-_REPORT_BYTES:]
        if len(self._waiting) > _REPORT_BYTES or len(chunk) > _REPORT_BYTES:
            del self._waiting[:-_REPORT_BYTES]
            self._skipped = True
        if self._timer is None:
            self._timer = self._loop.call_at(max(self._next, self._loop.time()), self._flush)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._flush(final=True)

    def _flush(self, *, final: bool = False) -> None:
        self._timer = None
        spent = self._budget <= 0
        piece = bytes(self._waiting[-200:] if spent else self._waiting)
        if self._skipped or spent:
            self._decoder.reset()
            piece = b"\n" + (piece.partition(b"\n")[2] or piece)
        text = self._decoder.decode(piece, final)
        self._waiting.clear()
        self._skipped = False
        self._budget -= len(text)
        self._next = self._loop.time() + (_REPORT_EVERY if self._budget > 0 else 10 * _REPORT_EVERY)
        if text:
            self._report(text)
