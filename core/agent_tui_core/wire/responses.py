"""Owns the request of OpenAI's Responses API: our messages as its JSON; refuses to send or to complete.

Nothing is stored at the provider (`store: false`): each request holds the whole conversation, and reasoning
goes back encrypted. Shapes after developers.openai.com/docs (api-reference/responses, guides/reasoning and
guides/function-calling) and the official Python SDK's `response_input_param`. The reading of answers, which
lives in `responses_stream`, can be imported from here as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from agent_tui_core.blocks import Image, JsonObject, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.messages import Message, ModelRequest, ToolSpec
from agent_tui_core.wire.call_ids import CallIds
from agent_tui_core.wire.opaque import own
from agent_tui_core.wire.responses_stream import ResponsesStream
from agent_tui_core.wire.surrogates import mended, mended_object, mended_schema

__all__ = ["ENCRYPTED", "ResponsesStream", "request_body"]

ENCRYPTED: Final = "reasoning.encrypted_content"
_ID: Final = re.compile(r"[^\x00-\x1f]{1,64}")
"""A `call_id` has at most 64 characters."""
_NOT_IN_A_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")
_NO_NAME: Final = "unnamed_tool"
_LONGEST_NAME: Final = 64
_CUT: Final = frozenset({"interrupted", "error", "length", "content_filter"})

Item: TypeAlias = dict[str, Any]


def request_body(
    request: ModelRequest, *, encrypted: bool = True, summaries: bool = False, thoughts: bool = True
) -> dict[str, Any]:
    """Return the whole JSON body of `POST /responses`, for a streamed answer.

    `encrypted` asks for reasoning that can be sent back, `summaries` for words of it, and `thoughts` sends
    earlier reasoning back; models that do not reason refuse each of them.
    """
    body: dict[str, Any] = {
        "model": request.model,
        "input": _items(request.messages, thoughts=thoughts),
        "stream": True,
        "store": False,
    }
    if request.system_prompt.strip():
        body["instructions"] = mended(request.system_prompt)
    if request.tools:
        body["tools"] = [_tool_params(tool) for tool in request.tools]
    if encrypted:
        body["include"] = [ENCRYPTED]
    effort = request.options.reasoning_effort
    if summaries or effort is not None:
        said = {"summary": "auto" if summaries else None, "effort": effort}
        body["reasoning"] = {name: value for name, value in said.items() if value is not None}
    if request.max_tokens is not None:
        body["max_output_tokens"] = request.max_tokens
    for name in ("temperature", "top_p"):
        if (value := getattr(request.options, name)) is not None:
            body[name] = value
    return body


def _tool_params(tool: ToolSpec) -> dict[str, Any]:
    """`strict` is on unless it is switched off, and then it refuses schemas with optional fields."""
    return {
        "type": "function",
        "name": tool.name,
        "description": mended(tool.description),
        "parameters": mended_schema(tool.input_schema),
        "strict": False,
    }


def _items(messages: Iterable[Message], *, thoughts: bool) -> list[Item]:
    ids = CallIds(_ID)
    items: list[Item] = []
    for message in messages:
        match message.role:
            case "user":
                items += _user_items(message)
            case "assistant":
                items += _assistant_items(message, ids, thoughts=thoughts)
            case "tool":
                items += [_result_item(result, ids) for result in message.tool_results]
    return items


def _user_items(message: Message) -> list[Item]:
    parts: list[Item] = []
    for block in message.blocks:
        if isinstance(block, Text) and block.text.strip():
            parts.append({"type": "input_text", "text": mended(block.text)})
        elif isinstance(block, Image):
            parts.append(_image_part(block))
    return [{"type": "message", "role": "user", "content": parts}] if parts else []


def _assistant_items(message: Message, ids: CallIds, *, thoughts: bool) -> list[Item]:
    """The items of the answer as they came.

    The API checks pairs by id: "reasoning was provided without its required following item", "message was
    provided without its required reasoning item". So ids go back only where all reasoning does, and reasoning
    only where something follows it: not in an answer that was cut. A custom call, which nobody offered, goes
    back as a call of a function, without the id of its kind.
    """
    reasoned = [fields for block in message.blocks if (fields := _reasoning_fields(block)) is not None]
    custom = any((own("responses", use.opaque) or {}).get("custom") for use in message.tool_uses)
    whole = message.stop_reason not in _CUT and not custom
    paired = thoughts and whole and all(map(_is_self_contained, reasoned))
    items: list[Item] = []
    head: JsonObject = {}
    for block in message.blocks:
        match block:
            case Reasoning():
                fields = own("responses", block.opaque) or {}
                if fields.get("type") == "message":
                    head = fields
                elif fields and paired:
                    items.append(dict(fields))
            case Text(text) if text.strip():
                items.append(_message_item(text, head, paired=paired))
                head = {}
            case ToolUse():
                items.append(_call_item(block, ids, paired=paired))
            case _:
                pass
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


def _reasoning_fields(block: object) -> JsonObject | None:
    fields = own("responses", block.opaque) if isinstance(block, Reasoning) else None
    return fields if fields is not None and fields.get("type") == "reasoning" else None


def _is_self_contained(fields: JsonObject) -> bool:
    """Whether a reasoning item can stand without the provider's memory of it, which is off."""
    return bool(fields.get("encrypted_content") or fields.get("content"))


def _message_item(text: str, head: JsonObject, *, paired: bool) -> Item:
    """The plain form that every server takes, or the item itself where its id or phase has to go back."""
    phase = {"phase": head["phase"]} if head.get("phase") else {}
    if not paired or not head.get("id"):
        return {"type": "message", "role": "assistant", "content": mended(text), **phase}
    part = {"type": "output_text", "text": mended(text), "annotations": []}
    return {
        "type": "message",
        "id": head["id"],
        "role": "assistant",
        "status": "completed",
        "content": [part],
        **phase,
    }


def _call_item(use: ToolUse, ids: CallIds, *, paired: bool) -> Item:
    arguments = {} if use.broken is not None else mended_object(use.input)
    item = {
        "type": "function_call",
        "call_id": ids.of_call(use.id),
        "name": _NOT_IN_A_NAME.sub("_", use.name[:_LONGEST_NAME]) or _NO_NAME,
        "arguments": json.dumps(arguments, ensure_ascii=False),
    }
    fields = own("responses", use.opaque) or {}
    return {**item, "id": fields["id"]} if paired and fields.get("id") else item


def _result_item(result: ToolResult, ids: CallIds) -> Item:
    """`output` is text, or a list of parts where there are pictures."""
    output: str | list[Item] = mended(result.content)
    if result.images:
        words = [{"type": "input_text", "text": output}] if result.content.strip() else []
        output = [*words, *(_image_part(image) for image in result.images)]
    return {
        "type": "function_call_output",
        "call_id": ids.of_result(result.tool_use_id),
        "output": output,
    }


def _image_part(image: Image) -> Item:
    return {"type": "input_image", "image_url": image.url, "detail": image.detail}
