"""Owns who may run when: readers together, writers alone, in the order they came; refuses to know why."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """A lock that any number of readers share and one writer has alone; nobody overtakes."""

    def __init__(self) -> None:
        self._readers = 0
        self._writing = False
        self._queue: deque[tuple[bool, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def take(self, *, alone: bool) -> AsyncIterator[None]:
        """Wait for a turn and hold it."""
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((alone, granted))
        self._grant()
        try:
            await granted
            yield
        finally:
            if granted.done() and not granted.cancelled():
                self._give_back(alone=alone)
            self._grant()

    def _grant(self) -> None:
        while self._queue:
            alone, granted = self._queue[0]
            if self._writing or (alone and self._readers):
                return
            self._queue.popleft()
            if granted.cancelled():
                continue
            if alone:
                self._writing = True
            else:
                self._readers += 1
            granted.set_result(None)

    def _give_back(self, *, alone: bool) -> None:
        if alone:
            self._writing = False
        else:
            self._readers -= 1
