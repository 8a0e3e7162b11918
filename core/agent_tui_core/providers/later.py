"""Owns the delay: a provider that is made when it is first asked, in a thread; refuses to know which.

An HTTP client with its certificates costs as much as the first frame of the screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from agent_tui_core.events import StreamEvent
from agent_tui_core.messages import ModelRequest
from agent_tui_core.providers.base import ModelProvider


class LaterProvider:
    """Makes the real provider once; all agents that share this object share that one."""

    def __init__(self, make: Callable[[], ModelProvider]) -> None:
        """`make` runs in a thread and may import; what it raises, the first requests raise."""
        self._make = make
        self._making: asyncio.Task[ModelProvider] | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Ask the real one."""
        async with aclosing((await self._made()).stream(request)) as events:
            async for event in events:
                yield event

    async def models(self) -> list[str]:
        """Ask the real one."""
        return await (await self._made()).models()

    async def aclose(self) -> None:
        """Release the real one, if it was made."""
        if self._making is not None:
            await (await self._making).aclose()

    async def _made(self) -> ModelProvider:
        if self._making is None or (self._making.done() and self._making.exception() is not None):
            self._making = asyncio.create_task(asyncio.to_thread(self._make))
        return await asyncio.shield(self._making)
