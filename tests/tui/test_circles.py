"""What is gone from the screen is gone from memory at once: no circle waits for a walk of the collector."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.cache import LRUCache
from textual.map_geometry import MapGeometry
from textual.strip import Strip
from textual.widget import Widget

from agent_tui.panes.circles import break_up
from agent_tui_core.agent.approvals import DenyCall
from agent_tui_core.events import ReasoningDelta
from dashboard_pilot import Driver, dashboard
from scripted_session import ScriptedSession, scripted_plan

WORDS = "Some **words**, `code`.\n\n- a list\n- of two\n\n```python\nprint(1)\n```\n\n"


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def _garbage() -> Counter[type]:
    """What a walk finds now, by type; a thread that imports leaves some of the standard library's, too."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    return Counter(type(each) for each in gc.garbage)


def _below(widget: Widget) -> list[weakref.ref[Widget]]:
    return [weakref.ref(each) for each in [widget, *widget.walk_children(Widget)]]


async def _gone(driver: Driver, widgets: list[weakref.ref[Widget]]) -> None:
    await driver.until(lambda: not any(each() for each in widgets))


def _session(folder: Path) -> ScriptedSession:
    return ScriptedSession(scripted_plan(folder), "scout", "builder")


@pytest.mark.parametrize("key", ["f1", "f7"])
@pytest.mark.usefixtures("uncollected")
async def test_a_screen_that_was_closed_is_free_at_once(tmp_path: Path, key: str) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press(key)
        await driver.until(lambda: len(driver.app.screen_stack) == 2)
        await driver.drawn()
        widgets = _below(driver.app.screen)
        await driver.press("escape")
        await _gone(driver, widgets)


@pytest.mark.usefixtures("uncollected")
async def test_a_question_that_was_answered_is_free_at_once(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        worker = driver.workers[0]
        worker.begin("go")
        asking = worker.ask("Bash", "make install")
        await driver.press("f2")
        await driver.until(lambda: len(driver.app.screen_stack) == 2)
        await driver.drawn()
        widgets = _below(driver.app.screen)
        [request] = driver.session.desk.pending
        driver.session.desk.answer(request.id, DenyCall())
        await asking
        await _gone(driver, widgets)


@pytest.mark.usefixtures("uncollected")
async def test_an_agent_that_was_closed_leaves_only_what_layouts_leave(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await _come_and_go(driver)
        gc.collect()
        await _come_and_go(driver)
        found = _garbage()
        drawn = {kind.__name__ for kind in found if kind.__module__.startswith(("textual", "agent_tui"))}
        assert drawn <= {"Region", "Size", "Worker"}, (
            "of the function that places widgets, and of the warm-up"
        )


async def _come_and_go(driver: Driver) -> None:
    """The places of the last layouts are remembered: its pane goes once another one went."""
    worker = await driver.session.add_worker()
    await driver.drawn()
    worker.begin("go")
    for _ in range(5):
        worker.say(WORDS)
        await driver.drawn()
    worker.notice("a word of the program")
    worker.emit(ReasoningDelta("Let me think.\n\nAgain."))
    asking = worker.ask("Bash", "make install")
    await driver.drawn()
    [request] = driver.session.desk.pending
    driver.session.desk.answer(request.id, DenyCall())
    await asking
    worker.end("failed", "no answer")
    await driver.drawn()
    await driver.session.remove_worker(worker.id)
    await driver.drawn()


@pytest.mark.usefixtures("uncollected")
async def test_a_layout_leaves_no_circles_of_rows_and_places(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        gc.collect()
        for _ in range(2):
            await driver.press("f4")
            await driver.drawn()
        found = _garbage()
        assert (found[Strip], found[MapGeometry]) == (0, 0)


async def test_a_widget_that_is_gone_can_still_be_told_things(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press("f1")
        await driver.until(lambda: len(driver.app.screen_stack) == 2)
        widgets = [driver.app.screen, *driver.app.screen.walk_children(Widget)]
        await driver.press("escape")
        await driver.until(lambda: len(driver.app.screen_stack) == 1)
        await driver.until(lambda: not any(each.is_running for each in widgets))
        for widget in widgets:
            widget.styles.background = "red"
            widget.styles.display = "none"
            widget.refresh(layout=True)
            widget.add_class("late")
            widget.update_node_styles()
            assert widget.styles.background.rgb == (255, 0, 0)
        await asyncio.sleep(0)
        assert driver.app.screen is driver.screen


@pytest.mark.usefixtures("uncollected")
def test_a_cache_that_is_gone_takes_its_entries_along() -> None:
    break_up()

    class Entry:
        pass

    def entries(cache: LRUCache[Any, Any]) -> list[weakref.ref[Entry]]:
        for number in range(5):
            cache[number] = Entry()
        return [weakref.ref(cache[number]) for number in range(5)]

    cleared: LRUCache[Any, Any] = LRUCache(3)
    for number in range(9):
        cleared[number] = Entry()
    assert len(cleared) == 3 and isinstance(cleared[8], Entry)
    kept = weakref.ref(cleared[8])
    cleared.clear()
    assert kept() is None and not cleared and cleared.get(8) is None
    cleared[1] = "again"
    assert cleared[1] == "again"

    dropped: LRUCache[Any, Any] = LRUCache(8)
    refs = entries(dropped)
    del dropped
    assert not any(each() for each in refs)


async def test_a_scrollbar_that_comes_while_its_widget_goes_ends_with_it() -> None:
    """A layout may ask for it in that moment; Textual has asked those to end that were there before."""

    class Goes(Widget):
        late: asyncio.Task[None] | None = None

        def on_unmount(self) -> None:
            self.late = self.vertical_scrollbar._task

    class Stage(App[None]):
        def compose(self) -> ComposeResult:
            yield Goes()

    break_up()
    app = Stage()
    async with app.run_test():
        goes = app.query_one(Goes)
        await goes.remove()
        assert goes.late is not None
        assert goes.late.done()
        assert goes._vertical_scrollbar not in app._registry
