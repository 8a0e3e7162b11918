"""Owns the rules by which each API accepts a request, as strictly as its documents and refusals tell them.

Refuses to repair: a body that breaks a rule raises AssertionError with the rule.
"""

from __future__ import annotations

import json
import re
from typing import Any


def chat_rules(body: dict[str, Any]) -> None:
    """OpenAI's chat completions: each call answered once and at once, arguments as JSON text of an object."""
    waiting: list[str] = []
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            assert message["tool_call_id"] in waiting, (
                "a result answers a call of the message before it, once"
            )
            waiting.remove(message["tool_call_id"])
            assert isinstance(message["content"], str)
            continue
        assert not waiting, f"calls without a result: {waiting}"
        assert role in {"system", "user", "assistant"}
        assert not set(message) & {"anthropic", "responses"}, "a foreign field"
        if role == "user":
            assert message["content"], "a user message says something"
        for call in message.get("tool_calls", ()):
            assert not set(call) - {"id", "type", "function", "extra_content"}, "a foreign field"
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert re.fullmatch(r"[a-zA-Z0-9_.:-]{1,64}", call["function"]["name"])
            waiting.append(call["id"])
        assert role != "assistant" or message["content"] is not None or message["tool_calls"]
    assert not waiting, f"calls without a result: {waiting}"
    assert body["messages"][-1]["role"] in {"user", "tool"}


_BLOCKS = {
    "user": {"text", "image", "tool_result"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
}


def messages_rules(body: dict[str, Any]) -> None:
    """Anthropic's Messages: turns alternate, results stand first, ids are unique, thinking is never last."""
    assert body["max_tokens"] > 0
    assert json.dumps(body).count('"cache_control"') <= 4, "at most 4 cache breakpoints"
    turns = body["messages"]
    assert turns[0]["role"] == "user"
    assert turns[-1]["role"] == "user"
    seen: set[str] = set()
    waiting: list[str] = []
    for number, turn in enumerate(turns):
        assert turn["role"] == ("user", "assistant")[number % 2], "roles alternate"
        kinds = [block["type"] for block in turn["content"]]
        assert kinds
        assert set(kinds) <= _BLOCKS[turn["role"]]
        answered = [block["tool_use_id"] for block in turn["content"] if block["type"] == "tool_result"]
        assert answered == waiting, "the results of all calls, in the next turn"
        assert kinds[: len(answered)] == ["tool_result"] * len(answered), "results stand first"
        assert kinds[-1] not in {"thinking", "redacted_thinking"}, "the final block cannot be thinking"
        waiting = []
        for block in turn["content"]:
            _check_block(block)
            if block["type"] == "tool_use":
                assert block["id"] not in seen, "`tool_use` ids must be unique"
                seen.add(block["id"])
                waiting.append(block["id"])
    assert not waiting


def _check_block(block: dict[str, Any]) -> None:
    match block["type"]:
        case "text":
            assert block["text"].strip(), "text content blocks must contain non-whitespace text"
        case "thinking":
            assert isinstance(block["thinking"], str)
            assert isinstance(block["signature"], str)
            assert "cache_control" not in block
        case "redacted_thinking":
            assert block["data"]
        case "tool_use":
            assert re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"])
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", block["name"])
            assert isinstance(block["input"], dict)
        case "tool_result":
            content = block.get("content", [])
            kinds = {inner["type"] for inner in content}
            assert kinds <= {"text", "image"}
            if block.get("is_error"):
                assert content, "content cannot be empty if is_error is true"
                assert kinds == {"text"}, "all content must be type text if is_error is true"
        case "image":
            assert set(block["source"]) in ({"type", "media_type", "data"}, {"type", "url"})


def responses_rules(body: dict[str, Any]) -> None:
    """OpenAI's Responses, nothing stored: reasoning is whole and followed, calls are answered once."""
    assert body["store"] is False
    assert all(tool["strict"] is False for tool in body.get("tools", ()))
    waiting: list[str] = []
    unpaired = False
    for item in body["input"]:
        kind = item["type"]
        if kind == "reasoning":
            assert item["encrypted_content"] or item.get("content"), "items are not persisted"
            assert isinstance(item["summary"], list)
            assert set(item) <= {"type", "id", "summary", "content", "encrypted_content"}
            unpaired = True
            continue
        if kind == "function_call_output":
            assert item["call_id"] in waiting, "a result answers a call, once"
            waiting.remove(item["call_id"])
            assert not unpaired, "reasoning was provided without its required following item"
            continue
        if kind == "function_call":
            assert isinstance(json.loads(item["arguments"]), dict)
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", item["name"])
            assert 1 <= len(item["call_id"]) <= 64
            assert item["call_id"] not in waiting
            waiting.append(item["call_id"])
        else:
            assert kind == "message"
            assert item["content"]
            if item["role"] == "user":
                assert not waiting, f"calls without a result: {waiting}"
                assert not unpaired, "reasoning was provided without its required following item"
        if unpaired:
            assert item.get("id"), "the item that reasoning led to is known by its id"
        unpaired = False
    assert not waiting
    assert not unpaired
