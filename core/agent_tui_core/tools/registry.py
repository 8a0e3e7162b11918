"""Owns the set of tools an agent has: by name, as the model is told, and whether an input fits.

Refuses to run a tool and to decide whether it may run.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from agent_tui_core.blocks import JsonObject
from agent_tui_core.messages import ToolSpec
from agent_tui_core.tools.base import Tool
from agent_tui_core.tools.files import EDIT, READ, WRITE
from agent_tui_core.tools.functions import tool
from agent_tui_core.tools.search import GLOB, GREP
from agent_tui_core.tools.shell import BASH

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

__all__ = ["ToolRegistry", "ToolSource", "builtin_tools", "tool"]

_PROBLEMS_TOLD = 5
_VALUE_WIDTH = 80


def builtin_tools() -> tuple[Tool, ...]:
    """Return Bash, Read, Write, Edit, Glob and Grep."""
    return (BASH, READ, WRITE, EDIT, GLOB, GREP)


def warm_up() -> None:
    """Import what the first check of an input needs; for a thread, so that no loop waits for it."""
    import jsonschema
    import referencing

    assert jsonschema.Draft202012Validator is not None
    assert referencing.Registry is not None


def is_warm() -> bool:
    """Whether `warm_up` has nothing to do any more."""
    return {"jsonschema", "referencing"} <= sys.modules.keys()


Tell: TypeAlias = Callable[[Literal["info", "warning"], str], None]
"""Says something in an agent's pane."""


class ToolSource(Protocol):
    """Tools that come and go while an agent lives."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What there is now; the very same tuple as long as nothing changed."""
        ...

    async def ready(self, tell: Tell) -> None:
        """Get ready for a request; at once when nothing has to be done."""
        ...


class ToolRegistry:
    """The tools of one agent. Raises ValueError when two that are given have the same name."""

    def __init__(self, tools: Iterable[Tool] = (), sources: Sequence[ToolSource] = ()) -> None:
        """Of a source, a tool whose name is taken is left out."""
        self._given: dict[str, Tool] = {}
        self._validators: dict[str, Validator] = {}
        for one in tools:
            if one.name in self._given:
                raise ValueError(f"two tools are named {one.name!r}")
            self._given[one.name] = one
        self._sources = tuple(sources)
        self._seen: list[tuple[Tool, ...]] = []
        self._all = self._given
        self._specs: tuple[ToolSpec, ...] | None = None
        self._characters: int | None = None

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order the tools were given."""
        return tuple(self._tools)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told; the very same tuple as long as nothing changed."""
        tools = self._tools
        if self._specs is None:
            self._specs, self._characters = tuple(one.spec for one in tools.values()), None
        return self._specs

    @property
    def characters(self) -> int:
        """About how long all that is when it is sent."""
        specs = self.specs
        if self._characters is None:
            self._characters = sum(len(str(spec)) for spec in specs)
        return self._characters

    def get(self, name: str) -> Tool | None:
        """Return the tool of exactly this name."""
        return self._tools.get(name)

    async def ready(self, tell: Tell) -> None:
        """Let the sources get ready for a request, at the same time."""
        if len(self._sources) == 1:
            await self._sources[0].ready(tell)
        elif self._sources:
            async with asyncio.TaskGroup() as group:
                for source in self._sources:
                    group.create_task(source.ready(tell))

    @property
    def _tools(self) -> dict[str, Tool]:
        found = [source.tools for source in self._sources]
        if len(found) != len(self._seen) or any(a is not b for a, b in zip(found, self._seen, strict=True)):
            self._seen, self._specs = found, None
            self._all = dict(self._given)
            for tools in found:
                for one in tools:
                    self._all.setdefault(one.name, one)
            self._validators = {name: one for name, one in self._validators.items() if name in self._all}
        return self._all

    def unknown(self, name: str) -> str:
        """Return what a model is told that called a tool which is not there."""
        from difflib import get_close_matches

        by_lower = {known.lower(): known for known in self._tools}
        close = [by_lower[match] for match in get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)]
        if close:
            return f"there is no tool {_shown(name)}; did you mean {' or '.join(close)}?"
        return f"there is no tool {_shown(name)}; the tools are: {', '.join(self._tools) or 'none'}"

    def check(self, tool: Tool, input: JsonObject) -> str | None:
        """Return why the input does not fit the tool's schema, in words for the model; None when it fits."""
        from jsonschema.exceptions import SchemaError
        from referencing.exceptions import Unresolvable

        try:
            errors = sorted(
                self._validator(tool).iter_errors(_plain(input)), key=lambda one: list(map(str, one.path))
            )
        except (SchemaError, Unresolvable, RecursionError) as error:
            return f"the schema of {tool.name} is broken, so it cannot be called: {str(error)[:300]}"
        if not errors:
            return None
        told: list[str] = []
        for problem in errors[:_PROBLEMS_TOLD]:
            told += _in_words(problem)
        more = len(errors) - _PROBLEMS_TOLD
        lines = [f"- {line}" for line in dict.fromkeys(told)] + ([f"- and {more} more"] if more > 0 else [])
        return "\n".join(
            [f"The input does not fit {tool.name}, which was not run:", *lines, _keys(tool.input_schema)]
        )

    def _validator(self, tool: Tool) -> Validator:
        validator = self._validators.get(tool.name)
        if validator is None or validator.schema is not tool.input_schema:
            from jsonschema import Draft202012Validator
            from referencing import Registry

            Draft202012Validator.check_schema(_plain(tool.input_schema))
            # An empty registry of its own: the default one fetches foreign `$ref`s from the network.
            empty: Registry[Any] = Registry()
            validator = Draft202012Validator(tool.input_schema, registry=empty)
            self._validators[tool.name] = validator
        return validator


