"""Owns which agents live, and that they all end; refuses to know how one is made or shown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from agent_tui_core.agent.watchers import Watchers
from agent_tui_core.runtime.worker import Worker

CLOSING_TIME = 5.0
"""Seconds that the agents together have to end: a tool's processes get 2 s between TERM and KILL."""

log = logging.getLogger(__name__)


class Supervisor:
    """The agents of a session, in their order on the dashboard."""

    def __init__(self) -> None:
        self._workers: dict[str, Worker] = {}
        self._watchers: Watchers[[]] = Watchers()

    @property
    def workers(self) -> tuple[Worker, ...]:
        """In their order."""
        return tuple(self._workers.values())

    @property
    def running(self) -> int:
        """How many have a run."""
        return sum(worker.busy for worker in self._workers.values())

    def add(self, worker: Worker) -> None:
        """Take charge of an agent."""
        self._workers[worker.id] = worker
        self._changed()

    async def remove(self, agent_id: str) -> None:
        """End one agent; an unknown id is ignored."""
        worker = self._workers.pop(agent_id, None)
        if worker is not None:
            self._changed()
            await worker.close()

    def interrupt_all(self) -> int:
        """Interrupt every run; return how many there were."""
        return sum(worker.interrupt() for worker in self.workers)

    def watch(self, wake: Callable[[], object]) -> None:
        """Call `wake` when agents come or go; it must only set a flag or schedule."""
        self._watchers.add(wake)

    async def close(self) -> None:
        """End all agents, in a bounded time; what waits for somebody outside can go on in a later life."""
        closing = [asyncio.create_task(worker.close(leave=True)) for worker in self.workers]
        if not closing:
            return
        _, late = await asyncio.wait(closing, timeout=CLOSING_TIME)
        for task in late:
            task.cancel()
        for result in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(result, Exception):
                log.error("an agent did not end cleanly", exc_info=result)
        if late:
            log.error("%d agents did not end within %g s", len(late), CLOSING_TIME)

    def _changed(self) -> None:
        self._watchers.tell()
