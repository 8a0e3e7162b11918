"""Owns what a model is told of a server's tools: names that fit, bounded words, schemas that can be checked.

Refuses to believe a server: annotations approve nothing, and every tool counts as one that writes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from agent_tui_core.text import safe_text
from agent_tui_core.tools.mcp_values import ListedTool

PREFIX: Final = "mcp__"
MOST_TOOLS: Final = 256
"""Of one server; no model works with more, and each request would carry them."""
LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 2_000
LARGEST_SCHEMA: Final = 30_000
"""Characters of JSON."""

_LONGEST_FOREIGN_NAME = 200
_SAID = ("name", "title", "description", "inputSchema", "annotations")
"""What of a tool a model or a person may come to read: a change of these is a change of the tool."""
_MOST_PLACES = 5_000
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_TAG = 9
"""Characters of an underscore and a hash."""
_ANY_OBJECT: Mapping[str, Any] = {"type": "object"}


def server_of(name: str) -> str | None:
    """The server that a tool of this name belongs to; None when it is no server's."""
    if not name.startswith(PREFIX):
        return None
    server, separator, tool = name.removeprefix(PREFIX).partition("__")
    return server if separator and tool else None


def listed(raw: Iterable[Mapping[str, Any]]) -> tuple[tuple[ListedTool, ...], int]:
    """Make bounded values of a server's list (wire names of the protocol); and count what was left out."""
    found: dict[str, ListedTool] = {}
    left_out = 0
    for one in raw:
        name = one["name"]
        if not 0 < len(name) <= _LONGEST_FOREIGN_NAME or name in found or len(found) >= MOST_TOOLS:
            left_out += 1
            continue
        schema = one.get("inputSchema")
        said = json.dumps({key: one.get(key) for key in _SAID}, sort_keys=True, default=str)
        found[name] = ListedTool(
            name,
            _described(one),
            _usable(schema) if isinstance(schema, Mapping) else _ANY_OBJECT,
            hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest(),
            as_task=(one.get("execution") or {}).get("taskSupport") == "required",
        )
    return tuple(found.values()), left_out


def named(server: str, tools: Sequence[ListedTool]) -> dict[str, ListedTool]:
    """Give each tool the name that models and rules use: at most 64 of `A-Za-z0-9_-`, no two alike.

    A name that fits is kept; of those that had to be changed, one that is taken gets a hash of its own.
    """
    names: dict[str, ListedTool] = {}
    ordered = sorted(
        tools, key=lambda tool: (_fitting(server, tool.name) != _plain(server, tool.name), tool.name)
    )
    for tool in ordered:
        name = _fitting(server, tool.name)
        if name in names:
            name = f"{name[: LONGEST_NAME - _TAG]}_{_tag(tool.name)}"
        names.setdefault(name, tool)
    return names


def _fitting(server: str, tool: str) -> str:
    name = _plain(server, _UNFIT.sub("_", tool))
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - _TAG]}_{_tag(tool)}"


def _plain(server: str, tool: str) -> str:
    return f"{PREFIX}{server}__{tool}"


def _tag(tool: str) -> str:
    return hashlib.sha256(tool.encode(errors="surrogatepass")).hexdigest()[: _TAG - 1]


def _described(one: Mapping[str, Any]) -> str:
    words = safe_text(one.get("description") or one.get("title") or one["name"]).strip()
    return words if len(words) <= LONGEST_DESCRIPTION else f"{words[: LONGEST_DESCRIPTION - 1]}…"


# --- schemas ------------------------------------------------------------------------------------------------


def _usable(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema, if checking an input against it is sure to end soon; else that of any object.

    The server checks its input itself; what is checked here is for the model's sake.
    """
    try:
        text = json.dumps(schema)
    except (ValueError, RecursionError):
        return _ANY_OBJECT
    if len(text) > LARGEST_SCHEMA or schema.get("type") != "object":
        return _ANY_OBJECT
    try:
        if _Places(schema).count(schema, ()) > _MOST_PLACES:
            return _ANY_OBJECT
        checked: Mapping[str, Any] = without_patterns(schema)
    except RecursionError:
        return _ANY_OBJECT
    return checked


def without_patterns(value: Any, *, names: bool = False) -> Any:
    """Return a schema without its regular expressions: a foreign one can take for ever.

    `names` says that the keys of `value` are names, as in `properties`.
    """
    if isinstance(value, list):
        return [without_patterns(one) for one in value]
    if not isinstance(value, dict):
        return value
    if names:
        return {key: without_patterns(one) for key, one in value.items()}
    dropped = {"pattern", "patternProperties"}
    if "patternProperties" in value:
        dropped |= {"additionalProperties", "unevaluatedProperties"}
    return {
        key: one
        if key in {"default", "const", "enum", "examples"}
        else without_patterns(one, names=key in {"properties", "$defs", "definitions", "dependentSchemas"})
        for key, one in value.items()
        if key not in dropped
    }


class _Places:
    """Counts the places of a schema with its references written out: a few lines can stand for millions."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._known: dict[str, int] = {}

    def count(self, value: Any, inside: tuple[str, ...]) -> int:
        if isinstance(value, list):
            return 1 + sum(self.count(one, inside) for one in value)
        if not isinstance(value, Mapping):
            return 1
        total = 1
        for key, one in value.items():
            if key in {"$ref", "$dynamicRef"} and isinstance(one, str):
                total += self._referred(one, inside)
            else:
                total += self.count(one, inside)
        return total

    def _referred(self, reference: str, inside: tuple[str, ...]) -> int:
        if reference in inside:
            return 1
        if reference not in self._known:
            target: Any = self._root
            for part in reference.removeprefix("#").split("/")[1:]:
                target = target.get(part) if isinstance(target, Mapping) else None
            self._known[reference] = min(self.count(target, (*inside, reference)), 2 * _MOST_PLACES)
        return self._known[reference]
