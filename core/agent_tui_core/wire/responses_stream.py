"""Owns the reading of one answer of OpenAI's Responses API: server-sent events in, stream events out.

Refuses to run, to retry or to wait; events and items of kinds that it does not know are passed over. Shapes
after developers.openai.com/docs (api-reference/responses-streaming) and the official Python SDK's
`types/responses`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.events import ReasoningDelta, StreamEvent
from agent_tui_core.messages import StopReason, ThinkTags
from agent_tui_core.records import dataclass
from agent_tui_core.wire.finish_reasons import FILTERED, LENGTH
from agent_tui_core.wire.json_text import place_in
from agent_tui_core.wire.opaque import tagged
from agent_tui_core.wire.refusals import ended_badly, refusal_in, refusal_of
from agent_tui_core.wire.surrogates import mended
from agent_tui_core.wire.typed_stream import TypedReader, object_of, string_of
from agent_tui_core.wire.usage import usage_in

_WHOLE: Final = "response"
"""What a whole answer says of itself, as its `object`: it has no type."""
_INCOMPLETE: Final = "incomplete"
_FAILED: Final = frozenset({"failed", "cancelled"})
_ENDS: Final = ("incomplete", "completed")
"""The worse one first: an event `response.completed` may hold a response that is incomplete."""
_CALLS: Final = frozenset({"function_call", "custom_tool_call"})
_SENT_BACK: Final = ("type", "id", "summary", "content", "encrypted_content")
"""The fields of a reasoning item that a request may hold; its status it may not."""


@dataclass(slots=True)
class _Item:
    """One item of the answer."""

    place: int
    spoken: str = ""
    """The field that its words came from: of fields that mirror each other the first counts (P7)."""
    headed: bool = False
    called: bool = False
    argued: bool = False
    ended: bool = False


class ResponsesStream(TypedReader):
    """One streamed answer: feed it the events of its body, then close it.

    Each item of the answer begins with `response.output_item.added`, grows by deltas and is repeated whole in
    `response.output_item.done`; `response.completed`, `.incomplete` or `.failed` is the end, and there is no
    `[DONE]`. What never came as deltas is taken from the whole item.
    """

    def __init__(self, tool_names: Collection[str] = (), *, think_tags: ThinkTags = True) -> None:
        super().__init__(tool_names, think_tags=think_tags)
        self._items: dict[int | str, _Item] = {}
        self._begun = 0
        self._reasoned = False
        self._cut = False
        """A call says of itself that it is incomplete."""

    def _kind(self, chunk: JsonObject) -> Json:
        return _WHOLE if chunk.get("object") == _WHOLE else super()._kind(chunk)

    def _read_event(self, kind: str, chunk: JsonObject, events: list[StreamEvent]) -> None:
        if kind == _WHOLE:
            self._read_end(chunk, events)
            return
        delta = string_of(chunk.get("delta"))
        match kind.removeprefix("response."):
            case "output_text.delta" | "refusal.delta":
                self._word("text", kind, self._item(chunk), delta, events)
            case "reasoning_summary_text.delta" | "reasoning_text.delta":
                self._word("reasoning", kind.removesuffix(".delta"), self._item(chunk), delta, events)
            case "reasoning_summary_part.added":
                self._begin_part(chunk, events)
            case (
                "function_call_arguments.delta"
                | "function_call_arguments.done"
                | "custom_tool_call_input.delta"
                | "custom_tool_call_input.done"
            ) as name:
                self._read_arguments(name, chunk, events)
            case "output_item.added":
                self._begin(self._item(chunk), object_of(chunk.get("item")), events)
            case "output_item.done":
                self._end(self._item(chunk), object_of(chunk.get("item")), events)
            case "completed" | "incomplete" | "failed" | "cancelled":
                self._read_end(object_of(chunk.get("response")), events, said=kind.removeprefix("response."))
            case "error":
                raise refusal_in({"error": chunk}) or refusal_of("")
            case _:
                pass

    def _item(self, chunk: JsonObject) -> _Item:
        """The item that an event is about: by its place in the answer, where it is given, else by its id."""
        index, within = place_in(chunk.get("output_index")), object_of(chunk.get("item"))
        named = string_of(chunk.get("item_id") or within.get("id"))
        key: int | str = named if index is None else index
        item = self._items.get(key) or (self._items.get(named) if named else None)
        if item is None:
            item = _Item(self._begun)
            self._begun += 1
        self._items[key] = item
        if named:
            self._items[named] = item
        return item

    def _begin(self, item: _Item, said: JsonObject, events: list[StreamEvent]) -> None:
        kind = said.get("type")
        if isinstance(kind, str) and kind in _CALLS:
            self._open_call(item, said, events)
        elif kind == "message" and not item.headed and (self._reasoned or said.get("phase")):
            item.headed = True
            fields = {name: said[name] for name in ("type", "id", "phase") if said.get(name)}
            events.append(ReasoningDelta("", tagged("responses", fields)))

    def _end(self, item: _Item, said: JsonObject, events: list[StreamEvent]) -> None:
        if item.ended:
            return
        match said.get("type"):
            case "function_call" | "custom_tool_call" as kind:
                self._open_call(item, said, events)
                is_custom = kind == "custom_tool_call"
                if not item.argued:
                    whole = string_of(said.get("input" if is_custom else "arguments"))
                    self._argue(item, whole, events, is_custom=is_custom)
                self._cut |= said.get("status") == "incomplete"
            case "message":
                if not item.spoken:
                    self._begin(item, said, events)
                    self._word("text", "whole", item, _joined(said.get("content"), ""), events)
            case "reasoning":
                self._end_reasoning(item, said, events)
            case _:
                return
        item.ended = True

    def _end_reasoning(self, item: _Item, said: JsonObject, events: list[StreamEvent]) -> None:
        if not item.spoken:
            words = _joined(said.get("summary"), "\n\n") or _joined(said.get("content"), "")
            self._word("reasoning", "whole", item, words, events)
        fields = {name: said[name] for name in _SENT_BACK if said.get(name) is not None}
        self._reasoned = True
        events.append(ReasoningDelta("", tagged("responses", {"summary": [], **fields})))

    def _word(self, kind: str, source: str, item: _Item, words: str, events: list[StreamEvent]) -> None:
        if kind == "text":
            item.spoken = source
            self._say("text", words, events)
        elif words and item.spoken in {"", source}:
            item.spoken = source
            self._say("reasoning", words, events)

    def _begin_part(self, chunk: JsonObject, events: list[StreamEvent]) -> None:
        item = self._item(chunk)
        if item.spoken:
            self._word("reasoning", item.spoken, item, "\n\n", events)

    def _open_call(self, item: _Item, said: JsonObject, events: list[StreamEvent]) -> None:
        if item.called:
            return
        item.called = self._started = True
        named: JsonObject = {"name": said.get("name")}
        is_custom = said.get("type") == "custom_tool_call"
        piece = {"index": item.place, "id": said.get("call_id"), "custom" if is_custom else "function": named}
        opened = self._take_calls({"tool_calls": [piece]}, events)
        if said.get("id"):
            opaque = tagged("responses", {"custom": True} if is_custom else {"id": said.get("id")})
            opened = [replace(delta, opaque=opaque) for delta in opened]
        events += opened

    def _read_arguments(self, name: str, chunk: JsonObject, events: list[StreamEvent]) -> None:
        item, is_custom = self._item(chunk), name.startswith("custom")
        if name.endswith(".delta"):
            self._argue(item, string_of(chunk.get("delta")), events, is_custom=is_custom)
        elif not item.argued:
            whole = string_of(chunk.get("input" if is_custom else "arguments"))
            self._argue(item, whole, events, is_custom=is_custom)

    def _argue(
        self, item: _Item, arguments: str, events: list[StreamEvent], *, is_custom: bool = False
    ) -> None:
        if arguments:
            item.argued = True
            words: JsonObject = (
                {"custom": {"input": arguments}} if is_custom else {"function": {"arguments": arguments}}
            )
            events += self._take_calls({"tool_calls": [{"index": item.place, **words}]}, events)

    def _read_end(self, response: JsonObject, events: list[StreamEvent], *, said: str = "") -> None:
        usage = usage_in(response)
        if usage is not None:
            self._report(usage, events)
        output = response.get("output")
        for place, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict):
                self._end(self._item({"output_index": place, "item": item}), item, events)
        if error := response.get("error"):
            raise refusal_in({"error": error}) or ended_badly("failed")
        told = (said, string_of(response.get("status")))
        if failed := next(filter(_FAILED.__contains__, told), None):
            raise ended_badly(failed)
        if end := next((end for end in _ENDS if end in told), None):
            details = object_of(response.get("incomplete_details"))
            self._reason = mended(string_of(details.get("reason")) or ("incomplete" if self._cut else end))
            self.done = True

    def _stop_reason(self) -> StopReason:
        if self._reason == _INCOMPLETE or self._reason in LENGTH:
            return "length"
        if self._reason in FILTERED:
            return "content_filter"
        return "tool_use" if len(self._calls) else "end"


def _joined(parts: Json, between: str) -> str:
    """The words of a list of parts: `{type, text}`, or `{type: refusal, refusal}`."""
    found = [object_of(part) for part in parts] if isinstance(parts, list) else []
    return between.join(string_of(part.get("text") or part.get("refusal")) for part in found)
