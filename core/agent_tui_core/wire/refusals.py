"""Owns what a server's error means: its words out of any shape, and the class that says whether to ask again.

Refuses to guess where nothing is said: an error without a known kind is not retried.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.errors import (
    BadRequest,
    ContextExceeded,
    Overloaded,
    ProviderRefused,
    RateLimited,
    Unauthorized,
)
from agent_tui_core.wire.json_text import decoded
from agent_tui_core.wire.surrogates import mended

_UNSAID: Final = "the server reported an error and did not say which"
_MOST_WORDS: Final = 2_000
_MOST_BODY: Final = 16_384
_DEEPEST: Final = 6

_WORD_KEYS: Final = (
    "message",
    "msg",
    "error_message",
    "error_msg",
    "status_msg",
    "detail",
    "error",
    "errors",
)
_KIND_KEYS: Final = ("code", "status", "type", "status_code", "http_code")
_SAYS_TOO_LONG: Final = re.compile(
    r"context[ _-]?(?:length|size|window|limit)|maximum context|prompt is too long", re.IGNORECASE
)
_KINDS: Final[tuple[tuple[re.Pattern[str], type[ProviderRefused]], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"auth|api_?key|permission|forbidden", Unauthorized),
        (
            r"quota|billing|credit|balance|payment|context_length|invalid_request|bad_?request|not_found",
            BadRequest,
        ),
        (r"invalid_?(?:argument|parameter)|unsupported|unprocessable|validation|model_not", BadRequest),
        (r"rate_?limit|too_?many_?requests|resource_?exhausted|throttl", RateLimited),
        (
            r"overload|unavailable|server_?error|internal|timeout|timed_out|api_error|engine|capacity",
            Overloaded,
        ),
        (r"insufficient_system_resource|network|upstream|bad_?gateway|provider_error", Overloaded),
        (r"malformed_(?:function_call|model_output|tool_use)|unexpected_tool_call", Overloaded),
    )
)


def refusal(status: int, body: bytes, headers: Mapping[str, str]) -> ProviderRefused:
    """Return the error that an HTTP error status means, in the server's own words where it has any."""
    text = body[:_MOST_BODY].decode("utf-8", "replace")
    said: Json = None
    try:
        said = decoded(body.decode("utf-8", "replace"))
        words = _words(said)
    except ValueError:
        words = _plain_words(text)
    lowered = {name.lower(): value for name, value in headers.items()}
    return _refused(words or f"status {status}", status, _kind_of(said), text, _retry_after(lowered))


def refusal_in(chunk: Json) -> ProviderRefused | None:
    """Return the error that a JSON document in the place of an answer stands for; None if it is no error."""
    if isinstance(chunk, list):
        chunk = chunk[0] if chunk else None
    if not isinstance(chunk, Mapping):
        return None
    said = _error_part(chunk)
    if said is None:
        return None
    words = _words(said) or _words(chunk) or _UNSAID
    kind = _kind_of(said) + _kind_of(
        {key: chunk.get(key) for key in _KIND_KEYS} if said is not chunk else None
    )
    return _refused(words, _status_of(said) or _status_of(chunk), kind, _as_text(chunk), None)


def refusal_of(said: str) -> ProviderRefused:
    """Return the error that the data of an `error` event stands for: JSON of any shape, or plain words."""
    try:
        document = decoded(said)
    except ValueError:
        return _refused(_plain_words(said) or _UNSAID, None, "", said[:_MOST_BODY], None)
    found = refusal_in(document) or refusal_in({"error": document})
    return found or ProviderRefused(_UNSAID, body=said[:_MOST_BODY])


def ended_badly(reason: str) -> ProviderRefused:
    """Return the error that a finish reason which names a failure stands for."""
    return _refused(f"the server broke the answer off: {reason}", None, reason, "", None)


