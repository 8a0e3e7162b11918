from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui_core.errors import (
    BadRequest,
    Overloaded,
    ProviderError,
    ProviderRefused,
    RateLimited,
    StreamMalformed,
    StreamTruncated,
    Unauthorized,
)
from agent_tui_core.events import (
    AnswerEnded,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolUseDelta,
    UsageReported,
)
from agent_tui_core.messages import Message, Usage
from agent_tui_core.wire.accumulator import Accumulator
from agent_tui_core.wire.openai import ChatStream, whole_answer
from agent_tui_core.wire.sse import ServerSentEvent

TOOLS = ("Read", "Bash", "get_weather")


def sse(data: object, event: str = "message") -> ServerSentEvent:
    return ServerSentEvent(event, data if isinstance(data, str) else json.dumps(data))


def delta(finish: str | None = None, **fields: object) -> ServerSentEvent:
    return sse({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def calls(*pieces: dict[str, Any]) -> ServerSentEvent:
    return delta(tool_calls=list(pieces))


def piece(
    index: object = None, call_id: object = None, name: object = None, arguments: object = None
) -> dict[str, Any]:
    outer = {"index": index, "id": call_id}
    inner = {"name": name, "arguments": arguments}
    return {
        **{key: value for key, value in outer.items() if value is not None},
        "function": {key: value for key, value in inner.items() if value is not None},
    }


DONE = sse("[DONE]")
STOP = delta("stop")


def run(*events: ServerSentEvent, tools: tuple[str, ...] = TOOLS, think: bool = False) -> list[StreamEvent]:
    stream = ChatStream(tools, think_tags=think)
    return [out for event in events for out in stream.feed(event)] + stream.close()


def message(*events: ServerSentEvent, tools: tuple[str, ...] = TOOLS) -> Message:
    accumulator = Accumulator()
    for event in run(*events, tools=tools):
        accumulator.add(event)
    built = accumulator.message()
    assert built is not None
    return built


def uses(*events: ServerSentEvent, tools: tuple[str, ...] = TOOLS) -> list[tuple[str, Any]]:
    return [(use.name, use.broken or use.input) for use in message(*events, DONE, tools=tools).tool_uses]


# --- P1, P2: ends -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "finish", ["stop", "tool_calls", "function_call", "tool_use", "end_turn", "odd", None]
)
def test_tool_calls_decide_and_not_the_finish_reason(finish: str | None) -> None:
    events = run(calls(piece(0, "a", "Read", "{}")), delta(finish), DONE)
    assert events[-1] == AnswerEnded("tool_use", finish)


@pytest.mark.parametrize("finish", ["tool_calls", "stop", "odd"])
def test_without_a_call_an_answer_just_ends(finish: str) -> None:
    assert run(delta(content="x"), delta(finish))[-1] == AnswerEnded("end", finish)


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
    ],
)
def test_a_cut_answer_has_only_broken_calls_even_when_another_reason_follows(finish: str, stop: str) -> None:
    built = message(
        calls(piece(0, "a", "Bash", '{"command": "rm -r x"}')), delta(finish), delta("stop"), DONE
    )
    assert built.stop_reason == stop
    assert [(use.input, bool(use.broken), use.raw) for use in built.tool_uses] == [
        ({}, True, '{"command": "rm -r x"}')
    ]


def test_an_end_without_reason_or_mark_is_truncated() -> None:
    stream = ChatStream(TOOLS)
    assert stream.feed(calls(piece(0, "a", "Bash", "{}")))
    with pytest.raises(StreamTruncated) as caught:
        stream.close()
    assert caught.value.retryable


@pytest.mark.parametrize(
    "pending", [DONE, sse({"choices": [{"delta": {}, "finish_reason": "stop"}]}), sse(" [DONE]\n")]
)
def test_a_pending_end_counts(pending: ServerSentEvent) -> None:
    stream = ChatStream()
    stream.feed(delta(content="x"))
    assert isinstance(stream.close(pending)[-1], AnswerEnded)


