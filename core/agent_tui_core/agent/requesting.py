"""Owns how a model is asked until it answered: one attempt, its patience, and the waits between attempts.

Refuses to know what is asked for: an answer of a run and a summary are asked for in the same way.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Final

from agent_tui_core.agent.journal import Journal
from agent_tui_core.errors import ProviderError, ProviderRefused, StreamStalled, StreamTruncated
from agent_tui_core.events import RequestRetrying, StreamEvent
from agent_tui_core.messages import ModelRequest
from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.wire.accumulator import Accumulator

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
_LEAST_PART: Final = 0.6
"""Of a delay that no chance shortens: each is longer than the one before it, and agents still come apart."""
LONGEST_RETRY_AFTER = 120.0
"""Seconds. A server that asks for a longer wait is not waited for: the run fails and says so."""

_LOOKS = 8
"""How often progress is looked for within its time: a token costs nothing, the end is an eighth late."""


class Requesting:
    """Asks one agent's model."""

    def __init__(
        self,
        provider: ModelProvider,
        journal: Journal,
        retries: int,
        progress_timeout: float | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """A request without text, call or usage for `progress_timeout` seconds is given up; None waits.

        `jitter` gives numbers in [0, 1) for the delays between retries.
        """
        self._provider = provider
        self._journal = journal
        self._retries = retries
        self._progress_timeout = progress_timeout
        self._jitter = jitter

    async def once(
        self, request: ModelRequest, reply: Accumulator, tell: Callable[[StreamEvent], None]
    ) -> None:
        """Ask once; each event goes into `reply` and to `tell`, as it arrives. Raises `ProviderError`."""
        async with (
            _progressing(reply, request.model, self._progress_timeout),
            aclosing(self._provider.stream(request)) as events,
        ):
            async for event in events:
                reply.add(event)
                tell(event)
        if reply.ended is None:
            raise StreamTruncated("the answer stopped before it was whole")

    async def wait_after(self, error: ProviderError, attempt: int) -> int:
        """Wait before the request is made again; return the count of attempts that failed.

        Raises the error when asking again cannot help, or was tried often enough.
        """
        delay = self._delay(error, attempt)
        if delay is None:
            error.attempts = attempt + 1
            raise error
        self._journal.emit(RequestRetrying(attempt + 1, self._retries, delay, str(error)))
        await asyncio.sleep(delay)
        return attempt + 1

    def _delay(self, error: ProviderError, attempt: int) -> float | None:
        """Seconds until the next attempt; None when there shall be none."""
        if not error.retryable or attempt >= self._retries:
            return None
        asked = error.retry_after if isinstance(error, ProviderRefused) else None
        if asked is not None:
            return asked if asked <= LONGEST_RETRY_AFTER else None
        ceiling: float = min(LONGEST_DELAY, FIRST_DELAY * 2**attempt)
        return ceiling * (_LEAST_PART + (1 - _LEAST_PART) * self._jitter())


@asynccontextmanager
async def _progressing(reply: Accumulator, model: str, seconds: float | None) -> AsyncIterator[None]:
    """Raise `StreamStalled` within it when the reply does not get on for so long; None: never."""
    if seconds is None:
        yield
        return
    loop = asyncio.get_running_loop()
    known, since = reply.progress(), loop.time()
    limit = asyncio.timeout(None)
    timer: asyncio.TimerHandle

    def look() -> None:
        nonlocal known, since, timer
        now = loop.time()
        if (progress := reply.progress()) != known:
            known, since = progress, now
        left = since + seconds - now
        if left <= 0:
            limit.reschedule(now)
        else:
            timer = loop.call_later(min(left, seconds / _LOOKS), look)

    timer = loop.call_later(seconds / _LOOKS, look)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise StreamStalled(f"no text, call or usage came from {model} for {seconds:g} s") from error
    finally:
        timer.cancel()
