"""Owns the moving of bytes to and from a child's pipes, a bounded piece for each turn of the event loop.

Refuses to wait: a child that neither reads nor writes holds up nobody.
"""

from __future__ import annotations

import asyncio
import os
from codecs import getincrementaldecoder
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

_CHUNK = 2**16
_LAST_CHUNKS = 32
_AT_FULL_SPEED = 16 * 2**20
_REST = 0.002
"""Seconds between two pieces of a flood: what writes for ever shall not take a whole core of ours."""
_REPORT_EVERY = 0.1
_REPORT_BYTES = 4_000
_REPORT_BUDGET = 400_000


class Sink(Protocol):
    """Takes bytes and never fails."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        ...


class Reader:
    """Moves bytes from a descriptor, which it owns, to where they are kept."""

    def __init__(self, descriptor: int, kept: Sink, progress: Progress | None = None) -> None:
        self.ended = asyncio.Event()
        self._descriptor = descriptor
        self._kept = kept
        self._progress = progress
        self._moved = 0
        self._resting: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def close(self) -> None:
        """Read no more."""
        if not self.ended.is_set():
            if self._resting is not None:
                self._resting.cancel()
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self.ended.set()
            if self._progress:
                self._progress.close()

    def turn_to(self, kept: Sink) -> None:
        """Move what is there to where it was kept so far, and what comes from now on to another place."""
        for _ in range(_LAST_CHUNKS):
            if not self._read():
                break
        if self._progress:
            self._progress.close()
            self._progress = None
        self._kept = kept

    def _read(self) -> bool:
        """Move one piece; False when there is none now."""
        try:
            chunk = b"" if self.ended.is_set() else os.read(self._descriptor, _CHUNK)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            return False
        self._kept.feed(chunk)
        if self._progress:
            self._progress.feed(chunk)
        self._moved += len(chunk)
        if self._moved > _AT_FULL_SPEED and self._resting is None:
            self._loop.remove_reader(self._descriptor)
            self._resting = self._loop.call_later(_REST, self._go_on)
        return True

    def _go_on(self) -> None:
        self._resting = None
        self._loop.add_reader(self._descriptor, self._read)


class Writer:
    """Moves bytes to a descriptor, which it owns; a reader that goes away early is no failure.

    Without any bytes it only holds the descriptor open until it is closed.
    """

    def __init__(self, descriptor: int, content: bytes | None) -> None:
        self._descriptor: int | None = descriptor
        self._left = memoryview(content or b"")
        self._loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)
        if content is not None:
            self._loop.add_writer(descriptor, self._write)

    def close(self) -> None:
        """Write no more."""
        if self._descriptor is not None:
            self._loop.remove_writer(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
            self._left = memoryview(b"")

    def _write(self) -> None:
        if self._descriptor is None:
            return
        try:
            if self._left:
                self._left = self._left[os.write(self._descriptor, self._left[:_CHUNK]) :]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # nobody reads any more
            self._left = memoryview(b"")
        if not self._left:
            self.close()


class Progress:
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
        """Take the next bytes."""
        self._waiting += chunk[-_REPORT_BYTES:]
        if len(self._waiting) > _REPORT_BYTES or len(chunk) > _REPORT_BYTES:
            del self._waiting[:-_REPORT_BYTES]
            self._skipped = True
        if self._timer is None:
            self._timer = self._loop.call_at(max(self._next, self._loop.time()), self._flush)

    def close(self) -> None:
        """Report what still waits, and then nothing more."""
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


class Pipes:
    """Pairs of descriptors, of which the child's ends are closed here once it was started."""

    def __init__(self) -> None:
        self._ours: list[int] = []
        self._theirs: list[int] = []

    def incoming(self) -> tuple[int, int]:
        """Return the end that we read and the end that a child writes."""
        ours, theirs = os.pipe()
        self._ours.append(ours)
        self._theirs.append(theirs)
        return ours, theirs

    def outgoing(self) -> tuple[int, int]:
        """Return the end that we write and the end that a child reads."""
        theirs, ours = os.pipe()
        self._ours.append(ours)
        self._theirs.append(theirs)
        return ours, theirs

    def started(self) -> None:
        """The child has its ends; ours now belong to whoever moves the bytes."""
        self._close(self._theirs)
        self._ours.clear()

    def failed(self) -> None:
        """There is no child."""
        self._close(self._theirs)
        self._close(self._ours)

    def _close(self, descriptors: list[int]) -> None:
        while descriptors:
            with suppress(OSError):
                os.close(descriptors.pop())
