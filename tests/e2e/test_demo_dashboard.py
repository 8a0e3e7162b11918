"""The whole program in one process: real app, session, tools and history; keys from a pilot."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key
from textual.pilot import Pilot

from agent_tui.app import AgentTuiApp
from agent_tui.modals.approval import ApprovalModal
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, Plan, plan
from agent_tui_core.runtime.entries import ProseEntry, ToolEntry
from agent_tui_core.runtime.session import Session, open_session


def demo_plan(folder: Path) -> Plan:
    environ = {"AGENT_TUI_DATA_DIR": str(folder / "data"), "AGENT_TUI_CONFIG_DIR": str(folder / "config")}
    return plan(load_settings(None, environ=environ), Flags(demo=True, workspace=folder), environ)


async def until(pilot: Pilot[None], claim: Callable[[], bool]) -> None:
    async with asyncio.timeout(55):
        while not claim():
            await pilot.pause(0.02)


async def answer_by_keys(pilot: Pilot[None], session: Session, keys: Callable[[str], list[str]]) -> list[str]:
    """Answer every question with the keys for its tool, until no agent runs."""
    asked: list[str] = []
    app = pilot.app
    await until(pilot, lambda: session.running > 0)
    while session.running:
        await until(pilot, lambda: not session.running or _listens(app.screen))
        modal = app.screen
        if not isinstance(modal, ApprovalModal):
            continue
        asked.append(modal.request.tool)
        first, *rest = keys(modal.request.tool)
        await pilot.press(first)
        if rest:
            await until(pilot, lambda modal=modal: modal.focused is not None)  # type: ignore[misc]
            await pilot.press(*rest)
        await until(pilot, lambda modal=modal: app.screen is not modal)  # type: ignore[misc]
    return asked


def _listens(screen: object) -> bool:
    return isinstance(screen, ApprovalModal) and screen.hearing == "armed"


def told(app: AgentTuiApp, name: str) -> tuple[str, list[ToolEntry]]:
    """All that an agent said, and its calls."""
    [shown] = [feed for feed in app.feed.agents.values() if feed.agent.name == name]
    entries = shown.transcript.entries
    words = " ".join(e.text for e in entries if isinstance(e, ProseEntry) and e.kind == "text")
    return words, [entry for entry in entries if isinstance(entry, ToolEntry)]


REASON = "no edits today"


@pytest.mark.parametrize("answer", ["allow", "deny", "reason"])
async def test_each_answer_visibly_changes_what_the_agents_do_next(answer: str, tmp_path: Path) -> None:
    keys = {"allow": ["y"], "deny": ["n"], "reason": ["r", *(_key(c) for c in REASON), "enter"]}[answer]
    async with open_session(demo_plan(tmp_path), demo_pace=0.0) as session:
        app = AgentTuiApp(session)
        folder = session.workers[0].workspace
        before = (folder / "pantry" / "pricing.py").read_text()
        async with app.run_test(size=(120, 36)) as pilot:
            asked = await answer_by_keys(pilot, session, lambda _tool: keys)
            assert {"Edit", "Bash", "Write"} <= set(asked)
            words, calls = told(app, "fixer")
        edits = [call for call in calls if call.name == "Edit"]
        changed = (folder / "pantry" / "pricing.py").read_text() != before
        match answer:
            case "allow":
                assert edits[0].status == "ok"
                assert changed
                assert (folder / "CHANGELOG.md").is_file()
            case "deny":
                assert edits[0].status == "denied"
                assert not changed
                assert not (folder / "CHANGELOG.md").exists()
            case _:
                assert edits[0].status == "denied"
                assert not changed
                assert REASON in words


def _key(char: str) -> str:
    return "space" if char == " " else char


def type_at_once(app: AgentTuiApp, letters: str) -> None:
    """Hand letters on as the terminal's thread does after one reading. A pilot waits up to a second between
    two keys on a busy machine, and a letter alone for that long is an answer."""
    assert app._driver is not None
    for letter in letters:
        app._driver.process_message(Key(letter, letter))


@pytest.mark.timeout(180)
async def test_bursts_of_typing_around_the_opening_of_a_question_never_answer_it(tmp_path: Path) -> None:
    answers: list[Any] = []
    rng = random.Random(7)
    async with open_session(demo_plan(tmp_path), demo_pace=0.0) as session:
        app = AgentTuiApp(session)
        real = session.desk.answer
        session.desk.answer = lambda *given: answers.append(given) or real(*given)  # type: ignore[method-assign, func-returns-value]
        async with app.run_test(size=(120, 36)) as pilot:
            typed = ""
            async with asyncio.timeout(120):
                while not isinstance(app.screen, ApprovalModal) or len(typed) < 60:
                    burst = "".join(rng.sample("yansrle", rng.randrange(2, 8)))
                    typed += burst
                    type_at_once(app, burst)
                    pauses = [0.0, 0.05, 0.1] if app.screen is app.dashboard else [0.02, 0.5]
                    await pilot.pause(rng.choice(pauses))
                    if len(typed) > 24 and app.screen is app.dashboard:
                        await until(pilot, lambda: isinstance(app.screen, ApprovalModal))
            await until(pilot, lambda: app.dashboard.prompt.text == typed)
            assert answers == []
            assert len(session.desk.pending) >= 1


async def test_a_dashboard_comes_back_on_the_screen_as_it_was_left(tmp_path: Path) -> None:
    planned = demo_plan(tmp_path)
    async with open_session(planned, demo_pace=0.0) as session:
        app = AgentTuiApp(session)
        async with app.run_test(size=(120, 36)) as pilot:
            await answer_by_keys(pilot, session, lambda _tool: ["y"])
            await pilot.pause(0.2)
            before = {name: told(app, name)[0] for name in ("reviewer", "fixer", "tester", "writer")}
    async with open_session(planned, resume="") as again:
        app = AgentTuiApp(again)
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.pause(0.2)
            assert {name: told(app, name)[0] for name in before} == before
            assert again.running == 0
