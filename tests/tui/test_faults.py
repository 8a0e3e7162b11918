"""What fails inside the dashboard ends no agent: it is logged, told in one line, and survived."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from agent_tui.app import AgentTuiApp
from agent_tui.panes.prompt import PromptBox
from agent_tui.screens.dashboard import DashboardScreen
from agent_tui.screens.faults import CAUSED, MOST, TOLD_AGAIN, WITHIN, FaultCount
from agent_tui.screens.help import HelpScreen
from dashboard_pilot import Driver, dashboard
from scripted_session import ScriptedSession, scripted_plan


class BrokenError(Exception):
    """What is raised on purpose."""


def fail(*_args: object, **_more: object) -> NoReturn:
    raise BrokenError("it [/] broke\x1b[2J")


def _session(folder: Path) -> ScriptedSession:
    return ScriptedSession(scripted_plan(folder), "scout", "builder")


def _notes(driver: Driver) -> list[str]:
    return [note.message for note in driver.app._notifications if "BrokenError" in note.message]


async def _still_works(driver: Driver) -> None:
    """It is told in one line, and every key does what it does."""
    assert _notes(driver) == [
        "That failed: BrokenError: it [/] broke. The log file has more; all agents go on."
    ]
    await driver.press("escape", *"words")
    assert driver.screen.prompt.text.endswith("words")
    await driver.press("f6")
    assert driver.chosen == 2
    assert driver.app.return_code is None


async def _by_key(driver: Driver) -> None:
    await driver.press("f1")


async def _by_paste(driver: Driver) -> None:
    driver.app.post_message(events.Paste("many\nlines"))
    await driver.pilot.pause()


async def _by_click(driver: Driver) -> None:
    await driver.pilot.click(driver.panes[1])


async def _by_editor(driver: Driver) -> None:
    await driver.press("a", "ctrl+z")


async def _by_sending(driver: Driver) -> None:
    await driver.press("a", "enter")


async def _by_resize(driver: Driver) -> None:
    await driver.pilot.resize_terminal(100, 30)


@pytest.mark.parametrize(
    ("place", "name", "does"),
    [
        (AgentTuiApp, "action_help", _by_key),
        (HelpScreen, "compose", _by_key),
        (HelpScreen, "on_mount", _by_key),
        (HelpScreen, "render", _by_key),
        (PromptBox, "insert", _by_paste),
        (TextArea, "undo", _by_editor),
        (TextArea, "_watch_selection", _by_editor),
        (DashboardScreen, "choose", _by_click),
        (DashboardScreen, "on_prompt_box_submitted", _by_sending),
        (DashboardScreen, "on_resize", _by_resize),
    ],
)
async def test_whatever_a_person_does_that_fails_is_told_and_the_app_goes_on(
    place: type,
    name: str,
    does: Callable[[Driver], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(BrokenError):
        async with dashboard(_session(tmp_path)) as driver:
            with monkeypatch.context() as patched, caplog.at_level(logging.ERROR):
                patched.setattr(place, name, fail, raising=False)
                await does(driver)
                await driver.pilot.pause()
            assert driver.app.screen is driver.screen
            assert any(record.exc_info for record in caplog.records)
            await _still_works(driver)


async def test_a_held_key_that_fails_is_told_once_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(BrokenError):
        async with dashboard(_session(tmp_path)) as driver:
            with monkeypatch.context() as patched:
                patched.setattr(AgentTuiApp, "action_help", fail)
                for _ in range(2 * MOST):
                    await driver.press("f1")
            assert len([record for record in caplog.records if record.exc_info]) == 1
            await _still_works(driver)


async def test_a_timer_and_a_worker_that_fail_once_end_nothing(tmp_path: Path) -> None:
    with pytest.raises(BrokenError):
        async with dashboard(_session(tmp_path)) as driver:
            driver.app.set_timer(0.001, fail)
            await driver.until(lambda: bool(_notes(driver)))
            await _still_works(driver)

            async def work() -> None:
                fail()

            driver.app.run_worker(work())
            await driver.pilot.pause()
            assert driver.app.return_code is None


async def test_a_start_that_fails_ends_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DashboardScreen, "on_mount", fail)
    app = AgentTuiApp(_session(tmp_path))
    await app.run_async(headless=True)
    assert app.return_code == 1


async def test_what_fails_again_and_again_by_itself_ends_with_an_error(tmp_path: Path) -> None:
    with pytest.raises(BrokenError):
        async with dashboard(_session(tmp_path)) as driver:
            driver.app.set_interval(0.001, fail)
            async with asyncio.timeout(10):
                while driver.app.return_code is None:
                    await asyncio.sleep(0)
            assert (driver.app.return_code, len(driver.app.faults._uncaused)) == (1, MOST)


class Unpaintable(ModalScreen[None]):
    """A question that cannot be drawn, at any time."""

    def compose(self) -> ComposeResult:
        yield Static("a question", markup=False)

    def on_mount(self) -> None:
        self.set_interval(0.001, fail)


async def test_a_question_that_fails_again_and_again_goes_alone_and_is_answered_with_nothing(
    tmp_path: Path,
) -> None:
    answers: list[None] = []
    with pytest.raises(BrokenError):
        async with dashboard(_session(tmp_path)) as driver:
            driver.app.push_screen(Unpaintable(), answers.append)
            await driver.until(lambda: answers == [None] and driver.app.screen is driver.screen)
            await _still_works(driver)


async def test_other_apps_see_their_own_faults() -> None:
    class Other(App[None]):
        def on_key(self) -> None:
            fail()

    with pytest.raises(BrokenError):
        async with Other().run_test() as pilot:
            await pilot.press("a")


# --- counting -----------------------------------------------------------------------------------------------


def test_what_a_person_causes_never_counts() -> None:
    now = [100.0]
    count = FaultCount(lambda: now[0])
    assert all(count.goes_on(caused=True) for _ in range(5 * MOST))
    count.person_acted()
    now[0] += CAUSED / 2
    assert all(count.goes_on(caused=False) for _ in range(5 * MOST))
    now[0] += CAUSED
    assert [count.goes_on(caused=False) for _ in range(MOST)] == [True] * (MOST - 1) + [False]


def test_faults_that_come_slowly_never_end_the_app() -> None:
    now = [100.0]
    count = FaultCount(lambda: now[0])
    for _ in range(5 * MOST):
        assert count.goes_on(caused=False)
        now[0] += WITHIN / (MOST - 2)


def test_the_same_fault_is_news_again_after_a_while() -> None:
    now = [100.0]
    count = FaultCount(lambda: now[0])

    def news() -> bool:
        try:
            fail()
        except BrokenError as error:
            return count.is_news(error)

    assert [news(), news()] == [True, False]
    assert count.is_news(ValueError())
    now[0] += TOLD_AGAIN
    assert news()
