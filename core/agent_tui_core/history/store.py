"""Owns the history of sessions: conversations by their own id, append-only, on disk before anything acts.

Refuses half a turn and any change to what was said: a record is kept whole or not at all, and only grows.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from agent_tui_core.blocks import JsonObject, Text
from agent_tui_core.errors import HistoryError
from agent_tui_core.events import Body
from agent_tui_core.history.calls import FoundCall, WaitingCall, find_call, waiting_calls
from agent_tui_core.history.decisions import MOST_CALLS, PastCall, past_calls
from agent_tui_core.history.files import explain, make_private
from agent_tui_core.history.migrations import connect, migrate
from agent_tui_core.history.queued import PlacedPrompt, queue_changes, queued_prompts, taken_by
from agent_tui_core.history.rows import Change, change_of, entries_of, fields_of, storable
from agent_tui_core.history.search import Hit, find
from agent_tui_core.history.values import Fields, blocks_of, to_json
from agent_tui_core.history.writer import Write, Writer
from agent_tui_core.messages import new_id
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line

PATIENCE = 15.0
"""Seconds that other programs may hold the file before a write fails."""
TITLE_LENGTH = 80
CANDIDATES = 8

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One session as a list shows it."""

    id: str
    started_at: float
    workspace: str
    demo: bool
    conversations: int
    messages: int
    last_at: float
    """When something was last recorded in it; `started_at` when nothing was."""
    title: str
    """The first words that a person said in it, on one line; empty when nothing was said."""


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """One conversation as it was kept."""

    id: str
    agent_id: str
    name: str
    position: int
    profile: JsonObject
    bodies: tuple[tuple[str, float, Body], ...]
    """Run id, time in seconds since the epoch and body, in the order in which they were recorded."""
    closed: bool = False
    """Its agent was closed by the person."""
    queue: tuple[PlacedPrompt, ...] = ()
    """The prompts that wait, oldest first."""


@dataclass(frozen=True, slots=True)
class StoredSession:
    """One session with all that was said and done in it."""

    id: str
    started_at: float
    workspace: str
    demo: bool
    conversations: tuple[StoredConversation, ...]
    """By position."""


