"""Owns the stop of all agents, over whatever is open; refuses to stop several at the first key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import App

from agent_tui.feed import Feed
from agent_tui.ports import DashboardSession

if TYPE_CHECKING:
    from agent_tui.modals.confirm import ConfirmModal
    from agent_tui.panes.beneath import Beneath


class Stopping:
    """Stops one agent that runs at once, and asks before it stops more: the same key again is a yes."""

    def __init__(
        self, app: App[None], session: DashboardSession, feed: Feed, beneath: Callable[[], Beneath]
    ) -> None:
        self._app = app
        self._session = session
        self._feed = feed
        self._beneath = beneath
        self._modal: ConfirmModal | None = None

    def stop(self, key: str = "") -> None:
        """Stop every agent; asks when that is more than one, and while it asks stops them at once.

        `key` is what the question calls the key that stops them.
        """
        if self._modal is not None:
            if self._modal.is_active:
                self._modal.dismiss(True)
            return
        running = self._session.running
        if running <= 1:
            self._stop()
            return
        from agent_tui.modals.confirm import ConfirmModal

        body = "Each stops where it is. What is finished is kept, and every agent can go on afterwards."
        body += f" {key} again stops them at once." if key else ""
        self._modal = ConfirmModal(
            f"Stop all {running} agents that work?", body, f"Stop {running}", beneath=self._beneath()
        )
        self._app.push_screen(self._modal, self._answered)

    def _answered(self, confirmed: bool | None) -> None:
        self._modal = None
        if confirmed:
            self._stop()

    def _stop(self) -> None:
        stopped = self._session.interrupt_all()
        words = "No agent is working." if not stopped else f"Stopping {stopped}."
        self._app.notify(words, timeout=3, markup=False)
        self._feed.now()
