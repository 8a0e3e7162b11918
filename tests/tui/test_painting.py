"""What reaches the terminal in pieces, against the whole screen as Textual draws it."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.geometry import Region, Size
from textual.pilot import Pilot
from textual.strip import Strip

from agent_tui import keyboard
from agent_tui.panes import painting
from agent_tui.panes.painting import Painter, PiecesUpdate
from dashboard_pilot import dashboard
from scene import play, scene
from scripted_session import ScriptedSession, scripted_plan


class Terminal:
    """Cells as the updates leave them; `whole` is what Textual says that the screen shows."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self.pilot = pilot
        self.cells: list[list[tuple[str, object]]] = [_cells(strip) for strip in self.whole]
        self.updates = self.rows = 0

    @property
    def whole(self) -> list[Strip]:
        return self.pilot.app.screen._compositor.render_strips()

    def take(self, update: PiecesUpdate) -> None:
        self.updates += 1
        for x, y, strip in update._strips:
            cells = _cells(strip)
            self.cells[y][x : x + len(cells)] = cells
            self.rows += 1


def _cells(strip: Strip) -> list[tuple[str, object]]:
    return [
        (char, style and (style.color, style.bgcolor, style.bold, style.italic, style.reverse))
        for text, style, _ in strip
        for char in text
    ]


async def test_the_pieces_make_the_same_screen_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    app = scene()
    async with app.run_test(size=(120, 36)) as pilot:
        await play(pilot)
        terminal = Terminal(pilot)
        drawn = Painter.render_partial_update

        def watched(painter: Painter) -> PiecesUpdate | None:
            update = drawn(painter)
            if update is not None:
                terminal.take(update)
            return update

        monkeypatch.setattr(Painter, "render_partial_update", watched)
        await pilot.press("h", "e", "l", "l", "o", "backspace", "pageup", "pageup", "end", "home")
        app.notify("over the panes")
        await pilot.pause()
        terminal.cells = [_cells(strip) for strip in terminal.whole]  # a toast comes with a layout
        for pane in app.dashboard._panes.values():
            pane.transcript.scroll_rows(-2)
            pane.transcript.refresh()
        await pilot.press("x", "y")
        await pilot.pause()
        assert terminal.updates > 2
        assert terminal.cells == [_cells(strip) for strip in terminal.whole]


async def test_only_rows_that_changed_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    app = scene()
    async with app.run_test(size=(120, 36)) as pilot:
        await play(pilot)
        await pilot.pause()
        asked: list[Region] = []

        def ask(crop: Region) -> list[Strip]:
            asked.append(crop)
            return []

        for pane in app.dashboard._panes.values():
            monkeypatch.setattr(pane.transcript, "render_lines", ask)
        await pilot.press("h", "i")
        await pilot.pause()
        assert not asked


async def test_what_a_key_changed_is_painted_without_waiting_for_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = scene()
    async with app.run_test(size=(120, 36)) as pilot:
        await play(pilot)
        await pilot.pause()
        app.screen._update_timer.stop()
        painted: list[str] = []
        monkeypatch.setattr(
            Painter, "render_partial_update", lambda _: painted.append(app.dashboard.prompt.text)
        )
        for letter in "hi":
            app.post_message(events.Key(letter, letter))
        async with asyncio.timeout(5):  # no `pause`: that one paints
            while painted[-1:] != ["hi"]:
                await asyncio.sleep(0)


async def test_the_clock_leaves_one_painting_to_a_key_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    app = scene()
    async with app.run_test(size=(120, 36)) as pilot:
        await play(pilot)
        await pilot.pause()
        screen = app.screen
        screen._update_timer.stop()
        painted: list[str] = []
        monkeypatch.setattr(
            Painter, "render_partial_update", lambda _: painted.append(app.dashboard.prompt.text)
        )
        strokes = [app.keyboard.came, *[screen._on_timer_update] * 3]
        for stroke in strokes:
            app.dashboard.prompt.refresh()
            screen._dirty_widgets.add(app.dashboard.prompt)
            stroke()
        assert len(painted) == 1, "the second of three strokes paints"
        monkeypatch.setattr(keyboard, "PATIENCE", 60.0)
        assert app.keyboard.waits()
        app.post_message(events.Key("h", "h"))
        async with asyncio.timeout(5):
            while app.keyboard.waits() or painted[-1] != "h":
                await asyncio.sleep(0)


async def test_a_frame_is_painted_at_its_end_and_sends_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(painting, "LONG_FRAME", 60.0)
    session = ScriptedSession(scripted_plan(tmp_path), "scout", "builder")
    async with dashboard(session) as driver:
        for worker in driver.workers:
            worker.begin("go")
            worker.say("first")
        await driver.shows("first")
        await driver.drawn()
        screen = driver.screen
        screen._update_timer.stop()
        for worker in driver.workers:
            worker.say(" and more")
        messages: asyncio.Queue[Any] = screen._message_queue
        assert messages.empty()
        driver.app.feed._on_time()
        assert not screen._dirty_widgets
        assert not screen._compositor._dirty_regions
        assert messages.empty()
        assert driver.text().count("first and more") == 2


