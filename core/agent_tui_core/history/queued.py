"""Owns the rows of prompts that wait: the only ones that change and go; refuses to say when they are written.

A prompt leaves the queue in the transaction that makes it part of the history, so it is never in both.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from agent_tui_core.blocks import Image, Text
from agent_tui_core.events import Body, MessageCommitted, RunStarted
from agent_tui_core.history.rows import Change, fields_of, storable
from agent_tui_core.history.values import Fields, blocks_form, blocks_of, to_json
from agent_tui_core.messages import QueuedPrompt
from agent_tui_core.records import dataclass

_PUT = """
    INSERT INTO queued_prompts (id, conversation_id, place, text, blocks, at)
    SELECT :id, :queue_of, :place, :text, :blocks, :at
    WHERE NOT EXISTS (SELECT 1 FROM messages WHERE id = :id)
    ON CONFLICT (id) DO UPDATE SET place = excluded.place, text = excluded.text, blocks = excluded.blocks
"""
_TAKE = "DELETE FROM queued_prompts WHERE id = :prompt_id"
_FIND = "SELECT id, text, blocks, place FROM queued_prompts WHERE conversation_id = ? ORDER BY place, at"


@dataclass(frozen=True, slots=True)
class PlacedPrompt:
    """A prompt and where it waits: the smallest place is the oldest."""

    prompt: QueuedPrompt
    place: int


def queue_changes(conversation_id: str, put: Sequence[PlacedPrompt], gone: Sequence[str]) -> Sequence[Change]:
    """What to write so that these prompts are stored, and those ids are not; doing it again is harmless."""
    return [
        *(Change("queued prompt", prompt_id, _TAKE, {"prompt_id": prompt_id}) for prompt_id in gone),
        *(
            Change(
                "queued prompt",
                placed.prompt.id,
                _PUT,
                {
                    "id": placed.prompt.id,
                    "queue_of": conversation_id,
                    "place": placed.place,
                    "text": storable(placed.prompt.text),
                    "blocks": _blocks_text(placed.prompt),
                },
            )
            for placed in put
        ),
    ]


def taken_by(bodies: Sequence[Body]) -> Sequence[Change]:
    """What to write beside these bodies: prompts that they make part of the history wait no longer."""
    return [
        Change("queued prompt", prompt_id, _TAKE, {"prompt_id": prompt_id})
        for body in bodies
        if (prompt_id := _prompt_of(body)) is not None
    ]


def queued_prompts(connection: sqlite3.Connection, conversation_id: str) -> tuple[PlacedPrompt, ...]:
    """The prompts that wait in a conversation, the oldest first."""
    found = (
        fields_of(row, f"history row queued_prompts {row['id']}")
        for row in connection.execute(_FIND, (conversation_id,))
    )
    return tuple(
        PlacedPrompt(
            QueuedPrompt(row.text("id"), row.text("text"), kept=True, blocks=_blocks(row)), row.count("place")
        )
        for row in found
    )


def _blocks_text(prompt: QueuedPrompt) -> str | None:
    return to_json(blocks_form(prompt.blocks)) if prompt.blocks else None


def _blocks(row: Fields) -> tuple[Text | Image, ...]:
    if row.absent("blocks"):
        return ()
    return tuple(block for block in blocks_of(row.parsed("blocks")) if isinstance(block, Text | Image))


def _prompt_of(body: Body) -> str | None:
    match body:
        case RunStarted(prompt) if prompt is not None:
            return prompt.id
        case MessageCommitted(message) if message.role == "user":
            return message.id
        case _:
            return None
