"""Owns the rules of OpenAI's chat completions for a request, to the letter; refuses to repair or to guess.

`guarded(script)` makes a loopback server judge every request before it answers: a broken rule fails the test.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from loopback import Answer, Request, Script

_FIELDS = {
    "system": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id"},
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PARTS = {"text": "text", "image_url": "image_url"}


class RequestRefused(AssertionError):
    """What OpenAI would answer with status 400; the message names the rule and the place."""


def check_chat_request(body: Any, *, endpoint: bool = True) -> None:
    """Raise `RequestRefused` for a body that is not accepted. `endpoint`: judge more than the messages."""
    _rule(isinstance(body, dict), "the body is an object", body)
    if endpoint:
        _rule(isinstance(body.get("model"), str) and bool(body["model"]), "`model` is a name", body)
        _check_tools(body.get("tools"))
    messages = body.get("messages")
    _rule(isinstance(messages, list) and bool(messages), "`messages` is a list with a message", messages)
    check_messages(messages)


def check_messages(messages: Sequence[dict[str, Any]]) -> None:
    """Raise `RequestRefused` unless each message, and their order, is accepted."""
    left = iter(enumerate(messages))
    for place, message in left:
        where = f"messages[{place}]"
        role = str(message.get("role"))
        _rule(role in _FIELDS, f"{where}: a role is one of {sorted(_FIELDS)}", role)
        _rule(set(message) <= _FIELDS[role], f"{where}: no unknown field", sorted(message))
        match role:
            case "system":
                _rule(place == 0, f"{where}: the system message is the first", message)
                _check_words(message.get("content"), where)
            case "user":
                _check_words(message.get("content"), where)
            case "assistant":
                _check_answers(_check_assistant(message, where), left, where)
            case "tool":
                raise RequestRefused(f"{where}: a tool message must follow a message with its tool call")
    _rule(messages[-1]["role"] in {"user", "tool"}, "the last message asks for an answer", messages[-1])


def guarded(script: Script | Iterable[Answer]) -> Script:
    """The same script, behind the check: `LoopbackServer(guarded([say("hi")]))`."""
    if callable(script):
        answer = script
    else:
        answers: Iterator[Answer] = iter(script)

        def answer(request: Request) -> Answer:
            found = next(answers, None)
            assert found is not None, f"no answer left for request {request.number}: {request.path}"
            return found

    def check_and_answer(request: Request) -> Answer:
        check_chat_request(request.json)
        return answer(request)

    return check_and_answer


def _check_assistant(message: dict[str, Any], where: str) -> list[str]:
    """Judge the message; return the ids of its calls, in order."""
    content, calls = message.get("content"), message.get("tool_calls")
    _rule(content is None or isinstance(content, str), f"{where}: content is text or null", content)
    _rule(bool(content) or bool(calls), f"{where}: content is required unless there are tool calls", message)
    if calls is None:
        return []
    _rule(isinstance(calls, list) and bool(calls), f"{where}: tool_calls is not an empty list", calls)
    ids = []
    for call in calls:
        _rule(set(call) == {"id", "type", "function"}, f"{where}: a call has id, type and function", call)
        _rule(call["type"] == "function", f"{where}: the type of a call is function", call)
        _rule(isinstance(call["id"], str) and bool(call["id"]), f"{where}: a call has an id", call)
        function = call["function"]
        _rule(set(function) == {"name", "arguments"}, f"{where}: name and arguments, no more", function)
        _rule(bool(_NAME.fullmatch(function["name"])), f"{where}: the name matches {_NAME.pattern}", function)
        _rule(_is_object(function["arguments"]), f"{where}: arguments are the JSON text of an object", call)
        ids.append(call["id"])
    _rule(len(set(ids)) == len(ids), f"{where}: the ids of calls differ", ids)
    return ids


def _check_answers(ids: list[str], left: Iterator[tuple[int, dict[str, Any]]], where: str) -> None:
    """Take one tool message for each call, in the order of the calls."""
    for wanted in ids:
        place, message = next(left, (-1, {}))
        _rule(message.get("role") == "tool", f"{where}: each call is answered at once", message)
        _rule(set(message) <= _FIELDS["tool"], f"messages[{place}]: no unknown field", sorted(message))
        _rule(message.get("tool_call_id") == wanted, f"{where}: answers in the order of calls", message)
        _rule(isinstance(message.get("content"), str), f"messages[{place}]: a result is text", message)


def _check_words(content: object, where: str) -> None:
    if isinstance(content, str):
        _rule(bool(content.strip()), f"{where}: content is not empty", content)
        return
    _rule(isinstance(content, list) and bool(content), f"{where}: content is text or parts", content)
    assert isinstance(content, list)
    for part in content:
        _rule(part.get("type") in _PARTS, f"{where}: a part is text or image_url", part)
        _rule(bool(part.get(_PARTS[part["type"]])), f"{where}: a part holds something", part)


def _check_tools(tools: object) -> None:
    if tools is None:
        return
    _rule(isinstance(tools, list) and bool(tools), "`tools` is not an empty list", tools)
    assert isinstance(tools, list)
    for tool in tools:
        _rule(tool.get("type") == "function", "a tool is a function", tool)
        _rule(bool(_NAME.fullmatch(tool["function"]["name"])), "a tool has a name", tool)
        _rule(tool["function"]["parameters"]["type"] == "object", "parameters are an object's schema", tool)


def _is_object(text: object) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _rule(holds: object, rule: str, shown: object) -> None:
    if not holds:
        raise RequestRefused(f"{rule}; got {shown!r}")
