"""Owns what protocols have in common whose events name their type: Anthropic's Messages, OpenAI's Responses.

Refuses to know a type: a subclass reads what an event of it says.
"""

from __future__ import annotations

from abc import abstractmethod

from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.events import StreamEvent
from agent_tui_core.wire.answer import DONE, AnswerReader, no_chunk
from agent_tui_core.wire.json_text import decoded
from agent_tui_core.wire.refusals import refusal_in, refusal_of
from agent_tui_core.wire.sse import ServerSentEvent


class TypedReader(AnswerReader):
    """An `AnswerReader` of events that are JSON objects with a `type`; an `error` may stand anywhere."""

    def _read(self, event: ServerSentEvent, events: list[StreamEvent]) -> None:
        if event.event == "error":
            raise refusal_of(event.data)
        try:
            chunk = decoded(event.data)
        except ValueError as error:
            if event.data.strip() == DONE:
                self.done = True
            elif event.data.strip():
                raise no_chunk(event.data, str(error), retryable=True) from error
            return
        if isinstance(chunk, dict) and isinstance(kind := self._kind(chunk), str) and kind != "error":
            self._read_event(kind, chunk, events)
            return
        raise refusal_in(chunk) or no_chunk(event.data, "it has no type: is the provider's protocol right?")

    def _kind(self, chunk: JsonObject) -> Json:
        """What the object says that it is; only a string counts."""
        return chunk.get("type")

    @abstractmethod
    def _read_event(self, kind: str, chunk: JsonObject, events: list[StreamEvent]) -> None:
        """Add what an event of this type says to `events`; raise `ProviderError` for an error in it."""


def object_of(value: Json) -> JsonObject:
    """Return the object that stands there; anything else counts as an empty one."""
    return value if isinstance(value, dict) else {}


def string_of(value: Json) -> str:
    """Return the string that stands there; anything else counts as an empty one."""
    return value if isinstance(value, str) else ""