@pytest.mark.parametrize("data", ["[DON", '{"choices": [{"delta": {}, "finish_reason": "st', "3", "", "[1]"])
def test_a_pending_fragment_does_not_count(data: str) -> None:
    stream = ChatStream()
    stream.feed(delta(content="x"))
    with pytest.raises(StreamTruncated):
        stream.close(sse(data))


def test_a_pending_error_is_an_error() -> None:
    stream = ChatStream()
    stream.feed(STOP)
    with pytest.raises(ProviderRefused, match="out of memory"):
        stream.close(sse("out of memory", "error"))


# --- P3 to P6: calls ----------------------------------------------------------------------------------------


def test_another_id_without_a_name_is_the_same_call() -> None:
    found = uses(calls(piece(0, "a", "Read", '{"p"')), calls(piece(0, "b", None, ":1}")))
    assert found == [("Read", {"p": 1})]


def test_a_new_id_with_a_name_on_a_used_index_is_a_new_call() -> None:
    built = message(calls(piece(0, "a", "Read", "{}")), calls(piece(0, "b", "Read", '{"p":1}')), DONE)
    assert [(use.id, use.input) for use in built.tool_uses] == [("a", {}), ("b", {"p": 1})]


def test_an_id_and_name_in_every_piece_is_one_call() -> None:
    found = uses(calls(piece(0, "a", "Read", '{"p"')), calls(piece(0, "a", "Read", ":1}")))
    assert found == [("Read", {"p": 1})]


def test_an_id_that_comes_late_is_the_calls_own() -> None:
    built = message(calls(piece(0, "", "Read")), calls(piece(0, "a", "Read", "{}")), DONE)
    assert [use.id for use in built.tool_uses] == ["a"]


def test_without_an_index_a_new_id_is_a_new_call_and_the_last_call_goes_on() -> None:
    found = uses(
        calls(piece(None, "a", "Read", '{"p"')),
        calls(piece(None, None, None, ":1}")),
        calls(piece(None, "b", "Bash", "{"), piece(None, "b", None, "}")),
        calls(piece(None, "a", None, " ")),
    )
    assert found == [("Read", {"p": 1}), ("Bash", {})]


def test_without_index_and_id_a_name_starts_a_new_call() -> None:
    built = message(
        calls(piece(name="Read", arguments='{"p":1}'), piece(name="Read", arguments='{"p":2}')), DONE
    )
    assert [use.input for use in built.tool_uses] == [{"p": 1}, {"p": 2}]
    assert len({use.id for use in built.tool_uses}) == 2


def test_nameless_calls_on_one_index_are_told_apart_by_another_known_name() -> None:
    found = uses(calls(piece(0, "", "Read", '{"p":1}')), calls(piece(0, "", "Bash", '{"c":2}')))
    assert found == [("Read", {"p": 1}), ("Bash", {"c": 2})]


@pytest.mark.parametrize("index", [10**15, -1, 2**70])
def test_a_huge_index_allocates_nothing(index: int) -> None:
    assert uses(calls(piece(index, "a", "Read", "{}"))) == [("Read", {})]


@pytest.mark.parametrize("index", ["0", True, 1.5, [], {}])
def test_an_index_that_is_no_number_is_no_index(index: object) -> None:
    assert uses(calls(piece(index, "a", "Read", "{}"))) == [("Read", {})]


def test_ids_go_through_unchanged_and_missing_ones_are_made_up() -> None:
    built = message(
        calls(piece(0, " odd/ID:1 ", "Read", "{}"), piece(1, None, "Read", "{}"), piece(2, 7, "Read")), DONE
    )
    first, second, third = (use.id for use in built.tool_uses)
    assert (first, third) == (" odd/ID:1 ", "7")
    assert second.startswith("call_")


