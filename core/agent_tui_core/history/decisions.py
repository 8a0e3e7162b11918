"""Owns the search for what was decided about calls, in the history of all sessions; changes nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final, get_args

from agent_tui_core.blocks import JsonObject
from agent_tui_core.events import DecidedBy
from agent_tui_core.history.rows import fields_of
from agent_tui_core.history.values import Fields
from agent_tui_core.records import dataclass

MOST_CALLS: Final = 3_000
"""More are not taken back from history: the newest count."""

_CONVERSATIONS: Final = "SELECT id, name, profile FROM conversations"
# The first columns of a row are cheap to read; the long ones stand behind them.
_CALLS: Final = """
    SELECT key, name, judged_at, allowed, decided_by, reason, proposed_input, judged_input FROM tool_calls
    WHERE conversation_id = :conversation AND judged_at >= :since AND broken IS NULL
        AND (decided_by = 'person' OR NOT :asked)
    ORDER BY judged_at DESC LIMIT :limit
"""


@dataclass(frozen=True, slots=True)
class PastCall:
    """One call and what became of it. All of it is foreign."""

    tool: str
    input: JsonObject
    """What was decided about, as hooks and the person left it."""
    proposed: JsonObject
    """What the model wrote."""
    allowed: bool
    by: DecidedBy
    reason: str
    at: float
    """Seconds since the epoch."""
    agent_name: str
    workspace: str
    """Empty where history does not say."""


def past_calls(
    connection: sqlite3.Connection, since: float, *, workspace: str | None, asked: bool, limit: int
) -> list[PastCall]:
    """The calls that were judged since then, newest first; `asked`: only those that a person decided."""
    found: list[PastCall] = []
    for row in connection.execute(_CONVERSATIONS).fetchall():
        conversation = fields_of(row, f"history row conversations {row['id']}")
        folder = conversation.parsed("profile").object("profile").get("workspace")
        place = folder if isinstance(folder, str) else ""
        if workspace is None or place == workspace:
            values = {
                "conversation": conversation.text("id"),
                "since": since,
                "asked": asked,
                "limit": limit,
            }
            calls = connection.execute(_CALLS, values).fetchall()
            found += _calls(calls, conversation.text("name"), place)
            if len(found) > 2 * limit:
                found = _newest(found, limit)
    return _newest(found, limit)


def _newest(calls: list[PastCall], limit: int) -> list[PastCall]:
    return sorted(calls, key=lambda call: call.at, reverse=True)[:limit]


def _calls(rows: list[sqlite3.Row], agent_name: str, workspace: str) -> Iterator[PastCall]:
    for row in rows:
        fields = fields_of(row, f"history row tool_calls {row['key']}")
        yield _call(fields, agent_name, workspace)


def _call(row: Fields, agent_name: str, workspace: str) -> PastCall:
    by: DecidedBy = row.one_of("decided_by", get_args(DecidedBy))
    return PastCall(
        tool=row.text("name"),
        input=row.parsed("judged_input").object("judged_input"),
        proposed=row.parsed("proposed_input").object("proposed_input"),
        allowed=row.flag("allowed"),
        by=by,
        reason=row.text("reason"),
        at=row.number("judged_at"),
        agent_name=agent_name,
        workspace=workspace,
    )
