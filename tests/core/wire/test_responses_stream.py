"""What only OpenAI's Responses say; what all protocols say is in `test_protocol_streams`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_tui_core.blocks import Reasoning, Text, ToolResult
from agent_tui_core.errors import (
    BadRequest,
    Overloaded,
    ProviderError,
    ProviderRefused,
    RateLimited,
    StreamMalformed,
)
from agent_tui_core.events import AnswerEnded, StreamEvent
from agent_tui_core.messages import Message, ModelRequest, Usage
from agent_tui_core.wire.responses import ResponsesStream, request_body
from agent_tui_core.wire.sse import ServerSentEvent, SseParser
from protocols import message
from request_rules import responses_rules
from writers import ResponsesWriter


def read(sent: bytes) -> list[StreamEvent]:
    parser, stream = SseParser(), ResponsesStream(["get_weather"])
    events = [event for each in parser.feed(sent) for event in stream.feed(each)]
    return events + stream.close(parser.close())


def named(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def completed(**fields: Any) -> bytes:
    return named("response.completed", response={"status": "completed", "output": [], **fields})


def test_usage_has_its_details() -> None:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 64},
        "output_tokens": 40,
        "output_tokens_details": {"reasoning_tokens": 30},
        "total_tokens": 140,
    }
    assert message(read(ResponsesWriter().text("a") + completed(usage=usage))).usage == Usage(100, 40, 64, 30)


def test_a_refusal_is_text() -> None:
    sent = named("response.refusal.delta", output_index=0, item_id="m", delta="I can't ")
    sent += named("response.refusal.delta", output_index=0, item_id="m", delta="do that.")
    part = {"type": "refusal", "refusal": "I can't do that."}
    item = {"type": "message", "id": "m", "content": [part]}
    sent += named("response.output_item.done", output_index=0, item=item)
    assert message(read(sent + completed(output=[item]))).text == "I can't do that."


# https://github.com/openai/openai-python, types/responses/response_error.py and response_error_event.py
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("server_error", Overloaded),
        ("rate_limit_exceeded", RateLimited),
        ("insufficient_quota", BadRequest),
        ("context_length_exceeded", BadRequest),
        ("invalid_prompt", ProviderRefused),
    ],
)
def test_a_failed_response_and_an_error_event_are_errors_in_the_servers_words(
    code: str, kind: type[Exception]
) -> None:
    error = {"code": code, "message": "so it is"}
    failed = named("response.failed", response={"status": "failed", "error": error})
    for sent in (failed, named("error", **error, param=None), named("response.error", **error)):
        with pytest.raises(kind, match="so it is"):
            read(ResponsesWriter().text("a") + sent)


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_response_that_failed_and_says_nothing_is_an_error(status: str) -> None:
    sent = named(f"response.{status}", response={"status": status, "error": None, "output": []})
    with pytest.raises(ProviderError, match=status):
        read(ResponsesWriter().text("a") + sent)


def test_an_incomplete_response_without_a_reason_runs_no_call() -> None:
    w = ResponsesWriter()
    sent = w.calls(("c", "get_weather", ["{}"])) + named("response.incomplete", response={})
    built = message(read(sent))
    assert built.stop_reason == "length"
    assert all(use.broken for use in built.tool_uses)


@pytest.mark.parametrize("details", [{}, {"incomplete_details": {"reason": "max_output_tokens"}}])
def test_an_end_that_calls_itself_completed_and_is_incomplete_runs_no_call(details: dict[str, Any]) -> None:
    w = ResponsesWriter()
    built = message(read(w.calls(("c", "get_weather", ["{}"])) + completed(status="incomplete", **details)))
    assert built.stop_reason == "length"
    assert all(use.broken for use in built.tool_uses)


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_an_end_that_calls_itself_completed_and_failed_is_an_error(status: str) -> None:
    with pytest.raises(ProviderError, match=status):
        read(ResponsesWriter().text("a") + completed(status=status, error=None))
    error = {"code": "server_error", "message": "so it is"}
    with pytest.raises(Overloaded, match="so it is"):
        read(ResponsesWriter().text("a") + completed(status=status, error=error))


def test_a_call_that_is_incomplete_itself_never_runs() -> None:
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "get_weather", "arguments": "{}"}
    built = message(read(completed(output=[{**item, "status": "incomplete"}])))
    assert built.stop_reason == "length"
    assert all(use.broken for use in built.tool_uses)


def test_a_custom_call_arrives_as_its_input_and_goes_back_as_a_call_of_ours() -> None:
    about: dict[str, Any] = {"output_index": 1, "item_id": "ctc"}
    item = {"type": "custom_tool_call", "id": "ctc", "call_id": "c", "name": "get_weather", "input": ""}
    thought = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"}
    sent = named("response.output_item.done", output_index=0, item=thought)
    sent += named("response.output_item.added", output_index=1, item=item)
    sent += named("response.custom_tool_call_input.delta", **about, delta='in "Ber')
    sent += named("response.custom_tool_call_input.delta", **about, delta='lin"\n')
    whole = {**item, "input": 'in "Berlin"\n'}
    sent += named("response.custom_tool_call_input.done", **about, input=whole["input"])
    sent += named("response.output_item.done", output_index=1, item=whole)
    for answer in (sent + completed(output=[thought, whole]), completed(output=[thought, whole])):
        built = message(read(answer))
        assert [use.input for use in built.tool_uses] == [{"input": 'in "Berlin"\n'}]
        result = Message("tool", (ToolResult("c", "rain"),))
        body = request_body(ModelRequest("m", [Message("user", (Text("hi"),)), built, result]))
        responses_rules(body)
        assert [each["type"] for each in body["input"]] == [
            "message",
            "function_call",
            "function_call_output",
        ]


def test_places_may_be_written_as_strings() -> None:
    sent = b""
    for place in ("0", "1"):
        item = {"type": "function_call", "call_id": place, "name": "get_weather"}
        sent += named("response.output_item.added", output_index=place, item=item)
    for place in ("1", "0"):
        piece = json.dumps({"city": str(place)})
        sent += named("response.function_call_arguments.delta", output_index=place, delta=piece)
    built = message(read(sent + completed()))
    assert [(use.id, use.input) for use in built.tool_uses] == [("0", {"city": "0"}), ("1", {"city": "1"})]


def test_what_never_came_as_deltas_is_taken_from_the_whole_items() -> None:
    thought = {"type": "reasoning", "id": "rs", "encrypted_content": "e"}
    words = [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]
    said = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi"}]}
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "get_weather", "arguments": "{}"}
    built = message(read(completed(output=[{**thought, "summary": words}, said, call])))
    assert built.text == "Hi"
    assert [use.id for use in built.tool_uses] == ["c"]
    assert built.tool_uses[0].opaque == {"responses": {"id": "fc"}}
    assert isinstance(built.blocks[0], Reasoning)
    assert built.blocks[0].text == "one\n\ntwo"


def test_parts_of_a_summary_stand_apart_and_mirrored_reasoning_is_said_once() -> None:
    about: dict[str, Any] = {"output_index": 0, "item_id": "rs"}
    sent = named("response.reasoning_summary_part.added", **about, summary_index=0)
    sent += named("response.reasoning_summary_text.delta", **about, delta="one")
    sent += named("response.reasoning_summary_part.added", **about, summary_index=1)
    sent += named("response.reasoning_summary_text.delta", **about, delta="two")
    sent += named("response.reasoning_text.delta", **about, delta="the whole of it")
    sent += ResponsesWriter(items=[{}]).text("Hi") + completed()
    (thought,) = [block for block in message(read(sent)).blocks if isinstance(block, Reasoning)]
    assert thought.text == "one\n\ntwo"


def test_an_item_that_is_repeated_at_the_end_counts_once() -> None:
    w = ResponsesWriter()
    built = message(read(w.thought("hm") + w.text("Hi") + w.calls(("c", "get_weather", ["{}"])) + w.end()))
    assert [type(block).__name__ for block in built.blocks] == ["Reasoning", "Reasoning", "Text", "ToolUse"]
    assert built.text == "Hi"


def test_items_are_told_apart_by_id_where_they_have_no_place() -> None:
    sent = b""
    for name in ("a", "b"):
        item = {"type": "function_call", "id": f"fc_{name}", "call_id": name, "name": "get_weather"}
        sent += named("response.output_item.added", item=item)
    for name in ("b", "a"):
        delta = json.dumps({"city": name})
        sent += named("response.function_call_arguments.delta", item_id=f"fc_{name}", delta=delta)
    built = message(read(sent + completed()))
    assert [(use.id, use.input) for use in built.tool_uses] == [("a", {"city": "a"}), ("b", {"city": "b"})]


def test_kinds_that_are_not_known_are_passed_over() -> None:
    w = ResponsesWriter()
    alien = named("response.web_search_call.searching", output_index=7, item_id="ws")
    alien += named("response.output_item.done", output_index=7, item={"type": "web_search_call", "id": "ws"})
    assert read(w.text("a") + alien + w.end())[-1] == AnswerEnded("end", "completed")


@pytest.mark.parametrize("data", ["[1]", "17", "{}", "nonsense", "[" * 100_000])
def test_what_is_no_event_is_an_error(data: str) -> None:
    with pytest.raises(StreamMalformed):
        ResponsesStream().feed(ServerSentEvent(data=data))


def test_fields_of_odd_types_are_no_crash() -> None:
    kinds = ("output_item.added", "output_item.done", "output_text.delta", "function_call_arguments.delta")
    odds: list[Any] = [None, 1, "a", [], {"type": []}, {"type": "reasoning", "summary": 1, "content": [1]}]
    for kind in (*kinds, "reasoning_summary_part.added", "completed", "in_progress"):
        for odd in odds:
            fields = dict.fromkeys(("item", "delta", "output_index", "item_id", "response"), odd)
            ResponsesStream().feed(ServerSentEvent(data=json.dumps({"type": f"response.{kind}", **fields})))