def test_one_id_for_two_calls_is_sent_back_for_the_first_alone() -> None:
    built = message(calls(piece(0, "x", "Read", "{}"), piece(1, "x", "Bash", '{"c":1}')), DONE)
    first, second = built.tool_uses
    assert first.id == "x" != second.id


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["get_weather", "get_weather"], "get_weather"),
        (["get_", "weather"], "get_weather"),
        (["get", "_wea", "ther"], "get_weather"),
        (["Read", "Bash"], "Read"),
        (["Read", "", None], "Read"),
        (["unknown", "_tool"], "unknown"),
    ],
)
def test_names_that_are_repeated_or_split_are_settled_by_the_known_tools(
    names: list[str], expected: str
) -> None:
    assert uses(*(calls(piece(0, None, name, None)) for name in names)) == [(expected, {})]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([""], [{}]),
        ([None], [{}]),
        (["null"], [{}]),
        ([" \n"], [{}]),
        ([{"a": 1}], [{"a": 1}]),
        (["{}", '{"a":1}'], [{"a": 1}]),
        ([{}, '{"a":1}'], [{"a": 1}]),
        (['{"a"', ":1}"], [{"a": 1}]),
        (['{"a":1}', '{"a": 1}'], [{"a": 1}]),
        (['{"a":1}{"b":2}'], [{"a": 1}, {"b": 2}]),
    ],
)
def test_arguments_are_taken_as_they_are_meant(arguments: list[object], expected: list[object]) -> None:
    events = [calls({"index": 0, "id": "a", "function": {"name": "Read", "arguments": a}}) for a in arguments]
    assert [found for _, found in uses(*events)] == expected


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a":',
        "[1]",
        '"text"',
        "3",
        "true",
        '{"a":1,"a":2}',
        '{"a":NaN}',
        '{"a":' * 99 + "1" + "}" * 99,
        "{]",
        [1],
        3,
    ],
)
def test_broken_arguments_break_one_call_and_not_the_others(arguments: object) -> None:
    broken, good = message(
        delta(content="so far"),
        calls(piece(0, "a", "Read", arguments)),
        calls(piece(1, "b", "Bash", '{"command":"ls"}')),
        DONE,
    ).tool_uses
    assert broken.broken
    assert broken.input == {}
    assert broken.raw
    assert (good.broken, good.input) == (None, {"command": "ls"})


def test_a_call_without_a_name_is_broken() -> None:
    (use,) = message(calls(piece(0, "a", None, "{}")), DONE).tool_uses
    assert use.broken == "the call names no tool"


def test_text_and_calls_in_one_chunk_both_count() -> None:
    events = run(delta(content="I look.", tool_calls=[piece(0, "a", "Read", "{}")]), DONE)
    assert events == [TextDelta("I look."), ToolUseDelta(0, "a", "Read", "{}"), AnswerEnded("tool_use")]


# --- P7, P8: reasoning --------------------------------------------------------------------------------------


def test_mirrored_reasoning_counts_once() -> None:
    details = [{"type": "reasoning.text", "text": "a"}]
    events = run(delta(reasoning_details=details, reasoning_content="b", reasoning="c", content="x"), DONE)
    assert events[0] == ReasoningDelta("a", {"reasoning_details": details})
    assert run(delta(reasoning_content="b", reasoning="c", content="x"), DONE)[0] == ReasoningDelta("b")
    assert run(delta(reasoning="c", content="x"), DONE)[0] == ReasoningDelta("c")


def test_encrypted_reasoning_is_kept_beside_the_readable_one() -> None:
    secret = [{"type": "reasoning.encrypted", "data": "Zm9v"}]
    events = run(delta(reasoning_details=secret, reasoning="c"), delta(content="x"), DONE)
    assert events[0] == ReasoningDelta("c", {"reasoning_details": secret})


THINKING = {
    "<think>a</think>b": ("a", "b"),
    "\n<think>\na\n</think>\n\nb <think>c</think>": ("\na\n", "b <think>c</think>"),
    "b <think>c</think>": ("", "b <think>c</think>"),
    "<thin": ("", "<thin"),
    "<thinker>": ("", "<thinker>"),
    "<think>a</thi": ("a</thi", ""),
    "<think>a < b </x> </think>": ("a < b </x> ", ""),
    "<think></think>b": ("", "b"),
    "  x": ("", "  x"),
}


@pytest.mark.parametrize("text", THINKING)
@pytest.mark.parametrize("step", [1, 2, 3, 100])
def test_think_tags_count_at_the_very_start_alone(text: str, step: int) -> None:
    deltas = [delta(content=text[i : i + step]) for i in range(0, len(text), step)]
    events = run(*deltas, DONE, think=True)
    thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert (thought, said) == THINKING[text]


