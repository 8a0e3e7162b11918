"""Owns how servers count tokens: the names that they use for one number; refuses to add or to estimate."""

from __future__ import annotations

from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.messages import Usage

_INPUT = ("prompt_tokens", "input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens")
_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details")
_CACHED = ("prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")


def usage_in(chunk: JsonObject) -> Usage | None:
    """Return what a chunk reports, wherever it stands: on top, in `x_groq`, or in its choices."""
    found: Usage | None = None
    choices = chunk.get("choices")
    for place in (chunk, chunk.get("x_groq"), *(choices if isinstance(choices, list) else ())):
        said = place.get("usage") if isinstance(place, dict) else None
        if isinstance(said, dict):
            found = _usage(said) if found is None else found.maximum(_usage(said))
    return found


def _usage(said: JsonObject) -> Usage:
    cached = _first(said, _CACHED)
    reasoning = count(said.get("reasoning_tokens"))
    return Usage(
        input_tokens=_first(said, _INPUT),
        output_tokens=_first(said, _OUTPUT),
        cached_tokens=_detail(said, _INPUT_DETAILS, "cached_tokens") if cached is None else cached,
        reasoning_tokens=_detail(said, _OUTPUT_DETAILS, "reasoning_tokens")
        if reasoning is None
        else reasoning,
    )


def _first(said: JsonObject, names: tuple[str, ...]) -> int | None:
    return next((number for name in names if (number := count(said.get(name))) is not None), None)


def _detail(said: JsonObject, places: tuple[str, ...], name: str) -> int | None:
    for place in places:
        inner = said.get(place)
        if isinstance(inner, dict) and (number := count(inner.get(name))) is not None:
            return number
    return None


def count(value: Json) -> int | None:
    """Return a number of tokens; None when it is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < 2**53 else None
