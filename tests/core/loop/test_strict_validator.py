from __future__ import annotations

from typing import Any

import pytest

from strict_validator import RequestRefused, check_chat_request

USER = {"role": "user", "content": "hi"}


def called(*ids: str, arguments: str = "{}") -> dict[str, Any]:
    function = {"name": "t", "arguments": arguments}
    calls = [{"id": one, "type": "function", "function": function} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(id: str, content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "system", "content": "be good"}, USER],
        [USER, called("a", "b"), result("a"), result("b")],
        [USER, {"role": "assistant", "content": "hello"}, USER],
        [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
    ],
)
def test_what_the_api_accepts_is_accepted(messages: list[dict[str, Any]]) -> None:
    check_chat_request({"model": "m", "messages": messages})


@pytest.mark.parametrize(
    ("rule", "messages"),
    [
        ("not empty", [{"role": "user", "content": " "}]),
        ("a role", [{"role": "robot", "content": "x"}]),
        ("at once", [USER, called("a"), USER]),
        ("at once", [USER, called("a", "b"), result("a")]),
        ("order of calls", [USER, called("a", "b"), result("b"), result("a")]),
        ("must follow", [USER, called("a"), result("a"), result("a")]),
        ("must follow", [USER, result("a")]),
        ("ids of calls differ", [USER, called("a", "a"), result("a"), result("a")]),
        ("JSON text", [USER, called("a", arguments="[1]"), result("a")]),
        ("JSON text", [USER, called("a", arguments='{"a'), result("a")]),
        ("JSON text", [USER, called("a", arguments=""), result("a")]),
        ("a result is text", [USER, called("a"), result("a", None)]),
        ("unless there are tool calls", [USER, {"role": "assistant", "content": ""}, USER]),
        ("unknown field", [{**USER, "stop_reason": "end"}]),
        ("asks for an answer", [USER, {"role": "assistant", "content": "x"}]),
        ("is the first", [USER, {"role": "system", "content": "x"}]),
        ("a message", []),
    ],
)
def test_what_the_api_refuses_is_refused_with_its_rule(rule: str, messages: list[dict[str, Any]]) -> None:
    with pytest.raises(RequestRefused, match=rule):
        check_chat_request({"model": "m", "messages": messages})
