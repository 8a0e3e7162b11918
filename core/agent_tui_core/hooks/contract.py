"""Owns what a command hook says, by the public contract: exit code and JSON in, one answer out; runs nothing.

Refuses to guess: what is neither a decision nor silence raises `HookError`, and whoever asked decides what a
broken hook amounts to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Literal, NoReturn, TypeAlias, get_args

from agent_tui_core.blocks import JsonObject
from agent_tui_core.errors import HookError
from agent_tui_core.hooks.responses import response_text
from agent_tui_core.hooks.unheard import holds_a_decision, speaks_of_a_decision
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line
from agent_tui_core.wire.json_text import too_deep

Point: TypeAlias = Literal[
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "Stop",
    "SessionStart",
    "SessionEnd",
    "PermissionRequest",
]
POINTS: Final[tuple[Point, ...]] = get_args(Point)
Behavior: TypeAlias = Literal["none", "allow", "ask", "defer", "deny"]

BLOCKED: Final = 2
"""The exit code that blocks, whatever else was said."""
LONGEST_CONTEXT: Final = 10_000
LONGEST_REASON: Final = 4_000
_ADDS_PLAIN_TEXT: Final = ("UserPromptSubmit", "SessionStart")
"""Where words that are no JSON are context for the model."""
_FEEDBACK: Final = ("PostToolUse", "PostToolUseFailure")
"""The tool has run: what blocks elsewhere is told to the model here, next to the result."""
_NOTHING_TO_BLOCK: Final = ("Notification", "SessionStart", "SessionEnd")
"""What blocks elsewhere is told to the person here."""
_WANT_A_REASON: Final = ("ask", "defer", "deny")
_PROMISE: Final = frozenset({"async", "asyncTimeout"})
_OLD_WORDS: Final[Mapping[str, Behavior]] = {"approve": "allow", "block": "deny"}


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What one command hook said; nothing of it is carried out yet."""

    behavior: Behavior = "none"
    reason: str = ""
    input: JsonObject | None = None
    """The whole input to use instead."""
    prompt: str | None = None
    result: str | None = None
    """What the model shall read in place of the tool's result."""
    context: str | None = None
    stop: bool = False
    """The agent shall stop: goes before every decision."""
    message: str = ""
    """For the person."""


def read_answer(point: Point, exit_code: int | None, output: str, errors: str) -> HookAnswer:
    """Read what a hook that ended left behind. Raises `HookError` when it is broken.

    Exit 2 blocks, and stderr is the reason. Otherwise an output that begins with `{` is the decision. At exit
    0 other words are nothing (at two points: context); at any other code the hook is broken. So is one whose
    words are a decision where none is heard: its "no" must not pass for silence.
    """
    words = _without_promise(output.strip())
    if exit_code == BLOCKED:
        return _blocked(point, errors)
    if words.startswith("{"):
        try:
            answer = _decision(point, _object(words))
            if answer.behavior == "none":
                _heard_all(point, errors, "stderr")
            return answer
        except HookError as error:
            raise HookError(f"{_ending(exit_code)}{error}") from error
    if exit_code != 0:
        said = safe_line(errors.strip() or words)[:300]
        raise HookError(f"{_ending(exit_code) or 'it ended '}{said or 'it said nothing'}")
    _heard_all(point, words, "its output")
    _heard_all(point, errors, "stderr")
    if point in _ADDS_PLAIN_TEXT and words:
        return HookAnswer(context=_bounded(words, LONGEST_CONTEXT))
    return HookAnswer()


def _heard_all(point: Point, words: str, where: str) -> None:
    """Raise where words that are no JSON object hold a decision."""
    if point in _NOTHING_TO_BLOCK or not (unheard := speaks_of_a_decision(words)):
        return
    told = safe_line(unheard)[:60]
    raise HookError(f"{where} speaks of a decision ({told!r}), but none is heard that is not one JSON object")


def _without_promise(words: str) -> str:
    """What stands behind `{"async": true}`: such a hook would be left to run on. Here it is waited for."""
    first, _, rest = words.partition("\n")
    if '"async"' in first:
        with suppress(HookError):
            said = _object(first)
            if said.keys() <= _PROMISE and said.get("async") is True:
                return rest.strip()
    return words


def _ending(exit_code: int | None) -> str:
    if exit_code == 0:
        return ""
    if exit_code is None:
        return "it could not be ended: "
    return f"exit code {exit_code}: " if exit_code > 0 else f"ended by signal {-exit_code}: "


def _blocked(point: Point, errors: str) -> HookAnswer:
    reason = _bounded(errors.strip() or "a hook blocked it, without a reason", LONGEST_REASON)
    if point in _FEEDBACK:
        return HookAnswer(context=reason)
    if point in _NOTHING_TO_BLOCK:
        return HookAnswer(message=safe_line(reason))
    return HookAnswer("deny", reason)


