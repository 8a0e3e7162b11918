"""Owns the JSON text of tool arguments: whole, cut or wrong; refuses to guess at what would run.

`partial_object` reads a cut object for a preview; `parse_arguments` alone says what a call means.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from agent_tui_core.wire.json_text import too_deep
from agent_tui_core.wire.surrogates import DEEPEST, mended, mended_object

MOST_OBJECTS = 64
"""Objects in the arguments of one call: each is a call of its own."""

_SPACE = re.compile(r"[ \t\n\r]*")
_ATOM = re.compile(r"(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?=[ \t\n\r,\]}])")
_READABLE = re.compile(r'(?:[^"\\]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
_LAST_HALF = re.compile(r"[\ud800-\udbff]\Z")
_SPELT_HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_MOST_DIGITS = 400
_NOTHING = object()


def parse_arguments(raw: str) -> tuple[list[dict[str, Any]], str | None]:
    """Return the objects that the raw arguments of one call mean, or no object and why they are broken.

    Empty, white space and `null` mean `{}`; a leading `{}` before more is dropped; equal objects count once.
    Small models are met half-way: a string that holds one whole object is decoded once, and control
    characters stand for themselves in strings.
    """
    text = raw.strip(" \t\n\r")
    if text in {"", "null"}:
        return [{}], None
    try:
        objects = [_encoded_twice(text)] if text.startswith('"') else _objects(text)
    except (ValueError, RecursionError) as error:
        return [], f"the arguments cannot be used: {error}"
    while len(objects) > 1 and not objects[0]:
        del objects[0]
    distinct: dict[str, dict[str, Any]] = {}
    for value in objects:
        distinct.setdefault(json.dumps(value, sort_keys=True), value)
    return list(distinct.values()), None


def partial_object(raw: str) -> dict[str, Any]:
    """Return what can be read of a JSON object that may be cut anywhere; never raises.

    A string that is cut is there as far as it came; a key, number or word that is cut is not. Nothing
    readable is `{}`. Of an object that was encoded twice, what its string holds is read.
    """
    at = _skip(raw, 0)
    if raw.startswith('"', at):
        raw, _ = _Reader(raw).string_from(at)
    value, end = _Reader(raw).object_from(_skip(raw, 0))
    if not value and end is not None and raw.startswith("{", _skip(raw, end)):
        value, _ = _Reader(raw).object_from(_skip(raw, end))
    return value


def _encoded_twice(text: str) -> dict[str, Any]:
    """Return the one whole object that a JSON string holds."""
    inner: str = json.loads(text, strict=False)
    objects = _objects(inner.strip(" \t\n\r")) if inner.lstrip(" \t\n\r").startswith("{") else []
    if len(objects) != 1:
        raise ValueError("they are a string, not an object")
    return objects[0]


def _objects(text: str) -> list[dict[str, Any]]:
    if too_deep(text, DEEPEST):
        raise ValueError(f"they are nested more than {DEEPEST} levels deep")
    decoder = json.JSONDecoder(
        strict=False,
        object_pairs_hook=_without_duplicates,
        parse_constant=_no_constant,
        parse_float=_finite,
        parse_int=_int,
    )
    found: list[dict[str, Any]] = []
    at = 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        if not isinstance(value, dict):
            raise ValueError(f"they are a {_KINDS.get(type(value), 'value')}, not an object")
        found.append(value)
        if len(found) > MOST_OBJECTS:
            raise ValueError(f"more than {MOST_OBJECTS} objects")
        at = _skip(text, at)
    if _SPELT_HALF.search(text):
        return [mended_object(value) for value in found]
    return found


_KINDS = {list: "list", str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, inner in pairs:
        if name in value:
            raise ValueError(f"the key {mended(name)!r} is there twice")
        value[name] = inner
    return value


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is out of range")
    return number


def _int(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("a number is out of range")
    return int(digits)


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


class _Reader:
    """Reads values as far as they go; the end of a value is None where the text is cut or wrong."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0

    def object_from(self, at: int) -> tuple[dict[str, Any], int | None]:
        text, value = self._text, dict[str, Any]()
        if not text.startswith("{", at) or self._depth >= DEEPEST:
            return value, None
        self._depth += 1
        at = _skip(text, at + 1)
        if text.startswith("}", at):
            self._depth -= 1
            return value, at + 1
        while text.startswith('"', at):
            key, end = self.string_from(at)
            colon = None if end is None else _skip(text, end)
            if colon is None or not text.startswith(":", colon):
                return value, None
            inner, end = self._value_from(_skip(text, colon + 1))
            if inner is not _NOTHING:
                value[key] = inner
            end = None if end is None else _skip(text, end)
            if end is None:
                return value, None
            if text.startswith("}", end):
                self._depth -= 1
                return value, end + 1
            if not text.startswith(",", end):
                return value, None
            at = _skip(text, end + 1)
        return value, None

    def _list_from(self, at: int) -> tuple[list[Any], int | None]:
        text, value = self._text, list[Any]()
        if self._depth >= DEEPEST:
            return value, None
        self._depth += 1
        at = _skip(text, at + 1)
        if text.startswith("]", at):
            self._depth -= 1
            return value, at + 1
        while True:
            inner, end = self._value_from(at)
            if inner is not _NOTHING:
                value.append(inner)
            end = None if end is None else _skip(text, end)
            if end is None:
                return value, None
            if text.startswith("]", end):
                self._depth -= 1
                return value, end + 1
            if not text.startswith(",", end):
                return value, None
            at = _skip(text, end + 1)

    def _value_from(self, at: int) -> tuple[Any, int | None]:
        first = self._text[at : at + 1]
        if first == '"':
            return self.string_from(at)
        if first == "{":
            return self.object_from(at)
        if first == "[":
            return self._list_from(at)
        atom = _ATOM.match(self._text, at)
        if atom is None or len(atom[0]) > _MOST_DIGITS:
            return _NOTHING, None
        return json.loads(atom[0]), atom.end()

    def string_from(self, at: int) -> tuple[str, int | None]:
        """Read the string whose opening quote is at `at`."""
        text = self._text
        body = _READABLE.match(text, at + 1)
        end = body.end() if body else at + 1
        string: str = json.loads(f'"{text[at + 1 : end]}"', strict=False)
        if text.startswith('"', end):
            return mended(string), end + 1
        return mended(_LAST_HALF.sub("", string)), None
