"""Owns what is taken out of the reading of answers so that each row of odd answers complains.

Refuses to run it; `fault_mutations` has the same for the network below.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx
import pytest

import agent_tui_core.text as text_room
from agent_tui.panes import lines as lines_room
from agent_tui_core.errors import BadRequest, StreamMalformed, StreamTruncated
from agent_tui_core.events import AnswerEnded
from agent_tui_core.providers import http as http_room
from agent_tui_core.tools.registry import ToolRegistry
from agent_tui_core.wire import accumulator as accumulator_room
from agent_tui_core.wire import answer as answer_room
from agent_tui_core.wire import chat_stream as chat_room
from agent_tui_core.wire import usage as usage_room
from agent_tui_core.wire.sse import SseParser
from fault_mutations import Mutation, named


def _any_end_is_an_end(patch: pytest.MonkeyPatch) -> None:
    whole = answer_room.AnswerReader.close

    def close(self: answer_room.AnswerReader, pending: Any = None) -> list[Any]:
        try:
            said = whole(self, pending)
        except StreamTruncated:
            said = []
        if not isinstance(self.failed, StreamTruncated):
            return said
        self.failed = None
        return [*said, AnswerEnded("end")]

    patch.setattr(answer_room.AnswerReader, "close", close)


def _errors_in_a_stream_are_skipped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chat_room, "refusal_in", lambda *_: None)


def _a_larger_limit_for_events(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http_room, "SseParser", functools.partial(SseParser, max_event_bytes=48 * 2**20))


def _events_are_small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http_room, "SseParser", functools.partial(SseParser, max_event_bytes=2**20))


def _no_web_pages(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http_room, "_web_page", lambda *_: BadRequest("oops"))


def _no_whole_answers(patch: pytest.MonkeyPatch) -> None:
    def whole(_self: object, _body: bytes) -> list[Any]:
        raise BadRequest("oops")

    patch.setattr(answer_room.AnswerReader, "whole", whole)


def _each_chunk_by_itself(patch: pytest.MonkeyPatch) -> None:
    class Forgetful(SseParser):
        def __init__(self) -> None:
            super().__init__()
            self.feed = lambda chunk: SseParser().feed(chunk)

    patch.setattr(http_room, "SseParser", Forgetful)


def _controls_pass(patch: pytest.MonkeyPatch) -> None:
    nothing = re.compile("(?!)")
    for room in (text_room, lines_room):
        for name, value in vars(room).items():
            if isinstance(value, re.Pattern):
                patch.setattr(room, name, nothing)


def _an_empty_answer_is_one(patch: pytest.MonkeyPatch) -> None:
    closing = answer_room.AnswerReader._closing

    def content(self: answer_room.AnswerReader) -> list[Any]:
        self._started |= self.done
        return closing(self)

    patch.setattr(answer_room.AnswerReader, "_closing", content)


def _labels_are_believed(patch: pytest.MonkeyPatch) -> None:
    answer = http_room._answer

    def strict(response: httpx.Response, stream: Any) -> Any:
        if "event-stream" not in response.headers.get("Content-Type", ""):
            raise BadRequest("oops")
        return answer(response, stream)

    patch.setattr(http_room, "_answer", strict)


def _lines_end_in_lf_alone(patch: pytest.MonkeyPatch) -> None:
    class Strict(SseParser):
        def __init__(self) -> None:
            super().__init__()
            feed = self.feed
            self.feed = lambda chunk: feed(chunk.replace(b"\r", b"?"))

    patch.setattr(http_room, "SseParser", Strict)


def _only_a_mark_is_an_end(patch: pytest.MonkeyPatch) -> None:
    closing = answer_room.AnswerReader._closing

    def strict(self: answer_room.AnswerReader) -> list[Any]:
        if not self.done:
            raise StreamTruncated("oops")
        return closing(self)

    patch.setattr(answer_room.AnswerReader, "_closing", strict)


def _only_a_reason_is_an_end(patch: pytest.MonkeyPatch) -> None:
    closing = answer_room.AnswerReader._closing

    def strict(self: answer_room.AnswerReader) -> list[Any]:
        if self._reason is None:
            raise StreamTruncated("oops")
        return closing(self)

    patch.setattr(answer_room.AnswerReader, "_closing", strict)


def _what_is_no_chunk_is_skipped(patch: pytest.MonkeyPatch) -> None:
    read = chat_room.ChatStream._read

    def lenient(self: chat_room.ChatStream, event: Any, events: list[Any]) -> None:
        try:
            read(self, event, events)
        except StreamMalformed:
            return

    patch.setattr(chat_room.ChatStream, "_read", lenient)


def _bytes_are_strict(patch: pytest.MonkeyPatch) -> None:
    class Strict(SseParser):
        def __init__(self) -> None:
            super().__init__()
            feed = self.feed

            def strict(chunk: bytes) -> Any:
                try:
                    chunk.decode()
                except UnicodeDecodeError:
                    raise BadRequest("oops") from None
                return feed(chunk)

            self.feed = strict

    patch.setattr(http_room, "SseParser", Strict)


def _chunks_are_believed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chat_room, "_first_choice", lambda choices: choices[0] if choices else None)
    patch.setattr(usage_room, "count", lambda value: None if value is None else value + 0)


def _roles_are_believed(patch: pytest.MonkeyPatch) -> None:
    read = chat_room.ChatStream._read_delta

    def strict(self: chat_room.ChatStream, delta: Any, events: list[Any]) -> None:
        if delta.get("role") not in {"assistant", None}:
            raise BadRequest("oops")
        read(self, delta, events)

    patch.setattr(chat_room, "usual_text", lambda _: "")
    patch.setattr(chat_room, "usual_texts", lambda events: ([], next(events, None)))
    patch.setattr(chat_room.ChatStream, "_read_delta", strict)


def _limits_are_ends(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chat_room, "_LENGTH", frozenset())


def _any_tool_exists(patch: pytest.MonkeyPatch) -> None:
    def there(_self: ToolRegistry, name: str) -> str:
        raise KeyError(name)

    patch.setattr(ToolRegistry, "unknown", there)


def _any_depth_is_read(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(accumulator_room, "parse_arguments", lambda raw: ([json.loads(raw)], None))


def _all_at_once(patch: pytest.MonkeyPatch) -> None:
    async def whole(chunks: AsyncIterator[bytes]) -> bytes:
        return b"".join([chunk async for chunk in chunks])

    patch.setattr(http_room, "_first_bytes", whole)


STREAM_MUTATIONS: Final = (
    Mutation(
        "any end is an end",
        _any_end_is_an_end,
        named("neither", "HTTP/1.0 cut", "an answer over TLS that a close ends"),
    ),
    Mutation(
        "errors in a stream are skipped",
        _errors_in_a_stream_are_skipped,
        named("an error in mid-stream", "a JSON error with status 200"),
    ),
    Mutation(
        "a larger limit for events",
        _a_larger_limit_for_events,
        named("a line of 17 MB", "a gzip bomb", "a line without end"),
    ),
    Mutation("no web pages", _no_web_pages, named("a web page")),
    Mutation("no whole answers", _no_whole_answers, named("JSON in place of a stream")),
    Mutation(
        "each chunk by itself",
        _each_chunk_by_itself,
        named("every byte in a packet of its own", "the answer in two packets, late"),
    ),
    Mutation(
        "control characters pass",
        _controls_pass,
        named("controls in the text", "an error body of escapes"),
    ),
    Mutation("an empty answer is one", _an_empty_answer_is_one, named("only [DONE]")),
    Mutation("labels are believed", _labels_are_believed, named("the wrong content type", "no content type")),
    Mutation("lines end in LF alone", _lines_end_in_lf_alone, named("a BOM and CR line ends")),
    Mutation(
        "only a mark is an end",
        _only_a_mark_is_an_end,
        named("a finish without [DONE]"),
    ),
    Mutation("only a reason is an end", _only_a_reason_is_an_end, named("[DONE] without a finish")),
    Mutation(
        "what is no chunk is skipped",
        _what_is_no_chunk_is_skipped,
        named("junk for JSON", "JSON that is no object"),
    ),
    Mutation("bytes are strict", _bytes_are_strict, named("bytes that are no UTF-8")),
    Mutation(
        "chunks are believed",
        _chunks_are_believed,
        named("choices that are no list", "odd usage"),
    ),
    Mutation("roles are believed", _roles_are_believed, named("a role that is none")),
    Mutation("limits are ends", _limits_are_ends, named("a limit", "a call after a limit")),
    Mutation("any tool exists", _any_tool_exists, named("a call of nothing known")),
    Mutation("any depth is read", _any_depth_is_read, named("arguments of 3,000 levels")),
    Mutation("events are small", _events_are_small, named("a line of 10 MB")),
    Mutation("all at once", _all_at_once, named("fifty thousand events"), holds_up=True),
)