def _in_words(error: ValidationError) -> list[str]:
    """One problem, or one for each key that is missing or too many."""
    where = _place(error)
    schema: Any = error.schema
    instance: Any = error.instance
    properties: Mapping[str, Any] = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    match error.validator:
        case "required":
            missing = [key for key in schema["required"] if key not in instance]
            return [
                f"the key {where}{key} is missing: {_expected(properties.get(key, {}))}" for key in missing
            ]
        case "additionalProperties" if properties:
            unknown = [key for key in instance if key not in properties]
            told = [
                f"there is no key {where}{_cut(key)}{_meant(key, properties)}"
                for key in unknown[:_PROBLEMS_TOLD]
            ]
            more = len(unknown) - len(told)
            return told + ([f"there are no {more:,} other keys either"] if more > 0 else [])
        case "type" | "anyOf" | "oneOf" | "enum" | "const":
            found = f"{_kind(instance)} {_shown(instance)}"
            return [f"{_named(where)} should be {_expected(schema)}, not {found}"]
        case "maxLength":
            return [
                f"{_named(where)} has {len(instance):,} characters, and {error.validator_value:,} are allowed"
            ]
        case _:
            return [f"{_named(where)}: {error.message[:200]}"]


def _place(error: ValidationError) -> str:
    return "".join(f"{part}." for part in error.absolute_path)


def _named(where: str) -> str:
    return where.rstrip(".") or "the input"


def _meant(key: str, properties: Mapping[str, Any]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key, properties, n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else ""


def _expected(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "a value"
    if "const" in schema or "enum" in schema:
        return "one of " + ", ".join(map(_shown, schema.get("enum", [schema.get("const")])))
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " or ".join(dict.fromkeys(_expected(one) for one in schema[union]))
    kinds = schema.get("type", "value")
    return kinds if isinstance(kinds, str) else " or ".join(map(str, kinds))


def _keys(schema: JsonObject) -> str:
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, Mapping) or not properties:
        return "It takes no keys."
    needed = required if isinstance(required, list | tuple) else ()
    words = (
        f"{key} ({_expected(one)}{', required' if key in needed else ''})" for key, one in properties.items()
    )
    return f"Its keys are: {', '.join(words)}."


def _kind(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "" if value is None else type(value).__name__)


def _shown(value: Any) -> str:
    import json

    return _cut(json.dumps(value, ensure_ascii=False, default=str))


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE_WIDTH else f"{text[: _VALUE_WIDTH - 1]}…"


def _plain(value: Any) -> Any:
    """Copy foreign mappings and sequences into the dicts and lists that a validator takes for such."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
