"""What was acknowledged survives kill -9, and several programs share one file."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from agent_tui_core.events import RunEnded, ToolEnded
from agent_tui_core.history.store import History, StoredConversation
from development import DEVELOPMENT

HERE = Path(__file__).parent
ROOTS = f"{HERE.parents[2] / 'core'}:{HERE.parents[1]}"


@asynccontextmanager
async def recording(
    path: Path, *, conversations: int, turns: int
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a program that records, and end it in any case."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE / "recording_child.py"),
        str(path),
        str(conversations),
        str(turns),
        stdout=asyncio.subprocess.PIPE,
        env=DEVELOPMENT | {"PYTHONPATH": ROOTS},
    )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.send_signal(signal.SIGKILL)
        await child.communicate()


async def stored(path: Path) -> dict[str, StoredConversation]:
    history = await History.open(path)
    try:
        sessions = [await history.load(each.id) for each in await history.sessions()]
        return {each.id: each for session in sessions for each in session.conversations}
    finally:
        await history.close()


def check_integrity(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def whole_runs(conversation: StoredConversation) -> set[str]:
    return {run for run, _, body in conversation.bodies if isinstance(body, RunEnded)}


async def kill_after(path: Path, acknowledged: int) -> list[tuple[str, str]]:
    """Kill the recording program when it acknowledged that many turns; return all that it acknowledged."""
    async with asyncio.timeout(30), recording(path, conversations=3, turns=10_000) as child:
        assert child.stdout is not None
        lines = [await child.stdout.readline() for _ in range(acknowledged)]
        child.send_signal(signal.SIGKILL)
        lines += (await child.stdout.read()).splitlines(keepends=True)
    assert all(line.endswith(b"\n") for line in lines)
    return [(conversation, run) for conversation, run in (line.decode().split() for line in lines)]


async def crash_rounds(path: Path, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(rounds):
        acknowledged = await kill_after(path, chance.randint(1, 15))
        check_integrity(path)
        found = await stored(path)
        for conversation, run in acknowledged:
            assert run in whole_runs(found[conversation])
        for each in found.values():
            for run in {run for run, _, _ in each.bodies} - whole_runs(each):
                kept = [body for its_run, _, body in each.bodies if its_run == run]
                assert len(kept) == 4, "the first record of the turn is whole"
                assert not any(isinstance(body, ToolEnded) for body in kept)


async def test_every_acknowledged_turn_survives_kill_9(tmp_path: Path) -> None:
    await crash_rounds(tmp_path / "history.db", rounds=8, seed=random.randrange(2**32))


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(10))
async def test_every_acknowledged_turn_survives_many_kills(tmp_path: Path, seed: int) -> None:
    await crash_rounds(tmp_path / "history.db", rounds=30, seed=seed)


async def test_three_programs_share_one_new_file(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    async with (
        asyncio.timeout(50),
        recording(path, conversations=3, turns=6) as one,
        recording(path, conversations=3, turns=6) as two,
        recording(path, conversations=3, turns=6) as three,
    ):
        outputs = await asyncio.gather(*(child.communicate() for child in (one, two, three)))
        assert [child.returncode for child in (one, two, three)] == [0, 0, 0]
    found = await stored(path)
    assert len(found) == 9
    for output, _ in outputs:
        for line in output.decode().splitlines():
            conversation, run = line.split()
            assert run in whole_runs(found[conversation])
    assert all(len(each.bodies) == 6 * 9 for each in found.values())
    check_integrity(path)
