"""Owns how many requests one server gets at once: the others wait for their turn, in order; refuses to ask.

A place is held while an answer streams and no longer: not over tools, questions or the wait for a retry.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from agent_tui_core.events import RequestQueued, StreamEvent
from agent_tui_core.messages import ModelRequest
from agent_tui_core.providers.base import ModelProvider


class LimitedProvider(ModelProvider):
    """The same provider for all agents that share it, with so many places."""

    def __init__(self, provider: ModelProvider, places: int) -> None:
        self._provider = provider
        self._places = asyncio.Semaphore(places)
        self._waiting = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Ask when there is a place; cancelled while it waits, it was never there."""
        waits = self._places.locked()
        if waits:
            yield RequestQueued(self._waiting)
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        try:
            if waits:
                yield RequestQueued(None)
            async with aclosing(self._provider.stream(request)) as events:
                async for event in events:
                    yield event
        finally:
            self._places.release()

    async def models(self) -> list[str]:
        """Ask at once: a list of names is no answer that others wait for."""
        return await self._provider.models()

    async def aclose(self) -> None:
        """Release the real one."""
        await self._provider.aclose()
