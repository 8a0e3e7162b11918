"""Owns the reading of one chat completion: server-sent events in, stream events out (rules P1 to P16).

Refuses to run, to retry or to wait; an error leaves in the server's own words, after what came before it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Final

from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.errors import ProviderError, StreamMalformed, StreamTruncated
from agent_tui_core.events import AnswerEnded, ReasoningDelta, StreamEvent, TextDelta, UsageReported
from agent_tui_core.messages import StopReason, Usage
from agent_tui_core.wire.call_pieces import CallPieces
from agent_tui_core.wire.json_text import decoded
from agent_tui_core.wire.refusals import ended_badly, refusal_in, refusal_of
from agent_tui_core.wire.sse import ServerSentEvent, SseParser
from agent_tui_core.wire.surrogates import mended, mended_json
from agent_tui_core.wire.thinking import Piece, ProseKeeper, prose, reasoning, reasoning_details
from agent_tui_core.wire.usage import usage_in

DONE: Final = "[DONE]"
_MOST_QUOTED: Final = 120

_LENGTH: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_FILTERED: Final = frozenset(
    {
        "content_filter",
        "content_filtered",
        "safety",
        "sensitive",
        "recitation",
        "prohibited_content",
        "blocklist",
    }
)
_FAILED: Final = frozenset(
    {
        "error",
        "failed",
        "failure",
        "abort",
        "aborted",
        "cancelled",
        "canceled",
        "timeout",
        "network_error",
        "server_error",
        "internal_error",
        "model_error",
        "engine_error",
        "engine_overloaded",
        "insufficient_system_resource",
        "malformed_function_call",
    }
)


class ChatStream:
    """One streamed answer: feed it the events of its body, then close it.

    It sees errors in every shape, `ServerSentEvent("error", …)` included, which is also what the parser makes
    of llama.cpp's `error:` field.
    """

    def __init__(self, tool_names: Collection[str] = (), *, think_tags: bool = False) -> None:
        self.done = False
        """`[DONE]` came, or an error that `close` raises: nothing that follows counts."""
        self._calls = CallPieces(tool_names)
        self._prose = ProseKeeper(think_tags=think_tags)
        self._usage = Usage()
        self._reason: str | None = None
        self._failed: ProviderError | None = None
        self._started = False
        self._ended = False
        self._sends_back_content = False

    def feed(self, event: ServerSentEvent) -> list[StreamEvent]:
        """Read one event. Raises `ProviderRefused` for an error, `StreamMalformed` for what is no chunk.

        When the event holds a part of the answer before its error, the part is returned, `done` is set and
        the error is raised by the next call.
        """
        if self._failed is not None:
            raise self._failed
        events: list[StreamEvent] = []
        if self.done:
            return events
        try:
            self._read(event, events)
        except ProviderError as error:
            self._failed, self.done = error, True
            if not events:
                raise
        except RecursionError as error:
            self._failed, self.done = _no_chunk(event.data, "it is nested too deep"), True
            raise self._failed from error
        return events

    def close(self, pending: ServerSentEvent | None = None) -> list[StreamEvent]:
        """End the input; return the last events, `AnswerEnded` last.

        `pending`, what the parser had not ended, counts if it is `[DONE]` or one whole chunk. Raises what
        `feed` still had to raise, `StreamTruncated` when neither a finish reason nor `[DONE]` came,
        `StreamMalformed` when the answer is empty, `ProviderRefused` when its finish reason is a failure.
        """
        events: list[StreamEvent] = []
        if pending is not None and not self.done and _is_whole(pending):
            events += self.feed(pending)
        if self._failed is not None:
            raise self._failed
        events += self._settled(self._prose.close())
        events += self._calls.close()
        if self._reason is None and not self.done:
            raise StreamTruncated(
                "the answer broke off: the server ended it without a finish reason"
                if self._started
                else "empty response: the server ended the answer before it began"
            )
        stop_reason = self._stop_reason()
        if not self._started:
            raise StreamMalformed(_nothing_came(stop_reason))
        if self._sends_back_content and len(self._calls):
            events.append(ReasoningDelta("", {"reasoning_content": True}))
        events.append(AnswerEnded(stop_reason, self._reason))
        return events

    def _read(self, event: ServerSentEvent, events: list[StreamEvent]) -> None:
        if event.event == "error":
            raise refusal_of(event.data)
        try:
            chunk = decoded(event.data)
        except ValueError as error:
            self._read_unusual(event.data, error, events)
        else:
            self._read_chunk(chunk, events)

    def _read_unusual(self, data: str, error: ValueError, events: list[StreamEvent]) -> None:
        """Read what is no JSON document: `[DONE]`, nothing, or several documents, one a line."""
        lines = [line for line in data.split("\n") if line.strip()]
        if len(lines) > 1:
            for line in lines:
                if not self.done:
                    self._read(ServerSentEvent(data=line), events)
        elif data.strip() == DONE:
            self.done = True
        elif lines:
            raise _no_chunk(data, str(error)) from error

    def _read_chunk(self, chunk: Json, events: list[StreamEvent]) -> None:
        if isinstance(chunk, dict):
            self._read_usage(chunk, events)
            choice = _first_choice(chunk.get("choices"))
            if choice is not None:
                self._read_choice(choice, events)
        error = refusal_in(chunk)
        if error is not None:
            raise error
        if not isinstance(chunk, dict):
            raise _no_chunk(json.dumps(chunk), "it is no object")

    def _read_usage(self, chunk: JsonObject, events: list[StreamEvent]) -> None:
        usage = usage_in(chunk)
        if usage is None:
            return
        largest = self._usage.maximum(usage)
        if largest != self._usage:
            self._usage = largest
            events.append(UsageReported(largest))

    def _read_choice(self, choice: JsonObject, events: list[StreamEvent]) -> None:
        delta = choice.get("delta")
        if not isinstance(delta, dict) or not delta:
            delta = choice.get("message") if not self._started else None
        if isinstance(delta, dict):
            self._read_delta(delta, events)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason and not _never_runs(self._reason):
            self._reason = mended(reason)
        if choice.get("error"):
            raise refusal_in({"error": choice["error"]}) or refusal_of("")

    def _read_delta(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        self._read_reasoning(delta, events)
        for kind, text in prose(delta):
            self._started = True
            events += self._settled(self._prose.feed(kind, text))
        calls = self._calls.feed(delta)
        if calls:
            self._started = True
            events += calls

    def _read_reasoning(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        text, source = reasoning(delta)
        opaque: dict[str, Json] = {}
        if details := reasoning_details(delta):
            opaque["reasoning_details"] = mended_json(details)
        if extra := delta.get("extra_content"):
            opaque["extra_content"] = mended_json(extra)
        if not text and not opaque:
            return
        self._started |= bool(text)
        self._sends_back_content |= source == "reasoning_content"
        words = "".join(piece for _, piece in self._prose.feed("reasoning", text))
        if words or opaque:
            events.append(ReasoningDelta(words, opaque or None))

    def _settled(self, pieces: Iterable[Piece]) -> list[StreamEvent]:
        return [TextDelta(text) if kind == "text" else ReasoningDelta(text) for kind, text in pieces]

    def _stop_reason(self) -> StopReason:
        reason = (self._reason or "").lower()
        if reason in _LENGTH:
            return "length"
        if reason in _FILTERED:
            return "content_filter"
        if reason in _FAILED:
            raise ended_badly(reason)
        return "tool_use" if len(self._calls) else "end"


def whole_answer(body: bytes, tool_names: Collection[str] = ()) -> list[StreamEvent]:
    """Read a body that came in the place of a stream: a whole JSON answer, or an event stream after all.

    Raises `ProviderRefused` for an error and for a page of words, `StreamMalformed` for anything else.
    """
    text = body.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    stream = ChatStream(tool_names)
    if text.startswith(("data:", "event:", ":")):
        parser = SseParser(max_event_bytes=len(body))
        events = [event for sent in parser.feed(body) for event in stream.feed(sent)]
        return events + stream.close(parser.close())
    if text and text[0] not in "{[":
        raise refusal_of(text)
    events = stream.feed(ServerSentEvent(data=text))
    events += stream.feed(ServerSentEvent(data=DONE))
    return events + stream.close()


def _first_choice(choices: Json) -> JsonObject | None:
    if not isinstance(choices, list):
        return None
    for choice in choices:
        if isinstance(choice, dict) and choice.get("index", 0) in (0, None):
            return choice
    return None


def _never_runs(reason: str | None) -> bool:
    """Whether a finish reason forbids the calls of its answer, whatever comes after it."""
    return (reason or "").lower() in _LENGTH | _FILTERED | _FAILED


def _nothing_came(stop_reason: StopReason) -> str:
    if stop_reason == "length":
        return "empty response: the output limit (max_tokens) was reached before the answer began"
    if stop_reason == "content_filter":
        return "empty response: the provider's content filter stopped the answer before it began"
    return "empty response: the server ended the answer and there is nothing in it"


def _is_whole(pending: ServerSentEvent) -> bool:
    data = pending.data.strip()
    if pending.event == "error" or data == DONE:
        return True
    try:
        return isinstance(decoded(data), dict)
    except ValueError:
        return False


def _no_chunk(data: str, why: str) -> StreamMalformed:
    quoted = data if len(data) <= _MOST_QUOTED else data[:_MOST_QUOTED] + "…"
    return StreamMalformed(f"the server sent what is no chunk of an answer ({why}): {mended(quoted)}")
