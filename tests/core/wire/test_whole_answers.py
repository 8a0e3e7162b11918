from __future__ import annotations

import json

import pytest

from agent_tui_core.errors import (
    BadRequest,
    ProviderError,
    ProviderRefused,
    StreamMalformed,
)
from agent_tui_core.events import (
    AnswerEnded,
    TextDelta,
    ToolUseDelta,
    UsageReported,
)
from agent_tui_core.messages import Usage
from agent_tui_core.wire.openai import whole_answer
from chunks import TOOLS, delta, piece, run, sse


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


def test_a_message_beside_an_empty_delta_counts() -> None:
    only = {"choices": [{"index": 0, "delta": {}, "message": {"content": "Hi"}, "finish_reason": "stop"}]}
    assert run(sse(only)) == [TextDelta("Hi"), AnswerEnded("end", "stop")]
