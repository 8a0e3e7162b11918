"""A summary has a bound, is asked for again as any request is, is seen while it grows, and can be refused."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_tui_core.agent import requesting
from agent_tui_core.agent.context import estimate
from agent_tui_core.agent.conversation import SUMMARY_HEAD
from agent_tui_core.events import (
    Body,
    Compacted,
    CompactionProgressed,
    CompactionStarted,
    Noticed,
    RequestRetrying,
    StateChanged,
)
from agent_tui_core.runtime.session import Session, open_session
from agent_tui_core.runtime.worker import Worker
from loopback import DONE, RESET, Answer, LoopbackServer, Script, finish, json_answer, say, text, usage
from loopback import call as calls
from sessions import Reader, planned, settled

FULL = json_answer({"error": {"message": "maximum context length is 4096 tokens"}}, status=400)
BUSY = json_answer({"error": {"message": "loading"}}, status=503)
LONG = "It went on and on about the weather. " * 40
"""About 370 tokens."""


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requesting, "FIRST_DELAY", 0.001)


@asynccontextmanager
async def talked(
    folder: Path, script: Script | Iterable[Answer], turns: int = 5, **settings: object
) -> AsyncIterator[tuple[LoopbackServer, Session, Worker, Callable[[], list[Body]]]]:
    """An agent with so many turns behind it; then the script answers. The last tells what happened since."""
    before = [Answer(text(f"{number}: {LONG}"), finish(), DONE) for number in range(turns)]

    def play(request: object) -> Answer:
        if before:
            return before.pop(0)
        return script(request) if callable(script) else next(left)  # type: ignore[arg-type]

    left = iter(() if callable(script) else script)
    async with LoopbackServer(play) as server:
        base = planned(server.base_url, folder)
        agent = dataclasses.replace(base.profiles["default"], name="a", tools=("Glob",), **settings)  # type: ignore[arg-type]
        async with open_session(dataclasses.replace(base, agents=(agent,))) as session:
            worker = session.workers[0]
            for number in range(turns):
                worker.prompt(f"question {number}")
                await settled(session)
            heard: list[Body] = []
            subscription = worker.subscribe()

            def happened() -> list[Body]:
                heard.extend(event.body for event in subscription.take())
                return heard

            yield server, session, worker, happened


async def asked(session: Session, words: str = "and now?") -> None:
    session.workers[0].prompt(words)
    await settled(session)


@pytest.mark.parametrize("broken", [BUSY, Answer(RESET), Answer(text("They sp"), RESET)])
async def test_a_summary_that_fails_for_a_moment_is_asked_for_again(tmp_path: Path, broken: Answer) -> None:
    answers = [FULL, broken, say("They spoke of the weather."), say("fine")]
    async with talked(tmp_path, answers) as (server, session, worker, happened):
        await asked(session)
        assert worker.state == "idle"
        bodies = happened()
        assert any(isinstance(body, RequestRetrying) for body in bodies)
        assert worker.conversation.compaction is not None
        assert worker.conversation.compaction.summary == "They spoke of the weather."
        assert len(server.requests) == 5 + len(answers)


async def test_a_server_that_gives_no_summary_at_all_ends_the_run_with_its_own_words(tmp_path: Path) -> None:
    async with talked(tmp_path, [FULL, *[BUSY] * 4]) as (_server, session, worker, _happened):
        await asked(session)
        shown = Reader(worker).read()
        assert shown.state == "failed"
        assert "loading" in shown.detail
        assert "maximum context length" not in shown.detail
        assert shown.returned is not None
        assert worker.conversation.compaction is None


async def test_a_summary_has_a_bound_in_tokens_of_a_third_of_what_it_replaces(tmp_path: Path) -> None:
    async with talked(tmp_path, [FULL, say("Weather."), say("fine")]) as (server, session, worker, _happened):
        replaced = estimate(worker.conversation.messages)
        await asked(session)
        bound = server.requests[6].json["max_tokens"]
        assert 64 <= bound <= replaced // 3
        assert "max_tokens" not in server.requests[7].json


UNUSABLE = [
    pytest.param(Answer(text("They spoke of"), finish("length"), DONE), "cut at", id="cut by length"),
    pytest.param(say(LONG * 2), "longer than a third|did not end", id="longer than a third"),
    pytest.param(Answer(finish(), DONE), "empty", id="empty"),
    pytest.param(json_answer({"error": {"message": "max_tokens?"}}, status=400), "max_tokens", id="refused"),
    pytest.param(FULL, "maximum context", id="itself too long"),
]


@pytest.mark.parametrize(("summary", "why"), UNUSABLE)
async def test_a_summary_that_cannot_be_used_is_not_taken_and_the_oldest_turns_are_left_out(
    tmp_path: Path, summary: Answer, why: str
) -> None:
    async with talked(tmp_path, [FULL, summary, say("fine")]) as (server, session, worker, happened):
        await asked(session)
        assert worker.state == "idle"
        compacted = worker.conversation.compaction
        assert compacted is not None
        assert compacted.left_out == 8
        sent = server.requests[-1].json["messages"][1:]
        assert sent[0]["content"].startswith("[Left out here")
        assert "first 8 messages" in sent[0]["content"]
        assert [m["role"] for m in sent] == ["user", "user", "assistant", "user"]
        assert sent[-1]["content"] == "and now?"
        told = " ".join(body.text for body in happened() if isinstance(body, Noticed))
        assert any(part in told for part in why.split("|"))
        shown = " ".join(getattr(entry, "text", "") for entry in Reader(worker).read().entries)
        assert "no longer reads the first 8 messages" in shown


async def test_what_was_left_out_stays_left_out_after_a_resume_and_can_be_undone(tmp_path: Path) -> None:
    cut = Answer(text("They spoke of"), finish("length"), DONE)
    async with talked(tmp_path, [FULL, cut, say("fine")]) as (server, session, worker, _happened):
        await asked(session)
        plan = session.plan
        left_out = worker.conversation.compaction
    async with open_session(plan, resume="") as again:
        worker = again.workers[0]
        assert worker.conversation.compaction == left_out
        assert await worker.undo_compaction()
        assert len(worker.conversation.request) == len(worker.conversation.messages) == 12
    assert server.requests


async def test_a_summary_without_an_end_is_hung_up_on_at_its_bound(tmp_path: Path) -> None:
    endless = Answer(lazily=iter(lambda: text("and then it rained again, "), b""))
    async with talked(tmp_path, [FULL, endless, say("fine")]) as (server, session, worker, _happened):
        await asked(session)
        assert worker.state == "idle"
        assert worker.conversation.compaction is not None
        assert worker.conversation.compaction.left_out
        async with asyncio.timeout(10):
            await server.streams[6].disconnected.wait()


async def test_a_turn_that_is_left_out_takes_its_calls_and_results_along_and_keeps_the_last_prompt(
    tmp_path: Path,
) -> None:
    cut = Answer(text("They spoke of"), finish("length"), DONE)
    rounds = [calls("Glob", {"pattern": f"*{LONG}{n}"}, id=f"c{n}") for n in range(4)]
    async with talked(tmp_path, [*rounds, FULL, cut, say("fine")], turns=1) as (
        server,
        session,
        worker,
        _happened,
    ):
        await asked(session, "find the files")
        assert worker.state == "idle"
        sent = server.requests[-1].json["messages"][1:]
        assert sent[0]["role"] == "user"
        assert "find the files" in sent[0]["content"]
        open_calls: list[str] = []
        for message in sent:
            if message["role"] == "tool":
                assert message["tool_call_id"] == open_calls.pop(0)
            else:
                assert not open_calls
                open_calls = [each["id"] for each in message.get("tool_calls", ())]
        assert not open_calls


async def test_what_is_still_too_long_after_a_summary_loses_its_oldest_turns_as_well(tmp_path: Path) -> None:
    answers = [FULL, say("They spoke of the weather."), FULL, say("fine")]
    async with talked(tmp_path, answers) as (server, session, worker, _happened):
        await asked(session)
        assert worker.state == "idle"
        sent = server.requests[-1].json["messages"][1:]
        assert SUMMARY_HEAD + "They spoke of the weather." in sent[0]["content"]
        assert "[Left out here" in sent[0]["content"]
        assert sent[-1]["content"] == "and now?"


async def test_a_person_who_asked_for_a_summary_gets_none_that_is_no_summary(tmp_path: Path) -> None:
    cut = Answer(text("They spoke of"), finish("length"), DONE)
    async with talked(tmp_path, [cut]) as (_server, session, worker, _happened):
        assert worker.compact()
        await settled(session)
        shown = Reader(worker).read()
        assert shown.state == "failed"
        assert "cut at" in shown.detail
        assert worker.conversation.compaction is None


async def test_a_summary_is_seen_while_it_is_written_and_can_be_interrupted(tmp_path: Path) -> None:
    stuck = Answer(text("They spoke of the weather"), usage(100, 7), asyncio.Event())
    async with talked(tmp_path, [FULL, stuck]) as (server, session, worker, happened):
        reader = Reader(worker)
        worker.prompt("and now?")
        shown = await reader.until(lambda t: t.state == "summarising" and t.summary_tokens > 0)
        bodies = happened()
        assert any(isinstance(body, CompactionStarted) for body in bodies)
        assert any(isinstance(body, CompactionProgressed) for body in bodies)
        assert any(isinstance(body, StateChanged) and body.state == "summarising" for body in bodies)
        worker.interrupt()
        await settled(session)
        assert reader.read().state == "interrupted"
        assert shown.returned is not None
        assert shown.returned.prompt == "and now?"
        assert not any(isinstance(body, Compacted) for body in happened())
        async with asyncio.timeout(10):
            await server.streams[6].disconnected.wait()


async def test_a_conversation_whose_limit_is_mostly_tools_is_not_summarised_in_each_turn(
    tmp_path: Path,
) -> None:
    short = [Answer(text("yes"), finish(), usage(3_900, 2), DONE) for _ in range(3)]
    async with talked(tmp_path, short, turns=0, context_limit=4_000) as (server, session, _worker, _happened):
        for number in range(3):
            await asked(session, f"once more {number}")
        assert len(server.requests) == 3