def test_think_tags_are_text_unless_asked_for() -> None:
    assert run(delta(content="<think>a</think>b"), DONE)[0] == TextDelta("<think>a</think>b")


def test_text_is_never_held_back_once_it_is_no_tag() -> None:
    stream = ChatStream(think_tags=True)
    assert stream.feed(delta(content="A <")) == [TextDelta("A <")]


# --- P9, P10, P13, P15 --------------------------------------------------------------------------------------


def test_usage_is_a_maximum_and_reported_when_it_changes() -> None:
    report = {"prompt_tokens": 5, "completion_tokens": 1}
    events = run(
        sse({"choices": [], "usage": report}),
        sse({"choices": [], "usage": report}),
        sse({"choices": [], "usage": {"prompt_tokens": None, "completion_tokens": 4, "total_tokens": "?"}}),
        delta("stop", content="x"),
    )
    assert [event.usage for event in events if isinstance(event, UsageReported)] == [Usage(5, 1), Usage(5, 4)]


@pytest.mark.parametrize("odd", [-1, True, "7", 1.5, [], 2**60])
def test_a_count_that_is_no_count_is_unknown(odd: object) -> None:
    events = run(sse({"usage": {"prompt_tokens": odd, "completion_tokens": 3.0}}), delta("stop", content="x"))
    assert events[0] == UsageReported(Usage(None, 3))


def test_only_the_first_choice_counts() -> None:
    both = [
        {"index": 1, "delta": {"content": "no"}, "finish_reason": "length"},
        {"index": 0, "delta": {"content": "yes"}, "finish_reason": None},
    ]
    assert run(sse({"choices": both}), DONE) == [TextDelta("yes"), AnswerEnded("end")]


@pytest.mark.parametrize(
    "choices", [[], None, "x", [None], [{"index": []}], [{"delta": None}], [{"delta": []}], [{}]]
)
def test_a_chunk_without_a_choice_is_legal(choices: object) -> None:
    assert run(sse({"choices": choices}), sse({}), sse(""), delta("stop", content="x"))[0] == TextDelta("x")


def test_everything_is_read_until_done_and_nothing_after_it() -> None:
    stream = ChatStream(TOOLS)
    stream.feed(delta("stop", content="x"))
    assert stream.feed(calls(piece(0, "a", "Read", "{}")))
    seen = [stream.done]
    stream.feed(DONE)
    assert [*seen, stream.done] == [False, True]
    assert stream.feed(delta(content="late")) == stream.feed(sse({"error": "late"})) == []
    assert stream.close(sse({"error": "later"})) == [AnswerEnded("tool_use", "stop")]


# --- P11, P12, P14, P16: errors -----------------------------------------------------------------------------

