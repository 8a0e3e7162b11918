"""Owns the order "keep, then show" for one agent's events; refuses to make any of its own but states."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

from agent_tui_core.agent.journal import uninterrupted
from agent_tui_core.events import Body, Event, MessageCommitted, RunStarted
from agent_tui_core.runtime.activity import Activity
from agent_tui_core.runtime.outbox import Outbox

Record = Callable[..., Awaitable[None]]
"""`record(run_id, *bodies)`: keep these bodies, in one transaction, or raise `HistoryError`."""


class WorkerJournal:
    """Where the loop of one agent writes."""

    def __init__(self, outbox: Outbox, record: Record) -> None:
        self._outbox = outbox
        self._record = record
        self.activity = Activity()
        self.on_run: Callable[[bool], None] = lambda _kept: None
        """Called before a new run is written, with False, and when history has it, with True."""
        self._settled: list[Event] = []
        """Committed events up to the last whole message."""
        self._recent: list[tuple[bool, Event]] = []
        """What came since, with whether it was committed."""
        self.owed: list[tuple[str, Sequence[Body]]] = []
        """What happened but could not be kept, by run, oldest first."""

    async def commit(self, *bodies: Body) -> None:
        """Keep, what is owed before it, then show."""
        run_id = self._outbox.run_id or ""
        begins = any(isinstance(body, RunStarted) for body in bodies)
        if begins:
            self.on_run(False)
        await uninterrupted(self._keep(run_id, bodies))
        if begins:
            self.on_run(True)
        self._show(bodies)

    def owe(self, *bodies: Body) -> None:
        """Show now, keep before the next commit."""
        self.owed.append((self._outbox.run_id or "", bodies))
        self._show(bodies)

    def emit(self, body: Body) -> None:
        """Show."""
        self._recent.append((False, self._outbox.append(body)))
        self._after(body)

    def replay(self, run_id: str, at: float, body: Body) -> None:
        """Show what history has of an earlier life."""
        self._settled.append(self._outbox.replay(run_id, at, body))

    def told(self) -> Iterator[Event]:
        """What a listener that comes later has to know, oldest first."""
        yield from self._settled
        for _, event in self._recent:
            yield event

    def _show(self, bodies: Sequence[Body]) -> None:
        """Show what history has, or will have before anything else."""
        if any(isinstance(body, MessageCommitted) for body in bodies):
            self._settled += [event for committed, event in self._recent if committed]
            self._recent.clear()
        for body in bodies:
            self._recent.append((True, self._outbox.append(body)))
            self._after(body)

    def _after(self, body: Body) -> None:
        if changed := self.activity.after(body):
            self._outbox.append(changed)

    async def _keep(self, run_id: str, bodies: Sequence[Body]) -> None:
        while self.owed:
            owed_by, owed = self.owed[0]
            await self._record(owed_by, *owed)
            del self.owed[0]
        await self._record(run_id, *bodies)
