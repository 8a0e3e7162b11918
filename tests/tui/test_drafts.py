"""A draft belongs to its agent: words, cursor, undo, and the prompts that came back to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Key
from textual.widgets import TextArea

from agent_tui_core.events import PromptReturned
from dashboard_pilot import Driver, dashboard
from scripted_session import ScriptedSession, scripted_plan


def _session(folder: Path, *names: str) -> ScriptedSession:
    return ScriptedSession(scripted_plan(folder), *(names or ("scout", "builder", "tester")))


def _notes(driver: Driver) -> list[str]:
    return [note.message for note in driver.app._notifications]


async def test_half_typed_words_stay_with_their_agent_with_cursor_and_undo(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        box = driver.screen.prompt
        await driver.press(*"one ", *"two", "left", "left", "alt+2")
        assert box.text == ""
        await driver.press(*"other", "alt+1", "X")
        assert box.text == "one tXwo"
        await driver.press("ctrl+z")
        assert box.text == "one two"
        await driver.press("ctrl+z")
        assert box.text == ""
        await driver.press("f6")
        assert box.text == "other"
        await driver.press("ctrl+z")
        assert box.text == ""
        await driver.press("ctrl+y")
        assert box.text == "other"


async def test_a_walk_through_sent_prompts_belongs_to_its_draft_and_the_prompts_to_all(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        box = driver.screen.prompt
        await driver.press(*"sent", "enter", *"half", "up", "!", "alt+2", *"mine", "up")
        assert box.text == "sent"
        await driver.press("alt+1")
        assert box.text == "sent!"
        await driver.press("down")
        assert box.text == "half"
        await driver.press("alt+2", "down")
        assert box.text == "mine"


async def test_a_prompt_that_failed_comes_back_to_its_own_agent_in_front_of_its_draft_and_it_is_said(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        box = driver.screen.prompt
        await driver.press("alt+2", *"half", "alt+1", *"mine")
        driver.workers[1].emit(PromptReturned("the first", "401"), PromptReturned("the second", "402"))
        await driver.until(lambda: len(_notes(driver)) == 1)
        assert "2 builder" in _notes(driver)[0]
        assert box.text == "mine"
        await driver.press("enter")
        assert driver.workers[0].prompts == ["mine"]
        assert driver.workers[1].prompts == []
        await driver.press("alt+2")
        assert box.text == "the first\nthe second\nhalf"
        await driver.shows("402")
        await driver.press("ctrl+z")
        assert box.text == "half"
        await driver.press("ctrl+y", "enter")
        assert driver.workers[1].prompts == ["the first\nthe second\nhalf"]
        assert driver.workers[2].prompts == []


async def test_keys_of_one_reading_go_to_the_agent_that_was_chosen_when_they_were_typed(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        for key in ("a", "b", "alt+2", "c", "enter", "alt+3", "d", "enter", "f6", "e"):
            driver.app.post_message(Key(key, key if len(key) == 1 else None))
        await driver.until(lambda: driver.screen.prompt.text == "abe")
        assert [worker.prompts for worker in driver.workers] == [[], ["c"], ["d"]]


async def test_a_prompt_that_is_sent_and_stopped_in_one_reading_is_stopped(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        for key in ("a", "enter", "escape"):
            driver.app.post_message(Key(key, key if len(key) == 1 else None))
        await driver.until(lambda: driver.workers[0].interrupts == 1)
        assert driver.workers[0].prompts == ["a"]


@pytest.mark.parametrize("key", ["alt+0", "alt+9", "alt+q", "ctrl+y"])
async def test_keys_with_alt_or_ctrl_write_nothing_whatever_character_they_bear(
    tmp_path: Path, key: str
) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        driver.app.post_message(Key(key, key[-1]))
        await driver.press("x")
        assert driver.screen.prompt.text == "x"


async def test_the_draft_of_an_agent_that_goes_away_can_be_recalled(tmp_path: Path) -> None:
    session = _session(tmp_path)
    async with dashboard(session) as driver:
        await driver.press("alt+2", *"half", "alt+3", *"mine")
        session.workers[1].emit(PromptReturned("came back", "401"))
        await driver.until(lambda: bool(_notes(driver)))
        await session.remove_worker("agent-2")
        await driver.until(lambda: len(driver.panes) == 2)
        assert driver.screen.prompt.text == "mine"
        await driver.press("up")
        assert driver.screen.prompt.text == "half"
        await driver.press("up")
        assert driver.screen.prompt.text == "came back"
        await session.remove_worker("agent-3")
        await driver.until(lambda: driver.chosen == 1)
        assert driver.screen.prompt.text == ""


async def test_words_that_were_written_without_an_agent_are_there_for_the_first(tmp_path: Path) -> None:
    async with dashboard(ScriptedSession(scripted_plan(tmp_path))) as driver:
        await driver.press(*"words", "enter")
        await driver.shows("^t adds one")
        await driver.press("ctrl+t")
        await driver.until(lambda: driver.chosen == 1)
        assert driver.screen.prompt.text == "words"
        assert driver.screen.query_one(TextArea).cursor_location == (0, 5)
        await driver.press("enter")
        assert driver.workers[0].prompts == ["words"]
