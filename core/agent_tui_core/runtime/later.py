"""Owns the delay of an agent's loop: it is made at its first prompt; refuses to know how.

The loop, the tools and the rules that they need cost as much to import as a tenth of the first frame: so the
first of a session is made in a thread. The others, that find all of it there, take a fifth of a millisecond.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agent_tui_core.agent.outside import LeftCalls
from agent_tui_core.events import RunEnded
from agent_tui_core.messages import Message
from agent_tui_core.runtime.runner import Runner


class Makings:
    """What is made alike several times: the first in a thread, which takes its time; the others after it."""

    def __init__(self) -> None:
        self._first = asyncio.Lock()
        self._warm = False

    async def make(self, make: Callable[[], Runner]) -> Runner:
        """Make one; raises what that raises."""
        if not self._warm:
            async with self._first:
                if not self._warm:
                    made = await asyncio.to_thread(make)
                    self._warm = True
                    return made
        return make()


class LaterRunner:
    """Makes the real runner once."""

    def __init__(self, make: Callable[[], Runner], makings: Makings) -> None:
        """`make` may import; `makings` belongs to all agents of the session."""
        self._make, self._makings = make, makings
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
            self._made = await self._makings.make(self._make)
        return self._made
