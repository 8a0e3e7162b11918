"""Words are found in all that was said, with an index and without one."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from agent_tui_core.history import search
from agent_tui_core.history.store import History
from agent_tui_core.messages import new_id
from stored_turns import acted, said


@pytest.fixture
async def history(tmp_path: Path) -> AsyncIterator[History]:
    opened = await History.open(tmp_path / "history.db")
    yield opened
    await opened.close()


@pytest.fixture(params=["index", "no index"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Search with FTS5, or as on an SQLite that does not know it."""
    if request.param == "no index":
        monkeypatch.setattr(search, "_INDEX", "CREATE VIRTUAL TABLE message_words USING unheard_of (words)")
    return str(request.param)


async def talk(history: History, *words: str) -> str:
    session = await history.start_session("/work")
    conversation = await history.add_conversation(session, agent_id="a", name="ada", position=0, profile={})
    for each in words:
        await history.record(conversation, new_id(), *said(each))
    return conversation


async def test_messages_with_all_the_words_are_found_newest_first(history: History, way: str) -> None:
    conversation = await talk(history, "the red Fox", "the blue fox", "no animal")
    hits = await history.search("FOX the")
    assert [(hit.excerpt, hit.role) for hit in hits] == [
        ("the blue fox", "assistant"),
        ("the blue fox", "user"),
        ("the red Fox", "assistant"),
        ("the red Fox", "user"),
    ]
    assert {(hit.conversation_id, hit.name) for hit in hits} == {(conversation, "ada")}
    assert [hit.excerpt for hit in await history.search("fox", limit=1)] == ["the blue fox"]


async def test_what_is_said_after_a_search_is_found_by_the_next(history: History, way: str) -> None:
    await talk(history, "one")
    assert await history.search("later") == []
    await talk(history, "later")
    assert len(await history.search("lat")) == 2


async def test_results_of_tools_are_found(history: History, way: str) -> None:
    session = await history.start_session("/work")
    conversation = await history.add_conversation(session, agent_id="a", name="ada", position=0, profile={})
    await history.record(conversation, "run", *acted("ls"))
    assert [hit.role for hit in await history.search("done")] == ["tool"]


@pytest.mark.parametrize(
    "words", ['"', "fox OR", "* ^ : ( NEAR", "a'b", "\ud800", "", "  ", "\x00", "fox\x00"]
)
async def test_no_query_is_a_syntax_error(history: History, way: str, words: str) -> None:
    await talk(history, "the red fox")
    await history.search(words)


async def test_an_excerpt_shows_the_word_and_cannot_move_the_terminal(history: History, way: str) -> None:
    await talk(history, "x " * 500 + "needle \n\x1b[2J\x9b2J" + " y" * 500)
    excerpt = (await history.search("needle"))[0].excerpt
    assert "needle" in excerpt
    assert excerpt.startswith("…")
    assert excerpt.endswith("…")
    assert len(excerpt) < 150
    assert "\x1b" not in excerpt
    assert "\x9b" not in excerpt
    assert "\n" not in excerpt


async def test_more_messages_than_one_step_are_indexed(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "STEP", 3)
    await talk(history, *(f"word{index}" for index in range(8)))
    assert len(await history.search("word")) == 16
    with closing(sqlite3.connect(history.path)) as other:
        assert other.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
