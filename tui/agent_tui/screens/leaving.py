"""Owns the ways out of the program: ctrl+c twice, and a question while agents work; refuses to end agents."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import App

from agent_tui.actions import Actions
from agent_tui.panes.painting import QuickApp
from agent_tui.panes.wording import plural
from agent_tui.ports import DashboardSession

if TYPE_CHECKING:
    from agent_tui.panes.beneath import Beneath

QUIT_SECONDS = 1.0
"""Two ctrl+c within this time offer to quit."""


class Leaving:
    """Leaves at once where nothing runs, else asks, once."""

    def __init__(
        self, app: App[None], session: DashboardSession, actions: Actions, beneath: Callable[[], Beneath]
    ) -> None:
        self._app = app
        self._session = session
        self._actions = actions
        self._beneath = beneath
        self._asks = False
        self._last_ctrl_c = float("-inf")

    def ctrl_c(self, instead: Callable[[], str] | None = None) -> None:
        """Offer to quit at the second within a second; at the first do this `instead`, and say its words.

        Without anything to do instead, say which key stops all.
        """
        now = time.monotonic()
        twice, self._last_ctrl_c = now - self._last_ctrl_c <= QUIT_SECONDS, now
        if twice:
            self.ask()
            return
        words = self._stops_all() if instead is None else instead()
        again = f"{self._actions['stop_or_quit'].display} again quits."
        self._app.notify(f"{words} {again}".lstrip(), timeout=2, markup=False)

    def _stops_all(self) -> str:
        key = self._actions["stop_all"].first_key
        return f"{key} stops all." if key else ""

    def leave(self) -> None:
        """Leave; asks while agents run, if anybody can see the question."""
        if self._session.running:
            self.ask()
        else:
            self._app.exit()

    def ask(self) -> None:
        """Ask once, then leave."""
        from agent_tui.modals.confirm import ConfirmModal

        if self._asks:
            return
        if isinstance(self._app, QuickApp) and self._app.unseen:
            self._app.exit()
            return
        self._asks = True
        running = self._session.running
        body = f"{plural(running, 'agent')} {'works' if running == 1 else 'work'} and will be stopped. "
        body = (body if running else "") + "agent-tui --resume brings all back but half-written prompts."
        self._app.push_screen(
            ConfirmModal("Leave agent-tui?", body, "Leave", beneath=self._beneath()), self._answered
        )

    def _answered(self, confirmed: bool | None) -> None:
        self._asks = False
        if confirmed:
            self._app.exit()
