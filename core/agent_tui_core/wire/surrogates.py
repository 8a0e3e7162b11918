"""Owns the halves of characters that JSON can spell and UTF-8 cannot; refuses to let one into text.

A server that cuts its text by UTF-16 units sends a pair as two deltas: `HalfKeeper` joins them again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from agent_tui_core.blocks import Json, JsonObject

DEEPEST = 64
"""Levels of nesting that foreign JSON may have; nothing sane comes near, and every walk stays shallow."""

_HALF = re.compile(r"[\ud800-\udfff]")
_ESCAPED_HALF = re.compile(r"\\ud[89a-f]")


def mended(text: str) -> str:
    """Return the text with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def mended_json(value: Json, *, levels: int = DEEPEST) -> Json:
    """Return a JSON value in which every string and key is mended; what is nested too deep becomes null."""
    if isinstance(value, str):
        return mended(value)
    if isinstance(value, Mapping | list | tuple) and not levels:
        return None
    if isinstance(value, Mapping):
        return mended_object(value, levels=levels)
    if isinstance(value, Sequence):
        return [mended_json(inner, levels=levels - 1) for inner in value]
    return value


def mended_object(value: JsonObject, *, levels: int = DEEPEST) -> dict[str, Json]:
    """Return a JSON object, mended as `mended_json` does it; what needs nothing is not made anew."""
    if levels == DEEPEST and _is_sound(value):
        return dict(value)
    return {mended(key): mended_json(inner, levels=levels - 1) for key, inner in value.items()}


_SOUND: Final[dict[int, JsonObject]] = {}
"""Schemas in which there is nothing to mend, by identity, which they keep as long as they stand here."""
_MOST_SOUND: Final = 500


def mended_schema(schema: JsonObject) -> JsonObject:
    """`mended_object` of what goes out with every request: looked over once, if nobody changes it."""
    if _SOUND.get(id(schema)) is schema:
        return schema
    if not _is_sound(schema):
        return mended_object(schema)
    if len(_SOUND) >= _MOST_SOUND:
        _SOUND.clear()
    _SOUND[id(schema)] = schema
    return schema


def _is_sound(value: JsonObject) -> bool:
    """Whether there can be nothing to mend: C looks over a tool's schema in a tenth of the time."""
    try:
        spelled = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return spelled.count("{") + spelled.count("[") <= DEEPEST and not _ESCAPED_HALF.search(spelled)


class HalfKeeper:
    """Mends a text that comes in pieces: a first half at the end of a piece waits for the next one."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """Return what is whole now."""
        if piece.isascii() and not self._half:
            return piece
        piece, self._half = self._half + piece, ""
        if "\ud800" <= piece[-1:] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return mended(piece)

    def close(self) -> str:
        """Return what stands for a half whose other half never came."""
        half, self._half = self._half, ""
        return "\ufffd" if half else ""
