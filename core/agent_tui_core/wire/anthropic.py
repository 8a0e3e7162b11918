"""Owns the request of Anthropic's Messages API: our messages as its JSON; refuses to send or to complete.

Shapes after platform.claude.com/docs (api/messages, build-with-claude/extended-thinking, prompt-caching) and
the types of the official Python SDK (`message_create_params`, `tool_result_block_param`). The reading of
answers, which lives in `anthropic_stream`, can be imported from here as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

from agent_tui_core.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.messages import Message, ModelRequest, ToolSpec
from agent_tui_core.wire.anthropic_stream import MessagesStream
from agent_tui_core.wire.call_ids import CallIds
from agent_tui_core.wire.opaque import own
from agent_tui_core.wire.surrogates import mended, mended_object, mended_schema

__all__ = ["DEFAULT_MAX_TOKENS", "LEAST_MAX_TOKENS", "MessagesStream", "Thinking", "request_body"]

Thinking: TypeAlias = Literal["off", "adaptive", "budget"]
"""How thinking is asked for: Claude up to 4.5 knows a budget alone, from 4.7 on `adaptive` alone."""

DEFAULT_MAX_TOKENS: Final = 32_000
"""The API has no default. A model that can say less names its limit in its refusal."""
LEAST_MAX_TOKENS: Final = 1_024
_LARGEST_BUDGET: Final = 16_000
_CACHED_MESSAGES: Final = 2
"""With the tools and the system prompt that makes four breakpoints, which is what the API allows."""

_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,256}")
_NOT_IN_A_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")
_NO_NAME: Final = "unnamed_tool"
_LONGEST_NAME: Final = 64
_DATA_URL: Final = re.compile(r"data:(?P<type>[\w.+/-]+);base64,(?P<data>.*)", re.DOTALL)
_CACHE: Final = {"type": "ephemeral"}
_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})

Block: TypeAlias = dict[str, Any]


def request_body(
    request: ModelRequest,
    *,
    thinking: Thinking = "off",
    max_tokens: int = DEFAULT_MAX_TOKENS,
    thoughts: bool = True,
) -> dict[str, Any]:
    """Return the whole JSON body of `POST /messages`, for a streamed answer.

    `max_tokens` is for a request that names none; `thoughts` sends earlier thinking back. Tools, system
    prompt and the last two messages of the user are marked for the prompt cache: each request reads what the
    one before it wrote.
    """
    limit = request.max_tokens or max_tokens
    messages = _messages(request.messages, thoughts=thoughts)
    _mark_for_cache(messages)
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": limit,
        "messages": messages,
        "stream": True,
    }
    if request.system_prompt.strip():
        prompt = mended(request.system_prompt)
        body["system"] = [{"type": "text", "text": prompt, "cache_control": dict(_CACHE)}]
    if request.tools:
        body["tools"] = [_tool_params(tool) for tool in request.tools]
        body["tools"][-1]["cache_control"] = dict(_CACHE)
    wanted = _thinking_params(thinking, limit)
    if wanted is not None:
        body["thinking"] = wanted
    else:  # the API refuses these together with thinking
        said = {"temperature": request.options.temperature, "top_p": request.options.top_p}
        body |= {name: value for name, value in said.items() if value is not None}
    if request.options.stop:
        body["stop_sequences"] = list(request.options.stop)
    if request.options.reasoning_effort is not None:
        body["output_config"] = {"effort": request.options.reasoning_effort}
    return body


def _thinking_params(thinking: Thinking, limit: int) -> dict[str, Any] | None:
    """`{type: adaptive, display}` or `{type: enabled, budget_tokens}`: 1024 to the limit."""
    if thinking == "adaptive":
        return {"type": "adaptive", "display": "summarized"}
    budget = min(_LARGEST_BUDGET, limit // 2)
    if thinking == "off" or budget < LEAST_MAX_TOKENS:
        return None
    return {"type": "enabled", "budget_tokens": budget}


def _tool_params(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": mended(tool.description),
        "input_schema": mended_schema(tool.input_schema),
    }


def _messages(messages: Iterable[Message], *, thoughts: bool) -> list[dict[str, Any]]:
    """Turns that alternate: what follows in the same role is one turn, results before words."""
    ids = CallIds(_ID)
    turns: list[dict[str, Any]] = []
    for message in messages:
        match message.role:
            case "user":
                role, blocks = "user", _user_blocks(message)
            case "assistant":
                role, blocks = "assistant", _assistant_blocks(message, ids, thoughts=thoughts)
            case "tool":
                role, blocks = "user", _result_blocks(message.tool_results, ids)
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _mark_for_cache(turns: Sequence[dict[str, Any]]) -> None:
    of_user = [turn for turn in turns if turn["role"] == "user"]
    for turn in of_user[-_CACHED_MESSAGES:]:
        turn["content"][-1]["cache_control"] = dict(_CACHE)


def _user_blocks(message: Message) -> list[Block]:
    """Text that is blank is refused by the API, so it is left out."""
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, Text) and block.text.strip():
            blocks.append({"type": "text", "text": mended(block.text)})
        elif isinstance(block, Image):
            blocks.append(_image_block(block))
    return blocks


def _assistant_blocks(message: Message, ids: CallIds, *, thoughts: bool) -> list[Block]:
    """Thinking goes back where it stood, signed and unread; what another protocol thought does not.

    "The final block in an assistant message cannot be `thinking`": of an answer that was cut, it is left out.
    """
    blocks: list[Block] = []
    for block in message.blocks:
        match block:
            case Text(text) if text.strip():
                blocks.append({"type": "text", "text": mended(text)})
            case Reasoning() if thoughts:
                blocks += _thinking_blocks(block)
            case ToolUse():
                blocks.append(_call_block(block, ids))
            case _:
                pass
    while blocks and blocks[-1]["type"] in _THOUGHTS:
        blocks.pop()
    return blocks


def _thinking_blocks(block: Reasoning) -> list[Block]:
    """`{type: thinking, thinking, signature}` or `{type: redacted_thinking, data}`; never unsigned."""
    fields = own("anthropic", block.opaque)
    if fields is None:
        return []
    if fields.get("type") == "redacted_thinking":
        return [{"type": "redacted_thinking", "data": fields.get("data")}]
    return [{"type": "thinking", "thinking": mended(block.text), "signature": fields.get("signature")}]


def _call_block(use: ToolUse, ids: CallIds) -> Block:
    return {
        "type": "tool_use",
        "id": ids.of_call(use.id),
        "name": _NOT_IN_A_NAME.sub("_", use.name[:_LONGEST_NAME]) or _NO_NAME,
        "input": {} if use.broken is not None else mended_object(use.input),
    }


def _result_blocks(results: Iterable[ToolResult], ids: CallIds) -> list[Block]:
    """Results first, as the API demands. An error may hold text alone and must hold some: pictures follow."""
    blocks: list[Block] = []
    pictures: list[Block] = []
    for result in results:
        params: Block = {"type": "tool_result", "tool_use_id": ids.of_result(result.tool_use_id)}
        content: list[Block] = []
        if result.content.strip():
            content.append({"type": "text", "text": mended(result.content)})
        shown = [_image_block(image) for image in result.images]
        if result.is_error:
            params["is_error"] = True
            pictures += shown
            content = content or [{"type": "text", "text": "the tool failed and said nothing"}]
        else:
            content += shown
        if content:
            params["content"] = content
        blocks.append(params)
    return [*blocks, *pictures]


def _image_block(image: Image) -> Block:
    """`{type: image, source: {type: base64, media_type, data} | {type: url, url}}`."""
    data = _DATA_URL.fullmatch(image.url)
    if data is None:
        return {"type": "image", "source": {"type": "url", "url": image.url}}
    source = {"type": "base64", "media_type": data["type"], "data": data["data"]}
    return {"type": "image", "source": source}
