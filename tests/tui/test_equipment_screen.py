"""The screen of tools, rules and trust: what it shows and what its keys do; nothing foreign gets out."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_tui.panes.report_lines import report_lines
from agent_tui.screens.equipment import EVERY, EquipmentScreen
from agent_tui_core.errors import ToolError
from agent_tui_core.runtime.report import ReportRow, ReportSection
from dashboard_pilot import Driver, dashboard
from reporters import Room
from scripted_session import ScriptedSession, scripted_plan


def _session(folder: Path, *rooms: Room) -> ScriptedSession:
    session = ScriptedSession(scripted_plan(folder), "scout")
    session.equipment.reporters = rooms
    return session


async def _open(driver: Driver) -> EquipmentScreen:
    await driver.press("f7")
    await driver.until(lambda: isinstance(driver.app.screen, EquipmentScreen))
    await driver.drawn()
    assert isinstance(driver.app.screen, EquipmentScreen)
    return driver.app.screen


def _notes(driver: Driver) -> str:
    return " ".join(note.message for note in driver.app._notifications)


def _rules(count: int = 3) -> Room:
    rows = [
        ReportRow(f"r{n}", f"Bash(make {n})", "allow", "the user's file", verb="forget") for n in range(count)
    ]
    return Room("Rules", *rows)


async def test_every_room_is_shown_with_its_rows_states_and_details(tmp_path: Path) -> None:
    servers = Room("MCP servers", ReportRow("s", "git", "failed", "no such program", bad=True))
    async with dashboard(_session(tmp_path, _rules(), servers), (80, 24)) as driver:
        await _open(driver)
        text = driver.text()
        for words in (
            "Rules  3",
            "Bash(make 0)",
            "allow",
            "the user's file",
            "MCP servers  1",
            "no such program",
        ):
            assert words in text
        assert "▲ failed" in text
        assert "▲ 1 to look at" in text


async def test_an_empty_room_says_what_to_do_next(tmp_path: Path) -> None:
    async with dashboard(
        _session(tmp_path, Room("Hooks", empty="None yet: [[hooks.Stop]] adds one."))
    ) as driver:
        await _open(driver)
        assert "None yet: [[hooks.Stop]] adds one." in driver.text()


async def test_without_any_room_the_screen_still_opens(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await _open(driver)
        assert "Nothing is set up here" in driver.text()
        await driver.press("up", "down", "pageup", "pagedown", "home", "end", "tab", "enter", "escape")
        assert driver.app.screen is driver.screen


async def test_enter_does_what_the_row_says_and_the_answer_is_told(tmp_path: Path) -> None:
    rules = _rules()
    rules.answer = "Forgot it."
    async with dashboard(_session(tmp_path, rules)) as driver:
        await _open(driver)
        await driver.press("down", "enter")
        await driver.until(lambda: "Forgot it." in _notes(driver))
        assert rules.acted == ["r1"]


async def test_a_row_without_a_verb_is_not_acted_on(tmp_path: Path) -> None:
    room = Room("Sandbox", ReportRow("s", "bubblewrap", "on"))
    async with dashboard(_session(tmp_path, room)) as driver:
        await _open(driver)
        await driver.press("enter")
        assert room.acted == []


async def test_a_verb_that_is_under_way_is_not_run_twice(tmp_path: Path) -> None:
    rules = _rules()
    rules.may_act.clear()
    async with dashboard(_session(tmp_path, rules)) as driver:
        await _open(driver)
        await driver.press("enter", "enter", "enter")
        assert rules.acted == ["r0"]
        rules.may_act.set()
        await driver.until(lambda: "Done." in _notes(driver))
        await driver.press("enter")
        assert rules.acted == ["r0", "r0"]


async def test_what_a_verb_refuses_is_told_and_ends_nothing(tmp_path: Path) -> None:
    room = Room("Servers", ReportRow("s", "git", "up", verb="restart"))
    async with dashboard(_session(tmp_path, room)) as driver:
        await _open(driver)
        room.fails = ToolError("it is [bold]gone[/]\x1b[2J")
        await driver.press("enter")
        await driver.until(lambda: "it is [bold]gone[/]" in _notes(driver))
        assert "\x1b" not in _notes(driver)


@pytest.mark.parametrize("error", [ToolError("no file"), ValueError("[/] a bug")])
async def test_a_room_that_cannot_be_read_says_so_and_hides_no_other(
    tmp_path: Path, error: Exception
) -> None:
    broken = Room("Hooks")
    broken.fails = error
    async with dashboard(_session(tmp_path, broken, _rules())) as driver:
        await _open(driver)
        text = driver.text()
        assert str(error) in text
        assert "Bash(make 2)" in text


async def test_rooms_are_read_again_while_it_is_open_and_not_before_or_after(tmp_path: Path) -> None:
    rules = _rules()
    async with dashboard(_session(tmp_path, rules)) as driver:
        assert rules.reads == 0
        await _open(driver)
        rules.rows = (ReportRow("new", "Bash(new one)", "allow"),)
        await driver.shows("Bash(new one)")
        await driver.press("escape")
        await driver.until(lambda: driver.app.screen is driver.screen)
        before = rules.reads
        loop = asyncio.get_running_loop()
        end = loop.time() + EVERY * 2.5
        await driver.until(lambda: loop.time() >= end)
        assert rules.reads == before


async def test_the_chosen_row_stays_chosen_when_others_come_and_go(tmp_path: Path) -> None:
    rules = _rules(4)
    async with dashboard(_session(tmp_path, rules)) as driver:
        screen = await _open(driver)
        await driver.press("down", "down")
        rules.rows = (ReportRow("z", "first of all", "allow"), *rules.rows[1:])
        screen.look()
        chosen = screen._view.chosen
        assert chosen is not None
        assert chosen[1].id == "r2"
        rules.rows = rules.rows[:2]
        screen.look()
        chosen = screen._view.chosen
        assert chosen is not None
        assert chosen[1].id == "r1"


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (40, 12)])
async def test_all_rows_can_be_reached_by_keys(tmp_path: Path, size: tuple[int, int]) -> None:
    async with dashboard(
        _session(tmp_path, _rules(28), Room("Hooks", ReportRow("h", "last of all"))), size
    ) as driver:
        screen = await _open(driver)
        seen = set()
        for _ in range(34):
            chosen = screen._view.chosen
            assert chosen is not None
            await driver.drawn()
            assert chosen[1].title in driver.text()
            seen.add(chosen[1].id)
            await driver.press("down")
        assert len(seen) == 29
        await driver.press("home")
        assert screen._view.chosen and screen._view.chosen[1].id == "r0"
        await driver.press("tab")
        assert screen._view.chosen[1].id == "h"


async def test_a_click_on_the_button_acts_and_one_on_the_row_only_chooses_it(tmp_path: Path) -> None:
    rules = _rules()
    async with dashboard(_session(tmp_path, rules), (80, 24)) as driver:
        screen = await _open(driver)
        lines = driver.lines()
        y = next(y for y, line in enumerate(lines) if "Bash(make 2)" in line)
        await driver.pilot.click(offset=(lines[y].index("Bash(make 2)"), y))
        assert screen._view.chosen and screen._view.chosen[1].id == "r2"
        assert rules.acted == []
        await driver.pilot.click(offset=(lines[y].index("forget"), y))
        await driver.until(lambda: rules.acted == ["r2"])


async def test_a_question_that_comes_meanwhile_is_announced_and_one_key_away(tmp_path: Path) -> None:
    session = _session(tmp_path, _rules())
    async with dashboard(session) as driver:
        await _open(driver)
        task = session.workers[0].ask("Bash", "make all")
        await driver.shows("1 waits for you")
        await driver.press("f2")
        await driver.shows("make all")
        task.cancel()


def test_nothing_hides_in_a_report_and_nothing_is_cut() -> None:
    hostile = "a\x1b[2J\u202eb\u200d[bold]\x9b31m"
    row = ReportRow("r", hostile, hostile, hostile * 40, verb=hostile)
    for width in (20, 40, 80, 200):
        lines = report_lines([ReportSection("rooms", (row,)), ReportSection(hostile, (), hostile)], width)
        text = "\n".join("".join(part for part, _ in line.parts) for line in lines)
        assert text.isprintable() or set(filter(lambda char: not char.isprintable(), text)) == {"\n"}
        assert "".join(text.split()).count("\\u{202e}") >= 44


def test_no_line_is_wider_than_it_may_be() -> None:
    row = ReportRow("r", "名前" * 60, "state" * 9, "x" * 500, bad=True, verb="restart")
    for width in (30, 80):
        for line in report_lines([ReportSection("s", (row,))], width):
            cells = sum(2 if ord(char) > 0x2E80 else 1 for part, _ in line.parts for char in part)
            assert cells <= width
