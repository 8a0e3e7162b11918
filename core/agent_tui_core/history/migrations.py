"""Owns the tables of the history file and the steps from one schema to the next; refuses rows.

Each step is one transaction that checks the version again once it holds the lock, so two programs may open a
new file at the same moment.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from agent_tui_core.errors import HistoryError

APPLICATION_ID = 0x41545549
"""`ATUI`: marks the file as ours, so that another program's database is never changed."""

_FIRST: tuple[str, ...] = (
    """
    CREATE TABLE sessions (
        id TEXT NOT NULL PRIMARY KEY,
        started_at REAL NOT NULL,
        workspace TEXT NOT NULL,
        demo INTEGER NOT NULL CHECK (demo IN (0, 1))
    )
    """,
    """
    CREATE TABLE conversations (
        id TEXT NOT NULL PRIMARY KEY,
        session_id TEXT NOT NULL REFERENCES sessions (id),
        agent_id TEXT NOT NULL,
        name TEXT NOT NULL,
        position INTEGER NOT NULL,
        profile TEXT NOT NULL,
        created_at REAL NOT NULL,
        closed_at REAL,
        UNIQUE (session_id, agent_id)
    )
    """,
    """
    CREATE TABLE runs (
        id TEXT NOT NULL PRIMARY KEY,
        conversation_id TEXT NOT NULL REFERENCES conversations (id),
        prompt TEXT,
        started_at REAL NOT NULL,
        ended_at REAL,
        ended_as TEXT CHECK (ended_as IN ('completed', 'interrupted', 'failed', 'limit')),
        reason TEXT,
        iterations INTEGER,
        usage TEXT,
        UNIQUE (conversation_id, id)
    )
    """,
    """
    CREATE TABLE messages (
        number INTEGER NOT NULL PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        conversation_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        run_id TEXT NOT NULL,
        role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
        blocks TEXT NOT NULL,
        stop_reason TEXT,
        usage TEXT,
        at REAL NOT NULL,
        UNIQUE (conversation_id, seq),
        UNIQUE (conversation_id, id),
        FOREIGN KEY (conversation_id, run_id) REFERENCES runs (conversation_id, id)
    )
    """,
    """
    CREATE TABLE tool_calls (
        key TEXT NOT NULL PRIMARY KEY,
        conversation_id TEXT NOT NULL,
        run_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        ordinal INTEGER NOT NULL,
        wire_id TEXT NOT NULL,
        name TEXT NOT NULL,
        proposed_at REAL NOT NULL,
        proposed_input TEXT NOT NULL,
        broken TEXT,
        raw TEXT NOT NULL,
        opaque TEXT NOT NULL,
        judged_at REAL,
        allowed INTEGER CHECK (allowed IN (0, 1)),
        decided_by TEXT,
        reason TEXT,
        rule TEXT,
        judged_input TEXT,
        waited REAL,
        started_at REAL,
        executed_input TEXT,
        ended_at REAL,
        outcome TEXT,
        seconds REAL,
        result TEXT,
        preview TEXT,
        UNIQUE (message_id, ordinal),
        FOREIGN KEY (conversation_id, run_id) REFERENCES runs (conversation_id, id),
        FOREIGN KEY (conversation_id, message_id) REFERENCES messages (conversation_id, id)
    )
    """,
    # The order of all that happened in a conversation; `ref` is a run's or message's id, or a call's key.
    """
    CREATE TABLE entries (
        conversation_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        run_id TEXT NOT NULL,
        at REAL NOT NULL,
        kind TEXT NOT NULL,
        ref TEXT NOT NULL,
        PRIMARY KEY (conversation_id, seq),
        FOREIGN KEY (conversation_id, run_id) REFERENCES runs (conversation_id, id)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE compactions (
        id TEXT NOT NULL PRIMARY KEY,
        conversation_id TEXT NOT NULL,
        run_id TEXT NOT NULL,
        summary TEXT NOT NULL,
        covers TEXT NOT NULL,
        tokens_before INTEGER NOT NULL,
        tokens_after INTEGER NOT NULL,
        at REAL NOT NULL,
        undone_at REAL,
        FOREIGN KEY (conversation_id, run_id) REFERENCES runs (conversation_id, id)
    )
    """,
    "CREATE INDEX tool_calls_of_conversation ON tool_calls (conversation_id)",
    *(
        f"CREATE TRIGGER {table}_keep_{verb.lower()} BEFORE {verb} ON {table} "
        f"BEGIN SELECT RAISE (ABORT, '{table} are append-only'); END"
        for table in ("messages", "entries")
        for verb in ("UPDATE", "DELETE")
    ),
    *(
        f"CREATE TRIGGER {table}_keep_delete BEFORE DELETE ON {table} "
        f"BEGIN SELECT RAISE (ABORT, '{table} are append-only'); END"
        for table in ("runs", "tool_calls")
    ),
    *(
        f"CREATE TRIGGER {table}_keep_ended BEFORE UPDATE ON {table} WHEN OLD.ended_at IS NOT NULL "
        f"BEGIN SELECT RAISE (ABORT, 'what ended in {table} stays as it is'); END"
        for table in ("runs", "tool_calls")
    ),
)

