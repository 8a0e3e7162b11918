"""Many agents, many turns, several processes and kill -9: no turn is lost, doubled or out of order."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from pathlib import Path

import pytest

import turning_child
from agent_tui_core.events import MessageCommitted
from agent_tui_core.history.store import History, StoredConversation
from agent_tui_core.runtime.session import HISTORY_FILE, open_session
from development import DEVELOPMENT
from loopback import LoopbackServer
from sessions import planned
from strict_validator import guarded
from turning_child import LOOK_EVERY, echo, prompt_of, take_turns

LONG = [pytest.mark.soak, pytest.mark.timeout(3600)]


@pytest.mark.parametrize(("agents", "turns"), [(16, 6), pytest.param(16, 500, marks=LONG)])
async def test_agents_of_one_process_lose_no_turn(
    tmp_path: Path, agents: int, turns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    script = guarded(echo) if turns < 100 else echo
    async with LoopbackServer(script) as server:
        the_plan = planned(server.base_url, tmp_path, count=agents)
        async with open_session(the_plan) as session:
            await take_turns(session, turns)
    capsys.readouterr()
    stored = await _stored(the_plan.data_dir, session.id)
    assert len(stored) == agents
    for conversation in stored:
        _check(conversation, at_least=turns, at_most=turns)
    assert len(server.requests) == agents * (turns + len(range(0, turns, LOOK_EVERY)))


@pytest.mark.parametrize(("agents", "turns"), [(2, 5), pytest.param(5, 100, marks=LONG)])
async def test_three_processes_on_one_database_lose_no_turn(tmp_path: Path, agents: int, turns: int) -> None:
    async with LoopbackServer(echo) as server:
        children = [await _child(server, tmp_path, agents, turns) for _ in range(3)]
        told = [(await child.communicate())[0].decode().split("\n") for child in children]
    assert [child.returncode for child in children] == [0, 0, 0]
    for lines in told:
        acknowledged = [line.split() for line in lines if line]
        assert len(acknowledged) == agents * turns
        for conversation in await _stored(tmp_path / "data", acknowledged[0][0]):
            _check(conversation, at_least=turns, at_most=turns)


@pytest.mark.parametrize("kills", [3, pytest.param(300, marks=LONG)])
async def test_a_turn_that_was_acknowledged_survives_kill_9(tmp_path: Path, kills: int) -> None:
    chance = random.Random(kills)
    async with LoopbackServer(echo) as server:
        for _ in range(kills):
            child = await _child(server, tmp_path, 2, 10_000)
            assert child.stdout is not None
            lines = [await child.stdout.readline()]
            await asyncio.sleep(chance.uniform(0, 0.15))  # the random moment itself
            child.send_signal(signal.SIGKILL)
            lines += (await child.stdout.read()).splitlines(keepends=True)
            await child.wait()
            whole = [line.decode().split() for line in lines if line.endswith(b"\n")]
            acknowledged = Counter(agent for _, agent, _ in whole)
            for conversation in await _stored(tmp_path / "data", whole[0][0]):
                turns = acknowledged[conversation.agent_id]
                _check(conversation, at_least=turns, at_most=turns + 1)
            async with open_session(planned(server.base_url, tmp_path), resume=whole[0][0]) as session:
                for worker in session.workers:
                    worker.prompt("go on")
                    await worker.idle()
                    assert worker.state == "idle"
                    said = [message.text for message in worker.conversation.messages]
                    assert "echo go on" in said  # and behind it what the kill had left without an answer
                    assert not worker.queue


async def _child(server: LoopbackServer, folder: Path, agents: int, turns: int) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        turning_child.__file__,
        server.base_url,
        str(folder),
        str(agents),
        str(turns),
        stdout=PIPE,
        env=DEVELOPMENT | {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )


async def _stored(folder: Path, session_id: str) -> tuple[StoredConversation, ...]:
    with sqlite3.connect(folder / HISTORY_FILE) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    history = await History.open(folder / HISTORY_FILE)
    try:
        return (await history.load(session_id)).conversations
    finally:
        await history.close()


def _check(conversation: StoredConversation, *, at_least: int, at_most: int) -> None:
    """Every turn once, in order, each with its answer; only the last may be without."""
    messages = [body.message for _, _, body in conversation.bodies if isinstance(body, MessageCommitted)]
    asked = [message.text for message in messages if message.role == "user"]
    assert asked == [prompt_of(turn) for turn in range(len(asked))]
    assert at_least <= len(asked) <= at_most
    answered = [message.text for message in messages if message.role == "assistant" and message.text]
    assert answered == [f"echo {words}" for words in asked[: len(answered)]]
    assert len(answered) >= at_least
    assert len({message.id for message in messages}) == len(messages)
