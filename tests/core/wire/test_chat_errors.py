from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui_core.errors import (
    BadRequest,
    ContextExceeded,
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
    TextDelta,
    ToolUseDelta,
)
from agent_tui_core.wire.accumulator import Accumulator
from agent_tui_core.wire.openai import ChatStream
from agent_tui_core.wire.sse import ServerSentEvent
from chunks import DONE, TOOLS, calls, delta, piece, run, sse

ERRORS: list[tuple[ServerSentEvent, type[ProviderError], str]] = [
    (sse({"error": {"message": "Boom", "type": "server_error"}}), Overloaded, "Boom"),
    (sse({"error": "Boom"}), ProviderRefused, "Boom"),
    (sse({"error": {"code": 429, "message": "slow down"}}), RateLimited, "slow down"),
    (sse({"error": {"code": "rate_limit_exceeded", "message": "slow"}}), RateLimited, "slow"),
    (sse({"error": {"code": "insufficient_quota", "message": "pay"}}), BadRequest, "pay"),
    (sse({"error": {"type": "invalid_request_error", "message": "no"}}), BadRequest, "no"),
    (sse({"error": {"code": 500, "message": "context size has been exceeded"}}), ContextExceeded, "exceeded"),
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
