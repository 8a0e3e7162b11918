from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

from agent_tui_core.agent.context import as_text, estimate, first_kept
from agent_tui_core.agent.conversation import SUMMARY_HEAD, Conversation
from agent_tui_core.blocks import Text, ToolResult, ToolUse
from agent_tui_core.errors import BadRequest, ContextExceeded
from agent_tui_core.events import Compacted, CompactionUndone, MessageCommitted
from agent_tui_core.messages import Message, Usage
from agent_tui_core.runtime.entries import NoticeEntry
from agent_tui_core.runtime.session import open_session
from agent_tui_core.wire.openai import refusal
from loopback import DONE, Answer, LoopbackServer, finish, say, text, usage
from sessions import Reader, planned, settled, tool_answer


def turn(number: int, size: int = 400) -> list[Message]:
    call = ToolUse(f"c{number}", "Read", {"file_path": "x"})
    return [
        Message("user", (Text(f"question {number}"),)),
        Message("assistant", (Text("I look."), call), "tool_use"),
        Message("tool", (ToolResult(f"c{number}", "y" * size),)),
        Message("assistant", (Text("z" * size),), "end"),
    ]


MESSAGES = [message for number in range(6) for message in turn(number)]


@pytest.mark.parametrize("keep", [0, 1, 50, 120, 230, 500, 700, 100_000])
def test_a_cut_never_separates_a_call_from_its_result(keep: int) -> None:
    cut = first_kept(MESSAGES, keep)
    assert MESSAGES[cut].role != "tool"
    assert cut < len(MESSAGES)
    assert keep >= 700 or cut > 0


def test_more_is_kept_when_more_may_be() -> None:
    cuts = [first_kept(MESSAGES, keep) for keep in (0, 100, 300, 600, 10_000)]
    assert cuts == sorted(cuts, reverse=True)
    assert cuts[-1] == 0


def test_a_conversation_of_one_message_cannot_be_cut() -> None:
    assert first_kept([Message("user", (Text("x" * 10_000),))], 10) == 0


def test_the_record_says_what_it_leaves_out() -> None:
    record = as_text(MESSAGES, 1_000)
    assert len(record) < 1_200
    assert "characters left out" in record
    assert "question 0" in record


def test_a_summary_stands_for_what_it_covers_and_can_be_undone() -> None:
    conversation = Conversation(MESSAGES)
    before = conversation.size()
    conversation.compact(Compacted("k", "They asked.", MESSAGES[11].id, before, 100))
    shown = conversation.for_request()
    assert shown[0].text == f"{SUMMARY_HEAD}They asked."
    assert [m.id for m in shown[1:]] == [m.id for m in MESSAGES[12:]]
    assert conversation.size() < before
    assert conversation.messages == tuple(MESSAGES)
    assert conversation.undo_compaction("k")
    assert conversation.for_request() == MESSAGES
    assert not conversation.undo_compaction("k")


def test_the_size_is_what_the_provider_counted_plus_a_guess_of_the_rest() -> None:
    conversation = Conversation([MESSAGES[0], Message("assistant", (Text("a"),), "end", Usage(900, 100))])
    assert conversation.size() == 1_000
    conversation.staged = Message("user", (Text("b" * 400),))
    assert conversation.size() == 1_000 + estimate([conversation.staged])


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
        "the request exceeds the available context size, try increasing it",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ],
)
def test_a_full_context_is_an_error_of_its_own(words: str) -> None:
    error = refusal(400, f'{{"error": {{"message": "{words}"}}}}'.encode(), {})
    assert isinstance(error, ContextExceeded)
    assert isinstance(error, BadRequest)
    assert not error.retryable


FULL = Answer(
    b'{"error": {"message": "maximum context length is 100 tokens", "code": "context_length_exceeded"}}',
    status=400,
    content_type="application/json",
)


