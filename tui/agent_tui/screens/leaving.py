"""Owns the ways out of the program: ctrl+c twice, and a question while agents work; refuses to end agents."""

from __future__ import annotations

import time

from textual.app import App

from agent_tui.panes.wording import plural
from agent_tui.ports import DashboardSession

QUIT_SECONDS = 1.0
"""Two ctrl+c within this time offer to quit."""


class Leaving:
    """Leaves at once where nothing runs, else asks, once."""

    def __init__(self, app: App[None], session: DashboardSession) -> None:
        self._app = app
        self._session = session
        self._asks = False
        self._last_ctrl_c = float("-inf")

    def is_second_ctrl_c(self) -> bool:
        """Take note of a ctrl+c; whether it is the second within a second."""
        now = time.monotonic()
        twice, self._last_ctrl_c = now - self._last_ctrl_c <= QUIT_SECONDS, now
        return twice

    def leave(self) -> None:
        """Leave; asks while agents run."""
        if self._session.running:
            self.ask()
        else:
            self._app.exit()

    def ask(self) -> None:
        """Ask once, then leave."""
        from agent_tui.modals.confirm import ConfirmModal

        if self._asks:
            return
        self._asks = True
        running = self._session.running
        body = f"{plural(running, 'agent')} {'works' if running == 1 else 'work'} and will be stopped. "
        body = (body if running else "") + "agent-tui --resume brings everything back."
        self._app.push_screen(ConfirmModal("Leave agent-tui?", body, "Leave"), self._answered)

    def _answered(self, confirmed: bool | None) -> None:
        self._asks = False
        if confirmed:
            self._app.exit()