# Until when somebody outside may deliver the result of a call; without it a call ends with its program.
_OUTSIDE: tuple[str, ...] = ("ALTER TABLE tool_calls ADD COLUMN until REAL",)

# How many messages a compaction leaves out without a summary of them.
_LEFT_OUT: tuple[str, ...] = ("ALTER TABLE compactions ADD COLUMN left_out INTEGER NOT NULL DEFAULT 0",)

# What was said to an agent that could not take it yet: a person may change and remove it. Its id will be that
# of the message that it becomes.
_QUEUED: tuple[str, ...] = (
    """
    CREATE TABLE queued_prompts (
        id TEXT NOT NULL PRIMARY KEY,
        conversation_id TEXT NOT NULL REFERENCES conversations (id),
        place INTEGER NOT NULL,
        text TEXT NOT NULL,
        at REAL NOT NULL
    )
    """,
    "CREATE INDEX queued_prompts_of_conversation ON queued_prompts (conversation_id, place)",
)

# The whole of such a prompt, as JSON, where it has pictures.
_PICTURES: tuple[str, ...] = ("ALTER TABLE queued_prompts ADD COLUMN blocks TEXT",)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _OUTSIDE, _LEFT_OUT, _QUEUED, _PICTURES)
"""Step n brings a file from version n to n + 1. Never change one that was released: add another."""


def connect(path: Path, *, patience: float) -> sqlite3.Connection:
    """Open the file with our rules on; `patience` is how long to wait for a lock. Raises sqlite3.Error."""
    connection = sqlite3.connect(str(path.absolute()), timeout=patience, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def migrate(
    connection: sqlite3.Connection,
    path: Path,
    *,
    patience: float,
    steps: Sequence[Sequence[str]] = MIGRATIONS,
) -> None:
    """Bring the file to the newest schema; raises HistoryError for a file that is newer or not ours."""
    version = _checked_version(connection, path, len(steps))
    _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"), patience)
    while version < len(steps):
        _patiently(lambda: connection.execute("BEGIN IMMEDIATE"), patience)
        try:
            version = _checked_version(connection, path, len(steps))
            if version < len(steps):
                for statement in steps[version]:
                    connection.execute(statement)
                version += 1
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {version:d}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


_STATE = ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")


def _checked_version(connection: sqlite3.Connection, path: Path, newest: int) -> int:
    looks_only = not connection.in_transaction
    if looks_only:
        connection.execute("BEGIN")  # another program may write its tables between two looks
    version, owner, tables = (int(connection.execute(each).fetchone()[0]) for each in _STATE)
    if looks_only:
        connection.execute("COMMIT")
    if owner != APPLICATION_ID and (tables or version):
        raise HistoryError(
            f"{path}: this database belongs to another program and was left alone. Choose another place with "
            "--data-dir or AGENT_TUI_DATA_DIR."
        )
    if version > newest:
        raise HistoryError(
            f"{path}: written by a newer agent-tui (schema {version}; this one knows {newest}) and left "
            "alone. Update agent-tui, or choose another place with --data-dir or AGENT_TUI_DATA_DIR."
        )
    return version


def _patiently(act: Callable[[], object], patience: float) -> None:
    """Repeat while the file is busy: the change to WAL does not wait by itself."""
    deadline = time.monotonic() + patience
    while True:
        try:
            act()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
        else:
            return
