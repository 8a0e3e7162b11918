"""Forms on the dashboard: they open as questions do, typing is no answer, and nothing is sent before y."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from textual.widgets import Input, TextArea

from agent_tui.modals.form import FormModal
from agent_tui_core.blocks import JsonObject
from agent_tui_core.runtime.forms import Form, FormKind
from dashboard_pilot import Driver, dashboard
from scripted_session import ScriptedSession, scripted_plan

BRANCH: dict[str, Any] = {
    "type": "object",
    "required": ["branch"],
    "properties": {
        "branch": {"type": "string", "title": "Branch"},
        "times": {"type": "integer", "default": 2},
        "force": {"type": "boolean"},
    },
}


def _session(folder: Path) -> ScriptedSession:
    return ScriptedSession(scripted_plan(folder), "scout", "builder")


def _ask(
    session: ScriptedSession,
    *,
    schema: JsonObject = BRANCH,
    kind: FormKind = "elicitation",
    urgent: bool = True,
    agent: str = "",
    message: str = "Which branch?",
) -> asyncio.Task[JsonObject | None]:
    form = Form(kind, "MCP server git", message, schema, agent_id=agent, urgent=urgent)
    return asyncio.create_task(session.equipment.forms.ask(form))


async def _opened(driver: Driver) -> FormModal:
    await driver.until(lambda: isinstance(driver.app.screen, FormModal) and driver.app.screen.is_mounted)
    assert isinstance(driver.app.screen, FormModal)
    return driver.app.screen


async def _key(driver: Driver, key: str) -> None:
    modal = await _opened(driver)
    await driver.until(lambda: modal.hearing == "armed")
    await driver.press(key)


async def _write(driver: Driver) -> None:
    await _key(driver, "e")
    await driver.until(lambda: driver.app.screen.focused is not None)


def _notes(driver: Driver) -> str:
    return " ".join(note.message for note in driver.app._notifications)


async def test_what_was_filled_in_reaches_who_asked(tmp_path: Path) -> None:
    session = _session(tmp_path)
    async with dashboard(session, (80, 24)) as driver:
        task = _ask(session, agent="agent-2")
        await _opened(driver)
        await driver.shows("MCP server git asks you")
        await driver.shows("For agent 2 builder")
        await _write(driver)
        await driver.press(*"main", "enter", "backspace", "7", "enter", "right", "right", "enter")
        await _key(driver, "y")
        assert await task == {"branch": "main", "times": 7, "force": False}
        await driver.until(lambda: driver.app.screen is driver.screen)


async def test_no_form_opens_while_someone_types_and_no_letter_answers_it(tmp_path: Path) -> None:
    session = _session(tmp_path)
    async with dashboard(session) as driver:
        await driver.press(*"deploy")
        task = _ask(session)
        for _ in range(8):
            await driver.press(*"yen")
            assert driver.app.screen is driver.screen
        await _opened(driver)
        await driver.press(*"yney")
        assert not task.done()
        assert isinstance(driver.app.screen, FormModal)
        await driver.until(lambda: driver.screen.prompt.text.endswith("yney"))
        task.cancel()


async def test_enter_alone_never_sends(tmp_path: Path) -> None:
    session = _session(tmp_path)
    async with dashboard(session) as driver:
        task = _ask(session, schema={"properties": {}})
        modal = await _opened(driver)
        await driver.until(lambda: modal.hearing == "armed")
        for _ in range(5):
            await driver.press("enter")
        assert not task.done()
        assert driver.app.screen is modal
        task.cancel()


async def test_what_does_not_fit_is_told_at_its_field_and_not_sent(tmp_path: Path) -> None:
    session = _session(tmp_path)
    async with dashboard(session, (80, 24)) as driver:
        task = _ask(session)
        await _key(driver, "y")
        await driver.shows("it has to be filled in")
        assert not task.done()
        task.cancel()


async def test_declining_and_putting_off_are_two_things(tmp_path: Path) -> None:
    session = _session(tmp_path)
    async with dashboard(session) as driver:
        task = _ask(session)
        await _key(driver, "l")
        await driver.until(lambda: driver.app.screen is driver.screen)
        assert not task.done()
        await driver.press("f2")
        await _opened(driver)
        await driver.press("escape")
        await _key(driver, "n")
        assert await task is None


async def test_half_written_words_stand_there_again(tmp_path: Path) -> None:
    session = _session(tmp_path)
    async with dashboard(session) as driver:
        task = _ask(session)
        await _write(driver)
        await driver.press(*"half", "escape")
        await _key(driver, "l")
        await driver.until(lambda: driver.app.screen is driver.screen)
        await driver.press("f12")
        modal = await _opened(driver)
        assert modal.written["branch"] == "half"
        task.cancel()


async def test_a_form_that_is_withdrawn_closes_unless_someone_writes_in_it(tmp_path: Path) -> None:
    session = _session(tmp_path)
    async with dashboard(session) as driver:
        task = _ask(session)
        await _opened(driver)
        task.cancel()
        await driver.until(lambda: driver.app.screen is driver.screen)
        task = _ask(session)
        await _write(driver)
        await driver.press(*"half")
        task.cancel()
        await driver.shows("It was withdrawn")
        await driver.press(*"er")
        modal = await _opened(driver)
        assert modal.written["branch"] == "halfer"
        assert driver.screen.prompt.text == ""
        await driver.press("escape")
        await driver.until(lambda: driver.app.screen is driver.screen)
        again = _ask(session)
        modal = await _opened(driver)
        assert modal.written["branch"] == "halfer"
        again.cancel()


async def test_a_result_that_a_person_may_give_waits_until_they_ask_for_it(tmp_path: Path) -> None:
    session = _session(tmp_path)
    schema: dict[str, Any] = {"required": ["result"], "properties": {"result": {"type": "string"}}}
    async with dashboard(session) as driver:
        other = _ask(session, schema=schema, kind="tool-result", urgent=False, agent="agent-1", message="one")
        task = _ask(session, schema=schema, kind="tool-result", urgent=False, agent="agent-2", message="two")
        await driver.shows("2 results wanted — f12")
        assert driver.app.screen is driver.screen
        driver.screen.choose("agent-2")
        await driver.press("f12")
        modal = await _opened(driver)
        assert modal.form.message == "two"
        await driver.until(lambda: isinstance(modal.focused, TextArea))
        await driver.press(*"fine", "enter", *"really", "escape")
        await _key(driver, "y")
        assert await task == {"result": "fine\nreally"}
        other.cancel()


async def test_without_a_form_the_key_says_so(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press("f12")
        await driver.until(lambda: "waits for your words" in _notes(driver))


async def test_an_approval_and_a_form_never_cover_each_other_and_the_older_comes_first(
    tmp_path: Path,
) -> None:
    session = _session(tmp_path)
    async with dashboard(session) as driver:
        form = _ask(session)
        await _opened(driver)
        approval = session.workers[0].ask("Bash", "make all")
        await driver.drawn()
        assert len(driver.app.screen_stack) == 2
        await driver.shows("MCP server git asks you")
        await _key(driver, "n")
        assert await form is None
        await driver.shows("make all")
        approval.cancel()


async def test_hostile_words_of_a_form_are_spelt_out_and_do_nothing(tmp_path: Path) -> None:
    session = _session(tmp_path)
    bad = "\x1b]52;c;aGk=\x07\u202e[@click=app.quit]x[/]\x9b2J"
    schema: dict[str, Any] = {
        "properties": {bad: {"type": "string", "default": bad, "description": bad}, "c": {"enum": [bad, "b"]}}
    }
    async with dashboard(session) as driver:
        task = _ask(session, schema=schema, message=bad)
        modal = await _opened(driver)
        await driver.shows("[@click=app.quit]x[/]")
        assert "\x1b" not in driver.text()
        assert "\u202e" not in driver.text().replace(modal.query_one(Input).value, "")
        await driver.pilot.click("#message")
        assert driver.app.is_running
        task.cancel()
