"""Owns what the fields of a form are, and whether what a person wrote fits: a flat JSON Schema, in words.

Refuses to draw. A schema is foreign: what is odd in it makes a field that takes JSON, never an error.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.records import dataclass

FieldKind: TypeAlias = Literal["text", "integer", "number", "flag", "choice", "json"]
MOST_FIELDS: Final = 100
_MOST_CHOICES: Final = 1_000
_YES_NO: Final = ("yes", "no")
_FORMATS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "email": (re.compile(r"[^@\s]+@[^@\s]+"), "an address such as ada@example.org"),
    "uri": (re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+"), "an address such as https://example.org"),
    "date": (re.compile(r"\d{4}-\d\d-\d\d"), "a date such as 2026-01-31"),
    "date-time": (
        re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?"),
        "a time such as 2026-01-31T12:00:00Z",
    ),
}


_WHOLE = re.compile(r"[+-]?\d{1,300}")


class Unfit(ValueError):
    """What was written does not fit; the words say what would."""


@dataclass(frozen=True, slots=True)
class FormField:
    """One thing to fill in. Its texts are foreign."""

    key: str
    kind: FieldKind
    title: str
    hint: str = ""
    required: bool = False
    start: str = ""
    """What stands in it at first, written as a person would."""
    choices: tuple[tuple[str, Json], ...] = ()
    """Words and value of each, for flags and choices."""
    least: float | None = None
    """Of a number, or of the characters of a text."""
    most: float | None = None
    form: str = ""
    """"email", "uri", "date" or "date-time"."""

    @property
    def words(self) -> tuple[str, ...]:
        """What can be chosen."""
        return tuple(words for words, _ in self.choices)

    def read(self, written: str) -> Json:
        """The value that was meant; raises `Unfit` in words for the person."""
        match self.kind:
            case "flag" | "choice":
                return next((value for words, value in self.choices if words == written), None)
            case "integer" | "number":
                return self._number(written.strip())
            case "json":
                return _json(written)
            case "text":
                return self._text(written)

    def _number(self, written: str) -> int | float:
        meant = "a whole number" if self.kind == "integer" else "a number"
        try:
            value: int | float = int(written) if _WHOLE.fullmatch(written) else float(written)
        except ValueError:
            raise Unfit(meant) from None
        if (
            "_" in written
            or not math.isfinite(value)
            or (self.kind == "integer" and isinstance(value, float))
        ):
            raise Unfit(meant)
        if self.least is not None and value < self.least:
            raise Unfit(f"at least {self.least:g}")
        if self.most is not None and value > self.most:
            raise Unfit(f"at most {self.most:g}")
        return value

    def _text(self, written: str) -> str:
        if self.least is not None and len(written) < self.least:
            raise Unfit(f"at least {self.least:g} characters")
        if self.most is not None and len(written) > self.most:
            raise Unfit(f"at most {self.most:g} characters")
        if self.form and not _FORMATS[self.form][0].fullmatch(written):
            raise Unfit(_FORMATS[self.form][1])
        return written


def fields_of(schema: JsonObject) -> tuple[FormField, ...]:
    """The fields of a flat schema of an object, in its order."""
    properties = schema.get("properties")
    required = schema.get("required")
    names = (
        {name for name in required if isinstance(name, str)} if isinstance(required, list | tuple) else set()
    )
    if not isinstance(properties, Mapping):
        return ()
    listed = list(properties.items())[:MOST_FIELDS]
    return tuple(
        _field(str(key), part if isinstance(part, Mapping) else {}, required=key in names)
        for key, part in listed
    )


def filled(fields: Sequence[FormField], written: Mapping[str, str]) -> tuple[JsonObject, dict[str, str]]:
    """The object that was filled in, and for each field that does not fit: what would."""
    content: dict[str, Json] = {}
    wrong: dict[str, str] = {}
    for field in fields:
        text = written.get(field.key, "")
        if not text.strip():
            if field.required and not (field.kind == "text" and _takes_nothing(field)):
                wrong[field.key] = "it has to be filled in"
            elif field.required:
                content[field.key] = text
            continue
        try:
            content[field.key] = field.read(text)
        except Unfit as unfit:
            wrong[field.key] = f"it takes {unfit}"
    return content, wrong


def _takes_nothing(field: FormField) -> bool:
    return field.least == 0


def _field(key: str, schema: JsonObject, *, required: bool) -> FormField:
    title, hint, default = _text(schema, "title") or key, _text(schema, "description"), schema.get("default")
    kind = schema.get("type")
    choices = _choices(schema)
    if choices:
        start = next((words for words, value in choices if value == default), "")
        return FormField(key, "choice", title, hint, required, start, choices)
    if kind == "boolean":
        flags: tuple[tuple[str, Json], ...] = ((_YES_NO[0], True), (_YES_NO[1], False))
        start = "" if not isinstance(default, bool) else _YES_NO[0 if default else 1]
        return FormField(key, "flag", title, hint, required, start, flags)
    if kind == "integer" or kind == "number":
        start = str(default) if isinstance(default, int | float) and not isinstance(default, bool) else ""
        least, most = _limit(schema, "minimum"), _limit(schema, "maximum")
        number: FieldKind = "integer" if kind == "integer" else "number"
        return FormField(key, number, title, hint, required, start, least=least, most=most)
    if kind == "string":
        form = _text(schema, "format")
        least, most = _limit(schema, "minLength"), _limit(schema, "maxLength")
        start = default if isinstance(default, str) else ""
        known = form if form in _FORMATS else ""
        return FormField(key, "text", title, hint, required, start, (), least, most, known)
    start = "" if default is None else json.dumps(default, ensure_ascii=True)
    return FormField(key, "json", title, hint, required, start)


def _choices(schema: JsonObject) -> tuple[tuple[str, Json], ...]:
    """`enum` (with `enumNames`), or `oneOf`/`anyOf` of constants with titles."""
    values = schema.get("enum")
    if isinstance(values, list | tuple):
        names = schema.get("enumNames")
        named = names if isinstance(names, list | tuple) and len(names) == len(values) else values
        found = [(_words(name), value) for name, value in zip(named, values, strict=True)]
    else:
        variants = schema.get("oneOf") or schema.get("anyOf")
        if not isinstance(variants, list | tuple):
            return ()
        constants = [each for each in variants if isinstance(each, Mapping) and "const" in each]
        if len(constants) != len(variants):
            return ()
        found = [(_words(each.get("title") or each["const"]), each["const"]) for each in constants]
    return tuple(_told_apart(found[:_MOST_CHOICES]))


def _told_apart(found: Sequence[tuple[str, Json]]) -> list[tuple[str, Json]]:
    """Two values never bear the same words."""
    seen: set[str] = set()
    kept: list[tuple[str, Json]] = []
    for words, value in found:
        said = words if words.strip() and words not in seen else f"{words} ({len(kept) + 1})"
        seen.add(said)
        kept.append((said, value))
    return kept


def _words(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=True, default=str)


def _json(written: str) -> Json:
    try:
        value: Json = json.loads(written, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Unfit('JSON, for example ["a", "b"]') from None
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _text(schema: JsonObject, key: str) -> str:
    value = schema.get(key)
    return value if isinstance(value, str) else ""


def _limit(schema: JsonObject, key: str) -> float | None:
    value = schema.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
