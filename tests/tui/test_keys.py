"""Owns what keys do on the dashboard, which agent they reach, and that no modal leaks them."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Key, Paste
from textual.widgets import TextArea

from agent_tui.actions import ACTIONS, Action
from agent_tui.modals.approval import ApprovalModal
from agent_tui.modals.confirm import ConfirmModal
from agent_tui.panes.status import KeyRow
from agent_tui.screens.help import HelpScreen
from dashboard_pilot import Driver, dashboard
from scripted_session import ScriptedSession, scripted_plan


def _session(folder: Path, *names: str, keys: dict[str, str] | None = None) -> ScriptedSession:
    return ScriptedSession(scripted_plan(folder, keys=keys), *(names or ("scout", "builder", "tester")))


def _confirm(driver: Driver) -> bool:
    return isinstance(driver.app.screen, ConfirmModal)


def _armed(driver: Driver) -> bool:
    modal = driver.app.screen
    return isinstance(modal, ApprovalModal) and modal.hearing == "armed"


def _bright(driver: Driver) -> set[str]:
    """The labels of the last row that are not dim."""
    row = driver.screen.query_one(KeyRow).render()
    dim = {row.plain[span.start : span.end].strip() for span in row.spans if span.style == "$text-muted"}
    return {action.label for action in driver.app.actions.footer} - dim


async def _say_yes(driver: Driver) -> None:
    modal = driver.app.screen
    assert isinstance(modal, ConfirmModal)
    await driver.until(lambda: modal.hearing == "armed")
    await driver.press("y")
    await driver.until(lambda: driver.app.screen is not modal)


async def test_a_remapped_key_works_and_is_what_footer_and_help_say(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path, keys={"zoom": "f7", "interrupt": "ctrl+k"})) as driver:
        await driver.press("f4")
        assert len(driver.panes) == 3
        await driver.press("f7")
        assert len(driver.panes) == 1
        driver.workers[0].begin("go")
        await driver.press("escape")
        assert driver.workers[0].interrupts == 0
        await driver.press("ctrl+k")
        assert driver.workers[0].interrupts == 1
        await driver.drawn()
        assert "f7 zoom" in driver.lines()[-1]
        assert "^k stop" in driver.lines()[-1]
        await driver.press("f1")
        await driver.shows("ctrl+k")


# --- which agent --------------------------------------------------------------------------------------------


async def test_f6_goes_round_and_shift_f6_back_also_as_terminals_without_kitty_send_it(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        seen = []
        for key in ("f6", "f6", "f6", "shift+f6", "f18"):
            await driver.press(key)
            seen.append(driver.chosen)
        assert seen == [2, 3, 1, 3, 2]


async def test_alt_and_a_number_or_a_click_choose_an_agent_and_its_draft(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press(*"half", "alt+3", *"three", "enter")
        assert driver.chosen == 3
        await driver.pilot.click(driver.panes[1])
        await driver.press(*"two", "enter")
        assert driver.chosen == 2
        assert [worker.prompts for worker in driver.workers] == [[], ["two"], ["three"]]
        await driver.press("alt+1")
        assert driver.screen.prompt.text == "half"


async def test_a_prompt_goes_to_the_chosen_agent_alone_and_a_busy_one_queues_it(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press("f6", *"one", "enter", *"two", "enter")
        assert driver.workers[1].prompts == ["one"]
        assert [prompt.text for prompt in driver.workers[1].queue] == ["two"]
        await driver.press(*"three", "ctrl+g")
        assert driver.workers[1].prompts == ["one", "three"]


# --- stopping -----------------------------------------------------------------------------------------------


async def test_esc_stops_the_chosen_agent_only_and_says_so_in_the_same_frame(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        for worker in driver.workers:
            worker.begin("go")
        await driver.press("f6")
        driver.screen.action_interrupt()
        assert driver.app.feed.agents["agent-2"].transcript.state == "stopping"
        await driver.pilot.pause()
        assert [worker.interrupts for worker in driver.workers] == [0, 1, 0]
        await driver.shows("stopping…")
        await driver.shows("to 2 builder · stopping, enter goes on")


@pytest.mark.parametrize("state", ["connecting", "streaming", "waiting", "running", "retrying"])
async def test_esc_stops_in_every_phase(tmp_path: Path, state: str) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        driver.workers[0].become(state)  # type: ignore[arg-type]
        await driver.press("escape")
        assert driver.workers[0].interrupts == 1


async def test_esc_while_a_modal_is_open_is_the_modals_and_stops_no_agent(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        driver.workers[0].begin("go")
        for key, kind in (("f1", HelpScreen), ("ctrl+w", ConfirmModal)):
            await driver.press(key)
            await driver.until(lambda kind=kind: isinstance(driver.app.screen, kind))  # type: ignore[misc]
            modal = driver.app.screen
            assert modal is not driver.screen
            await driver.press("escape")
            await driver.until(lambda: driver.app.screen is driver.screen)
        task = driver.workers[1].ask("Bash", "ls")
        await driver.press("f2")
        await driver.until(lambda: isinstance(driver.app.screen, ApprovalModal))
        await driver.press("ctrl+t", "ctrl+p", "f9", "ctrl+w")
        assert len(driver.workers) == 3
        await driver.press("escape")
        await driver.until(lambda: driver.app.screen is driver.screen)
        assert not any(worker.interrupts for worker in driver.workers)
        [said] = [note.message for note in driver.app._notifications]
        assert said == "Later: f2 brings it back. esc now stops 1 scout."
        await driver.press("escape")
        assert [worker.interrupts for worker in driver.workers] == [1, 0, 0]
        task.cancel()


async def test_keys_that_only_lead_somewhere_act_at_once_in_a_question_that_opened_by_itself(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        task = driver.workers[1].ask("Bash", "ls")
        await driver.until(lambda: isinstance(driver.app.screen, ApprovalModal))
        for key in ("a", "alt+3", "b", "f6", "c", "alt+9", "d"):
            driver.app.post_message(Key(key, None if key == "f6" else key[-1]))
        await driver.until(lambda: driver.screen.prompt.text == "acd")
        assert driver.chosen == 1
        await driver.press("alt+3")
        assert driver.screen.prompt.text == "b"
        assert isinstance(driver.app.screen, ApprovalModal)
        await driver.press("f1")
        await driver.until(lambda: isinstance(driver.app.screen, HelpScreen))
        await driver.press("escape")
        await driver.until(lambda: isinstance(driver.app.screen, ApprovalModal))
        assert not task.done()
        task.cancel()


async def test_f8_works_over_a_question_and_asks(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        driver.workers[0].begin("go")
        task = driver.workers[1].ask("Bash", "ls")
        await driver.press("f2")
        await driver.until(lambda: isinstance(driver.app.screen, ApprovalModal))
        await driver.press("f8")
        await driver.until(lambda: _confirm(driver))
        assert len(driver.app.screen_stack) == 3
        await _say_yes(driver)
        await driver.until(lambda: [worker.interrupts for worker in driver.workers] == [1, 1, 0])
        task.cancel()  # a real agent that is stopped takes its question back
        await driver.until(lambda: driver.app.screen is driver.screen)


async def test_f8_again_in_its_question_stops_all_at_once(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        for worker in driver.workers[:2]:
            worker.begin("go")
        for _ in range(2):
            driver.app.post_message(Key("f8", None))
        await driver.until(lambda: [worker.interrupts for worker in driver.workers] == [1, 1, 0])
        await driver.until(lambda: driver.app.screen is driver.screen)


async def test_a_question_of_the_program_loses_no_letter_and_no_paste(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press("ctrl+w")
        await driver.until(lambda: _confirm(driver))
        await driver.press(*"yes")
        assert driver.screen.prompt.text == "yes"
        assert _confirm(driver)
        driver.app.post_message(Paste(" and more"))
        await driver.until(lambda: driver.app.screen is driver.screen)
        assert driver.screen.prompt.text == "yes and more"
        assert len(driver.workers) == 3


async def test_the_last_row_dims_what_a_question_keeps_from_working(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path), (200, 40)) as driver:
        driver.workers[0].begin("go")
        await driver.until(lambda: {"zoom", "stop all", "quit", "help", "palette"} <= _bright(driver))
        task = driver.workers[1].ask("Bash", "ls")
        await driver.until(lambda: isinstance(driver.app.screen, ApprovalModal))
        await driver.until(
            lambda: _bright(driver) == {"stop all", "quit", "help", "zoom", "next agent", "reasoning"}
        )
        await driver.until(lambda: _armed(driver))
        await driver.press("l")
        await driver.until(lambda: driver.app.screen is driver.screen)
        await driver.until(lambda: "new agent" in _bright(driver))
        task.cancel()


@pytest.mark.parametrize("action", [a for a in ACTIONS if a.action], ids=lambda action: action.id)
async def test_every_action_has_somebody_who_does_it(tmp_path: Path, action: Action) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        target, name, _ = driver.app._parse_action(action.action, driver.screen)
        assert callable(getattr(target, f"action_{name}", None))


async def test_f8_asks_with_the_count_before_it_stops_more_than_one(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        driver.workers[0].begin("go")
        driver.workers[2].begin("go")
        await driver.press("f8")
        await driver.until(lambda: _confirm(driver))
        await driver.shows("Stop all 2 agents")
        assert not any(worker.interrupts for worker in driver.workers)
        await _say_yes(driver)
        await driver.until(lambda: [worker.interrupts for worker in driver.workers] == [1, 0, 1])


async def test_f8_stops_a_single_agent_without_a_question(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        driver.workers[2].begin("go")
        await driver.press("f8")
        assert driver.app.screen is driver.screen
        assert driver.workers[2].interrupts == 1


async def test_ctrl_c_stops_the_chosen_agent_and_twice_offers_to_quit(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        driver.workers[0].begin("go")
        await driver.press("ctrl+c")
        assert driver.workers[0].interrupts == 1
        assert driver.app.screen is driver.screen
        await driver.press("ctrl+c")
        await driver.until(lambda: _confirm(driver))
        assert driver.app.is_running


@pytest.mark.parametrize("inside", [[], ["r"]], ids=["question", "reason"])
async def test_ctrl_c_twice_offers_to_quit_over_a_question_too(tmp_path: Path, inside: list[str]) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        task = driver.workers[1].ask("Bash", "ls")
        await driver.until(lambda: _armed(driver))
        await driver.press(*inside)
        await driver.until(lambda: driver.app.screen.focused is not None or not inside)
        await driver.press("ctrl+c")
        assert [said.message for said in driver.app._notifications] == ["f8 stops all. ctrl+c again quits."]
        assert not any(worker.interrupts for worker in driver.workers)
        await driver.press("ctrl+c")
        await driver.until(lambda: _confirm(driver))
        await driver.shows("Leave agent-tui?")
        task.cancel()


async def test_over_a_question_the_way_out_is_told_with_the_keys_that_lead_there(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path, keys={"stop_or_quit": "ctrl+y", "help": "f8"})) as driver:
        task = driver.workers[1].ask("Bash", "ls")
        await driver.until(lambda: _armed(driver))
        await driver.press("ctrl+y")
        assert [said.message for said in driver.app._notifications] == ["ctrl+y again quits."]
        await driver.press("ctrl+y")
        await driver.until(lambda: _confirm(driver))
        task.cancel()


async def test_ctrl_c_twice_but_slowly_only_stops(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press("ctrl+c")
        driver.app._leaving._last_ctrl_c -= 1.5
        await driver.press("ctrl+c")
        assert driver.app.screen is driver.screen


async def test_ctrl_c_copies_what_is_selected_and_stops_nothing(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        driver.workers[0].begin("go")
        await driver.press(*"copy me")
        driver.screen.query_one(TextArea).select_all()
        await driver.press("ctrl+c")
        assert driver.app.clipboard == "copy me"
        assert driver.workers[0].interrupts == 0
        await driver.press("ctrl+c")
        await driver.until(lambda: _confirm(driver))
        assert driver.workers[0].interrupts == 0


async def test_ctrl_c_copies_from_a_question_too_and_twice_offers_to_quit(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        task = driver.workers[1].ask("Bash", "ls")
        await driver.until(lambda: _armed(driver))
        await driver.press("r")
        await driver.until(lambda: driver.app.screen.focused is not None)
        await driver.press(*"why", "shift+home", "ctrl+c")
        assert driver.app.clipboard == "why"
        assert isinstance(driver.app.screen, ApprovalModal)
        await driver.press("ctrl+c")
        await driver.until(lambda: _confirm(driver))
        task.cancel()


# --- reading ------------------------------------------------------------------------------------------------


async def test_f4_shows_one_agent_alone_and_all_again(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press("f6", "f4")
        assert [pane.feed.agent.number for pane in driver.panes] == [2]
        assert driver.panes[0].region.width == 120
        await driver.press("f6")
        assert [pane.feed.agent.number for pane in driver.panes] == [3]
        await driver.press("f4")
        assert len(driver.panes) == 3


async def test_page_and_home_keys_scroll_the_chosen_pane_unless_the_prompt_needs_them(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        driver.workers[0].begin("go")
        driver.workers[0].say("\n\n".join(f"paragraph {number}" for number in range(200)))
        await driver.shows("paragraph 199")
        view = driver.panes[0].transcript
        await driver.press("pageup")
        await driver.until(lambda: not view.is_following)
        driver.workers[0].say("\n\nsomething new")
        await driver.drawn()
        await driver.shows("new line")
        await driver.press("end")
        await driver.until(lambda: view.is_following)
        await driver.press("home")
        await driver.drawn()
        await driver.shows("paragraph 0")
        await driver.press("ctrl+end", *"text", "home")
        await driver.until(lambda: view.is_following)
        assert driver.screen.query_one(TextArea).cursor_location == (0, 0)


async def test_f1_shows_every_key_of_the_registry_and_scrolls_at_80x24(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path), (80, 24)) as driver:
        await driver.press("f1")
        await driver.shows("Approvals")
        seen = driver.text()
        for _ in range(6):
            await driver.press("pagedown")
            await driver.until(
                lambda: not driver.app.animator.is_being_animated(driver.app.screen, "scroll_y")
            )
            seen += driver.text()
        for action in ACTIONS:
            if action.display.strip():
                assert action.display.split()[0] in seen, action.id
        await driver.press("escape")
        assert driver.app.screen is driver.screen


@pytest.mark.parametrize("width", [200, 120, 80, 50, 20])
async def test_the_footer_never_wraps_and_marks_what_does_not_fit(tmp_path: Path, width: int) -> None:
    async with dashboard(_session(tmp_path), (width, 24)) as driver:
        footer = driver.lines()[-1]
        assert "f1 help" in footer
        shown = [action for action in driver.app.actions.footer if f" {action.label} " in f"{footer} "]
        assert (len(shown) == len(driver.app.actions.footer)) is ("…" not in footer)


async def test_a_click_on_a_footer_key_does_what_the_key_does(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        at = driver.lines()[-1].index("f4 zoom")
        await driver.pilot.click("#keys", offset=(at + 3, 0))
        await driver.until(lambda: len(driver.panes) == 1)


# --- agents come and go -------------------------------------------------------------------------------------


async def test_ctrl_t_adds_an_agent_and_chooses_it(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press("ctrl+t")
        await driver.until(lambda: len(driver.panes) == 4)
        assert driver.chosen == 4


async def test_ctrl_w_closes_an_agent_after_a_question_but_deletes_a_word_of_a_prompt(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press("f6", *"two words", "ctrl+w")
        assert driver.screen.prompt.text == "two "
        assert driver.app.screen is driver.screen
        driver.screen.query_one(TextArea).clear()
        await driver.press("ctrl+w")
        await driver.shows("Close agent 2 builder?")
        await _say_yes(driver)
        await driver.until(lambda: len(driver.panes) == 2)
        await driver.until(lambda: [worker.name for worker in driver.workers] == ["scout", "tester"])
        await driver.until(lambda: driver.chosen == 3)
        await driver.press("alt+2")
        assert driver.chosen == 3


async def test_with_no_agent_left_a_prompt_comes_back_and_no_key_breaks(tmp_path: Path) -> None:
    async with dashboard(ScriptedSession(scripted_plan(tmp_path))) as driver:
        await driver.press(
            *("escape", "f6", "shift+f6", "f4", "f4", "f3", "f9", "f8", "pageup", "end", "ctrl+w", "up", "f2")
        )
        await driver.press(*"words", "enter")
        assert driver.screen.prompt.text == "words"
        await driver.shows("^t adds one")


async def test_f9_sends_the_queue_of_an_agent_that_was_stopped(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        worker = driver.workers[0]
        worker.begin("one")
        worker.prompt("two")
        worker.interrupt()
        worker.end("interrupted")
        await driver.press("f9")
        assert worker.prompts == ["one", "two"]


# --- leaving ------------------------------------------------------------------------------------------------


async def test_ctrl_q_leaves_at_once_when_nothing_runs(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        await driver.press("ctrl+q")
        await driver.until(lambda: driver.app._exit)


async def test_ctrl_q_asks_while_agents_run_and_stops_none_of_them_itself(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path)) as driver:
        driver.workers[0].begin("go")
        await driver.press("ctrl+q", "ctrl+q")
        await driver.until(lambda: _confirm(driver))
        assert len(driver.app.screen_stack) == 2
        await driver.shows("1 agent works and will be stopped")
        await _say_yes(driver)
        await driver.until(lambda: driver.app._exit)
        assert driver.workers[0].interrupts == 0
