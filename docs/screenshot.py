"""Makes docs/dashboard.svg, the picture in the README, from the real program in its demo."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from agent_tui.app import AgentTuiApp
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, plan
from agent_tui_core.runtime.session import Session, open_session

SIZE = (120, 36)
OUT = Path(__file__).with_name("dashboard.svg")


async def picture() -> str:
    """Let the four agents work until three of them wait for an answer, put the question away, and look."""
    with tempfile.TemporaryDirectory() as data:
        environ = {**os.environ, "AGENT_TUI_DATA_DIR": data, "AGENT_TUI_CONFIG_DIR": data}
        planned = plan(load_settings(None, environ=environ), Flags(demo=True), environ)
        async with open_session(planned, demo_pace=0.2) as session:
            app = AgentTuiApp(session)
            async with app.run_test(size=SIZE) as pilot:
                await three_wait(session)
                await pilot.pause(1.5)
                await pilot.press("l")
                await pilot.pause(1.0)
                return app.export_screenshot(title="agent-tui")


async def three_wait(session: Session) -> None:
    """Return when three questions are open."""
    changed = asyncio.Event()
    session.desk.watch(changed.set)
    async with asyncio.timeout(60):
        while len(session.desk.pending) < 3:
            changed.clear()
            await changed.wait()


if __name__ == "__main__":
    OUT.write_text(asyncio.run(picture()), encoding="utf-8")
