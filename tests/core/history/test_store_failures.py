"""Whatever disk, lock and event loop do, a record is whole or absent and the next one works."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.errors import HistoryError
from agent_tui_core.history import writer
from agent_tui_core.history.store import History
from agent_tui_core.messages import new_id
from stored_turns import said
from stores import add, bodies_of, locked


@pytest.fixture
async def history(tmp_path: Path) -> AsyncIterator[History]:
    opened = await History.open(tmp_path / "history.db", patience=0.3)
    yield opened
    await opened.close()


@pytest.fixture
async def session(history: History) -> str:
    return await history.start_session("/work")


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond `size`, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_full_disk_loses_nothing_but_the_record_that_did_not_fit(
    history: History, session: str
) -> None:
    conversation = await add(history, session)
    first, big, later = said("small"), said("x" * 4_000_000), said("again")
    await history.record(conversation, "first", *first)
    with disk_of(1_000_000), pytest.raises(HistoryError, match="free some space") as caught:
        await history.record(conversation, "big", *big)
    assert str(history.path) in str(caught.value)
    await history.record(conversation, "later", *later)
    assert await bodies_of(history, conversation) == [*first, *later]


async def test_a_record_too_big_for_the_disk_takes_no_other_of_its_batch_down(
    history: History, session: str
) -> None:
    conversation = await add(history, session)
    turns = [said(words) for words in ("first", "before", "x" * 4_000_000, "after")]
    with disk_of(1_000_000):
        with locked(history.path):
            waiting = [asyncio.create_task(history.record(conversation, new_id(), *turn)) for turn in turns]
            await asyncio.sleep(0)
        outcome = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in outcome] == [type(None), type(None), HistoryError, type(None)]
    assert await bodies_of(history, conversation) == [*turns[0], *turns[1], *turns[3]]


class Uncertain(sqlite3.Connection):
    """A connection whose next commit is told to have failed: `kept` says whether it did its work before."""

    kept: bool | None = None

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql != "COMMIT" or Uncertain.kept is None:
            return super().execute(sql, *parameters)
        kept, Uncertain.kept = Uncertain.kept, None
        super().execute("COMMIT" if kept else "ROLLBACK")
        raise sqlite3.OperationalError("disk I/O error")


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("together", [1, 3])
async def test_a_commit_of_unknown_outcome_is_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool, together: int
) -> None:
    def connect(path: Path, *, patience: float) -> sqlite3.Connection:
        return sqlite3.connect(path, timeout=patience, isolation_level=None, factory=Uncertain)

    monkeypatch.setattr(writer, "connect", connect)
    history = await History.open(tmp_path / "history.db")
    conversation = await add(history, await history.start_session("/work"))
    turns = [said(str(index)) for index in range(together)]
    Uncertain.kept = kept
    waiting = [asyncio.create_task(history.record(conversation, new_id(), *turn)) for turn in turns]
    outcome = await asyncio.gather(*waiting, return_exceptions=True)
    stored = await bodies_of(history, conversation)
    assert stored == [
        body for turn, each in zip(turns, outcome, strict=True) if each is None for body in turn
    ], "what was acknowledged is there, and nothing else"
    assert all(each is None or isinstance(each, HistoryError) for each in outcome)
    assert None in outcome or (together, kept) == (1, False)
    await history.close()


async def test_an_id_that_sqlite_cannot_hold_ends_no_other_record(history: History, session: str) -> None:
    conversation = await add(history, session)
    with pytest.raises(HistoryError):
        await history.record("\ud800", "run", *said("lost"))
    with pytest.raises(HistoryError):
        await history.record(conversation, "\ud800", *said("lost"))
    await history.record(conversation, "run", *said("kept"))


async def test_a_loop_that_ends_settles_what_waits(tmp_path: Path) -> None:
    history = await History.open(tmp_path / "history.db")
    with locked(history.path):
        recording = asyncio.create_task(history.record("any", "run", *said("lost")))
        await asyncio.sleep(0)
        [task] = [each for each in asyncio.all_tasks() if each.get_name().startswith("history writer")]
        task.cancel()
    with pytest.raises(HistoryError, match="closed"):
        await recording
    with pytest.raises(HistoryError, match="closed"):
        await history.start_session("/work")
