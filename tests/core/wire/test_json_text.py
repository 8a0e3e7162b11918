"""How deep foreign JSON may be: the same on every Python, whatever its parser takes."""

from __future__ import annotations

import json

import pytest

from agent_tui_core.errors import HookError
from agent_tui_core.hooks.contract import read_answer
from agent_tui_core.runtime.orders import OrderRefused, read_order
from agent_tui_core.wire.json_text import DEEPEST_DOCUMENT, decoded


def nested(levels: int, opening: str = '{"a":', closing: str = "}") -> str:
    return opening * levels + "1" + closing * levels


@pytest.mark.parametrize(("opening", "closing"), [('{"a":', "}"), ("[", "]"), ('[{"a":', "}]")])
def test_a_document_that_is_nested_too_deep_is_none_on_any_python(opening: str, closing: str) -> None:
    levels = DEEPEST_DOCUMENT // len(closing)
    assert decoded(nested(levels, opening, closing))
    for more in (1, 500, 50_000):
        with pytest.raises(ValueError, match="nested too deep"):
            decoded(nested(levels + more, opening, closing))


def test_brackets_within_strings_and_side_by_side_are_no_depth() -> None:
    value = {"text": '[{"\\' * 10_000, "list": [[]] * 10_000}
    assert decoded(json.dumps(value)) == value


def test_a_hooks_answer_that_is_nested_too_deep_is_a_broken_hook() -> None:
    said = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": %s}}'
    with pytest.raises(HookError, match="nested too deep"):
        read_answer("PreToolUse", 0, said % nested(DEEPEST_DOCUMENT), "")


def test_an_order_that_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(OrderRefused, match="nested too deep"):
        read_order(f'{{"type": "approve", "request_id": "a", "input": {nested(DEEPEST_DOCUMENT)}}}'.encode())