ERRORS: list[tuple[ServerSentEvent, type[ProviderError], str]] = [
    (sse({"error": {"message": "Boom", "type": "server_error"}}), Overloaded, "Boom"),
    (sse({"error": "Boom"}), ProviderRefused, "Boom"),
    (sse({"error": {"code": 429, "message": "slow down"}}), RateLimited, "slow down"),
    (sse({"error": {"code": "rate_limit_exceeded", "message": "slow"}}), RateLimited, "slow"),
    (sse({"error": {"code": "insufficient_quota", "message": "pay"}}), BadRequest, "pay"),
    (sse({"error": {"type": "invalid_request_error", "message": "no"}}), BadRequest, "no"),
    (sse({"error": {"code": 500, "message": "context size has been exceeded"}}), BadRequest, "exceeded"),
    (
        sse({"error": {"code": "invalid_api_key", "type": "invalid_request_error", "message": "k"}}),
        Unauthorized,
        "k",
    ),
    (sse({"error": {"type": "overloaded_error"}}), Overloaded, "overloaded_error"),
    (sse({"error": {"message": "a", "metadata": {"raw": "plain words"}}}), ProviderRefused, "a: plain words"),
    (sse({"error": {"innererror": {}}}), ProviderRefused, "did not say"),
    (sse([{"error": {"code": 400, "message": "Bad", "status": "INVALID_ARGUMENT"}}]), BadRequest, "Bad"),
    (sse({"object": "error", "message": "Boom", "code": 40303}), ProviderRefused, "Boom"),
    (sse({"type": "error", "message": "Boom"}), ProviderRefused, "Boom"),
    (sse({"error_message": "Boom"}), ProviderRefused, "Boom"),
    (sse({"detail": "Not Found"}), ProviderRefused, "Not Found"),
    (sse({"detail": [{"loc": ["body"], "msg": "field required"}]}), ProviderRefused, "field required"),
    (sse({"code": "InvalidParameter", "message": "Boom"}), BadRequest, "Boom"),
    (
        sse({"choices": None, "base_resp": {"status_code": 1004, "status_msg": "login"}}),
        ProviderRefused,
        "login",
    ),
    (sse({"choices": [{"delta": {}, "error": {"code": 503, "message": "Boom"}}]}), Overloaded, "Boom"),
    (sse({"x_groq": {"error": "Boom"}, "choices": []}), ProviderRefused, "Boom"),
    (sse({"error": {"message": "Boom"}}, "error"), ProviderRefused, "Boom"),
    (sse({"message": "Boom", "code": 500}, "error"), Overloaded, "Boom"),
    (sse('"Boom"', "error"), ProviderRefused, "Boom"),
    (sse("Boom!", "error"), ProviderRefused, "Boom!"),
    (sse("", "error"), ProviderRefused, "did not say"),
    (sse("[]", "error"), ProviderRefused, "did not say"),
    (sse("<html><title>502 Bad Gateway</title><body>x"), StreamMalformed, "502 Bad Gateway"),
    (sse("keepalive"), StreamMalformed, "keepalive"),
    (sse('{"choices": ['), StreamMalformed, "choices"),
    (sse('{"a": NaN}'), StreamMalformed, "NaN"),
    (sse("[" * 100_000), StreamMalformed, "no chunk"),
    (sse('{"a":' * 5_000 + "1" + "}" * 5_000), StreamMalformed, "no chunk"),
    (sse("3"), StreamMalformed, "no chunk"),
    (sse("null"), StreamMalformed, "no chunk"),
]


@pytest.mark.parametrize(("event", "kind", "words"), ERRORS)
def test_an_error_of_any_shape_ends_the_answer_in_the_servers_words(
    event: ServerSentEvent, kind: type[ProviderError], words: str
) -> None:
    stream = ChatStream()
    assert stream.feed(delta(content="part")) == [TextDelta("part")]
    with pytest.raises(ProviderError) as caught:
        stream.feed(event)
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert len(str(caught.value)) < 2500
    assert stream.done
    with pytest.raises(kind):
        stream.feed(delta("stop"))
    with pytest.raises(kind):
        stream.close()


@pytest.mark.parametrize("empty", [None, "", {}, False])
def test_an_error_field_with_nothing_in_it_is_no_error(empty: object) -> None:
    chunk = {
        "choices": [{"delta": {"content": "x"}, "finish_reason": "stop", "error": empty}],
        "error": empty,
    }
    assert run(sse(chunk)) == [TextDelta("x"), AnswerEnded("end", "stop")]


def test_text_beside_an_error_is_kept_and_the_error_comes_next() -> None:
    stream = ChatStream()
    chunk = {"choices": [{"delta": {"content": "half"}}], "error": {"message": "Boom"}}
    assert stream.feed(sse(chunk)) == [TextDelta("half")]
    assert stream.done
    with pytest.raises(ProviderRefused, match="Boom"):
        stream.close()


@pytest.mark.parametrize(
    "events",
    [
        [DONE],
        [delta("stop"), DONE],
        [delta(role="assistant", content=""), delta("stop")],
        [
            delta(role="assistant"),
            sse({"choices": [], "usage": {"prompt_tokens": 4}}),
            delta("tool_calls"),
            DONE,
        ],
        [delta("length")],
        [delta("content_filter")],
    ],
)
def test_nothing_or_nothing_but_a_role_is_an_error(events: list[ServerSentEvent]) -> None:
    with pytest.raises(StreamMalformed, match="empty response"):
        run(*events)


