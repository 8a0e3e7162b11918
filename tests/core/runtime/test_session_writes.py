"""How often a session waits for the disk: counted where the writer commits."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui_core.errors import HistoryError
from agent_tui_core.history.writer import Write, Writer
from agent_tui_core.runtime.session import open_session
from loopback import LoopbackServer, say
from sessions import planned, settled, tool_answer


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What each commit holds, in the order in which they came."""
    found: list[list[str]] = []
    commit = Writer._commit

    def noted(
        writer: Writer, connection: sqlite3.Connection, batch: Sequence[Write]
    ) -> Sequence[HistoryError | None]:
        found.append([change.kind for write in batch for change in write.changes])
        return commit(writer, connection, batch)

    monkeypatch.setattr(Writer, "_commit", noted)
    return found


async def test_agents_that_begin_together_are_one_commit(tmp_path: Path, commits: list[list[str]]) -> None:
    async with LoopbackServer() as server:
        async with open_session(planned(server.base_url, tmp_path, count=12)) as session:
            assert [worker.number for worker in session.workers] == list(range(1, 13))
    assert commits == [["session"], ["conversation"] * 12]


async def test_the_last_answer_and_the_end_of_its_run_are_one_commit(
    tmp_path: Path, commits: list[list[str]]
) -> None:
    answers = [tool_answer("Read", {"path": "nowhere"}), say("It is not there.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        del commits[:]
        session.workers[0].prompt("go")
        await settled(session)
        assert session.workers[0].state == "idle"
    assert commits[:2] == [["RunStarted"], ["MessageCommitted", "MessageCommitted", "ToolProposed"]]
    assert commits[-1] == ["MessageCommitted", "RunEnded"]
