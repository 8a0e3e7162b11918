"""Owns what commands left running: who started it, since when, where its output goes, and its end.

Refuses to start anything, and to let it outlive its agent. Number and output are bounded.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path

from agent_tui_core.processes.recent import RecentOutput
from agent_tui_core.processes.runner import Run
from agent_tui_core.processes.table import command_of
from agent_tui_core.records import dataclass

MOST_LEFT = 8
"""Commands of one agent that may leave something running at the same time."""
FILES_KEPT = 20
"""Files of what ended that can still be read."""

_LOOK_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class LeftRunning:
    """What one command left running."""

    id: str
    agent_id: str
    agent: str
    command: str
    """The whole command line that was run."""
    since: float
    """When it was left; seconds since the epoch."""
    file: Path | None
    """What it wrote since then."""
    pids: tuple[int, ...]
    """Of those that live, as they were seen last."""
    program: str
    """The command line of the first of them."""


@dataclass(slots=True)
class _Entry:
    left: LeftRunning
    run: Run
    output: RecentOutput
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    ending: asyncio.Task[None] | None = None


class Background:
    """What all agents of a session left running."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._count = 0
        self._files: deque[RecentOutput] = deque()
        self._watch: asyncio.Task[None] | None = None

    @property
    def running(self) -> tuple[LeftRunning, ...]:
        """All of it, oldest first."""
        return tuple(entry.left for entry in self._entries.values())

    def of(self, agent_id: str, agent: str) -> AgentBackground:
        """Return the part of one agent."""
        return AgentBackground(self, agent_id, agent)

    async def end(self, entry_id: str) -> LeftRunning | None:
        """End everything of that one; None when it ended already."""
        entry = self._entries.get(entry_id)
        if entry is None:
            return None
        if entry.ending is None:
            entry.ending = asyncio.create_task(self._end(entry))
        await asyncio.shield(entry.ending)
        return entry.left

    async def end_all(self, agent_id: str | None = None) -> None:
        """End what this agent left, or all of it; returns when nothing of it lives."""
        mine = [left.id for left in self.running if agent_id in (None, left.agent_id)]
        async with asyncio.TaskGroup() as group:
            for entry_id in mine:
                group.create_task(self.end(entry_id))
        if not self._entries and self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch
            self._watch = None

    def adopt(self, run: Run, agent_id: str, agent: str, command: str) -> LeftRunning:
        """Take over a run whose command ended; from now on this room ends it and closes it."""
        self._count += 1
        output = RecentOutput()
        run.reader.turn_to(output)
        run.out.close()
        left = LeftRunning(f"bg{self._count}", agent_id, agent, command, time.time(), output.file, (), "")
        entry = _Entry(left, run, output)
        entry.left = _seen(entry)
        self._entries[left.id] = entry
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._look())
        return entry.left

    async def _look(self) -> None:
        while self._entries:
            await asyncio.sleep(_LOOK_EVERY)  # nothing tells that the last of them ended
            for entry in list(self._entries.values()):
                entry.left = _seen(entry)
                if not entry.left.pids and entry.ending is None:
                    entry.ending = asyncio.create_task(self._end(entry))

    async def _end(self, entry: _Entry) -> None:
        try:
            await entry.run.child.end()
        finally:
            entry.run.close()
            entry.output.close()
            self._entries.pop(entry.left.id, None)
            self._files.append(entry.output)
            if len(self._files) > FILES_KEPT:
                self._files.popleft().forget()


class AgentBackground:
    """What one agent left running."""

    def __init__(self, all_of_it: Background, agent_id: str, agent: str) -> None:
        self._all = all_of_it
        self._agent_id = agent_id
        self._agent = agent

    @property
    def full(self) -> bool:
        """Whether it may leave no more."""
        return sum(left.agent_id == self._agent_id for left in self._all.running) >= MOST_LEFT

    def adopt(self, run: Run, command: str) -> LeftRunning:
        """See `Background.adopt`."""
        return self._all.adopt(run, self._agent_id, self._agent, command)


def _seen(entry: _Entry) -> LeftRunning:
    pids = tuple(entry.run.child.members())
    program = command_of(pids[0]) if pids and pids[:1] != entry.left.pids[:1] else entry.left.program
    return replace(entry.left, pids=pids, program=program)
