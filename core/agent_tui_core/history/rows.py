"""Owns what each durable body is as rows, both ways; refuses to know when they are written.

Rows from disk are a border: each value is checked, and a wrong one is a HistoryError that names its row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import NoReturn, TypeAlias, get_args

from agent_tui_core.blocks import ToolUse
from agent_tui_core.errors import HistoryError
from agent_tui_core.events import (
    Body,
    CallOutcome,
    Compacted,
    CompactionUndone,
    DecidedBy,
    MessageCommitted,
    RunEnd,
    RunEnded,
    RunStarted,
    ToolEnded,
    ToolJudged,
    ToolProposed,
    ToolStarted,
)
from agent_tui_core.history.statements import (
    ADD_MESSAGE,
    COMPACT,
    END_CALL,
    END_RUN,
    JUDGE,
    PROPOSE,
    START_CALL,
    START_RUN,
    UNDO_COMPACTION,
)
from agent_tui_core.history.values import (
    Fields,
    blocks_form,
    blocks_of,
    message_form,
    message_of,
    preview_form,
    preview_of,
    result_form,
    result_of,
    stop_reason_of,
    to_json,
    usage_form,
    usage_of,
)
from agent_tui_core.messages import Message, Role
from agent_tui_core.records import dataclass

DurableBody: TypeAlias = (
    RunStarted
    | MessageCommitted
    | ToolProposed
    | ToolJudged
    | ToolStarted
    | ToolEnded
    | Compacted
    | CompactionUndone
    | RunEnded
)
SqlValue: TypeAlias = str | bytes | int | float | None


@dataclass(frozen=True, slots=True)
class Change:
    """One body as it will be written: exactly one row is added or filled in."""

    kind: str
    ref: str
    """A run's id, a message's id or a call's key."""
    sql: str
    """May name :conversation_id, :run_id, :seq and :at besides what is in `values`."""
    values: Mapping[str, SqlValue]


def change_of(run_id: str, body: Body) -> Change:
    """Return what to write for a body; TypeError when it is not durable, HistoryError when it has no JSON."""
    match body:
        case RunStarted(prompt):
            form = None if prompt is None else to_json(message_form(prompt))
            return Change("RunStarted", run_id, START_RUN, {"prompt": form})
        case MessageCommitted(message):
            return Change("MessageCommitted", message.id, ADD_MESSAGE, _message_values(message))
        case ToolProposed(key):
            return Change("ToolProposed", key, PROPOSE, _proposed_values(body))
        case ToolJudged(key):
            return Change("ToolJudged", key, JUDGE, _judged_values(body))
        case ToolStarted(key):
            started: dict[str, SqlValue] = {"key": key, "executed_input": to_json(body.input)}
            return Change("ToolStarted", key, START_CALL, started | {"until": body.until})
        case ToolEnded(key):
            return Change("ToolEnded", key, END_CALL, _ended_values(body))
        case Compacted():
            return Change("Compacted", body.id, COMPACT, _compacted_values(body))
        case CompactionUndone(compaction_id):
            return Change("CompactionUndone", compaction_id, UNDO_COMPACTION, {"id": compaction_id})
        case RunEnded():
            ended: dict[str, SqlValue] = {
                "ended_as": body.end,
                "reason": storable(body.reason),
                "iterations": body.iterations,
                "usage": to_json(usage_form(body.usage)),
            }
            return Change("RunEnded", run_id, END_RUN, ended)
        case _:
            raise TypeError(f"{type(body).__name__} is not kept in history")