class History:
    """The history file of this person. Make one with `open`, and `close` it."""

    def __init__(self, path: Path, writer: Writer) -> None:
        self.path = path
        self._writer = writer

    @classmethod
    async def open(cls, path: Path, *, patience: float = PATIENCE) -> History:
        """Open or create the file for its owner alone and bring it to the newest schema.

        Raises HistoryError, which says what is wrong and what to do: locked, damaged, written by a newer
        program, a folder that cannot be written, a full disk. Then nothing stays open.
        """
        writer = Writer(path, patience=patience)
        try:
            await writer.open(partial(_prepare, path, patience))
        except (sqlite3.Error, OSError) as error:
            raise explain(error, path) from error
        return cls(path, writer)

    async def close(self) -> None:
        """Commit what waits and close the file; doing it again is harmless."""
        await self._writer.close()

    async def start_session(self, workspace: str, *, demo: bool = False) -> str:
        """Add a session and return its id."""
        session_id = new_id()
        values = {"id": session_id, "workspace": storable(workspace), "demo": demo}
        await self._writer.write(Write([Change("session", session_id, _ADD_SESSION, values)], time.time()))
        return session_id

    async def add_conversation(
        self, session_id: str, *, agent_id: str, name: str, position: int, profile: JsonObject
    ) -> str:
        """Add an agent's conversation to a session and return its id; `profile` must hold no secret."""
        conversation_id = new_id()
        values = {
            "id": conversation_id,
            "session_id": session_id,
            "agent_id": storable(agent_id),
            "name": storable(name),
            "position": position,
            "profile": to_json(profile),
        }
        change = Change("conversation", conversation_id, _ADD_CONVERSATION, values)
        await self._writer.write(Write([change], time.time()))
        return conversation_id

    async def change_profile(self, conversation_id: str, profile: JsonObject) -> None:
        """Note what an agent goes on with, in the place of what it was made from."""
        values = {"id": conversation_id, "profile": to_json(profile)}
        change = Change("profile", conversation_id, _CHANGE_PROFILE, values)
        await self._writer.write(Write([change], time.time()))

    async def close_conversation(self, conversation_id: str) -> None:
        """Note that its agent was closed: it stays readable, but does not come back with its session."""
        values = {"id": conversation_id}
        change = Change("end of conversation", conversation_id, _CLOSE_CONVERSATION, values)
        await self._writer.write(Write([change], time.time()))

    async def record(self, conversation_id: str, run_id: str, *bodies: Body) -> None:
        """Keep durable bodies, together, and return when they are on disk. HistoryError: nothing was kept.

        A cancelled call leaves all of them or none; TypeError for a body that is not durable.
        """
        changes = [change_of(run_id, body) for body in bodies]
        if changes:
            write = Write(changes, time.time(), conversation_id, run_id, taken_by(bodies))
            await self._writer.write(write)

    async def keep_queue(
        self, conversation_id: str, put: Sequence[PlacedPrompt], gone: Sequence[str] = ()
    ) -> None:
        """Have these prompts wait in a conversation, and those ids not; return when that is on disk.

        What `record` keeps takes a prompt out by itself, by the id of its message.
        HistoryError: nothing was changed, or it is not known; it can be done again.
        """
        changes = queue_changes(conversation_id, put, gone)
        if changes:
            await self._writer.write(Write((), time.time(), beside=changes))

    async def sessions(self, limit: int = 50) -> list[SessionSummary]:
        """Return the sessions in which something happened last, newest first."""
        return await self._read(lambda connection: _summaries(connection, limit))

    async def find(self, session_id: str | None = None) -> str:
        """Return the whole id of the session that `load` would return; raises what `load` raises."""
        return await self._read(lambda connection: _chosen(connection, session_id))

    async def load(self, session_id: str | None = None) -> StoredSession:
        """Return a session: by the beginning of its id, or the newest in which something was said.

        Raises HistoryError when there is none, or more than one; it names the candidates.
        """
        return await self._read(lambda connection: _load(connection, session_id))

    async def find_call(self, key: str) -> FoundCall | None:
        """Return the call with this key, in whatever session; None when there was none."""
        return await self._read(lambda connection: find_call(connection, key))

    async def waiting_calls(self, now: float) -> tuple[WaitingCall, ...]:
        """Return the calls of all sessions that somebody outside can answer still, oldest first."""
        return await self._read(lambda connection: waiting_calls(connection, now))

    async def past_calls(
        self, since: float, *, workspace: str | None = None, asked: bool = False, limit: int = MOST_CALLS
    ) -> list[PastCall]:
        """Return the calls that were judged since then, newest first; `asked`: only by a person."""
        return await self._read(
            lambda connection: past_calls(connection, since, workspace=workspace, asked=asked, limit=limit)
        )

    async def search(self, words: str, limit: int = 50) -> list[Hit]:
        """Return the messages that hold all these beginnings of words, newest first."""
        try:
            return await asyncio.to_thread(find, self.path, words, limit=limit, patience=PATIENCE)
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    async def _read(self, read: Callable[[sqlite3.Connection], Read]) -> Read:
        """Read one consistent state in a thread, over a connection that ends with it."""
        return await asyncio.to_thread(_reading, self.path, read)


_ADD_SESSION = "INSERT INTO sessions (id, started_at, workspace, demo) VALUES (:id, :at, :workspace, :demo)"
_ADD_CONVERSATION = """
    INSERT INTO conversations (id, session_id, agent_id, name, position, profile, created_at)
    VALUES (:id, :session_id, :agent_id, :name, :position, :profile, :at)
"""
_CHANGE_PROFILE = "UPDATE conversations SET profile = :profile WHERE id = :id"
_CLOSE_CONVERSATION = "UPDATE conversations SET closed_at = :at WHERE id = :id AND closed_at IS NULL"
# Each looks at the last entry and at the first prompt of a conversation, which an index finds at once: what
# would ask `max` or `min` of all entries takes seconds after a year of use.
_LAST_AT = "SELECT at FROM entries WHERE conversation_id = conversations.id ORDER BY seq DESC LIMIT 1"
_FIRST_PROMPT = """
    SELECT number FROM messages
    WHERE conversation_id = conversations.id AND role = 'user' ORDER BY seq LIMIT 1
"""
_NEWEST = f"""
    SELECT session_id, ({_LAST_AT}) AS last_at FROM conversations
    WHERE last_at IS NOT NULL ORDER BY last_at DESC LIMIT 1
"""  # noqa: S608 - our own words
_SUMMARIES = f"""
    SELECT chosen.*,
        (SELECT count(*) FROM conversations WHERE session_id = chosen.id) AS conversations,
        (SELECT count(*) FROM messages JOIN conversations ON conversations.id = messages.conversation_id
            WHERE session_id = chosen.id) AS messages,
        (SELECT blocks FROM messages WHERE number =
            (SELECT min(({_FIRST_PROMPT})) FROM conversations WHERE session_id = chosen.id)) AS blocks
    FROM (
        SELECT sessions.*, sessions.rowid AS place, coalesce(
            (SELECT max(({_LAST_AT})) FROM conversations WHERE session_id = sessions.id), started_at
        ) AS last_at
        FROM sessions
        WHERE substr(sessions.id, 1, length(:prefix)) = :prefix
        ORDER BY last_at DESC, place DESC
        LIMIT :limit
    ) AS chosen
    ORDER BY last_at DESC, place DESC
"""  # noqa: S608 - the same


