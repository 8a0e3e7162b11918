"""Owns the search for one call by its key, in the history of all sessions; refuses to change anything."""

from __future__ import annotations

import sqlite3

from agent_tui_core.history.rows import fields_of
from agent_tui_core.records import dataclass

_FIND = """
    SELECT tool_calls.*, conversations.session_id AS session_id, conversations.name AS agent_name
    FROM tool_calls JOIN conversations ON conversations.id = tool_calls.conversation_id
    WHERE tool_calls.key = ?
"""


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
