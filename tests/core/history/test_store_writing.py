"""Records are whole or absent, in order, append-only, and one that fails takes no other down."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from agent_tui_core.blocks import ToolResult
from agent_tui_core.errors import HistoryError
from agent_tui_core.events import Body, MessageCommitted, RunEnded, RunStarted, ToolEnded, ToolStarted
from agent_tui_core.history.store import History
from agent_tui_core.messages import Message, Usage, new_id
from stored_turns import acted, said
from stores import add, bodies_of, locked


@pytest.fixture
async def history(tmp_path: Path) -> AsyncIterator[History]:
    opened = await History.open(tmp_path / "history.db", patience=0.3)
    yield opened
    await opened.close()


@pytest.fixture
async def session(history: History) -> str:
    return await history.start_session("/work")


async def test_a_record_that_fails_half_way_leaves_nothing(history: History, session: str) -> None:
    conversation = await add(history, session)
    twice = Message("user", ())
    with pytest.raises(HistoryError):
        await history.record(
            conversation, "run", RunStarted(None), MessageCommitted(twice), MessageCommitted(twice)
        )
    assert await bodies_of(history, conversation) == []
    good = said("later")
    await history.record(conversation, "run", *good)
    assert await bodies_of(history, conversation) == good


async def test_one_failing_record_takes_no_other_of_its_batch_down(history: History, session: str) -> None:
    conversations = [await add(history, session, str(index)) for index in range(6)]
    turns = [said(f"turn {index}") for index in range(6)]
    with locked(history.path):
        waiting = [
            asyncio.create_task(history.record(where, new_id(), *turn))
            for where, turn in zip(conversations, turns, strict=True)
        ]
        bad = asyncio.create_task(history.record("nowhere", new_id(), *said("lost")))
        await asyncio.sleep(0)
    outcome = await asyncio.gather(*waiting, bad, return_exceptions=True)
    assert [type(each) for each in outcome] == [type(None)] * 6 + [HistoryError]
    for where, turn in zip(conversations, turns, strict=True):
        assert await bodies_of(history, where) == turn


async def test_records_of_one_conversation_keep_the_order_of_their_calls(
    history: History, session: str
) -> None:
    conversation = await add(history, session)
    turns = [said(str(index)) for index in range(30)]
    async with asyncio.TaskGroup() as group:
        for turn in turns:
            group.create_task(history.record(conversation, new_id(), *turn))
    assert await bodies_of(history, conversation) == [body for turn in turns for body in turn]


@pytest.mark.parametrize("again", [RunStarted(None), RunEnded("failed", "", 1, Usage())])
async def test_a_run_starts_once_and_ends_once(history: History, session: str, again: Body) -> None:
    conversation = await add(history, session)
    await history.record(conversation, "run", *said("hello"))
    with pytest.raises(HistoryError):
        await history.record(conversation, "run", again)


async def test_a_second_result_and_a_result_for_nothing_are_refused(history: History, session: str) -> None:
    conversation, other = await add(history, session), await add(history, session)
    turn = acted("ls")
    [ended] = [body for body in turn if isinstance(body, ToolEnded)]
    await history.record(conversation, "run", *turn[:-2])
    result = ToolResult("call_1", "again")
    attempts: list[tuple[str, Body]] = [
        (conversation, ToolEnded(ended.key, result, "ok", 0)),
        (conversation, ToolStarted(ended.key, {})),
        (conversation, ToolEnded("unknown", result, "ok", 0)),
        (other, ToolEnded(ended.key, result, "ok", 0)),
    ]
    for where, body in attempts:
        with pytest.raises(HistoryError):
            await history.record(where, "run", body)
    assert await bodies_of(history, conversation) == turn[:-2]
    assert await bodies_of(history, other) == []


@pytest.mark.parametrize("again", [4, 5])
async def test_a_call_is_judged_once_and_started_once(history: History, session: str, again: int) -> None:
    conversation = await add(history, session)
    turn = acted("ls")[: again + 1]
    await history.record(conversation, "run", *turn)
    with pytest.raises(HistoryError):
        await history.record(conversation, "run", turn[again])
    assert await bodies_of(history, conversation) == turn


async def test_a_message_without_its_run_or_in_anothers_run_is_refused(
    history: History, session: str
) -> None:
    mine, other = await add(history, session), await add(history, session)
    await history.record(other, "theirs", RunStarted(None))
    for run in ("never started", "theirs"):
        with pytest.raises(HistoryError):
            await history.record(mine, run, MessageCommitted(Message("user", ())))
    assert await bodies_of(history, mine) == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE messages SET blocks = '[]'",
        "DELETE FROM messages",
        "UPDATE entries SET at = 0",
        "DELETE FROM entries",
        "DELETE FROM runs",
        "DELETE FROM tool_calls",
        "UPDATE tool_calls SET outcome = 'ok'",
        "UPDATE runs SET reason = ''",
        (
            "INSERT INTO messages SELECT number + 1000, id, conversation_id, seq + 1000, run_id, role, "
            "blocks, stop_reason, usage, at FROM messages"
        ),
    ],
)
async def test_the_file_itself_refuses_to_change_what_was_said(
    history: History, session: str, change: str
) -> None:
    await history.record(await add(history, session), "run", *acted("ls"))
    with closing(sqlite3.connect(history.path)) as other, pytest.raises(sqlite3.IntegrityError):
        other.execute(change)


async def test_a_cancelled_record_is_whole_or_absent_and_later_ones_work(
    history: History, session: str
) -> None:
    conversation = await add(history, session)
    turns = [said(str(index)) for index in range(20)]
    for yields, turn in enumerate(turns):
        recording = asyncio.create_task(history.record(conversation, new_id(), *turn))
        for _ in range(yields):
            await asyncio.sleep(0)
        recording.cancel()
        await asyncio.wait([recording])
    last = acted("after")
    await history.record(conversation, new_id(), *last)
    kept = await bodies_of(history, conversation)
    assert kept[-len(last) :] == last
    expected = [body for turn in turns if turn[0] in kept for body in turn]
    assert kept[: -len(last)] == expected


async def test_a_cancelled_record_that_then_fails_disturbs_nobody(history: History, session: str) -> None:
    conversation = await add(history, session)
    recording = asyncio.create_task(history.record("nowhere", "run", *said("lost")))
    await asyncio.sleep(0)
    recording.cancel()
    await asyncio.wait([recording])
    await history.record(conversation, "run", *said("kept"))


async def test_a_lock_that_another_program_keeps_is_an_error_with_a_remedy(
    history: History, session: str
) -> None:
    conversation = await add(history, session)
    with locked(history.path), pytest.raises(HistoryError, match="locked by another program") as caught:
        await history.record(conversation, "run", *said("never"))
    assert str(history.path) in str(caught.value)
    turn = said("now")
    await history.record(conversation, "run", *turn)
    assert await bodies_of(history, conversation) == turn


async def test_reading_does_not_wait_for_a_writer(history: History, session: str) -> None:
    conversation = await add(history, session)
    await history.record(conversation, "run", *said("kept"))
    with locked(history.path):
        assert len(await bodies_of(history, conversation)) == 4
        assert [each.messages for each in await history.sessions()] == [2]


async def test_closing_keeps_what_waits_and_twice_is_harmless(tmp_path: Path) -> None:
    history = await History.open(tmp_path / "history.db")
    conversation = await add(history, await history.start_session("/work"))
    turn = said("last words")
    recording = asyncio.create_task(history.record(conversation, "run", *turn))
    await asyncio.sleep(0)
    async with asyncio.TaskGroup() as group:
        group.create_task(history.close())
        group.create_task(history.close())
    await recording
    await history.close()
    with pytest.raises(HistoryError, match="closed"):
        await history.record(conversation, "run-2", *said("too late"))
    again = await History.open(tmp_path / "history.db")
    assert await bodies_of(again, conversation) == turn
    await again.close()


async def test_a_cancelled_close_still_keeps_what_waits(history: History, session: str) -> None:
    conversation = await add(history, session)
    turn = said("last words")
    recording = asyncio.create_task(history.record(conversation, "run", *turn))
    await asyncio.sleep(0)
    closing_it = asyncio.create_task(history.close())
    await asyncio.sleep(0)
    closing_it.cancel()
    await asyncio.wait([closing_it])
    await recording
    assert await bodies_of(history, conversation) == turn


async def test_recording_nothing_is_nothing(history: History) -> None:
    await history.record("nowhere", "run")


def test_a_history_that_nobody_closed_does_not_hang_the_interpreter(tmp_path: Path) -> None:
    script = (
        "import asyncio, pathlib, sys\n"
        "from agent_tui_core.history.store import History\n"
        "async def main():\n"
        "    history = await History.open(pathlib.Path(sys.argv[1]))\n"
        "    await history.start_session('/work')\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(tmp_path / "history.db")],
        env={"PYTHONPATH": str(Path(__file__).parents[3] / "core")},
        timeout=20,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