@pytest.mark.parametrize("reason", ["a key", "a layout", "a batch", "a question over it", "a long frame"])
async def test_a_frame_leaves_to_the_clock_what_it_may_not_paint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    session = ScriptedSession(scripted_plan(tmp_path), "scout")
    async with dashboard(session) as driver:
        app, screen, worker = driver.app, driver.screen, driver.workers[0]
        worker.begin("go")
        worker.say("first")
        await driver.shows("first")
        if reason == "a question over it":
            app.action_help()
            await driver.until(lambda: len(app.screen_stack) == 2)
        await driver.drawn()
        worker.say(" and more")
        with app.batch_update() if reason == "a batch" else nullcontext():
            if reason == "a key":
                app.keyboard.came()
                app.feed._on_time()  # breaks off
            elif reason == "a layout":
                screen._layout_required = True
            elif reason == "a long frame":
                monkeypatch.setattr(painting, "LONG_FRAME", 0.0)
            app.feed._on_time()
            assert screen._dirty_widgets
        if reason == "a question over it":
            await driver.press("escape")
        await driver.until(lambda: not screen._dirty_widgets and not screen._layout_required)
        assert "first and more" in driver.text()


async def test_a_painting_that_fails_is_told_to_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(painting, "LONG_FRAME", 60.0)
    session = ScriptedSession(scripted_plan(tmp_path), "scout")
    async with dashboard(session) as driver:
        worker = driver.workers[0]
        worker.begin("go")
        worker.say("first")
        await driver.shows("first")
        await driver.drawn()
        told: list[Exception] = []
        error = RuntimeError("a bug")

        def fail(_painter: Painter) -> None:
            raise error

        with monkeypatch.context() as patched:
            patched.setattr(driver.app, "_handle_exception", told.append)
            patched.setattr(Painter, "render_partial_update", fail)
            worker.say(" and more")
            driver.app.feed._on_time()
        assert told == [error]


@pytest.mark.parametrize("whole", [True, False])
async def test_a_pane_that_goes_while_the_screen_is_painted_ends_nothing(tmp_path: Path, whole: bool) -> None:
    session = ScriptedSession(scripted_plan(tmp_path), "ann", "bob")
    async with dashboard(session) as driver:
        session.workers[0].begin("go")
        session.workers[0].say("some words")
        await driver.shows("some words")
        await driver.drawn()
        painter, pane = driver.screen._compositor, driver.panes[0]
        assert isinstance(painter, Painter)
        with driver.app.batch_update():  # no layout yet
            await pane.remove()
            assert pane.transcript in painter.visible_widgets
            if whole:
                assert len(painter.render_strips()) == 36
            else:
                painter._dirty_regions.add(Region(0, 0, 120, 30))
                assert painter.render_partial_update() is not None
        await session.remove_worker(session.workers[0].id)
        await driver.drawn()
        assert [pane.feed.agent.name for pane in driver.panes] == ["bob"]
        assert driver.app.return_code is None


async def test_a_pane_that_is_gone_holds_nothing_that_it_drew(tmp_path: Path) -> None:
    session = ScriptedSession(scripted_plan(tmp_path), "ann", "bob")
    async with dashboard(session) as driver:
        session.workers[0].begin("go")
        session.workers[0].say("some words")
        await driver.shows("some words")
        await driver.drawn()
        view = driver.panes[0].transcript
        held = [bool(each) for each in (view._rows, view._strips, view._parts, view.sheet.total)]
        await session.remove_worker(session.workers[0].id)
        await driver.until(lambda: not view.is_mounted or not view.is_attached)
        await driver.drawn()
        assert all(held)
        assert not any([view._rows, view._strips, view._parts, view.sheet.total])


@pytest.mark.parametrize("keys", [(), ("f1",), ("ctrl+p",)])
async def test_two_sizes_on_their_way_at_once_settle_at_the_one_that_counts(
    keys: tuple[str, ...], tmp_path: Path
) -> None:
    async with dashboard(ScriptedSession(scripted_plan(tmp_path), "ann")) as driver:
        await driver.press(*keys)
        screens, size = driver.app.screen_stack, driver.app.size
        assert len(screens) == 1 + len(keys)
        for screen in screens:
            for rows in (24, 25, 24, 25):
                screen.post_message(events.Resize(Size(80, rows), Size(80, rows)))
                screen.call_later(lambda: None)  # between two sizes: neighbours are made one
        await driver.drawn()  # never came: each size brought the other back
        assert [screen.size for screen in screens] == [size] * len(screens)
