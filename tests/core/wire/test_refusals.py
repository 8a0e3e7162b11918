from __future__ import annotations

import json

import pytest

from agent_tui_core.errors import (
    BadRequest,
    ContextExceeded,
    Overloaded,
    ProviderRefused,
    RateLimited,
    Unauthorized,
)
from agent_tui_core.wire.openai import refusal


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, BadRequest, False),
        (401, Unauthorized, False),
        (402, BadRequest, False),
        (403, Unauthorized, False),
        (404, BadRequest, False),
        (408, Overloaded, True),
        (409, Overloaded, True),
        (413, BadRequest, False),
        (422, BadRequest, False),
        (425, Overloaded, True),
        (429, RateLimited, True),
        (500, Overloaded, True),
        (503, Overloaded, True),
        (529, Overloaded, True),
    ],
)
def test_the_status_says_whether_to_ask_again(
    status: int, kind: type[ProviderRefused], retryable: bool
) -> None:
    refused = refusal(status, b"", {})
    assert type(refused) is kind
    assert refused.retryable is retryable
    assert (refused.status, str(refused)) == (status, f"status {status}")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"message": "No such model: x", "type": "invalid_request_error"}}', "No such model: x"),
        (b'{"error": "model not found"}', "model not found"),
        (b'[{"error": {"code": 400, "message": "Bad", "status": "INVALID_ARGUMENT"}}]', "Bad"),
        (b'{"detail": [{"loc": ["body", "model"], "msg": "field required"}]}', "field required"),
        (b'{"message": "Unauthorized"}', "Unauthorized"),
        (b'{"error": {"message": "", "code": "odd_code"}}', "odd_code"),
        (b"<html><head><title>502 Bad Gateway</title></head><body>nginx", "502 Bad Gateway"),
        (b"<html><script>var x</script><body><p>Down for <b>work</b></p>", "Down for work"),
        (b"  upstream\n  connect error ", "upstream connect error"),
        (b"\xff", "\ufffd"),
        (b"[" * 100_000, "[[["),
        (b'{"error": {"message": "cut', '{"error": {"message": "cut'),
        (b'{"error": {"message": "a\\ud83d"}}', "a\ufffd"),
        (b"null", "status 400"),
        (b"{}", "status 400"),
    ],
)
def test_the_servers_own_words_are_found_in_any_body(body: bytes, words: str) -> None:
    refused = refusal(400, body, {})
    assert str(refused).startswith(words)
    assert len(str(refused)) <= 2_000
    assert len(refused.body) <= 16_384


def test_a_spent_quota_is_not_asked_again() -> None:
    body = json.dumps(
        {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    ).encode()
    refused = refusal(429, body, {"Retry-After": "1"})
    assert not refused.retryable
    assert refused.status == 429


@pytest.mark.parametrize("status", [400, 413, 500])
def test_a_history_that_is_too_long_is_not_asked_again(status: int) -> None:
    body = b'{"error": {"message": "This model\'s maximum context length is 8192 tokens."}}'
    assert type(refusal(status, body, {})) is ContextExceeded


def test_tokens_per_minute_are_a_rate_and_no_length() -> None:
    assert refusal(429, b'{"error": {"message": "Rate limit: context length per minute"}}', {}).retryable


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"Retry-After": "Fri, 01 Aug 2025 10:00:30 GMT", "Date": "Fri, 01 Aug 2025 10:00:00 GMT"}, 30.0),
        ({"Retry-After": "Fri, 01 Aug 2025 10:00:30 GMT", "Date": "Fri, 01 Aug 2025 11:00:00 GMT"}, 0.0),
        ({"Retry-After": "Fri, 01 Aug 2025 10:00:30 GMT"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "\u0661"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert refusal(429, b"", headers).retry_after == seconds