def _error_part(chunk: JsonObject) -> Json:
    """Return what of the chunk is the error; None if it bears none."""
    if error := chunk.get("error"):
        return error
    if chunk.get("object") == "error" or chunk.get("type") == "error":
        return chunk
    groq, minimax = chunk.get("x_groq"), chunk.get("base_resp")
    if isinstance(groq, Mapping) and (error := groq.get("error")):
        return error
    if chunk.get("choices"):
        return None
    if isinstance(minimax, Mapping) and minimax.get("status_code"):
        return minimax
    if chunk.get("error_message") or chunk.get("error_msg") or chunk.get("detail") or chunk.get("errors"):
        return chunk
    if "choices" not in chunk and isinstance(chunk.get("message"), str) and chunk["message"]:
        return chunk
    return None


def _words(said: Json, depth: int = 0) -> str:
    """Find the sentence for a person in an error of any shape."""
    if depth > _DEEPEST:
        return ""
    if isinstance(said, str):
        return said.strip()[:_MOST_WORDS]
    if isinstance(said, list):
        return "; ".join(filter(None, (_words(part, depth + 1) for part in said[:5])))[:_MOST_WORDS]
    if not isinstance(said, Mapping):
        return ""
    words = next(filter(None, (_words(said.get(key), depth + 1) for key in _WORD_KEYS)), "")
    if depth == 0 or not words:
        words = words or next((str(said[key]) for key in _KIND_KEYS if said.get(key)), "")
    cause = _cause(said)
    return f"{words}: {cause}"[:_MOST_WORDS] if cause and cause not in words else words


def _cause(said: JsonObject) -> str:
    """OpenRouter wraps what the real provider said: `metadata: {raw: "…", provider_name: "…"}`."""
    metadata = said.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    if not isinstance(raw, str) or not raw:
        return ""
    try:
        return _words(decoded(raw), 1)
    except ValueError:
        return raw.strip()[:_MOST_WORDS]


def _plain_words(text: str) -> str:
    """Return a body that is no JSON as words: the title of a page, or the text."""
    if "<" in text[:200]:
        page = re.sub(r"(?is)<(script|style)\b.*?</\1\s*>", " ", text)
        title = re.search(r"(?is)<title[^>]*>([^<]+)", page) or re.search(r"(?is)<h1[^>]*>([^<]+)", page)
        text = title[1] if title else re.sub(r"<[^>]*>", " ", page)
    return " ".join(text.split())[:_MOST_WORDS]


def _kind_of(said: Json) -> str:
    if not isinstance(said, Mapping):
        return ""
    kinds = [value for key in _KIND_KEYS if isinstance(value := said.get(key), str)]
    return " ".join(kinds) + " " + _kind_of(said.get("error"))


def _status_of(said: Json) -> int | None:
    if not isinstance(said, Mapping):
        return None
    for key in _KIND_KEYS:
        value = said.get(key)
        if isinstance(value, str) and value.isdecimal() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    return None


def _refused(
    words: str, status: int | None, kind: str, body: str, retry_after: float | None
) -> ProviderRefused:
    refused = _class_of(words, status, kind)
    return refused(mended(words), status=status, body=body, retry_after=retry_after)


def _class_of(words: str, status: int | None, kind: str) -> type[ProviderRefused]:
    if status in {401, 403}:
        return Unauthorized
    if status != 429 and _SAYS_TOO_LONG.search(words):
        return ContextExceeded
    named = next((refused for pattern, refused in _KINDS if pattern.search(kind)), None)
    if status == 429:
        return BadRequest if named is BadRequest else RateLimited
    if status in {408, 409, 425} or (status or 0) >= 500:
        return Overloaded
    if status is not None and status >= 400:
        return BadRequest
    return named or ProviderRefused


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that `Retry-After-Ms` or `Retry-After` (seconds or a date) ask for."""
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    said = headers.get("retry-after", "").strip()
    if (seconds := _number(said)) is not None or not said:
        return seconds
    try:
        until = parsedate_to_datetime(said).timestamp()
    except (ValueError, OverflowError):
        return None
    try:
        now = parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, OverflowError):
        now = time.time()
    return max(0.0, until - now)


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*\d{1,9}(?:\.\d{1,9})?\s*", text, re.ASCII) else None


def _as_text(chunk: JsonObject) -> str:
    try:
        return json.dumps(chunk)[:_MOST_BODY]
    except (ValueError, RecursionError):
        return ""