def _prepare(path: Path, patience: float) -> None:
    make_private(path)
    with closing(connect(path, patience=patience)) as connection:
        migrate(connection, path, patience=patience)


def _reading(path: Path, read: Callable[[sqlite3.Connection], Read]) -> Read:
    try:
        with closing(connect(path, patience=PATIENCE)) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            return read(connection)
    except (sqlite3.Error, OSError) as error:
        raise explain(error, path) from error


def _summaries(connection: sqlite3.Connection, limit: int, prefix: str = "") -> list[SessionSummary]:
    found = connection.execute(_SUMMARIES, {"limit": limit, "prefix": storable(prefix)})
    return [_summary(fields_of(row, f"history row sessions {row['id']}")) for row in found]


def _summary(row: Fields) -> SessionSummary:
    return SessionSummary(
        id=row.text("id"),
        started_at=row.number("started_at"),
        workspace=row.text("workspace"),
        demo=row.flag("demo"),
        conversations=row.count("conversations"),
        messages=row.count("messages"),
        last_at=row.number("last_at"),
        title="" if row.absent("blocks") else _title(row),
    )


def _title(row: Fields) -> str:
    words = " ".join(block.text for block in blocks_of(row.parsed("blocks")) if isinstance(block, Text))
    line = safe_line(words)
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"


def _chosen(connection: sqlite3.Connection, prefix: str | None) -> str:
    return _newest(connection) if prefix is None else _only(connection, prefix)


def _load(connection: sqlite3.Connection, prefix: str | None) -> StoredSession:
    session_id = _chosen(connection, prefix)
    found = connection.execute("SELECT * FROM sessions WHERE id = ?", (session_id,)).fetchone()
    row = fields_of(found, f"history row sessions {session_id}")
    conversations = connection.execute(
        "SELECT * FROM conversations WHERE session_id = ? ORDER BY position, rowid", (session_id,)
    )
    return StoredSession(
        id=row.text("id"),
        started_at=row.number("started_at"),
        workspace=row.text("workspace"),
        demo=row.flag("demo"),
        conversations=tuple(_conversation(connection, each) for each in conversations.fetchall()),
    )


def _conversation(connection: sqlite3.Connection, found: sqlite3.Row) -> StoredConversation:
    row = fields_of(found, f"history row conversations {found['id']}")
    return StoredConversation(
        id=row.text("id"),
        agent_id=row.text("agent_id"),
        name=row.text("name"),
        position=row.count("position"),
        profile=row.parsed("profile").object("profile"),
        bodies=tuple(entries_of(connection, row.text("id"))),
        closed=found["closed_at"] is not None,
        queue=queued_prompts(connection, row.text("id")),
    )


def _newest(connection: sqlite3.Connection) -> str:
    """The newest session in which something was said; the newest of all when nothing ever was."""
    newest = connection.execute(_NEWEST).fetchone()
    newest = newest or connection.execute("SELECT id FROM sessions ORDER BY rowid DESC LIMIT 1").fetchone()
    if newest is None:
        raise HistoryError("there is no session to come back to yet")
    return str(newest[0])


def _only(connection: sqlite3.Connection, prefix: str) -> str:
    matching = _summaries(connection, CANDIDATES + 1, prefix) if prefix else []
    if len(matching) == 1:
        return matching[0].id
    shown = safe_line(prefix)
    if matching:
        raise HistoryError(f"more than one session begins with {shown!r}:\n{_candidates(matching)}")
    others = _summaries(connection, CANDIDATES)
    if not others:
        raise HistoryError(f"no session begins with {shown!r}: there is none at all yet")
    raise HistoryError(f"no session begins with {shown!r}; the newest are:\n{_candidates(others)}")


def _candidates(found: list[SessionSummary]) -> str:
    lines = [
        f"  {each.id[:12]}  {_day(each.last_at)}  {each.title or '(nothing said)'}"
        for each in found[:CANDIDATES]
    ]
    return "\n".join(lines + ["  …"] * (len(found) > CANDIDATES))


def _day(at: float) -> str:
    return f"{datetime.fromtimestamp(at, tz=UTC).astimezone():%Y-%m-%d %H:%M}"
