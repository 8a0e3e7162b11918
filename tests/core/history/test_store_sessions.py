"""Sessions are listed newest first and found by the beginning of their id."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from agent_tui_core.blocks import Image, Text
from agent_tui_core.errors import HistoryError
from agent_tui_core.events import MessageCommitted, RunStarted
from agent_tui_core.history.store import TITLE_LENGTH, History
from agent_tui_core.messages import Message, new_id
from stored_turns import said


@pytest.fixture
async def history(tmp_path: Path) -> AsyncIterator[History]:
    opened = await History.open(tmp_path / "history.db")
    yield opened
    await opened.close()


async def talk(history: History, session: str, words: str, position: int = 0) -> str:
    conversation = await history.add_conversation(
        session, agent_id=new_id(), name=words, position=position, profile={}
    )
    await history.record(conversation, new_id(), *said(words))
    return conversation


def put_sessions(history: History, *ids: str) -> None:
    with closing(sqlite3.connect(history.path)) as other, other:
        other.executemany("INSERT INTO sessions VALUES (?, 1, '/w', 0)", [(each,) for each in ids])


async def test_a_summary_counts_and_shows_the_first_words(history: History) -> None:
    session = await history.start_session("/work", demo=True)
    await talk(history, session, "fix\nthe \x1b[31mbug   " + "x" * 200)
    await talk(history, session, "second")
    [summary] = await history.sessions()
    assert (summary.id, summary.workspace, summary.demo) == (session, "/work", True)
    assert (summary.conversations, summary.messages) == (2, 4)
    assert summary.last_at > summary.started_at
    assert summary.title.startswith("fix the bug xxx")
    assert len(summary.title) == TITLE_LENGTH


async def test_a_prompt_without_words_has_an_empty_title(history: History) -> None:
    session = await history.start_session("/work")
    conversation = await history.add_conversation(session, agent_id="a", name="a", position=0, profile={})
    await history.record(
        conversation,
        "run",
        RunStarted(None),
        MessageCommitted(Message("assistant", (Text("not a person"),))),
        MessageCommitted(Message("user", (Image("https://example.org/x.png"),))),
    )
    assert [each.title for each in await history.sessions()] == [""]


async def test_sessions_come_newest_first_by_what_happened_last(history: History) -> None:
    old = await history.start_session("/old")
    new = await history.start_session("/new")
    assert [each.id for each in await history.sessions()] == [new, old]
    await talk(history, new, "one")
    await talk(history, old, "resumed")
    assert [each.id for each in await history.sessions()] == [old, new]
    assert [each.id for each in await history.sessions(limit=1)] == [old]
    assert (await history.load()).id == old


async def test_an_empty_session_is_not_what_a_person_comes_back_to(history: History) -> None:
    full = await history.start_session("/work")
    await talk(history, full, "hello")
    empty = await history.start_session("/work")
    assert (await history.load()).id == full
    assert (await history.load(empty)).conversations == ()


async def test_the_newest_session_is_loaded_when_nothing_was_ever_said(history: History) -> None:
    with pytest.raises(HistoryError, match="no session"):
        await history.load()
    await history.start_session("/work")
    second = await history.start_session("/work")
    assert (await history.load()).id == second


async def test_conversations_come_by_position(history: History) -> None:
    session = await history.start_session("/work")
    for words, position in [("third", 2), ("first", 0), ("second", 1)]:
        await talk(history, session, words, position)
    stored = await history.load(session)
    assert [each.name for each in stored.conversations] == ["first", "second", "third"]
    assert [each.position for each in stored.conversations] == [0, 1, 2]


async def test_a_unique_prefix_is_enough(history: History) -> None:
    put_sessions(history, "abc1", "abd2")
    assert (await history.load("abc")).id == "abc1"
    assert (await history.load("abd2")).id == "abd2"


@pytest.mark.parametrize("prefix", ["ab", "zz", "", "a%", "ab_1", "\x1b[2J", "\udcff"])
async def test_an_ambiguous_or_unknown_prefix_lists_candidates(history: History, prefix: str) -> None:
    put_sessions(history, "abc1", "abd2")
    with pytest.raises(HistoryError) as caught:
        await history.load(prefix)
    assert "abc1" in str(caught.value)
    assert "abd2" in str(caught.value)
    assert "\x1b" not in str(caught.value)


async def test_a_conversation_in_no_session_is_refused(history: History) -> None:
    with pytest.raises(HistoryError):
        await history.add_conversation("nowhere", agent_id="a", name="a", position=0, profile={})


async def test_two_agents_of_one_directory_have_conversations_of_their_own(history: History) -> None:
    session = await history.start_session("/work")
    one, two = await talk(history, session, "one"), await talk(history, session, "two")
    stored = await history.load()
    assert {each.id: [run for run, _, _ in each.bodies] for each in stored.conversations}.keys() == {one, two}
    first, second = stored.conversations
    assert not {run for run, _, _ in first.bodies} & {run for run, _, _ in second.bodies}
