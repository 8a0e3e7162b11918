"""What is loaded equals what was recorded, in every field and in order."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tui_core.blocks import Image, Json, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.errors import HistoryError
from agent_tui_core.events import (
    ApprovalPreview,
    Body,
    CallOutcome,
    DecidedBy,
    MessageCommitted,
    RunEnd,
    RunEnded,
    RunStarted,
    TextDelta,
    ToolEnded,
    ToolJudged,
    ToolProposed,
    ToolStarted,
)
from agent_tui_core.history.rows import change_of
from agent_tui_core.history.store import History
from agent_tui_core.messages import Message, Usage, new_id
from stored_turns import acted, said

any_text = st.text(st.characters(exclude_categories=()), max_size=12).filter(
    # JSON joins a high and a low surrogate that stand side by side: they are one character.
    lambda text: text == text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
)
any_json: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(any_text, any_json, max_size=3)
addresses = st.sampled_from(["https://h/a.png", "data:image/png;base64,AAAA"])
images = st.builds(Image, addresses, st.sampled_from(["auto", "low", "high"]))
results = st.builds(ToolResult, any_text, any_text, st.booleans(), st.lists(images, max_size=2).map(tuple))
calls = st.builds(ToolUse, any_text, any_text, objects, st.none() | any_text, any_text, objects)
blocks = st.one_of(st.builds(Text, any_text), st.builds(Reasoning, any_text, objects), calls, results, images)
counts = st.none() | st.integers()
usages = st.builds(Usage, counts, counts, counts, counts)
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    st.lists(blocks, max_size=4).map(tuple),
    st.none() | st.sampled_from(["end", "tool_use", "length", "content_filter", "interrupted", "error"]),
    st.none() | usages,
    st.uuids(version=4).map(lambda made: made.hex),
)
previews = st.builds(
    ApprovalPreview, st.sampled_from(["command", "diff", "text"]), any_text, st.none() | any_text
)
seconds = st.floats(0, 1e9)
deciders: tuple[DecidedBy, ...] = get_args(DecidedBy)
outcomes: tuple[CallOutcome, ...] = get_args(CallOutcome)
ends: tuple[RunEnd, ...] = get_args(RunEnd)


@st.composite
def runs(draw: st.DrawFn) -> list[Body]:
    message, key = draw(messages), draw(st.uuids(version=4)).hex
    by = draw(st.sampled_from(deciders))
    outcome = draw(st.sampled_from(outcomes))
    end = draw(st.sampled_from(ends))
    return [
        RunStarted(draw(st.none() | messages)),
        MessageCommitted(message),
        ToolProposed(key, draw(calls), message.id),
        ToolJudged(
            key,
            draw(st.booleans()),
            by,
            draw(any_text),
            draw(st.none() | any_text),
            draw(objects),
            draw(seconds),
        ),
        ToolStarted(key, draw(objects)),
        ToolEnded(key, draw(results), outcome, draw(seconds), draw(st.none() | previews)),
        RunEnded(end, draw(any_text), draw(st.integers(0, 99)), draw(usages)),
    ]


@pytest.fixture
async def history(tmp_path: Path) -> AsyncIterator[History]:
    opened = await History.open(tmp_path / "history.db")
    yield opened
    await opened.close()


async def new_conversation(history: History, name: str = "ada", position: int = 0) -> str:
    session = await history.start_session("/work")
    return await history.add_conversation(
        session, agent_id=new_id(), name=name, position=position, profile={"model": "m"}
    )


async def loaded(history: History) -> list[Body]:
    [conversation] = (await history.load()).conversations
    return [body for _, _, body in conversation.bodies]


async def test_every_durable_body_comes_back_as_it_was_and_in_order(history: History) -> None:
    conversation = await new_conversation(history)
    first, second = acted("ls -l"), said("thanks")
    for body in first:
        await history.record(conversation, "run-1", body)
    await history.record(conversation, "run-2", *second)
    [stored] = (await history.load()).conversations
    assert [body for _, _, body in stored.bodies] == [*first, *second]
    assert [run for run, _, _ in stored.bodies] == ["run-1"] * len(first) + ["run-2"] * len(second)
    times = [at for _, at, _ in stored.bodies]
    assert times == sorted(times)
    assert times[-4:] == [times[-1]] * 4, "what was recorded together happened at one time"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies=runs())
async def test_any_field_survives_the_disk(tmp_path: Path, bodies: list[Body]) -> None:
    opened = await History.open(tmp_path / new_id() / "history.db")
    try:
        await opened.record(await new_conversation(opened), new_id(), *bodies)
        assert await loaded(opened) == bodies
    finally:
        await opened.close()


async def test_lone_surrogates_survive_in_every_column(history: History) -> None:
    bad = "a\udcffb\ud800"
    session = await history.start_session(f"/w/{bad}")
    conversation = await history.add_conversation(
        session, agent_id=f"id{bad}", name=bad, position=0, profile={bad: [bad]}
    )
    call = ToolUse(bad, bad, {bad: bad}, bad, bad, {bad: bad})
    message = Message("assistant", (Text(bad), call), "tool_use")
    result = ToolResult(bad, bad)
    bodies: list[Body] = [
        RunStarted(Message("user", (Text(bad),))),
        MessageCommitted(message),
        ToolProposed("key", call, message.id),
        ToolJudged("key", False, "person", bad, bad, {bad: bad}, 0.0),
        ToolEnded("key", result, "denied", 0.0),
        RunEnded("failed", bad, 1, Usage()),
    ]
    await history.record(conversation, "run", *bodies)
    stored = await history.load()
    assert stored.workspace == f"/w/{bad}"
    assert stored.conversations[0].name == bad
    assert stored.conversations[0].agent_id == f"id{bad}"
    assert stored.conversations[0].profile == {bad: [bad]}
    assert await loaded(history) == bodies


@pytest.mark.parametrize("number", [10**40, -(2**63) - 1, float("inf"), 0.1, 1e300])
async def test_odd_numbers_in_arguments_and_counts_survive(history: History, number: float) -> None:
    message = Message("assistant", (ToolUse("c", "T", {"n": number}),), "tool_use")
    usage = Usage(10**30)
    bodies: list[Body] = [
        RunStarted(None),
        MessageCommitted(message),
        RunEnded("completed", "", 1, usage),
    ]
    await history.record(await new_conversation(history), "run", *bodies)
    assert await loaded(history) == bodies


async def test_a_nul_in_text_survives(history: History) -> None:
    bodies: list[Body] = [RunStarted(None), RunEnded("failed", "a\0b", 1, Usage())]
    await history.record(await new_conversation(history), "run", *bodies)
    assert await loaded(history) == bodies


async def test_what_has_no_json_is_refused_and_nothing_of_the_call_is_kept(history: History) -> None:
    conversation = await new_conversation(history)
    call = ToolUse("c", "T", {"n": object()})  # type: ignore[dict-item]  # what the types forbid happens
    with pytest.raises(HistoryError, match="JSON"):
        await history.record(
            conversation, "run", RunStarted(None), MessageCommitted(Message("assistant", (call,)))
        )
    assert await loaded(history) == []


def test_a_body_that_is_not_durable_is_a_bug() -> None:
    with pytest.raises(TypeError, match="TextDelta"):
        change_of("run", TextDelta("x"))


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("UPDATE runs SET prompt = '{\"role\": 7}'", "runs run-1"),
        ("UPDATE runs SET usage = 'not json'", "runs run-1"),
        ("UPDATE tool_calls SET result = '[]'", "tool_calls"),
        ("UPDATE tool_calls SET allowed = NULL", "tool_calls"),
        ('UPDATE messages SET blocks = \'[{"type": "Spell"}]\'', "messages"),
        ("UPDATE messages SET blocks = '[1]'", "messages"),
        ("UPDATE entries SET ref = 'gone' WHERE seq = 3", "MessageCommitted gone"),
        ("UPDATE entries SET kind = 'Magic' WHERE seq = 3", "Magic"),
        ("UPDATE conversations SET profile = '3'", "conversations"),
    ],
)
async def test_a_row_that_was_tampered_with_is_named(history: History, damage: str, named: str) -> None:
    await history.record(await new_conversation(history), "run-1", *acted("ls"))
    with closing(sqlite3.connect(history.path)) as other, other:
        for (trigger,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            other.execute(f"DROP TRIGGER {trigger}")
        assert other.execute(damage).rowcount > 0
    with pytest.raises(HistoryError, match=named):
        await history.load()
