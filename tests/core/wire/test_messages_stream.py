"""What only Anthropic's Messages say; what all protocols say is in `test_protocol_streams`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_tui_core.blocks import Reasoning
from agent_tui_core.errors import (
    BadRequest,
    Overloaded,
    ProviderRefused,
    RateLimited,
    StreamMalformed,
    Unauthorized,
)
from agent_tui_core.events import AnswerEnded, StreamEvent, TextDelta
from agent_tui_core.messages import Usage
from agent_tui_core.wire.anthropic import MessagesStream
from agent_tui_core.wire.sse import ServerSentEvent, SseParser
from protocols import message
from writers import MessagesWriter

# https://platform.claude.com/docs/en/build-with-claude/streaming, "Streaming with tool use", shortened:
# text before the call, a ping within, and the first piece of the arguments empty.
RECORDED = b"""\
event: message_start
data: {"type":"message_start","message":{"id":"msg_014","type":"message","role":"assistant","model":"claude",\
"stop_sequence":null,"usage":{"input_tokens":472,"output_tokens":2},"content":[],"stop_reason":null}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Okay"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_01","name":\
"get_weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta",\
"partial_json":"{\\"location\\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta",\
"partial_json":" \\"Paris\\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},\
"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"""


def read(sent: bytes) -> list[StreamEvent]:
    parser, stream = SseParser(), MessagesStream(["get_weather"])
    events = [event for each in parser.feed(sent) for event in stream.feed(each)]
    return events + stream.close(parser.close())


def named(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def test_the_documented_answer_is_read() -> None:
    built = message(read(RECORDED))
    assert built.text == "Okay"
    assert [(use.id, use.name, use.input) for use in built.tool_uses] == [
        ("toolu_01", "get_weather", {"location": "Paris"})
    ]
    assert built.usage == Usage(472, 89)
    assert built.stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("pause_turn", "end"),
        ("something_new", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("content_filter", "content_filter"),
        ("length", "length"),
    ],
)
def test_each_stop_reason_means_one_of_ours_and_is_kept(said: str, meant: str) -> None:
    w = MessagesWriter()
    ended = read(w.text("a") + w.end().replace(b"end_turn", said.encode()))[-1]
    assert ended == AnswerEnded(meant, said)  # type: ignore[arg-type]  # a parameter


# https://platform.claude.com/docs/en/api/errors
@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("overloaded_error", Overloaded),
        ("api_error", Overloaded),
        ("timeout_error", Overloaded),
        ("rate_limit_error", RateLimited),
        ("authentication_error", Unauthorized),
        ("permission_error", Unauthorized),
        ("invalid_request_error", BadRequest),
        ("billing_error", BadRequest),
        ("not_found_error", BadRequest),
    ],
)
def test_an_error_event_is_an_error_of_its_kind(said: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="so it is"):
        read(named("error", error={"type": said, "message": "so it is"}))


def test_input_is_what_was_new_and_written_and_read() -> None:
    usage = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 2000,
        "output_tokens": 1,
    }
    start = named("message_start", message={"usage": usage, "content": []})
    final = {"output_tokens": 50, "output_tokens_details": {"thinking_tokens": 30}}
    sent = start + MessagesWriter(begun=True).text("a")
    sent += named("message_delta", delta={"stop_reason": "end_turn"}, usage=final) + named("message_stop")
    assert message(read(sent)).usage == Usage(2105, 50, 2000, 30)


def test_kinds_that_are_not_known_are_passed_over() -> None:
    w = MessagesWriter()
    begun = w.text("a")
    alien = named("content_block_start", index=9, content_block={"type": "server_tool_use", "name": "web"})
    alien += named("content_block_delta", index=9, delta={"type": "input_json_delta", "partial_json": "{"})
    alien += named("content_block_delta", index=0, delta={"type": "citations_delta", "citation": {}})
    alien += named("some_new_event", anything=1)
    assert message(read(begun + alien + w.text("b") + w.end())).text == "ab"


def test_a_server_that_sends_arguments_at_the_start_and_ends_no_block_is_understood() -> None:
    block = {"type": "tool_use", "id": "t", "name": "get_weather", "input": {"location": "Paris"}}
    sent = named("content_block_start", index=0, content_block=block) + named("message_stop")
    (use,) = message(read(sent)).tool_uses
    assert use.input == {"location": "Paris"}


def test_signatures_end_their_block_and_unfinished_thinking_has_none() -> None:
    w = MessagesWriter()
    built = message(read(w.thought("a", "s1") + w.thought("b", "s2") + w.text("c") + w.end()))
    assert [block for block in built.blocks if isinstance(block, Reasoning)] == [
        Reasoning("a", {"anthropic": {"type": "thinking", "signature": "s1"}}),
        Reasoning("b", {"anthropic": {"type": "thinking", "signature": "s2"}}),
    ]


@pytest.mark.parametrize("data", ["[1]", "17", '"a"', "{}", "nonsense", "[" * 100_000])
def test_what_is_no_event_is_an_error(data: str) -> None:
    with pytest.raises(StreamMalformed):
        MessagesStream().feed(ServerSentEvent(data=data))


def test_fields_of_odd_types_are_no_crash() -> None:
    stream = MessagesStream()
    odds: list[Any] = [None, 1, "a", [], {"type": []}]
    for kind in ("message_start", "content_block_start", "content_block_delta", "content_block_stop"):
        for odd in odds:
            fields = dict.fromkeys(("message", "content_block", "delta", "index", "usage"), odd)
            stream.feed(ServerSentEvent(data=json.dumps({"type": kind, **fields})))
    text = {"type": "text_delta", "text": "a"}
    assert stream.feed(
        ServerSentEvent(data=json.dumps({"type": "content_block_delta", "index": 1, "delta": text}))
    ) == [TextDelta("a")]


def test_places_may_be_written_as_strings() -> None:
    sent = b""
    for place in ("0", "1"):
        block = {"type": "tool_use", "id": place, "name": "get_weather"}
        sent += named("content_block_start", index=place, content_block=block)
    for place in ("1", "0"):
        piece = {"type": "input_json_delta", "partial_json": json.dumps({"city": str(place)})}
        sent += named("content_block_delta", index=place, delta=piece)
    built = message(read(sent + MessagesWriter().end("tool_use")))
    assert [(use.id, use.input) for use in built.tool_uses] == [("0", {"city": "0"}), ("1", {"city": "1"})]


@pytest.mark.parametrize("said", ["error", "server_error", "insufficient_system_resource"])
def test_a_stop_reason_that_names_a_failure_is_an_error(said: str) -> None:
    w = MessagesWriter()
    with pytest.raises(ProviderRefused, match=said):
        read(w.text("a") + w.end().replace(b"end_turn", said.encode()))
