"""Owns the driving of a dashboard in tests: open it, wait for what must come, read it; refuses sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from textual.pilot import Pilot
from textual.widget import Widget

from agent_tui.app import AgentTuiApp
from agent_tui.panes.agent_pane import AgentPane
from agent_tui.screens.dashboard import DashboardScreen
from scripted_session import ScriptedSession, ScriptedWorker


@dataclass(slots=True)
class Driver:
    """A dashboard that runs headless."""

    app: AgentTuiApp
    pilot: Pilot[None]
    session: ScriptedSession

    @property
    def screen(self) -> DashboardScreen:
        return self.app.dashboard

    @property
    def workers(self) -> tuple[ScriptedWorker, ...]:
        return self.session.workers

    @property
    def panes(self) -> list[AgentPane]:
        return [pane for pane in self.screen.query(AgentPane) if pane.display]

    @property
    def chosen(self) -> int:
        """The number of the agent that is talked to."""
        chosen = self.screen.chosen
        return chosen.agent.number if chosen else 0

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, claim: Callable[[], bool], seconds: float = 5.0) -> None:
        """Wait for something that must come; raises TimeoutError when it does not."""
        async with asyncio.timeout(seconds):
            while not claim():
                await self.pilot.pause(0.02)

    async def shows(self, words: str) -> None:
        """Wait until these words are on the screen."""
        async with asyncio.timeout(5):
            while words not in self.text():
                self.app.feed.now()
                await self.pilot.pause(0.02)

    async def drawn(self) -> None:
        """Wait until the dashboard rests and everything is on the screen."""
        self.app.feed.now()
        await self.pilot.pause()
        screen = self.app.screen
        async with asyncio.timeout(5):
            while screen._layout_required or screen._dirty_widgets:
                await self.pilot.pause(0.01)
        await self.pilot.pause()

    def lines(self) -> list[str]:
        """What the terminal shows, line by line."""
        strips = self.app.screen._compositor.render_strips()
        lines = ["".join(segment.text for segment in strip) for strip in strips]
        # A screen that was pushed a moment ago has nothing yet.
        return lines or [""]

    def text(self) -> str:
        return "\n".join(self.lines())


@asynccontextmanager
async def dashboard(
    session: ScriptedSession, size: tuple[int, int] = (120, 36), *, prompt: str | None = None
) -> AsyncIterator[Driver]:
    """Open a dashboard over a scripted session."""
    app = AgentTuiApp(session, prompt=prompt)
    async with app.run_test(size=size) as pilot:
        driver = Driver(app, pilot, session)
        await driver.drawn()
        yield driver


def overlaps(widgets: list[Widget]) -> list[tuple[Widget, Widget]]:
    """Pairs of widgets that share a cell."""
    return [
        (one, other)
        for index, one in enumerate(widgets)
        for other in widgets[index + 1 :]
        if one.region.overlaps(other.region)
    ]
