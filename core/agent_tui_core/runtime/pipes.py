"""Owns the descriptors of a headless run, each served by a thread: lines in, text out, in order and whole.

Refuses to make the event loop wait: a reader that stalls, or a writer that never comes, stops no agent and
delays no signal.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import SimpleQueue
from typing import Final

LONGEST_LINE: Final = 16 * 2**20
NOWHERE: Final = -1
"""Stands for a descriptor that is closed: what is written to it is dropped."""

_CHUNK: Final = 2**16
_SHORTEST_SECRET: Final = 12
"""Shorter ones are placeholders such as "not-needed"; blacking those out would damage ordinary text."""


class OutputPipes:
    """Standard output and standard error. What is written leaves at once, from a thread."""

    def __init__(
        self, out: int, err: int, *, broken: Callable[[OSError], None], secrets: Iterable[str] = ()
    ) -> None:
        """`broken` is called in the event loop, once, when standard output takes no more."""
        self._out = out
        self._err = err
        self._broken = broken
        long = [secret for secret in secrets if len(secret) >= _SHORTEST_SECRET]
        self._secrets = {form for secret in long for form in (secret, json.dumps(secret)[1:-1])}
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[tuple[int, bytes] | asyncio.Event | None] = SimpleQueue()
        self._closed: set[int] = {NOWHERE}
        threading.Thread(target=self._serve, name="output", daemon=True).start()

    def write(self, text: str) -> None:
        """Write to standard output; never waits, never fails."""
        self._put(self._out, text)

    def note(self, text: str) -> None:
        """Write to standard error; never waits, never fails."""
        self._put(self._err, text)

    async def drained(self) -> None:
        """Wait until everything was written, or cannot be."""
        written = asyncio.Event()
        self._queue.put(written)
        await written.wait()

    def close(self) -> None:
        """Write nothing more once the queue is empty; the descriptors stay open."""
        self._queue.put(None)

    def _put(self, descriptor: int, text: str) -> None:
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        if text:
            self._queue.put((descriptor, text.encode("utf-8", "replace")))

    def _serve(self) -> None:
        while (item := self._queue.get()) is not None:
            if isinstance(item, asyncio.Event):
                self._tell(item.set)
                continue
            descriptor, data = item
            if descriptor in self._closed:
                continue
            try:
                _write_all(descriptor, data)
            except OSError as error:
                self._closed.add(descriptor)
                if descriptor == self._out:
                    self._closed.add(self._err)
                    self._tell(self._broken, error)

    def _tell(self, call: Callable[..., None], *values: object) -> None:
        with suppress(RuntimeError):  # the loop was closed before the reader took everything
            self._loop.call_soon_threadsafe(call, *values)


class LineReader:
    """Hands on the lines of a descriptor, from a thread, until it ends."""

    def __init__(
        self, descriptor: int, *, line: Callable[[int, bytes | None], None], ended: Callable[[], None]
    ) -> None:
        """Both are called in the event loop; `line` gets its number, from 1, and None when it is too long."""
        self._descriptor = descriptor
        self._line = line
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._number = 0
        self._kept: list[bytes] = []
        self._size = 0
        threading.Thread(target=self._serve, name="input", daemon=True).start()

    def _serve(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            with suppress(OSError):
                while chunk := _read(self._descriptor):
                    self._feed(chunk)
            if self._size:
                self._end_line()
            self._loop.call_soon_threadsafe(self._ended)

    def _feed(self, chunk: bytes) -> None:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._keep(part)
            self._end_line()
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= LONGEST_LINE:
            self._kept.append(part)
        else:
            self._kept.clear()

    def _end_line(self) -> None:
        self._number += 1
        line = b"".join(self._kept) if self._size <= LONGEST_LINE else None
        self._kept, self._size = [], 0
        self._loop.call_soon_threadsafe(self._line, self._number, line)


def _read(descriptor: int) -> bytes:
    while True:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:  # whoever gave us this descriptor made it so
            select.select([descriptor], [], [])


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