def test_no_event_at_all_is_an_empty_response_that_may_be_asked_again() -> None:
    with pytest.raises(StreamTruncated, match="empty response"):
        run()


@pytest.mark.parametrize("reason", ["insufficient_system_resource", "error", "network_error", "ABORT"])
def test_a_finish_reason_that_names_a_failure_is_one(reason: str) -> None:
    with pytest.raises(ProviderRefused, match=f"(?i){reason}"):
        run(delta(content="x"), calls(piece(0, "a", "Read", "{}")), delta(reason), DONE)


def test_an_unknown_finish_reason_is_kept_raw() -> None:
    assert run(delta("Eos!", content="x"))[-1] == AnswerEnded("end", "Eos!")


# --- odd strings --------------------------------------------------------------------------------------------


def test_no_half_of_a_character_survives_into_an_event() -> None:
    events = run(
        sse('{"choices":[{"delta":{"content":"a\\ud83d","reasoning":"b\\udc00"}}]}'),
        sse(
            '{"choices":[{"delta":{"tool_calls":[{"id":"i\\ud83d","function":{"name":"n\\ud83d","arguments":"{\\ud83d"}}]}}]}'
        ),
        sse(
            '{"choices":[{"finish_reason":"\\ud800","delta":{'
            '"content":"\\ude00 c","tool_calls":[{"function":{"arguments":"\\ude00"}}]}}]}'
        ),
    )
    repr(events).encode()
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "a😀 c"
    assert "".join(event.arguments for event in events if isinstance(event, ToolUseDelta)) == "{😀"


FIELDS = """choices delta message content tool_calls function name arguments id index error usage text type
    code reasoning_details finish_reason extra_content function_call prompt_tokens detail x_groq base_resp"""
leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=4)
anything = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS.split()), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(anything, st.booleans())
def test_no_chunk_however_odd_is_anything_but_events_or_a_provider_error(chunk: Any, inside: bool) -> None:
    stream, accumulator = ChatStream(TOOLS), Accumulator()
    try:
        for event in stream.feed(sse({"choices": [{"delta": chunk}]} if inside else chunk)):
            accumulator.add(event)
        for event in stream.close():
            accumulator.add(event)
    except ProviderError as error:
        assert str(error)
    accumulator.message()


# --- a body in the place of a stream ------------------------------------------------------------------------


def test_a_whole_json_answer_is_accepted() -> None:
    answer = {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Hi",
                    "tool_calls": [piece(None, "a", "Read", "{}"), piece(None, "b", "Read", '{"p":1}')],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    assert whole_answer(json.dumps(answer, indent=1).encode(), TOOLS) == [
        UsageReported(Usage(1, 2)),
        TextDelta("Hi"),
        ToolUseDelta(0, "a", "Read", "{}"),
        ToolUseDelta(1, "b", "Read", '{"p":1}'),
        AnswerEnded("tool_use", "tool_calls"),
    ]


def test_an_event_stream_with_the_wrong_type_is_accepted() -> None:
    body = b': hi\n\ndata: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]'
    assert whole_answer(body) == [TextDelta("Hi"), AnswerEnded("end", "stop")]


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b'{"error": {"message": "no such model", "code": 404}}', BadRequest, "no such model"),
        (b"", StreamMalformed, "empty response"),
        (b"{}", StreamMalformed, "empty response"),
        (b'{"choices": [', StreamMalformed, "no chunk"),
        (b"<!doctype html><html><head><title>Sign in</title>", ProviderRefused, "Sign in"),
        (b"upstream connect error", ProviderRefused, "upstream connect error"),
        (b"\xff\xfe", ProviderRefused, "\ufffd"),
        (
            b'{"choices":[{"message":{"content":"x"},"finish_reason":"stop","error":{"message":"b"}}]}',
            ProviderRefused,
            "b",
        ),
    ],
)
def test_any_other_body_is_an_error(body: bytes, kind: type[ProviderError], words: str) -> None:
    with pytest.raises(kind, match=words):
        whole_answer(body)


def test_a_message_after_deltas_does_not_double_the_text() -> None:
    last = {"choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}]}
    assert run(delta(content="Hi"), sse(last)) == [TextDelta("Hi"), AnswerEnded("end", "stop")]
