"""What a list of sessions costs does not grow with what was said in them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent_tui_core.blocks import Text
from agent_tui_core.events import MessageCommitted, RunEnded, RunStarted
from agent_tui_core.history import store
from agent_tui_core.history.migrations import connect
from agent_tui_core.history.store import History
from agent_tui_core.messages import Message, Usage, new_id


async def talked(path: Path, turns: int) -> None:
    """A session of two agents with so many turns each."""
    history = await History.open(path)
    session = await history.start_session("/w")
    for name in ("ada", "bob"):
        conversation = await history.add_conversation(
            session, agent_id=name, name=name, position=1, profile={}
        )
        for number in range(turns):
            run, said = new_id(), Message("user", (Text(f"{name} {number}"),))
            answer = Message("assistant", (Text("well"),), stop_reason="end")
            await history.record(
                conversation,
                run,
                RunStarted(said),
                MessageCommitted(said),
                MessageCommitted(answer),
                RunEnded("completed", "", 1, Usage()),
            )
    await history.close()


def steps(path: Path, query: str, values: dict[str, object]) -> int:
    """Instructions of SQLite's machine that the query took."""
    count = 0

    def note() -> None:
        nonlocal count
        count += 1

    with closing(connect(path, patience=1.0)) as connection:
        connection.set_progress_handler(note, 1)
        connection.execute(query, values).fetchall()
        connection.set_progress_handler(None, 1)
    return count


async def test_the_newest_session_is_found_without_reading_what_was_said(tmp_path: Path) -> None:
    took = []
    for turns in (2, 40):
        await talked(tmp_path / f"{turns}.db", turns)
        took.append(steps(tmp_path / f"{turns}.db", store._NEWEST, {}))
    assert took[1] <= took[0] + 4


async def test_a_list_only_counts_what_was_said(tmp_path: Path) -> None:
    took = []
    for turns in (2, 40):
        await talked(tmp_path / f"{turns}.db", turns)
        took.append(steps(tmp_path / f"{turns}.db", store._SUMMARIES, {"limit": 50, "prefix": ""}))
    more = 2 * 2 * (40 - 2)
    assert took[1] - took[0] <= 4 * more  # to count a row is three instructions, to look into it many more


@pytest.mark.parametrize("query", [store._NEWEST, store._SUMMARIES])
async def test_no_list_scans_entries_or_messages(tmp_path: Path, query: str) -> None:
    await talked(tmp_path / "h.db", 1)
    with closing(sqlite3.connect(tmp_path / "h.db")) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {query}", {"limit": 50, "prefix": ""}).fetchall()
    scanned = [row[3] for row in plan if row[3].startswith(("SCAN entries", "SCAN messages"))]
    assert scanned == []
