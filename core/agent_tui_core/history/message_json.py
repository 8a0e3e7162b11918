"""Owns messages as JSON for whoever keeps them elsewhere: written whole, read back as they were.

Refuses what is no message, with words that name the place. The form is the one of `agent-tui run --json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from agent_tui_core.event_json import plain
from agent_tui_core.history.values import Fields, message_of
from agent_tui_core.messages import Message, new_id

_LEFT_OUT: Final[dict[str, dict[str, object]]] = {
    "Reasoning": {"opaque": {}},
    "ToolUse": {"broken": None, "raw": "", "opaque": {}},
    "ToolResult": {"is_error": False, "images": []},
    "Image": {"detail": "auto"},
}
"""What may be missing from a block that was written by hand."""
_USAGE: Final = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")


def message_to_json(message: Message) -> dict[str, Any]:
    """The message as a JSON object of plain dicts and lists: `role`, `blocks`, `stop_reason`, `usage`, `id`.

    Each block has its fields and `type`, the name of its class. Changing the object changes no message.
    """
    form = plain(message)
    assert isinstance(form, dict)
    return form


def message_from_json(value: Mapping[str, Any] | str | bytes) -> Message:
    """The message that `message_to_json` wrote, or its JSON text. Raises ValueError for anything else.

    Written by hand, `role` and `blocks` are enough; without an `id` it gets a new one.
    """
    if isinstance(value, str | bytes):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not a message: this is no JSON: {error}") from error
    if not isinstance(value, Mapping):
        raise ValueError(f"not a message: should be a JSON object, not {type(value).__name__}")
    form: dict[str, Any] = {"stop_reason": None, "usage": None, "id": new_id(), **plain(value)}
    if isinstance(form["usage"], dict):
        form["usage"] = dict.fromkeys(_USAGE) | form["usage"]
    if isinstance(form.get("blocks"), list):
        form["blocks"] = [_whole_block(block) for block in form["blocks"]]
    return message_of(Fields("message", form, _refused))


def _whole_block(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    whole: dict[str, Any] = _LEFT_OUT.get(str(block.get("type")), {}) | block
    if isinstance(images := whole.get("images"), list):
        whole["images"] = [_LEFT_OUT["Image"] | each if isinstance(each, dict) else each for each in images]
    return whole


def _refused(where: str, name: str) -> ValueError:
    place = ".".join(part.strip() for part in (*where.split(",")[1:], name))
    return ValueError(f"not a message: {place} is missing or not what it should be")
