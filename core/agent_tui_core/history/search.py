"""Owns the finding of words in all that was said; refuses to make recording slower or to depend on an index.

The index is brought up to date when somebody searches, in small steps, so that agents go on writing.
Where SQLite was built without FTS5 every message is read instead.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

from agent_tui_core.blocks import Text, ToolResult
from agent_tui_core.errors import HistoryError
from agent_tui_core.history.migrations import connect
from agent_tui_core.history.rows import fields_of
from agent_tui_core.history.values import Fields, blocks_of
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line, safe_text

STEP = 500
"""Messages that are indexed in one transaction."""
EXCERPT = 60
"""Characters that an excerpt shows on each side of the word."""

_INDEX = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS message_words USING fts5 (words, content='', tokenize='unicode61')"
)
_UNINDEXED = """
    SELECT number, id, blocks FROM messages
    WHERE number > coalesce((SELECT rowid FROM message_words ORDER BY rowid DESC LIMIT 1), 0)
    ORDER BY number LIMIT ?
"""
_MESSAGES = """
    SELECT messages.*, conversations.session_id, conversations.name FROM messages
    JOIN conversations ON conversations.id = messages.conversation_id
"""


@dataclass(frozen=True, slots=True)
class Hit:
    """One message in which all the words were found."""

    session_id: str
    conversation_id: str
    message_id: str
    name: str
    """Of the agent."""
    role: str
    at: float
    excerpt: str
    """One line round the first of the words."""


def find(path: Path, words: str, *, limit: int, patience: float) -> list[Hit]:
    """Return the messages that hold all these beginnings of words, newest first. Raises sqlite3.Error."""
    wanted = safe_text(words).casefold().split()
    if not wanted:
        return []
    with closing(connect(path, patience=patience)) as connection:
        find_rows = _by_index if _bring_up_to_date(connection) else _by_reading
        found = islice(find_rows(connection, wanted), limit)
        return [_hit(row, text, wanted) for row, text in found]


def _bring_up_to_date(connection: sqlite3.Connection) -> bool:
    """Index what was said since the last search; False where there is no FTS5."""
    try:
        connection.execute(_INDEX)
    except sqlite3.OperationalError as error:
        if "no such module" in str(error):
            return False
        raise
    while True:
        connection.execute("BEGIN IMMEDIATE")
        try:
            rows = connection.execute(_UNINDEXED, (STEP,)).fetchall()
            connection.executemany(
                "INSERT INTO message_words (rowid, words) VALUES (?, ?)",
                [(row["number"], _words_of(fields_of(row, "messages"))) for row in rows],
            )
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        if len(rows) < STEP:
            return True


def _by_index(connection: sqlite3.Connection, wanted: list[str]) -> Iterator[tuple[Fields, str]]:
    quoted = " ".join('"' + each.replace('"', '""') + '"*' for each in wanted)
    matching = "WHERE number IN (SELECT rowid FROM message_words WHERE message_words MATCH ?)"
    for row in connection.execute(f"{_MESSAGES} {matching} ORDER BY number DESC", (quoted,)):
        fields = _named(row)
        yield fields, _words_of(fields)


def _by_reading(connection: sqlite3.Connection, wanted: list[str]) -> Iterator[tuple[Fields, str]]:
    for row in connection.execute(f"{_MESSAGES} ORDER BY number DESC"):
        fields = _named(row)
        text = _words_of(fields)
        if all(each in text.casefold() for each in wanted):
            yield fields, text


def _named(row: sqlite3.Row) -> Fields:
    return fields_of(row, f"history row messages {row['id']}")


def _words_of(row: Fields) -> str:
    """What a person could have read in the message; nothing when its row is damaged."""
    try:
        blocks = blocks_of(row.parsed("blocks"))
    except HistoryError:
        return ""
    texts = (
        block.text if isinstance(block, Text) else block.content
        for block in blocks
        if isinstance(block, Text | ToolResult)
    )
    return safe_text("\n".join(texts))


def _hit(row: Fields, text: str, wanted: list[str]) -> Hit:
    place = max(text.casefold().find(wanted[0]), 0)
    start, end = max(place - EXCERPT, 0), place + len(wanted[0]) + EXCERPT
    excerpt = ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
    return Hit(
        session_id=row.text("session_id"),
        conversation_id=row.text("conversation_id"),
        message_id=row.text("id"),
        name=row.text("name"),
        role=row.text("role"),
        at=row.number("at"),
        excerpt=safe_line(excerpt),
    )
