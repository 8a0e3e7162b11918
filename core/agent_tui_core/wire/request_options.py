"""Owns what a request may be asked with, in each protocol, and in which words a wrong wish is refused.

Refuses to leave out in silence what a protocol does not have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Final, TypeAlias

from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.messages import EFFORTS, RequestOptions
from agent_tui_core.wire.protocols import WireProtocol
from agent_tui_core.wire.surrogates import DEEPEST

Problem: TypeAlias = tuple[str, str]
"""The option, and what is wrong with it."""

MOST_STOPS: Final = 16
OURS: Final = frozenset(
    {
        "model",
        "messages",
        "input",
        "system",
        "instructions",
        "prompt",
        "tools",
        "stream",
        "previous_response_id",
    }
)
"""Fields that `extra_body` may not hold: they are made of the conversation."""
_ANTHROPIC_EFFORTS: Final = EFFORTS[2:]
_LARGEST_SEED: Final = 2**63 - 1


def problem_with(options: RequestOptions, protocol: WireProtocol) -> Problem | None:
    """Return the first option that cannot be sent in this protocol, and why; None when all can."""
    checks: dict[str, Callable[[], str | None]] = {
        "temperature": lambda: number_problem(options.temperature, 0, 2),
        "top_p": lambda: number_problem(options.top_p, 0, 1),
        "stop": lambda: stop_problem(options.stop),
        "seed": lambda: number_problem(options.seed, -_LARGEST_SEED, _LARGEST_SEED, whole=True),
        "reasoning_effort": lambda: _choice_problem(options.reasoning_effort, (None, *EFFORTS)),
        "think_tags": lambda: _choice_problem(options.think_tags, (None, True, False, "open")),
        "extra_body": lambda: body_problem(options.extra_body),
    }
    for name, check in checks.items():
        if problem := check():
            return name, problem
    return _lacking(options, protocol)


def number_problem(value: object, least: float, most: float, *, whole: bool = False) -> str | None:
    """Why this is no number within the bounds, or None; None itself is nothing to check."""
    what = f"{'whole ' if whole else ''}number from {least:g} to {most:g}"
    kinds = (int,) if whole else (int, float)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
        return f"should be a {what}, not {_shown(value)}"
    return None


def stop_problem(stop: object) -> str | None:
    """Why these cannot be stop sequences, or None."""
    if not isinstance(stop, list | tuple) or not all(isinstance(each, str) and each for each in stop):
        return f'should be a list of texts, like ["END"], not {_shown(stop)}'
    return f"should hold at most {MOST_STOPS} texts" if len(stop) > MOST_STOPS else None


def body_problem(body: object) -> str | None:
    """Why this cannot be sent as further fields of a request, or None."""
    if not isinstance(body, Mapping):
        return f"should be a table of fields, not {_shown(body)}"
    for name in body:
        if name in OURS:
            return f"may not hold {name!r}: that is made of the agent and its conversation"
    return _json_problem(body, DEEPEST)


def with_extra(body: dict[str, Any], *extra: JsonObject) -> dict[str, Any]:
    """The same body with further fields; where both have a table, theirs are merged."""
    for more in extra:
        for name, value in more.items():
            known = body.get(name)
            if isinstance(known, Mapping) and isinstance(value, Mapping):
                body[name] = with_extra(dict(known), value)
            else:
                body[name] = value
    return body


def _lacking(options: RequestOptions, protocol: WireProtocol) -> Problem | None:
    remedy = f'the protocol "{protocol}" has no such field; leave it out, or ask in another protocol'
    if options.seed is not None and protocol != "chat":
        return "seed", remedy
    if options.stop and protocol == "responses":
        return "stop", remedy
    if protocol == "anthropic":
        if options.temperature is not None and options.temperature > 1:
            return "temperature", f'the protocol "anthropic" takes 0 to 1, not {options.temperature:g}'
        effort = options.reasoning_effort
        if effort is not None and effort not in _ANTHROPIC_EFFORTS:
            return "reasoning_effort", f'the protocol "anthropic" takes {_listed(_ANTHROPIC_EFFORTS)}'
        if any(not text.strip() for text in options.stop):
            return "stop", 'the protocol "anthropic" takes no text that is blank'
    return None


def _choice_problem(value: object, known: tuple[object, ...]) -> str | None:
    if any(type(value) is type(each) and value == each for each in known):
        return None
    return f"should be {_listed(known[1:])}, not {_shown(value)}"


def _json_problem(value: object, levels: int) -> str | None:
    match value:
        case None | bool() | str() | int():
            return None
        case float():
            return None if math.isfinite(value) else f"holds {value}, which is not JSON"
        case Mapping() | list() | tuple() if not levels:
            return f"is nested more than {DEEPEST} levels deep"
        case Mapping():
            if not all(isinstance(name, str) for name in value):
                return "holds a name that is no text"
            return next(filter(None, (_json_problem(inner, levels - 1) for inner in value.values())), None)
        case list() | tuple():
            return next(filter(None, (_json_problem(inner, levels - 1) for inner in value)), None)
        case _:
            return f"holds a {type(value).__name__}, which is not JSON"


def _listed(values: tuple[object, ...]) -> str:
    *most, last = (repr(each) if isinstance(each, str) else str(each).lower() for each in values)
    return f"{', '.join(most)} or {last}"


def _shown(value: object) -> str:
    """A short value as it was given; of anything else the kind."""
    if isinstance(value, str | int | float) and len(shown := repr(value)) <= 40:
        return shown
    return f"a {type(value).__name__}"


def as_json(options: RequestOptions) -> dict[str, Json]:
    """What history keeps of the options of an agent; `from_json` makes them again."""
    return {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "stop": list(options.stop),
        "seed": options.seed,
        "reasoning_effort": options.reasoning_effort,
        "think_tags": options.think_tags,
        "extra_body": dict(options.extra_body),
    }


def from_json(stored: Json, protocol: WireProtocol) -> RequestOptions:
    """The options that were kept; none where something odd stands there."""
    if not isinstance(stored, Mapping):
        return RequestOptions()
    names = {each.name for each in fields(RequestOptions)}
    known: dict[str, Any] = {name: value for name, value in stored.items() if name in names}
    made = RequestOptions(**known)
    return replace(made, stop=tuple(made.stop)) if problem_with(made, protocol) is None else RequestOptions()
