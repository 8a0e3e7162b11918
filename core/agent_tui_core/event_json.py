"""Owns how an event is written as JSON; refuses to read it back: what is kept, history keeps as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from agent_tui_core.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.events import Event

_BLOCKS = (Text, Reasoning, ToolUse, ToolResult, Image)


def event_to_json(event: Event) -> dict[str, Any]:
    """Return the event as one flat JSON object; `type` is the name of the body's class."""
    head = {
        "type": type(event.body).__name__,
        "agent_id": event.agent_id,
        "run_id": event.run_id,
        "seq": event.seq,
        "at": event.at,
    }
    return head | {field.name: plain(getattr(event.body, field.name)) for field in fields(event.body)}


def plain(value: Any) -> Any:
    """Return a value, a message or a block as plain dicts and lists; blocks say their `type`."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        return {"type": type(value).__name__} | named if isinstance(value, _BLOCKS) else named
    return value
