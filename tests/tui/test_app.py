"""Owns what the app promises beside its panes: questions, new prompts, errors and a clean end."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import NoReturn

import pytest
from textual.widgets import TextArea

from agent_tui.app import AgentTuiApp
from agent_tui.modals.approval import ApprovalModal
from agent_tui.screens.inbox import QUIET_SECONDS
from agent_tui_core.agent.approvals import AllowAlways, AllowOnce, Covered, DenyCall
from agent_tui_core.errors import ConfigError
from dashboard_pilot import Driver, dashboard
from scripted_session import ScriptedSession, ScriptedWorker, scripted_plan


def _session(folder: Path, *names: str, theme: str | None = None, demo: bool = False) -> ScriptedSession:
    return ScriptedSession(scripted_plan(folder, theme=theme), *(names or ("scout", "builder")), demo=demo)


def _modal(driver: Driver) -> ApprovalModal:
    assert isinstance(driver.app.screen, ApprovalModal)
    return driver.app.screen


async def _opened(driver: Driver) -> ApprovalModal:
    await driver.until(lambda: isinstance(driver.app.screen, ApprovalModal) and driver.app.screen.is_mounted)
    return _modal(driver)


async def _answer(driver: Driver, key: str) -> None:
    modal = _modal(driver)
    await driver.until(lambda: modal.hearing == "armed")
    await driver.press(key)
    await driver.until(lambda: driver.app.screen is not modal)


def _shown(driver: Driver) -> str:
    """The command that the open question is about."""
    modal = driver.app.screen
    return str(modal.request.input["command"]) if isinstance(modal, ApprovalModal) else ""


def _notes(driver: Driver) -> str:
    return " ".join(note.message for note in driver.app._notifications)


# --- questions ----------------------------------------------------------------------------------------------


async def test_a_question_opens_by_itself_when_nobody_types_and_its_answer_reaches_the_desk(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        task = driver.workers[1].ask("Bash", "make test")
        await _opened(driver)
        await driver.shows("2 builder")
        await driver.shows("make test")
        await _answer(driver, "y")
        assert await task == AllowOnce()
        assert driver.app.screen is driver.screen


async def test_no_question_opens_while_someone_types_and_the_half_typed_prompt_survives(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press(*"deploy")
        task = driver.workers[0].ask("Bash", "rm -rf build")
        loop = asyncio.get_running_loop()
        end = loop.time() + QUIET_SECONDS * 2
        while loop.time() < end:
            await driver.press("y")
            assert driver.app.screen is driver.screen
        typed = driver.screen.prompt.text
        assert set(typed.removeprefix("deploy")) == {"y"}
        await _opened(driver)
        assert driver.screen.prompt.text == typed
        assert not task.done()
        task.cancel()


@pytest.mark.parametrize(("key", "name"), [("alt+1", "scout"), ("alt+3", "builder")])
async def test_f2_opens_the_chosen_agents_question_else_the_oldest_even_while_typing(
    tmp_path: Path, key: str, name: str
) -> None:
    session = ScriptedSession(scripted_plan(tmp_path), "scout", "builder", "tester")
    async with dashboard(session) as driver:
        await driver.press(key, "x")
        tasks = [driver.workers[1].ask("Bash", "first"), driver.workers[0].ask("Bash", "second")]
        await driver.press("y", "f2")
        assert _modal(driver).request.agent_name == name
        for task in tasks:
            task.cancel()


async def test_one_question_is_shown_at_a_time_first_in_first_out(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        one = driver.workers[0].ask("Bash", "one")
        two = driver.workers[1].ask("Bash", "two")
        await _opened(driver)
        assert len(driver.app.screen_stack) == 2
        await driver.shows("1 more waits")
        await _answer(driver, "n")
        assert isinstance(await one, DenyCall)
        assert (await _opened(driver)).request.input == {"command": "two"}
        await _answer(driver, "y")
        assert await two == AllowOnce()


async def test_a_question_that_is_withdrawn_goes_away_and_the_next_one_comes(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        one = driver.workers[0].ask("Bash", "one")
        two = driver.workers[1].ask("Bash", "two")
        first = await _opened(driver)
        one.cancel()
        await driver.until(lambda: driver.app.screen is not first)
        assert (await _opened(driver)).request.input == {"command": "two"}
        two.cancel()
        await driver.until(lambda: driver.app.screen is driver.screen)


async def test_a_question_that_is_withdrawn_under_another_modal_goes_when_that_one_is_gone(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        task = driver.workers[0].ask("Bash", "one")
        await _opened(driver)
        await driver.press("ctrl+q")
        assert len(driver.app.screen_stack) == 3
        task.cancel()
        await driver.until(lambda: not driver.session.desk.pending)
        await driver.drawn()
        assert len(driver.app.screen_stack) == 3
        driver.app.screen.dismiss(False)
        await driver.until(lambda: driver.app.screen is driver.screen)


async def test_what_was_put_off_stays_so_until_f2_and_a_new_question_opens_itself_only(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        one = driver.workers[0].ask("Bash", "one")
        await _opened(driver)
        await _answer(driver, "l")
        driver.app._last_key_at = float("-inf")
        for _ in range(5):
            await driver.drawn()
        assert driver.app.screen is driver.screen
        await driver.shows("1 waits for you — f2")
        two = driver.workers[1].ask("Bash", "two")
        assert (await _opened(driver)).request.input == {"command": "two"}
        await driver.press("escape")
        await driver.until(lambda: driver.app.screen is driver.screen)
        driver.app._last_key_at = float("-inf")
        for _ in range(5):
            await driver.drawn()
        assert driver.app.screen is driver.screen
        three = driver.workers[1].ask("Bash", "three")
        assert (await _opened(driver)).request.input == {"command": "three"}
        await _answer(driver, "left")
        await driver.until(lambda: _shown(driver) == "two")
        await driver.press("right")
        await driver.until(lambda: _shown(driver) == "three")
        await driver.press("right")
        await driver.until(lambda: _shown(driver) == "one")
        for task in (one, two, three):
            task.cancel()


async def test_f2_takes_what_was_put_off_behind_the_others(tmp_path: Path) -> None:
    session = ScriptedSession(scripted_plan(tmp_path), "scout", "builder", "tester")
    async with dashboard(session) as driver:
        await driver.press("alt+3")
        one = driver.workers[0].ask("Bash", "one")
        await _opened(driver)
        await driver.press("escape")
        await driver.until(lambda: driver.app.screen is driver.screen)
        await driver.press("x")
        two = driver.workers[1].ask("Bash", "two")
        await driver.press("f2")
        assert _shown(driver) == "two"
        await _answer(driver, "y")
        await two
        await driver.press("f2")
        assert _shown(driver) == "one"
        one.cancel()


async def test_the_question_after_an_answer_opens_at_once_and_answers_to_a_human_pace(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        asked = [driver.workers[n % 2].ask("Bash", f"number {n}") for n in range(3)]
        await driver.until(lambda: _shown(driver) == "number 0" and _modal(driver).hearing == "armed")
        loop = asyncio.get_running_loop()
        for number, task in enumerate(asked):
            began = loop.time()
            await driver.press("y")
            assert await task == AllowOnce()
            if number + 1 < len(asked):
                await driver.until(lambda shown=f"number {number + 1}": _shown(driver) == shown)  # type: ignore[misc]
                assert not task.cancelled()
                await driver.until(lambda: _modal(driver).hearing == "armed")
                assert loop.time() - began < QUIET_SECONDS + 2
        assert driver.screen.prompt.text == ""


async def test_a_remembered_answer_says_how_many_others_it_settled(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        desk = driver.session.desk
        rules: list[str] = []
        desk._remember = lambda _request, answer: rules.append(answer.rule)
        one = driver.workers[0].ask("Bash", "ls", remember="Bash(ls)")
        two = driver.workers[1].ask("Bash", "ls")
        await driver.pilot.pause()
        for question in desk._questions.values():
            question.still_asks = lambda: False
        await _opened(driver)
        await _answer(driver, "a")
        assert await one == AllowAlways("Bash(ls)")
        assert await two == Covered("Bash(ls)")
        await driver.until(lambda: "It settled 1 more" in _notes(driver))


async def test_an_answer_that_comes_too_late_is_said_and_changes_nothing(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        task = driver.workers[0].ask("Bash", "one")
        modal = await _opened(driver)
        driver.session.desk.answer(modal.request.id, DenyCall("by somebody else"))
        modal.dismiss(AllowOnce())
        await driver.until(lambda: "Too late" in _notes(driver))
        assert await task == DenyCall("by somebody else")


async def test_f2_with_nobody_waiting_says_so(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press("f2")
        assert driver.app.screen is driver.screen
        assert "Nobody waits" in _notes(driver)


# --- start and end ------------------------------------------------------------------------------------------


async def test_a_prompt_from_the_command_line_goes_to_every_agent(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path), prompt="say hello") as driver:
        await driver.until(lambda: all(worker.prompts == ["say hello"] for worker in driver.workers))


async def test_an_unknown_theme_is_told_and_does_not_stop_the_start(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path, theme="no-[such]-theme")) as driver:
        assert driver.app.theme == "harbour"
        assert "no-[such]-theme" in _notes(driver)


async def test_the_demo_says_on_screen_that_it_is_a_script(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path, demo=True)) as driver:
        assert "demo: scripted agents" in driver.lines()[0]
        await driver.press("f1")
        await driver.shows("This is a script.")


async def test_a_bug_in_a_handler_ends_the_app_with_a_sentence_and_leaves_the_agents_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    session = _session(tmp_path)
    app = AgentTuiApp(session)
    secret = "sk-not-for-the-screen"

    def breaks() -> NoReturn:
        key = secret
        raise LookupError(f"nothing under \x1b]52;c;x\x07that name, {len(key)}")

    with caplog.at_level(logging.ERROR, "agent_tui.app"), pytest.raises(LookupError):
        async with app.run_test(size=(80, 24)) as pilot:
            session.workers[0].begin("go")
            app.dashboard.call_later(breaks)
            await pilot.pause(0.1)
    printed = "".join(capsys.readouterr())
    assert app.return_code == 1
    assert "close its screen: LookupError" in " ".join(printed.split())
    assert secret not in printed
    assert "\x07" not in printed
    assert session.workers[0].busy
    assert session.workers[0].interrupts == 0
    assert any(record.exc_info for record in caplog.records)


async def test_a_session_that_cannot_add_an_agent_says_why(tmp_path: Path) -> None:
    class Refusing(ScriptedSession):
        async def add_worker(self, profile: str | None = None, *, name: str | None = None) -> ScriptedWorker:
            raise ConfigError("the folder [/] is gone")

    async with dashboard(Refusing(scripted_plan(tmp_path), "scout")) as driver:
        await driver.press("ctrl+t")
        await driver.until(lambda: "the folder [/] is gone" in _notes(driver))
        await driver.press(*"still here")
        assert driver.screen.query_one(TextArea).text == "still here"


async def test_the_palette_finds_actions_of_the_registry_and_runs_them(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press("ctrl+p", *"zoom")
        await driver.shows("alone, or all again")
        await driver.press("enter")
        await driver.until(lambda: driver.app.screen is driver.screen and len(driver.panes) == 1)


async def test_the_theme_picker_opens_from_the_palette(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.app.run_action("app.pick_theme", driver.screen)
        await driver.drawn()
        await driver.shows("harbour")
