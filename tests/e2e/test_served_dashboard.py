"""The real dashboard over a real HTTP server on loopback, with as many agents as the screen takes."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from agent_tui.app import AgentTuiApp
from agent_tui_core.runtime.session import open_session
from dashboard_pilot import Driver
from loopback import DONE, Answer, LoopbackServer, Request, finish, say, text
from sessions import planned, settled, tool_answer


async def test_esc_closes_the_connection_of_the_chosen_agent_and_the_others_go_on(tmp_path: Path) -> None:
    release = asyncio.Event()

    def script(_request: Request) -> Answer:
        return Answer(text("Hel"), release, text("lo"), finish(), DONE)

    async with LoopbackServer(script) as server:
        async with open_session(planned(server.base_url, tmp_path, count=8)) as session:
            app = AgentTuiApp(session)
            async with app.run_test(size=(160, 48)) as pilot:
                driver = Driver(app, pilot, session)  # type: ignore[arg-type]
                for worker in session.workers:
                    worker.prompt(f"task {worker.number}")
                async with asyncio.timeout(10):
                    await server.until(lambda: server.open_now == 8)
                await driver.until(lambda: driver.text().count("streaming") >= 8)
                await driver.press("f6", "f6")
                assert driver.chosen == 3
                pressed = time.perf_counter()
                await pilot.press("escape")
                [chosen] = [
                    s for s in server.streams if s.request.json["messages"][-1]["content"] == "task 3"
                ]
                async with asyncio.timeout(5):
                    await chosen.disconnected.wait()
                assert chosen.disconnected_at is not None
                assert chosen.disconnected_at - pressed < 0.1
                await driver.until(lambda: session.running == 7)
                release.set()
                await settled(session)
                await driver.until(lambda: driver.text().count("idle") >= 7)
                assert "interrupted" in driver.text()
    assert [stream.disconnected.is_set() for stream in server.streams].count(True) == 1


async def test_a_real_run_is_asked_about_answered_by_key_and_told_to_the_server(tmp_path: Path) -> None:
    answers = [tool_answer("Bash", {"command": "echo made > file; cat file"}), say("All done.")]
    async with LoopbackServer(answers) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            app = AgentTuiApp(session, prompt="make a file")
            async with app.run_test(size=(120, 36)) as pilot:
                driver = Driver(app, pilot, session)  # type: ignore[arg-type]
                await driver.shows("Press a key to answer")
                assert "echo made > file; cat file" in driver.text()
                assert not (session.workers[0].workspace / "file").exists()
                await pilot.press("y")
                await driver.shows("All done.")
            assert (session.workers[0].workspace / "file").read_text() == "made\n"
    assert "made" in server.requests[1].json["messages"][-1]["content"]
