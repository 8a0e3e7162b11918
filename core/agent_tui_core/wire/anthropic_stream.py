"""Owns the reading of one answer of Anthropic's Messages API: server-sent events in, stream events out.

Refuses to run, to retry or to wait; events and blocks of kinds that it does not know are passed over, as the
API's versioning policy asks. Shapes after platform.claude.com/docs (build-with-claude/streaming,
handling-stop-reasons) and the official Python SDK's types (`raw_*_event`, `usage`, `stop_reason`).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import field
from typing import Final

from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.events import ReasoningDelta, StreamEvent
from agent_tui_core.messages import StopReason, ThinkTags, Usage
from agent_tui_core.records import dataclass
from agent_tui_core.wire.finish_reasons import FAILED, FILTERED, LENGTH
from agent_tui_core.wire.json_text import place_in
from agent_tui_core.wire.opaque import tagged
from agent_tui_core.wire.refusals import ended_badly
from agent_tui_core.wire.surrogates import mended
from agent_tui_core.wire.typed_stream import TypedReader, object_of, string_of
from agent_tui_core.wire.usage import count

_REFUSAL: Final = "refusal"
_INPUT: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""Input is counted in three parts: read as new, written to the cache, read from the cache."""


@dataclass(slots=True)
class _Block:
    """One open block of the answer."""

    kind: str
    signature: list[str] = field(default_factory=list)
    input: JsonObject | None = None
    """The whole input of a call, where a server sends it at the start in place of pieces."""


class MessagesStream(TypedReader):
    """One streamed answer: feed it the events of its body, then close it.

    `message_start`, then for each block `content_block_start`, deltas and `content_block_stop`;
    `message_delta` has the stop reason, `message_stop` is the end. `ping` and `error` may stand anywhere.
    """

    def __init__(self, tool_names: Collection[str] = (), *, think_tags: ThinkTags = True) -> None:
        super().__init__(tool_names, think_tags=think_tags)
        self._open: dict[int, _Block] = {}
        self._counts: dict[str, int] = {}

    def _read_event(self, kind: str, chunk: JsonObject, events: list[StreamEvent]) -> None:
        match kind:
            case "message_start":
                message = object_of(chunk.get("message"))
                self._read_usage(message.get("usage"), events)
            case "content_block_start":
                self._begin(_place(chunk), object_of(chunk.get("content_block")), events)
            case "content_block_delta":
                self._go_on(_place(chunk), object_of(chunk.get("delta")), events)
            case "content_block_stop":
                self._end_block(_place(chunk), events)
            case "message_delta":
                self._read_usage(chunk.get("usage"), events)
                self._read_reason(object_of(chunk.get("delta")))
            case "message_stop":
                self.done = True
            case "message":
                self._read_whole(chunk, events)
            case _:
                pass

    def _read_whole(self, message: JsonObject, events: list[StreamEvent]) -> None:
        content = message.get("content")
        for place, block in enumerate(content if isinstance(content, list) else ()):
            self._begin(place, object_of(block), events)
            self._end_block(place, events)
        self._read_usage(message.get("usage"), events)
        self._read_reason(message)

    def _begin(self, place: int, block: JsonObject, events: list[StreamEvent]) -> None:
        self._end_block(place, events)
        kind = string_of(block.get("type"))
        opened = self._open[place] = _Block(kind)
        match kind:
            case "text":
                self._say("text", string_of(block.get("text")), events)
            case "thinking":
                self._say("reasoning", string_of(block.get("thinking")), events)
                opened.signature.append(string_of(block.get("signature")))
            case "redacted_thinking":
                fields = {"type": kind, "data": block.get("data")}
                events.append(ReasoningDelta("", tagged("anthropic", fields)))
            case "tool_use":
                opened.input = object_of(block.get("input")) or None
                function: JsonObject = {"name": block.get("name")}
                piece: JsonObject = {"index": place, "id": block.get("id"), "function": function}
                self._call(piece, events)
            case _:
                pass

    def _go_on(self, place: int, delta: JsonObject, events: list[StreamEvent]) -> None:
        block = self._open.setdefault(place, _Block(""))
        match delta.get("type"):
            case "text_delta":
                self._say("text", string_of(delta.get("text")), events)
            case "thinking_delta":
                self._say("reasoning", string_of(delta.get("thinking")), events)
            case "signature_delta":
                block.signature.append(string_of(delta.get("signature")))
            case "input_json_delta" if block.kind == "tool_use":
                arguments = string_of(delta.get("partial_json"))
                if arguments:
                    block.input = None
                    self._call({"index": place, "function": {"arguments": arguments}}, events)
            case _:
                pass

    def _end_block(self, place: int, events: list[StreamEvent]) -> None:
        block = self._open.pop(place, None)
        if block is None:
            return
        if block.kind == "tool_use" and block.input is not None:
            self._call({"index": place, "function": {"arguments": json.dumps(block.input)}}, events)
        signature = "".join(block.signature)
        if block.kind == "thinking" or signature:
            fields: JsonObject = {"type": "thinking", "signature": signature}
            events.append(ReasoningDelta("", tagged("anthropic", fields)))

    def _finish(self) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        if self.done or self._reason is not None:
            for place in list(self._open):
                self._end_block(place, events)
        return events

    def _call(self, piece: JsonObject, events: list[StreamEvent]) -> None:
        events += self._take_calls({"tool_calls": [piece]}, events)

    def _read_reason(self, delta: JsonObject) -> None:
        reason = delta.get("stop_reason")
        if isinstance(reason, str) and reason:
            self._reason = mended(reason)

    def _read_usage(self, said: Json, events: list[StreamEvent]) -> None:
        """Counts are cumulative, and a report may hold some of them only: the largest of each counts (P9)."""
        if not isinstance(said, dict):
            return
        counts = self._counts
        details = object_of(said.get("output_tokens_details"))
        reports = {**{name: said.get(name) for name in (*_INPUT, "output_tokens")}, **details}
        for name, value in reports.items():
            if (number := count(value)) is not None:
                counts[name] = max(number, counts.get(name, 0))
        read = [counts[name] for name in _INPUT if name in counts]
        usage = Usage(
            input_tokens=sum(read) if read else None,
            output_tokens=counts.get("output_tokens"),
            cached_tokens=counts.get("cache_read_input_tokens"),
            reasoning_tokens=counts.get("thinking_tokens"),
        )
        self._report(usage, events)

    def _stop_reason(self) -> StopReason:
        """Calls decide (P1). `pause_turn` belongs to tools of the server, which nobody offers: it ends."""
        if self._reason in FAILED:
            raise ended_badly(self._reason or "")
        if self._reason in LENGTH:
            return "length"
        if self._reason == _REFUSAL or self._reason in FILTERED:
            return "content_filter"
        return "tool_use" if len(self._calls) else "end"


def _place(chunk: JsonObject) -> int:
    return place_in(chunk.get("index")) or 0