def _object(words: str) -> dict[str, Any]:
    try:
        if too_deep(words):
            raise ValueError("it is nested too deep")
        value = json.loads(words, object_pairs_hook=_unique, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()  # half a character could be stored and sent nowhere
    except (ValueError, RecursionError) as error:
        raise HookError(f"its output begins like JSON and is none: {safe_line(str(error))[:200]}") from error
    return dict(value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two answers under one name come from text that was glued together, perhaps by who is being judged."""
    seen = dict(pairs)
    if len(seen) < len(pairs):
        raise ValueError("a key stands in it twice")
    return seen


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _decision(point: Point, said: Mapping[str, Any]) -> HookAnswer:
    own = _optional(said, "hookSpecificOutput", dict) or {}
    named = _optional(own, "hookEventName", str)
    if named is not None and named != point:
        raise HookError(f"hookEventName should be {point}, not {safe_line(named)[:60]!r}")
    behavior, reason = _strongest(_new_decision(point, own), _old_decision(point, said))
    goes_on = _optional(said, "continue", bool)
    if goes_on is False:
        behavior = "deny"
        reason = _optional(said, "stopReason", str) or reason or "a hook stopped the agent"
    message = _optional(said, "systemMessage", str) or ""
    if behavior in ("none", "allow") and point not in _NOTHING_TO_BLOCK:
        _nothing_elsewhere(point, said, own, behavior)
    if behavior in _WANT_A_REASON and not reason:
        reason = message  # published hooks deny with these words alone, and the model has to know why
    rewritten = _optional(own, "updatedInput", dict)
    if point == "PermissionRequest":
        rewritten = _optional(_optional(own, "decision", dict) or {}, "updatedInput", dict)
    context = _optional(own, "additionalContext", str)
    return HookAnswer(
        behavior=behavior,
        reason=_bounded(reason, LONGEST_REASON),
        input=rewritten,
        prompt=_optional(own, "updatedPrompt", str),
        result=_result(own),
        context=None if not context else _bounded(context, LONGEST_CONTEXT),
        stop=goes_on is False or _interrupts(point, own),
        message=safe_line(message)[:LONGEST_REASON],
    )


def _nothing_elsewhere(
    point: Point, said: Mapping[str, Any], own: Mapping[str, Any], behavior: Behavior
) -> None:
    """Raise where an object decides at a place that nobody reads: at the wrong level, for another point."""
    read = "decision" if point == "PermissionRequest" else "permissionDecision"
    rest = {key: value for key, value in said.items() if key not in {"decision", "hookSpecificOutput"}}
    rest["hookSpecificOutput"] = {key: value for key, value in own.items() if key != read}
    if unheard := holds_a_decision(rest, beside_allow=behavior == "allow"):
        place = "decision.behavior" if point == "PermissionRequest" else "permissionDecision"
        raise HookError(
            f"its {safe_line(unheard)[:60]!r} is a decision where none is heard; "
            f"it should be hookSpecificOutput.{place}"
        )


def _new_decision(point: Point, own: Mapping[str, Any]) -> tuple[Behavior, str]:
    if point == "PermissionRequest":
        decision = _optional(own, "decision", dict) or {}
        word = _optional(decision, "behavior", str)
        reason = _optional(decision, "message", str) or ""
        return _word(word, {"allow": "allow", "deny": "deny"}, "decision.behavior"), reason
    word = _optional(own, "permissionDecision", str)
    known: Mapping[str, Behavior] = {"allow": "allow", "deny": "deny", "ask": "ask", "defer": "defer"}
    behavior = _word(word, known, "permissionDecision")
    return behavior, _optional(own, "permissionDecisionReason", str) or ""


def _old_decision(point: Point, said: Mapping[str, Any]) -> tuple[Behavior, str]:
    behavior = _word(_optional(said, "decision", str), _OLD_WORDS, "decision")
    if point != "PreToolUse" and behavior == "allow":
        behavior = "none"
    return behavior, _optional(said, "reason", str) or ""


def _word(word: str | None, known: Mapping[str, Behavior], key: str) -> Behavior:
    if word is None:
        return "none"
    if word not in known:
        raise HookError(f"{key} should be one of {', '.join(known)}, not {safe_line(word)[:60]!r}")
    return known[word]


RANK: Final[Mapping[Behavior, int]] = {"none": 0, "allow": 1, "ask": 2, "defer": 3, "deny": 4}
"""The stronger wins."""


def _strongest(*said: tuple[Behavior, str]) -> tuple[Behavior, str]:
    behavior, reason = max(said, key=lambda one: RANK[one[0]])
    return behavior, reason or next((words for _, words in said if words), "")


def _interrupts(point: Point, own: Mapping[str, Any]) -> bool:
    decision = own.get("decision") if point == "PermissionRequest" else None
    return isinstance(decision, dict) and _optional(decision, "interrupt", bool) is True


def _result(own: Mapping[str, Any]) -> str | None:
    for key in ("updatedToolOutput", "updatedMCPToolOutput"):
        if own.get(key) is not None:
            return response_text(own[key])
    return None


def _optional(table: Mapping[str, Any], key: str, kind: type) -> Any:
    value = table.get(key)
    if value is None or isinstance(value, kind):
        return value
    names = {dict: "an object", str: "text", bool: "true or false"}
    raise HookError(f"{key} should be {names[kind]}, not {type(value).__name__}")


def _bounded(words: str, limit: int) -> str:
    return words if len(words) <= limit else f"{words[:limit]} … ({len(words) - limit} characters left out)"
