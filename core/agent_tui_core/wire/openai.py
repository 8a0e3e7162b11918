"""Owns the request of the chat completions API: our messages as its JSON; refuses to send or to complete.

What a history lacks (a result, a last user message) is the loop's to add. The reading of answers, which lives
in `chat_stream` and `refusals`, can be imported from here as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from agent_tui_core.blocks import Image, Json, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.messages import Message, ModelRequest, ToolSpec
from agent_tui_core.wire.chat_stream import ChatStream, whole_answer
from agent_tui_core.wire.opaque import untagged
from agent_tui_core.wire.refusals import refusal
from agent_tui_core.wire.surrogates import mended, mended_object, mended_schema

__all__ = ["ChatStream", "message_params", "refusal", "request_body", "whole_answer"]

_WANTS_COMPLETION_TOKENS: Final = re.compile(r"(?:^|/)(?:o\d|gpt-5)")
"""Models of OpenAI that refuse `max_tokens`; every other server knows only that name."""
_OPTIONS: Final = ("temperature", "top_p", "seed", "reasoning_effort")
"""Are called in the API as they are here."""
_NO_NAME: Final = "unnamed_tool"
_LONGEST_NAME: Final = 64
_NOT_IN_A_NAME: Final = re.compile(r"[^a-zA-Z0-9_.:-]")


def request_body(request: ModelRequest) -> dict[str, Any]:
    """Return the whole JSON body of `POST /chat/completions`, for a streamed answer with usage."""
    messages = [params for message in request.messages for params in message_params(message)]
    if request.system_prompt.strip():
        messages.insert(0, {"role": "system", "content": mended(request.system_prompt)})
    body: dict[str, Any] = {
        "model": request.model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool_params(tool) for tool in request.tools]
    if request.max_tokens is not None:
        wanted = _WANTS_COMPLETION_TOKENS.search(request.model)
        body["max_completion_tokens" if wanted else "max_tokens"] = request.max_tokens
    options = request.options
    said = {name: getattr(options, name) for name in _OPTIONS}
    body |= {name: value for name, value in said.items() if value is not None}
    if options.stop:
        body["stop"] = list(options.stop)
    return body


def message_params(message: Message) -> list[dict[str, Any]]:
    """Return what one of our messages is on the wire: none if it says nothing, several for tool results."""
    match message.role:
        case "user":
            return _user_params(message)
        case "assistant":
            return _assistant_params(message)
        case "tool":
            return _result_params(message.tool_results)


def _tool_params(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": mended(tool.description),
            "parameters": mended_schema(tool.input_schema),
        },
    }


def _user_params(message: Message) -> list[dict[str, Any]]:
    """A string where there is text alone, because small servers know no parts; never an empty message."""
    texts = [mended(block.text) for block in message.blocks if isinstance(block, Text) and block.text.strip()]
    if not any(isinstance(block, Image) for block in message.blocks):
        return [{"role": "user", "content": "\n\n".join(texts)}] if texts else []
    parts: list[dict[str, Any]] = []
    for block in message.blocks:
        if isinstance(block, Text) and block.text.strip():
            parts.append({"type": "text", "text": mended(block.text)})
        elif isinstance(block, Image):
            parts.append(_image_part(block))
    return [{"role": "user", "content": parts}]


def _assistant_params(message: Message) -> list[dict[str, Any]]:
    """An assistant message with nothing but reasoning is left out, unless its provider wants it back.

    Some servers refuse empty content, and no server misses a message that said nothing.
    """
    text = mended(message.text)
    uses = message.tool_uses
    params: dict[str, Any] = {"role": "assistant", "content": text if text.strip() else None}
    params |= _reasoning_params(message, sends_words=bool(uses))
    if uses:
        params["tool_calls"] = [_call_params(use) for use in uses]
    elif not text.strip():
        if len(params) == 2:
            return []
        params["content"] = ""
    return [params]


def _reasoning_params(message: Message, *, sends_words: bool) -> dict[str, Any]:
    """Return the fields that the provider wants back with its message.

    The value True stands for the words of the reasoning: servers that name them `reasoning_content` want them
    with the calls that they led to, and only there.
    """
    blocks = [block for block in message.blocks if isinstance(block, Reasoning)]
    fields: dict[str, Json] = {}
    for block in blocks:
        for key, value in mended_object(untagged(block.opaque)).items():
            known = fields.get(key)
            if isinstance(known, list) and isinstance(value, list):
                fields[key] = [*known, *value]
            elif value is not True:
                fields[key] = value
            elif sends_words:
                fields[key] = mended("".join(block.text for block in blocks))
    return {key: value for key, value in fields.items() if key not in {"role", "content", "tool_calls"}}


def _call_params(use: ToolUse) -> dict[str, Any]:
    arguments = {} if use.broken is not None else mended_object(use.input)
    return {
        **mended_object(untagged(use.opaque)),
        "id": use.id,
        "type": "function",
        "function": {
            "name": _NOT_IN_A_NAME.sub("_", use.name[:_LONGEST_NAME]) or _NO_NAME,
            "arguments": json.dumps(arguments, ensure_ascii=False),
        },
    }


def _result_params(results: Iterable[ToolResult]) -> list[dict[str, Any]]:
    """One `tool` message for each result; the API takes pictures from users only, so they follow as one."""
    params: list[dict[str, Any]] = []
    pictures: list[dict[str, Any]] = []
    for result in results:
        params.append({"role": "tool", "tool_call_id": result.tool_use_id, "content": mended(result.content)})
        if result.images:
            pictures.append({"type": "text", "text": f"Pictures in the result of {result.tool_use_id}:"})
            pictures.extend(_image_part(image) for image in result.images)
    return [*params, {"role": "user", "content": pictures}] if pictures else params


def _image_part(image: Image) -> dict[str, Any]:
    picture = {"url": image.url} if image.detail == "auto" else {"url": image.url, "detail": image.detail}
    return {"type": "image_url", "image_url": picture}
