"""Owns the stop of all agents, over whatever is open; refuses to stop several without a question."""

from __future__ import annotations

from textual.app import App

from agent_tui.feed import Feed
from agent_tui.ports import DashboardSession


class Stopping:
    """Stops one agent that runs at once, and asks, once, before it stops more."""

    def __init__(self, app: App[None], session: DashboardSession, feed: Feed) -> None:
        self._app = app
        self._session = session
        self._feed = feed
        self._asks = False

    def stop(self) -> None:
        """Stop every agent; asks when that is more than one."""
        if self._asks:
            return
        running = self._session.running
        if running <= 1:
            self._stop()
            return
        from agent_tui.modals.confirm import ConfirmModal

        self._asks = True
        body = "Each stops where it is. What is finished is kept, and every agent can go on afterwards."
        self._app.push_screen(
            ConfirmModal(f"Stop all {running} agents that work?", body, f"Stop {running}"), self._answered
        )

    def _answered(self, confirmed: bool | None) -> None:
        self._asks = False
        if confirmed:
            self._stop()

    def _stop(self) -> None:
        stopped = self._session.interrupt_all()
        words = "No agent is working." if not stopped else f"Stopping {stopped}."
        self._app.notify(words, timeout=3, markup=False)
        self._feed.now()
