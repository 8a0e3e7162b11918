"""A question that was answered leaves nothing in the memory of the dashboard."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
from textual._styles_cache import StylesCache
from textual.color import Color
from textual.events import Resize
from textual.widgets import TextArea

from agent_tui.modals.approval import ApprovalModal
from agent_tui.panes.circles import break_up
from agent_tui.panes.status import KeyRow
from agent_tui_core.agent.approvals import DenyCall
from dashboard_pilot import Driver, dashboard
from scripted_session import ScriptedSession, scripted_plan

ROUNDS = 3


async def _asked_and_denied(driver: Driver) -> None:
    worker = driver.workers[0]
    worker.begin("go")
    asking = worker.ask("Bash", "make install")
    await driver.press("f2")
    await driver.until(lambda: isinstance(driver.app.screen, ApprovalModal))
    [request] = driver.session.desk.pending
    driver.session.desk.answer(request.id, DenyCall())
    await asking
    worker.end()
    await driver.until(lambda: driver.app.screen is driver.screen)
    await driver.drawn()


def test_what_a_closed_widget_drew_is_not_kept_for_two_colours() -> None:
    break_up()
    drawn = StylesCache()
    drawn.get_inner_outer(Color(1, 2, 3), Color(4, 5, 6))
    gone = weakref.ref(drawn)
    del drawn
    gc.collect()
    assert gone() is None


async def test_a_question_that_was_answered_is_forgotten_with_its_editor(tmp_path: Path) -> None:
    session = ScriptedSession(scripted_plan(tmp_path), "ann")
    async with dashboard(session) as driver:
        await _asked_and_denied(driver)
        watching = len(getattr(driver.app, "__watchers")["theme"])
        for _ in range(ROUNDS):
            await _asked_and_denied(driver)
        assert len(getattr(driver.app, "__watchers")["theme"]) == watching
        # The last one may be in a cache of a layout still; and a clock that was stopped knows its screen, and
        # is in asyncio's list until the second that it would have struck.
        await driver.until(lambda: _editors() <= 1)


def _editors() -> int:
    gc.collect()
    areas = [each for each in gc.get_objects() if type(each) is not type and isinstance(each, TextArea)]
    return sum(each.id == "editor" for each in areas)


@pytest.mark.parametrize("typed", [["h"], ["h", "backspace"]], ids=["written", "deleted"])
async def test_what_a_question_passed_on_does_not_name_it(tmp_path: Path, typed: list[str]) -> None:
    session = ScriptedSession(scripted_plan(tmp_path), "ann")
    async with dashboard(session) as driver:
        asking = driver.workers[0].ask("Bash", "make install")
        await driver.until(lambda: isinstance(driver.app.screen, ApprovalModal))
        await driver.press(*typed)
        assert driver.screen.prompt.text == ("h" if len(typed) == 1 else "")
        changes = [each for each in gc.get_objects() if isinstance(each, TextArea.Changed)]
        assert changes, "the last message of a widget is kept until the next"
        assert not any(isinstance(each._sender, ApprovalModal) for each in changes)
        asking.cancel()


async def test_a_new_size_behind_a_question_does_not_name_it(tmp_path: Path) -> None:
    session = ScriptedSession(scripted_plan(tmp_path), "ann")
    async with dashboard(session) as driver:
        asking = driver.workers[0].ask("Bash", "make install")
        await driver.until(lambda: isinstance(driver.app.screen, ApprovalModal))
        await driver.pilot.resize_terminal(100, 30)
        row = driver.screen.query_one(KeyRow)
        await driver.until(lambda: row.size.width == 100)
        sizes = [each for each in gc.get_objects() if isinstance(each, Resize) and each.size == row.size]
        assert sizes, "the last message of a widget is kept until the next"
        assert not any(isinstance(each._sender, ApprovalModal) for each in sizes)
        asking.cancel()