async def test_room_is_made_when_the_provider_says_that_it_is_full_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    answers = [
        tool_answer("Glob", {"pattern": "*"}),
        say("first answer"),
        FULL,
        say("They looked at the files."),
        say("second answer"),
    ]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        worker = session.workers[0]
        worker.prompt("look")
        await settled(session)
        worker.prompt("and now?")
        await settled(session)
        shown = Reader(worker).read()
        assert any(isinstance(e, NoticeEntry) and "summarised" in e.text for e in shown.entries)
        assert worker.state == "idle"
        assert len(worker.conversation.messages) == 6
    assert "Condense" in server.requests[3].json["messages"][-1]["content"]
    retried = server.requests[4].json["messages"]
    assert "They looked at the files." in retried[1]["content"]
    assert retried[-1]["content"] == "and now?"
    assert [m["role"] for m in retried].count("tool") in {0, 1}


async def test_room_is_made_before_the_limit_of_a_profile_and_comes_back_with_the_session(
    tmp_path: Path,
) -> None:
    long = Answer(text("w" * 2_000), finish(), usage(900, 600), DONE)
    the_plan = None
    async with LoopbackServer([long, say("A summary."), say("short"), say("third")]) as server:
        base = planned(server.base_url, tmp_path)
        agents = tuple(
            dataclasses.replace(agent, tools=("Read",), context_limit=1_600) for agent in base.agents
        )
        the_plan = dataclasses.replace(base, agents=agents)
        async with open_session(the_plan) as session:
            worker = session.workers[0]
            worker.prompt("write a lot " * 60)
            await settled(session)
            worker.prompt("more")
            await settled(session)
            assert worker.conversation.compaction is not None
            sent = server.requests[2].json["messages"]
            assert "A summary." in sent[1]["content"]
        async with open_session(the_plan, resume="") as again:
            worker = again.workers[0]
            assert worker.conversation.compaction is not None
            assert worker.conversation.compaction.summary == "A summary."
            assert await worker.undo_compaction()
            assert not await worker.undo_compaction()
        async with open_session(the_plan, resume="") as undone:
            worker = undone.workers[0]
            assert worker.conversation.compaction is None
            assert len(worker.conversation.request) == 4
            bodies = [event.body for event in worker.subscribe().take()]
            assert any(isinstance(body, CompactionUndone) for body in bodies)
            assert sum(isinstance(body, MessageCommitted) for body in bodies) == 4


async def test_a_person_can_ask_for_a_summary_and_an_interrupt_leaves_everything_as_it_was(
    tmp_path: Path,
) -> None:
    stuck = Answer(text("half a sum"), asyncio.Event(), finish(), DONE)
    async with (
        LoopbackServer([say("one"), say("two"), stuck, say("All was said.")]) as server,
        open_session(planned(server.base_url, tmp_path)) as session,
    ):
        worker = session.workers[0]
        for words in ("first", "second"):
            worker.prompt(words)
            await settled(session)
        assert worker.compact()
        assert not worker.compact()
        async with asyncio.timeout(10):
            await server.until(lambda: server.open_now == 1)
        worker.interrupt()
        await settled(session)
        assert worker.state == "interrupted"
        assert worker.conversation.compaction is None
        assert worker.compact()
        await settled(session)
        assert worker.conversation.compaction is not None


async def test_room_is_made_of_words_that_are_more_tokens_than_guessed(tmp_path: Path) -> None:
    counted = [usage(900, 10), usage(1_700, 10)]
    answers = [Answer(text("字" * 100), finish(), each, DONE) for each in counted]
    async with LoopbackServer([*answers, say("A summary."), say("short")]) as server:
        base = planned(server.base_url, tmp_path)
        agent = dataclasses.replace(base.profiles["default"], name="a", tools=("Read",), context_limit=2_000)
        async with open_session(dataclasses.replace(base, agents=(agent,))) as session:
            for words in ("one", "two", "three"):
                session.workers[0].prompt(words)
                await settled(session)
            assert session.workers[0].conversation.compaction is not None
