"""The mode of an agent on the dashboard: seen in its pane, changed by a key, told; asked about for auto."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.modals.confirm import ConfirmModal
from agent_tui_core.config.modes import Mode
from agent_tui_core.events import Noticed
from dashboard_pilot import Driver, dashboard
from scripted_session import ScriptedSandbox, ScriptedSession, scripted_plan


def _session(folder: Path) -> ScriptedSession:
    return ScriptedSession(scripted_plan(folder), "scout", "builder")


def _mode(driver: Driver) -> str:
    return driver.workers[0].mode.now


async def _answer(driver: Driver, key: str) -> None:
    await driver.until(lambda: isinstance(driver.app.screen, ConfirmModal))
    modal = driver.app.screen
    assert isinstance(modal, ConfirmModal)
    await driver.until(lambda: modal.hearing == "armed")
    await driver.press(key)
    await driver.until(lambda: driver.app.screen is driver.screen)


async def test_a_key_goes_through_the_modes_and_each_is_told_in_the_pane(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path), (80, 24)) as driver:
        assert "accept-edits" not in driver.text()
        await driver.press("shift+tab")
        assert _mode(driver) == "accept-edits"
        await driver.shows("scout accept-edits")
        await driver.shows("Mode accept-edits: edits in the")
        await driver.press("shift+tab")
        assert _mode(driver) == "plan"
        await driver.shows("scout plan")
        assert driver.workers[1].mode.now == "ask"


@pytest.mark.parametrize(("key", "mode"), [("y", "auto"), ("n", "ask"), ("enter", "ask"), ("escape", "ask")])
async def test_auto_is_asked_about_and_no_leads_back_to_ask(tmp_path: Path, key: str, mode: Mode) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        worker = driver.workers[0]
        worker.mode.become("plan")
        await driver.press("shift+tab")
        await driver.shows("Let 1 scout work unasked?")
        assert worker.mode.now == "plan"
        await _answer(driver, key)
        await driver.until(lambda: worker.mode.now == mode)


@pytest.mark.parametrize(
    ("sandbox", "words"),
    [
        ("sandbox on", "Its commands write to its workspace and a /tmp of its own"),
        ("sandbox off: bwrap is not installed", "Here: sandbox off: bwrap is not installed."),
        ("sandbox off: by your settings", "it asks as in the mode ask"),
    ],
)
async def test_auto_says_what_holds_commands_back(tmp_path: Path, sandbox: str, words: str) -> None:
    session = _session(tmp_path)
    session.equipment.sandbox = ScriptedSandbox(sandbox)
    async with dashboard(session) as driver:
        driver.app.set_mode("auto")
        await driver.until(lambda: isinstance(driver.app.screen, ConfirmModal))
        await driver.until(
            lambda: words in " ".join(" ".join(line[27:92].strip("│ ") for line in driver.lines()).split())
        )


async def test_the_status_row_says_whether_there_is_a_sandbox(tmp_path: Path) -> None:
    session = _session(tmp_path)
    session.equipment.sandbox = ScriptedSandbox("sandbox off: bwrap is not installed", bad=True)
    async with dashboard(session) as driver:
        assert "sandbox off " in driver.lines()[0]
        session.equipment.sandbox = ScriptedSandbox("sandbox on")
        driver.app.feed.now()
        await driver.drawn()
        assert "sandbox on" in driver.lines()[0]


async def test_questions_that_the_new_mode_allows_are_settled_and_counted(tmp_path: Path) -> None:
    session = _session(tmp_path)
    async with dashboard(session) as driver:
        worker = driver.workers[0]
        task = worker.ask("Edit", "x", still_asks=lambda: worker.mode.now == "ask")
        other = driver.workers[1].ask("Edit", "y")
        await driver.until(lambda: len(session.desk.pending) == 2)
        driver.app.set_mode("accept-edits")
        await task
        await driver.shows("1 of its questions settled")
        assert not other.done()
        other.cancel()


# --- warnings -----------------------------------------------------------------------------------------------


async def test_a_warning_stays_as_a_banner_until_somebody_has_seen_it(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        worker = driver.workers[1]
        worker.begin("go")
        worker.emit(
            Noticed("warning", "The hook ./first failed."), Noticed("warning", "The hook ./check failed.")
        )
        worker.say("many\n\nlines\n\n" * 60)
        await driver.shows("▲ The hook ./check failed.")
        await driver.shows("+1 ×")
        y = next(y for y, line in enumerate(driver.lines()) if "The hook ./check" in line)
        await driver.pilot.click(offset=(driver.lines()[y].index("The hook"), y))
        await driver.drawn()
        assert "The hook" not in driver.text()


async def test_a_prompt_to_that_agent_puts_its_warning_away_and_one_to_another_does_not(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        driver.workers[1].emit(Noticed("error", "It broke."))
        await driver.shows(" ▲ It broke.")
        await driver.press(*"hi", "enter")
        await driver.drawn()
        assert len(driver.app.feed.agents["agent-2"].warnings) == 1
        await driver.press("f6", *"hi", "enter")
        await driver.drawn()
        assert driver.app.feed.agents["agent-2"].warnings == []


async def test_a_list_of_agents_marks_those_with_a_warning(tmp_path: Path) -> None:
    session = ScriptedSession(scripted_plan(tmp_path), *(f"agent-{n}" for n in range(12)))
    async with dashboard(session, (80, 24)) as driver:
        driver.workers[2].emit(Noticed("warning", "The hook failed."))
        driver.workers[3].mode.become("auto")
        await driver.shows("▲ agent-2")
        await driver.shows("agent-3 auto")
