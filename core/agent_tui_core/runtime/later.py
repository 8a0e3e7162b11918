"""Owns the delay of an agent's loop: it is made at its first prompt, in a thread; refuses to know how.

The loop, the tools and the rules that they need cost as much to import as a tenth of the first frame.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agent_tui_core.agent.outside import LeftCalls
from agent_tui_core.events import RunEnded
from agent_tui_core.messages import Message
from agent_tui_core.runtime.runner import Runner


class LaterRunner:
    """Makes the real runner once."""

    def __init__(self, make: Callable[[], Runner]) -> None:
        """`make` runs in a thread and may import."""
        self._make = make
        self._made: Runner | None = None

    async def run(self, prompt: Message | None) -> RunEnded:
        """Run with the real one."""
        return await (await self._runner()).run(prompt)

    async def compact(self) -> RunEnded:
        """Make room with the real one."""
        return await (await self._runner()).compact()

    async def take_up(self, left: LeftCalls) -> RunEnded:
        """Go on with the real one."""
        return await (await self._runner()).take_up(left)

    def leave(self) -> bool:
        """Leave the run of the real one, when there is one."""
        return self._made is not None and self._made.leave()

    async def _runner(self) -> Runner:
        if self._made is None:
            self._made = await asyncio.to_thread(self._make)
        return self._made
