"""Owns the search for calls, by key or because they wait, in the history of all sessions; changes nothing."""

from __future__ import annotations

import sqlite3

from agent_tui_core.history.rows import fields_of
from agent_tui_core.records import dataclass

_FIND = """
    SELECT tool_calls.*, conversations.session_id AS session_id, conversations.name AS agent_name
    FROM tool_calls JOIN conversations ON conversations.id = tool_calls.conversation_id
    WHERE tool_calls.key = ?
"""

_WAITING = """
    SELECT tool_calls.*, conversations.session_id AS session_id, conversations.name AS agent_name
    FROM tool_calls JOIN conversations ON conversations.id = tool_calls.conversation_id
    WHERE tool_calls.until > ? AND tool_calls.started_at IS NOT NULL AND tool_calls.ended_at IS NULL
    ORDER BY tool_calls.started_at, tool_calls.key LIMIT ?
"""
MOST_WAITING = 500


@dataclass(frozen=True, slots=True)
class FoundCall:
    """One call as history knows it. Times are seconds since the epoch, None for what has not happened."""

    tool: str
    agent_name: str
    session_id: str
    started_at: float | None
    until: float | None
    """Until when somebody outside may deliver its result; None for a call that nobody outside can answer."""
    ended_at: float | None
    outcome: str | None


def find_call(connection: sqlite3.Connection, key: str) -> FoundCall | None:
    """The call with this key; None when there was none."""
    found = connection.execute(_FIND, (key,)).fetchone()
    if found is None:
        return None
    row = fields_of(found, f"history row tool_calls {key}")
    times = {
        name: None if row.absent(name) else row.number(name) for name in ("started_at", "until", "ended_at")
    }
    return FoundCall(
        tool=row.text("name"),
        agent_name=row.text("agent_name"),
        session_id=row.text("session_id"),
        outcome=row.maybe_text("outcome"),
        **times,
    )


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call whose result somebody outside may deliver still. Times are seconds since the epoch."""

    key: str
    tool: str
    input: str
    """As JSON; foreign."""
    agent_name: str
    session_id: str
    since: float
    until: float


def waiting_calls(connection: sqlite3.Connection, now: float) -> tuple[WaitingCall, ...]:
    """The calls that wait for somebody outside, oldest first."""
    found = connection.execute(_WAITING, (now, MOST_WAITING)).fetchall()
    rows = [fields_of(one, "history row of a waiting call") for one in found]
    return tuple(
        WaitingCall(
            row.text("key"),
            row.text("name"),
            row.maybe_text("executed_input") or "{}",
            row.text("agent_name"),
            row.text("session_id"),
            row.number("started_at"),
            row.number("until"),
        )
        for row in rows
    )
