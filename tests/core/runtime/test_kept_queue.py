"""What was said to an agent and not answered yet survives the end of the program: each prompt once."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.agent.policy import Policy
from agent_tui_core.config.profiles import Plan
from agent_tui_core.errors import HistoryError
from agent_tui_core.history.migrations import MIGRATIONS, connect, migrate
from agent_tui_core.history.queued import PlacedPrompt
from agent_tui_core.history.store import History
from agent_tui_core.history.writer import Write, Writer
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.hooks.points import HookDecision, UserPromptSubmitEvent
from agent_tui_core.messages import QueuedPrompt
from agent_tui_core.runtime.entries import EndEntry, NoticeEntry, UserEntry
from agent_tui_core.runtime.prompt_queue import STORED_AFTER
from agent_tui_core.runtime.session import Session, open_session
from agent_tui_core.runtime.worker import Worker
from loopback import HANG, Answer, LoopbackServer, say, text
from sessions import Reader, planned, settled

TALKS = Answer(text("so far"), HANG)
SILENT = Answer(HANG)


def queued(worker: Worker) -> list[str]:
    return [prompt.text for prompt in worker.queue]


async def committed(folder: Path) -> list[str]:
    """Every prompt that the history has."""
    history = await History.open(folder / "data" / "history.db")
    try:
        [conversation] = (await history.load()).conversations
        messages = [getattr(body, "message", None) for _, _, body in conversation.bodies]
        return [message.text for message in messages if message is not None and message.role == "user"]
    finally:
        await history.close()


async def busy(session: Session, *prompts: str, state: str = "streaming") -> Reader:
    """Say these to the agent, wait until it works on the first and the others are kept."""
    [worker] = session.workers
    reader = Reader(worker)
    for words in prompts:
        worker.prompt(words)
    await reader.until(lambda t: t.state == state and all(prompt.kept for prompt in t.queue))
    return reader


@asynccontextmanager
async def after(
    how: str, plan: Plan, act: Callable[[Session], Awaitable[object]], hooks: Hooks | None = None
) -> AsyncIterator[Session]:
    """The session that comes back when the program ended `how` after `act`."""
    copied = plan.data_dir.with_name("copied")
    async with open_session(plan, hooks=hooks) as session:
        await act(session)
        if how == "crash":
            shutil.copytree(plan.data_dir, copied)  # what a kill -9 would leave behind at this moment
    if how == "crash":
        shutil.rmtree(plan.data_dir)
        copied.rename(plan.data_dir)
    async with open_session(plan, resume="") as again:
        yield again


@pytest.mark.parametrize("how", ["quit", "crash"])
async def test_queued_prompts_come_back_and_wait_until_the_person_goes_on(tmp_path: Path, how: str) -> None:
    async with LoopbackServer([TALKS, say("two"), say("three")]) as server:
        plan = planned(server.base_url, tmp_path)
        ids: list[str] = []

        async def act(session: Session) -> None:
            reader = await busy(session, "first", "second", "third")
            ids.extend(prompt.id for prompt in reader.transcript.queue)

        async with after(how, plan, act) as again:
            [worker] = again.workers
            lost = ["first"] if how == "crash" else []
            assert queued(worker) == [*lost, "second", "third"]
            assert [prompt.id for prompt in worker.queue][-2:] == ids
            assert all(prompt.kept and prompt.held for prompt in worker.queue)
            await settled(again)
            assert len(server.requests) == 1, "nothing is sent by itself"
            for prompt in worker.queue[: len(lost)]:
                assert worker.unqueue(prompt.id) == "first"
            assert worker.go_on()
            await Reader(worker).until(lambda t: t.state == "idle" and not t.queue)
        said = ["second", "third"] if how == "crash" else ["first", "second", "third"]
        assert await committed(tmp_path) == said
    assert [request.json["messages"][-1]["content"] for request in server.requests] == [
        "first",
        "second",
        "third",
    ]


@pytest.mark.parametrize("how", ["quit", "crash"])
async def test_a_prompt_that_nothing_came_of_waits_again_with_true_words(tmp_path: Path, how: str) -> None:
    async with LoopbackServer([SILENT, say("one"), say("two")]) as server:
        plan = planned(server.base_url, tmp_path)

        async def act(session: Session) -> None:
            await busy(session, "first", "second", state="connecting")
            await server.until(lambda: len(server.requests) == 1)

        async with after(how, plan, act) as again:
            [worker] = again.workers
            assert queued(worker) == ["first", "second"]
            entry, end = Reader(worker).read().entries
            assert isinstance(entry, UserEntry)
            assert isinstance(end, EndEntry)
            assert (entry.staged, entry.unanswered, end.reason) == (True, "", "the program ended")
        async with open_session(plan, resume="") as again:  # and it is there once, however often one looks
            [worker] = again.workers
            assert queued(worker) == ["first", "second"]
            worker.go_on()
            await Reader(worker).until(lambda t: t.state == "idle" and not t.queue)
        assert await committed(tmp_path) == ["first", "second"]


async def test_what_is_queued_in_a_later_life_waits_behind_what_was_left(tmp_path: Path) -> None:
    async with LoopbackServer([TALKS] * 3) as server:
        plan = planned(server.base_url, tmp_path)
        async with open_session(plan) as session:
            await busy(session, "1", "a", "b", "c")
            for prompt in session.workers[0].queue[:2]:
                session.workers[0].unqueue(prompt.id)
        for life in ("2", "3"):
            async with open_session(plan, resume="") as session:
                await busy(session, life, f"{life} after")
        async with open_session(plan, resume="") as session:
            assert queued(session.workers[0]) == ["c", "2 after", "3 after"]


@pytest.mark.parametrize("how", ["quit", "crash"])
async def test_a_change_of_the_queue_is_what_comes_back(tmp_path: Path, how: str) -> None:
    async with LoopbackServer([TALKS]) as server:

        async def act(session: Session) -> None:
            reader = await busy(session, "first", "a", "b", "c", "d")
            [worker] = session.workers
            a, b, _, d = worker.queue
            assert worker.edit_queued(b.id, "better")
            assert worker.move_queued(d.id, 0)
            assert worker.unqueue(a.id) == "a"
            assert worker.unqueue(a.id) is None
            assert not worker.edit_queued(a.id, "gone")
            assert not worker.edit_queued(b.id, "  ")
            assert not worker.move_queued(a.id, 0)
            await reader.until(lambda t: all(prompt.kept for prompt in t.queue))

        async with after(how, planned(server.base_url, tmp_path), act) as again:
            assert queued(again.workers[0])[-3:] == ["d", "better", "c"]


@pytest.mark.parametrize("how", ["quit", "crash"])
async def test_a_prompt_that_waits_for_a_hook_is_not_lost(tmp_path: Path, how: str) -> None:
    async with LoopbackServer() as server:
        plan = planned(server.base_url, tmp_path)

        async def slow(_event: UserPromptSubmitEvent) -> HookDecision | None:
            heard.set()
            await asyncio.Event().wait()
            return None

        heard = asyncio.Event()

        async def act(session: Session) -> None:
            session.workers[0].prompt("first")
            await heard.wait()
            while not stored(plan):
                await asyncio.sleep(0.01)

        async with after(how, plan, act, Hooks().add_user_prompt_submit(slow)) as again:
            assert queued(again.workers[0]) == ["first"]


def stored(plan: Plan) -> list[str]:
    """What a look at the file finds in the queue."""
    with closing(sqlite3.connect(plan.data_dir / "history.db")) as file:
        return [words for (words,) in file.execute("SELECT text FROM queued_prompts ORDER BY place")]


async def test_a_prompt_whose_run_is_written_slowly_is_not_queued_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, turned, runs = Writer._keep, threading.Event(), iter([False, True])

    def slowly(writer: Writer, connection: sqlite3.Connection, batch: Sequence[Write]) -> Any:
        if any(change.kind == "RunStarted" for write in batch for change in write.changes) and next(runs):
            turned.wait(10)
        return keep(writer, connection, batch)

    monkeypatch.setattr(Writer, "_keep", slowly)
    async with LoopbackServer([say("made"), Answer(status=401, framing="none")]) as server:

        async def act(session: Session) -> None:
            session.workers[0].prompt("so that all is made")
            await settled(session)
            session.workers[0].prompt("second")
            asyncio.get_running_loop().call_later(4 * STORED_AFTER, turned.set)
            await settled(session)
            assert session.workers[0].state == "failed"

        async with after("quit", planned(server.base_url, tmp_path), act) as again:
            assert queued(again.workers[0]) == []


async def test_a_prompt_that_a_hook_blocks_does_not_come_back(tmp_path: Path) -> None:
    async with LoopbackServer([TALKS]) as server:
        hooks = Hooks().add_user_prompt_submit(
            lambda event: HookDecision.deny("no") if event.prompt == "second" else None
        )

        async def act(session: Session) -> None:
            reader = await busy(session, "first", "second", "third")
            session.workers[0].interrupt()
            await settled(session)
            session.workers[0].go_on()
            await reader.until(lambda t: t.returned is not None and t.returned.prompt == "second")

        async with after("quit", planned(server.base_url, tmp_path), act, hooks) as again:
            assert queued(again.workers[0]) == ["third"]


async def test_a_prompt_that_came_back_to_the_box_comes_back_there_after_a_crash(tmp_path: Path) -> None:
    async with LoopbackServer([Answer(status=401, framing="none")]) as server:

        async def act(session: Session) -> None:
            session.workers[0].prompt("first")
            await settled(session)
            assert session.workers[0].state == "failed"

        async with after("crash", planned(server.base_url, tmp_path), act) as again:
            transcript = Reader(again.workers[0]).read()
            assert queued(again.workers[0]) == []
            assert transcript.returned is not None
            assert transcript.returned.prompt == "first"
            assert "401" in transcript.returned.reason


async def test_without_a_person_a_prompt_does_not_send_what_was_left(tmp_path: Path) -> None:
    async with LoopbackServer([TALKS, say("new"), say("newer")]) as server:
        plan = planned(server.base_url, tmp_path)
        async with open_session(plan) as session:
            await busy(session, "first", "second")
        async with open_session(plan, resume="", policy=Policy("deny")) as again:
            again.start("new")
            again.workers[0].prompt("newer")
            await settled(again)
            assert queued(again.workers[0]) == ["second"]
        assert await committed(tmp_path) == ["first", "new", "newer"]


async def test_a_queue_that_cannot_be_written_says_so_and_is_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, fails = History.keep_queue, True

    async def full(*arguments: object) -> None:
        if fails:
            raise HistoryError("the disk is full")
        await keep(*arguments)  # type: ignore[arg-type]  # they are passed on

    monkeypatch.setattr(History, "keep_queue", full)
    async with LoopbackServer([TALKS]) as server:
        plan = planned(server.base_url, tmp_path)
        async with open_session(plan) as session:
            reader = Reader(session.workers[0])
            session.workers[0].prompt("first")
            session.workers[0].prompt("second")
            warned = await reader.until(lambda t: any(isinstance(e, NoticeEntry) for e in t.entries))
            assert [prompt.kept for prompt in warned.queue] == [False]
            fails = False
            session.workers[0].prompt("third")
            await reader.until(lambda t: [prompt.kept for prompt in t.queue] == [True, True])
            assert stored(plan) == ["second", "third"]


async def test_a_file_of_the_version_before_opens_with_all_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.touch()
    with closing(connect(path, patience=1.0)) as old:
        migrate(old, path, patience=1.0, steps=MIGRATIONS[:-1])
        old.execute("INSERT INTO sessions VALUES ('s', 1.0, '/work', 0)")
        old.execute("INSERT INTO conversations VALUES ('c', 's', 'a', 'ada', 1, '{}', 1.0, NULL)")
    history = await History.open(path)
    try:
        [conversation] = (await history.load("s")).conversations
        assert (conversation.name, conversation.queue) == ("ada", ())
        await history.keep_queue("c", [PlacedPrompt(QueuedPrompt("p", "lone \udcff"), 0)])
        await history.keep_queue("c", [PlacedPrompt(QueuedPrompt("q", "before"), -1)])
        [conversation] = (await history.load("s")).conversations
        assert [placed.prompt.text for placed in conversation.queue] == ["before", "lone \udcff"]
        with pytest.raises(HistoryError):
            await history.keep_queue("nowhere", [PlacedPrompt(QueuedPrompt("r", "lost"), 0)])
    finally:
        await history.close()
