from __future__ import annotations

import pytest

from agent_tui_core.errors import (
    ProviderRefused,
    StreamTruncated,
)
from agent_tui_core.events import (
    AnswerEnded,
    TextDelta,
    UsageReported,
)
from agent_tui_core.messages import Usage
from agent_tui_core.wire.openai import ChatStream
from agent_tui_core.wire.sse import ServerSentEvent
from chunks import DONE, STOP, TOOLS, calls, delta, message, piece, run, sse


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
