"""Owns the tags under which a protocol's own fields travel in blocks; refuses to show them to another one.

A conversation is one value, whoever answered it: `Reasoning.opaque` and `ToolUse.opaque` hold
`{"anthropic": {…}}` or `{"responses": {…}}`. The fields of chat completions have no tag: they came first, and
histories hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.wire.surrogates import mended_object

Tag: TypeAlias = Literal["anthropic", "responses"]

_TAGS: Final[frozenset[str]] = frozenset({"anthropic", "responses"})


def tagged(tag: Tag, fields: JsonObject) -> JsonObject:
    """Return the fields as a block carries them."""
    return {tag: mended_object(fields)}


def own(tag: Tag, opaque: JsonObject) -> JsonObject | None:
    """Return what this protocol put there; None when another one did, or none."""
    fields = opaque.get(tag)
    return fields if isinstance(fields, Mapping) else None


def untagged(opaque: JsonObject) -> dict[str, Json]:
    """Return the fields of chat completions."""
    return {key: value for key, value in opaque.items() if key not in _TAGS}


def is_tagged(opaque: JsonObject) -> bool:
    """Whether the fields belong to one block of the wire, which stands where they arrive."""
    return not _TAGS.isdisjoint(opaque)