def storable(text: str) -> str | bytes:
    """Return the text as SQLite can hold it: with lone surrogates in it, as a blob."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _maybe_storable(text: str | None) -> str | bytes | None:
    return None if text is None else storable(text)


def _message_values(message: Message) -> dict[str, SqlValue]:
    return {
        "id": message.id,
        "role": message.role,
        "blocks": to_json(blocks_form(message.blocks)),
        "stop_reason": message.stop_reason,
        "usage": None if message.usage is None else to_json(usage_form(message.usage)),
    }


def _proposed_values(body: ToolProposed) -> dict[str, SqlValue]:
    return {
        "key": body.key,
        "message_id": body.message_id,
        "wire_id": storable(body.call.id),
        "name": storable(body.call.name),
        "proposed_input": to_json(body.call.input),
        "broken": _maybe_storable(body.call.broken),
        "raw": storable(body.call.raw),
        "opaque": to_json(body.call.opaque),
    }


def _judged_values(body: ToolJudged) -> dict[str, SqlValue]:
    return {
        "key": body.key,
        "allowed": body.allowed,
        "decided_by": body.by,
        "reason": storable(body.reason),
        "rule": _maybe_storable(body.rule),
        "judged_input": to_json(body.input),
        "waited": body.waited,
    }


def _ended_values(body: ToolEnded) -> dict[str, SqlValue]:
    return {
        "key": body.key,
        "outcome": body.outcome,
        "seconds": body.seconds,
        "result": to_json(result_form(body.result)),
        "preview": None if body.preview is None else to_json(preview_form(body.preview)),
    }


def _compacted_values(body: Compacted) -> dict[str, SqlValue]:
    return {
        "id": body.id,
        "summary": storable(body.summary),
        "covers": body.covers,
        "tokens_before": body.tokens_before,
        "tokens_after": body.tokens_after,
        "left_out": body.left_out,
    }


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The rows of one conversation, by key, from which its bodies are put together again."""

    runs: dict[str, Fields] = field(default_factory=dict)
    messages: dict[str, Fields] = field(default_factory=dict)
    calls: dict[str, Fields] = field(default_factory=dict)
    compactions: dict[str, Fields] = field(default_factory=dict)

    @classmethod
    def read(cls, connection: sqlite3.Connection, conversation_id: str) -> StoredRows:
        """Take all rows of the conversation."""

        def rows(table: str, key: str) -> dict[str, Fields]:
            found = connection.execute(
                f"SELECT * FROM {table} WHERE conversation_id = ?",  # noqa: S608 - our own table names
                (conversation_id,),
            )
            named = (fields_of(row, f"history row {table} {row[key]}") for row in found)
            return {each.text(key): each for each in named}

        return cls(
            rows("runs", "id"), rows("messages", "id"), rows("tool_calls", "key"), rows("compactions", "id")
        )

    def body(self, kind: str, ref: str) -> DurableBody:
        """The body of an entry; HistoryError when its row is missing or wrong."""
        match kind:
            case "RunStarted":
                row = self._row(self.runs, kind, ref)
                prompt = None if row.absent("prompt") else message_of(row.parsed("prompt").inner("prompt"))
                return RunStarted(prompt)
            case "RunEnded":
                return _run_ended(self._row(self.runs, kind, ref))
            case "MessageCommitted":
                return MessageCommitted(_message(self._row(self.messages, kind, ref)))
            case "ToolProposed":
                return _proposed(self._row(self.calls, kind, ref))
            case "ToolJudged":
                return _judged(self._row(self.calls, kind, ref))
            case "ToolStarted":
                return _started(self._row(self.calls, kind, ref))
            case "ToolEnded":
                return _ended(self._row(self.calls, kind, ref))
            case "Compacted":
                return _compacted(self._row(self.compactions, kind, ref))
            case "CompactionUndone":
                return CompactionUndone(self._row(self.compactions, kind, ref).text("id"))
            case _:
                return self._refuse(kind, ref)

    def _row(self, rows: Mapping[str, Fields], kind: str, ref: str) -> Fields:
        return rows[ref] if ref in rows else self._refuse(kind, ref)

    def _refuse(self, kind: str, ref: str) -> NoReturn:
        raise HistoryError(
            f"history entry {kind} {ref}: its row is missing; the history was changed or damaged."
        )


def fields_of(row: sqlite3.Row, where: str) -> Fields:
    """The columns of a row, ready to be checked."""
    return Fields(where, dict(zip(row.keys(), row, strict=True)))


def entries_of(
    connection: sqlite3.Connection, conversation_id: str
) -> Iterable[tuple[str, float, DurableBody]]:
    """Yield run id, time and body of everything that happened in the conversation, in order."""
    stored = StoredRows.read(connection, conversation_id)
    found = connection.execute(
        "SELECT seq, run_id, at, kind, ref FROM entries WHERE conversation_id = ? ORDER BY seq",
        (conversation_id,),
    )
    for row in found:
        entry = fields_of(row, f"history row entries {conversation_id} {row['seq']}")
        yield entry.text("run_id"), entry.number("at"), stored.body(entry.text("kind"), entry.text("ref"))


def _message(row: Fields) -> Message:
    return Message(
        role=row.one_of("role", get_args(Role)),
        blocks=blocks_of(row.parsed("blocks")),
        stop_reason=stop_reason_of(row),
        usage=None if row.absent("usage") else usage_of(row.parsed("usage").inner("usage")),
        id=row.text("id"),
    )


def _proposed(row: Fields) -> ToolProposed:
    call = ToolUse(
        id=row.text("wire_id"),
        name=row.text("name"),
        input=row.parsed("proposed_input").object("proposed_input"),
        broken=row.maybe_text("broken"),
        raw=row.text("raw"),
        opaque=row.parsed("opaque").object("opaque"),
    )
    return ToolProposed(row.text("key"), call, row.text("message_id"))


def _judged(row: Fields) -> ToolJudged:
    return ToolJudged(
        key=row.text("key"),
        allowed=row.flag("allowed"),
        by=row.one_of("decided_by", get_args(DecidedBy)),
        reason=row.text("reason"),
        rule=row.maybe_text("rule"),
        input=row.parsed("judged_input").object("judged_input"),
        waited=row.number("waited"),
    )


def _started(row: Fields) -> ToolStarted:
    return ToolStarted(
        key=row.text("key"),
        input=row.parsed("executed_input").object("executed_input"),
        until=None if row.absent("until") else row.number("until"),
    )


def _ended(row: Fields) -> ToolEnded:
    return ToolEnded(
        key=row.text("key"),
        result=result_of(row.parsed("result").inner("result")),
        outcome=row.one_of("outcome", get_args(CallOutcome)),
        seconds=row.number("seconds"),
        preview=None if row.absent("preview") else preview_of(row.parsed("preview").inner("preview")),
    )


def _compacted(row: Fields) -> Compacted:
    return Compacted(
        id=row.text("id"),
        summary=row.text("summary"),
        covers=row.text("covers"),
        tokens_before=row.count("tokens_before"),
        tokens_after=row.count("tokens_after"),
        left_out=row.count("left_out"),
    )


def _run_ended(row: Fields) -> RunEnded:
    return RunEnded(
        end=row.one_of("ended_as", get_args(RunEnd)),
        reason=row.text("reason"),
        iterations=row.count("iterations"),
        usage=usage_of(row.parsed("usage").inner("usage")),
    )
