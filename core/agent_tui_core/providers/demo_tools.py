"""Owns what the demo model does with tools that are not ours: a prompt that names one makes it call it.

Refuses to understand: arguments are the numbers and words of the prompt, put where the schema wants such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.providers.demo_script import Call, Input, Speech, WireMessage, quote

_SCRIPTED = frozenset({"Bash", "Read", "Write", "Edit", "Glob", "Grep"})
"""Tools of our own: the scenarios call them."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|`([^`]+)`')


def call_of_named_tool(messages: Sequence[WireMessage], tools: Mapping[str, JsonObject]) -> Speech | None:
    """Return a call of each of the tools that the last prompt names; None when it names none."""
    if not messages or messages[-1].role != "user":
        return None
    prompt = messages[-1].text
    named = [name for name in tools if name not in _SCRIPTED and _names(prompt, name)]
    if not named:
        return None
    words = f"I am the demo model: a script. You named {' and '.join(named)}, so I call what you named."
    return Speech(words, calls=tuple(Call(name, _input(prompt, tools[name])) for name in named))


def _names(prompt: str, tool: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", prompt) is not None


def _input(prompt: str, schema: JsonObject) -> Input:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    numbers = iter(_NUMBER.findall(prompt))
    words = iter([next(filter(None, found)) for found in _QUOTED.findall(prompt)])
    needed = schema.get("required")
    wanted = [str(name) for name in needed] if isinstance(needed, list) else list(properties)
    return {name: _value(properties.get(name), numbers, words, prompt) for name in wanted}


def _value(schema: Json, numbers: Iterator[str], words: Iterator[str], prompt: str) -> str | int | bool:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if kind in {"number", "integer"}:
        return round(float(next(numbers, "0")))
    if kind == "boolean":
        return True
    return next(words, quote(prompt))
