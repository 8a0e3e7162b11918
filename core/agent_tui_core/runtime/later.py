"""Owns the delay of an agent's loop: it is made at its first prompt; refuses to know how.

The loop, the tools and the rules that they need cost as much to import as a tenth of the first frame, and a
folder of a network may keep one waiting: so the first of each folder is made in a thread. The
others, that find all of it there, take a fifth of a millisecond.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from agent_tui_core.agent.outside import LeftCalls
from agent_tui_core.events import RunEnded
from agent_tui_core.messages import Message
from agent_tui_core.runtime.runner import Runner


class Makings:
    """What is made alike several times, one after the other: the first of a folder in a thread."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._seen: set[Path] = set()

    async def make(self, make: Callable[[], Runner], workspace: Path) -> Runner:
        """Make one; raises what that raises."""
        async with self._turn:
            if workspace in self._seen:
                return make()
            made = await asyncio.to_thread(make)
            self._seen.add(workspace)
            return made


class LaterRunner:
    """Makes the real runner once."""

    def __init__(self, make: Callable[[], Runner], makings: Makings, workspace: Path) -> None:
        """`make` may import and look at the workspace; `makings` belongs to all agents of the session."""
        self._make, self._makings, self._workspace = make, makings, workspace
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
            self._made = await self._makings.make(self._make, self._workspace)
        return self._made
