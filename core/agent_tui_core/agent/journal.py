"""Owns the seam through which a run tells what happened; refuses to know who listens or where it is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Protocol, TypeVar

from agent_tui_core.events import Body

T = TypeVar("T")


class Journal(Protocol):
    """What a run writes to. Commit what must survive before acting on it; emit what is only seen."""

    async def commit(self, *bodies: Body) -> None:
        """Keep all of these or none, then show them. Raises `HistoryError`: nothing was kept.

        A cancellation that arrives meanwhile is delivered after it: whoever commits knows that it is done.
        """
        ...

    def emit(self, body: Body) -> None:
        """Show this; never waits, never fails."""
        ...

    def owe(self, *bodies: Body) -> None:
        """Show what could not be kept though it happened; it is kept before anything else is.

        Never waits, never fails. It belongs to the run that goes on now, which has begun in history.
        """
        ...


async def uninterrupted(work: Coroutine[object, object, T]) -> T:
    """Do this to its end, whatever is cancelled; deliver the cancellation at the caller's next wait."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled and (current := asyncio.current_task()) is not None:
        current.cancel()
    return task.result()
