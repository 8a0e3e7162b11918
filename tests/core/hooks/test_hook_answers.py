"""Whatever a hook writes, it is an answer or a broken hook, and nothing but a clear yes allows."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_tui_core.errors import HookError
from agent_tui_core.hooks.contract import POINTS, HookAnswer, Point, read_answer
from agent_tui_core.hooks.unheard import speaks_of_a_decision
from properties import tried

KEYS = st.sampled_from(
    [
        *("continue", "stopReason", "decision", "reason", "hookSpecificOutput", "hookEventName", "behavior"),
        *("permissionDecision", "permissionDecisionReason", "updatedInput", "updatedToolOutput", "interrupt"),
        *("additionalContext", "systemMessage", "updatedPrompt", "message", "suppressOutput", "other"),
    ]
)
WORDS = st.sampled_from(["allow", "deny", "ask", "defer", "approve", "block", *POINTS]) | st.text(max_size=9)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | WORDS
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)
OUTPUTS = JSON.map(json.dumps) | st.text() | JSON.map(lambda value: json.dumps(value)[:-1])
CODES = st.sampled_from([0, 1, 2, 127, -9, None])


def read(point: Point, code: int | None, output: str) -> HookAnswer | None:
    try:
        return read_answer(point, code, output, "words")
    except HookError:
        return None


@tried()
@given(st.sampled_from(POINTS), CODES, OUTPUTS)
def test_any_output_is_an_answer_or_a_broken_hook(point: Point, code: int | None, output: str) -> None:
    answer = read(point, code, output)
    if code == 2:
        assert answer is not None
        assert answer.behavior in ("deny", "none")
    if answer is None:
        spoke = speaks_of_a_decision(output)
        assert code != 0 or output.strip().startswith("{") or spoke, "other words at exit 0 are no mistake"


def _holds(value: Any, words: set[str]) -> bool:
    match value:
        case dict():
            return any(_holds(each, words) for each in value.values())
        case list():
            return any(_holds(each, words) for each in value)
        case _:
            return isinstance(value, str) and value in words


@tried()
@given(st.sampled_from(POINTS), CODES, OUTPUTS)
def test_nothing_allows_but_a_hook_that_says_so_at_a_point_where_it_may(
    point: Point, code: int | None, output: str
) -> None:
    answer = read(point, code, output)
    if answer is not None and answer.behavior == "allow":
        said = json.loads(output)
        assert _holds(said, {"allow", "approve"})
        assert said.get("continue") is not False
        assert said.get("decision") != "block"
