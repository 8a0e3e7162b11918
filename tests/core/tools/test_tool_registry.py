"""Owns the proof of the set of tools, the words of a refused input, and the decorator; refuses models."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from agent_tui_core.errors import ToolError
from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
from agent_tui_core.tools.files import EDIT
from agent_tui_core.tools.registry import Tell, ToolRegistry, builtin_tools, tool

ROOT = Path(__file__).parents[3]


def bare(name: str, schema: dict[str, Any] | None = None) -> Tool:
    return Tool(name, "", schema or {"type": "object"}, run=lambda given: given)


def test_the_builtin_tools_bear_the_names_and_keys_that_hooks_know() -> None:
    keys = {one.name: list(one.input_schema["properties"]) for one in builtin_tools()}  # type: ignore[arg-type]  # Json
    assert keys["Bash"] == ["command", "timeout", "description"]
    assert keys["Read"] == ["file_path", "offset", "limit"]
    assert keys["Write"] == ["file_path", "content"]
    assert keys["Edit"] == ["file_path", "old_string", "new_string", "replace_all"]
    assert keys["Glob"] == ["pattern", "path"]
    assert keys["Grep"][:3] == ["pattern", "path", "glob"]
    assert {one.name for one in builtin_tools() if one.writes} == {"Bash", "Write", "Edit"}


def test_tools_are_found_by_their_exact_name() -> None:
    tools = ToolRegistry(builtin_tools())
    assert tools.get("Read") is not None
    assert tools.get("read") is None
    assert tools.names == tuple(spec.name for spec in tools.specs)
    with pytest.raises(ValueError, match="two tools are named 'A'"):
        ToolRegistry([bare("A"), bare("A")])


def test_an_unknown_name_gets_the_nearest_ones() -> None:
    tools = ToolRegistry(builtin_tools())
    assert tools.unknown("read_file") == 'there is no tool "read_file"; did you mean Read?'
    assert "the tools are: Bash, Read, Write, Edit, Glob, Grep" in tools.unknown("browse")
    assert len(tools.unknown("x" * 10_000)) < 250


def test_an_input_that_fits_is_accepted_whatever_mapping_it_is() -> None:
    given = MappingProxyType({"file_path": "a", "old_string": "b", "new_string": "c"})
    assert ToolRegistry([EDIT]).check(EDIT, given) is None
    listing = bare("L", {"type": "object", "properties": {"all": {"type": "array"}}})
    assert ToolRegistry([listing]).check(listing, {"all": (1, 2)}) is None


def test_what_does_not_fit_is_told_key_by_key() -> None:
    said = ToolRegistry([EDIT]).check(
        EDIT, {"filepath": "a", "old_string": 12, "new_string": "c", "replace_all": "yes"}
    )
    assert said == (
        "The input does not fit Edit, which was not run:\n"
        "- the key file_path is missing: string\n"
        "- there is no key filepath; did you mean file_path?\n"
        "- old_string should be string, not integer 12\n"
        '- replace_all should be boolean, not string "yes"\n'
        "Its keys are: file_path (string, required), old_string (string, required), "
        "new_string (string, required), replace_all (boolean)."
    )


def test_the_words_stay_short_whatever_came_in() -> None:
    said = ToolRegistry([EDIT]).check(EDIT, {f"key{number}": "x" * 5_000 for number in range(500)})
    assert said is not None
    assert len(said) < 40_000
    said = ToolRegistry([EDIT]).check(EDIT, {"file_path": ["x" * 5_000]})
    assert said is not None
    assert len(said) < 1_000


def test_nested_places_and_unions_are_named() -> None:
    schema = {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            },
            "mode": {"enum": ["a", "b"]},
            "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
    }
    one = bare("N", schema)
    said = ToolRegistry([one]).check(one, {"items": [{"n": 1}, {"n": "2"}, {}], "mode": "c", "size": "big"})
    assert said is not None
    assert 'items.1.n should be integer, not string "2"' in said
    assert "the key items.2.n is missing: integer" in said
    assert 'mode should be one of "a", "b", not string "c"' in said
    assert 'size should be integer or null, not string "big"' in said


def test_a_broken_or_foreign_schema_neither_crashes_nor_reaches_the_network() -> None:
    for schema in ({"type": "objekt"}, {"$ref": "http://127.0.0.1:9/schema.json"}, {"$ref": "#/nowhere"}):
        one = bare("B", schema)
        said = ToolRegistry([one]).check(one, {"a": 1})
        assert said is not None
        assert said.startswith("the schema of B is broken")


class Source:
    """Tools that come and go."""

    def __init__(self, *names: str) -> None:
        self.tools = tuple(named(name) for name in names)
        self.told: list[str] = []

    async def ready(self, tell: Tell) -> None:
        tell("info", f"{len(self.tools)} tools")


def named(name: str) -> Tool:
    return Tool(name, f"Does {name}.", {"type": "object"}, str)


def test_tools_of_a_source_come_and_go_and_what_is_told_is_the_same_until_then() -> None:
    source = Source("one", "Read")
    tools = ToolRegistry(builtin_tools(), [source])
    before = tools.specs
    assert tools.specs is before
    assert tools.get("Read") in builtin_tools(), "a name that is taken stays with who has it"
    assert tools.names[-1] == "one"
    size = tools.characters
    source.tools = (named("two"), named("three"))
    assert tools.get("one") is None
    assert [spec.name for spec in tools.specs][-2:] == ["two", "three"]
    assert tools.characters > size
    assert "two" in tools.unknown("twoo")


async def test_every_source_gets_ready_before_a_request() -> None:
    told: list[str] = []
    for sources in ([], [Source("a")], [Source("a"), Source("b", "c")]):
        await ToolRegistry((), sources).ready(lambda _level, text: told.append(text))
    assert told == ["1 tools", "1 tools", "2 tools"]


def test_the_heavy_libraries_are_loaded_only_when_needed() -> None:
    script = (
        "import sys; from agent_tui_core.tools.registry import ToolRegistry, builtin_tools\n"
        "ToolRegistry(builtin_tools()).specs\n"
        "print([name for name in ('pydantic', 'jsonschema', 'pathspec', 'difflib') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(ROOT / "core")}, capture_output=True, text=True
    )
    assert done.stdout == "[]\n", done.stderr


# --- the decorator ------------------------------------------------------------------------------------------


@dataclass
class Point:
    x: int
    y: int = 0


class Answer(BaseModel):
    total: int


async def test_a_typed_function_becomes_a_tool(tmp_path: Path) -> None:
    @tool
    def add(a: int, b: float = 1.5, *, mode: Literal["exact", "rough"] = "exact") -> str:
        """Add two numbers.

        The result is text.

        Args:
            a: The first number,
                a whole one.
            b (float): The second.

        Returns:
            The sum.
        """
        return f"{a + b} {mode} {threading.current_thread() is threading.main_thread()}"

    assert (add.name, add.description) == ("add", "Add two numbers.\n\nThe result is text.")
    assert add.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "a": {"type": "integer", "description": "The first number, a whole one."},
            "b": {"type": "number", "default": 1.5, "description": "The second."},
            "mode": {"type": "string", "enum": ["exact", "rough"], "default": "exact"},
        },
        "required": ["a"],
    }
    context = ToolContext(tmp_path)
    assert (await add.execute({"a": 2}, context)).content == "3.5 exact False"
    with pytest.raises(ToolError, match="b: Input should be a valid number"):
        await add.execute({"a": 2, "b": "many"}, context)
    with pytest.raises(ToolError, match="c: Extra inputs are not permitted"):
        await add.execute({"a": 2, "c": 1}, context)


async def test_async_functions_models_and_the_context_work(tmp_path: Path) -> None:
    @tool(name="Sum", description="Sums.", writes=False, timeout=3)
    async def anything(points: list[Point], context: ToolContext, schema: str = "s") -> Answer:
        await asyncio.sleep(0)
        assert isinstance(points[0], Point)
        context.report(schema)
        return Answer(total=sum(point.x for point in points))

    heard: list[str] = []
    assert (anything.name, anything.description, anything.writes, anything.timeout) == (
        *("Sum", "Sums."),
        *(False, 3),
    )
    given: dict[str, Any] = {"points": [{"x": 1}, {"x": 2}], "schema": "copy"}
    assert ToolRegistry([anything]).check(anything, given) is None
    done = await anything.execute(given, ToolContext(tmp_path, report=heard.append))
    assert (done, heard) == (ToolOutput('{"total": 3}'), ["copy"])
    assert "context" not in str(anything.input_schema)


def test_parameters_may_be_described_in_other_ways() -> None:
    @tool
    def find(title: Annotated[str, Field(description="The title.")], limit: int = 3) -> str:
        """Find a book.

        :param limit: How many.
        :returns: nothing
        """
        return title * limit

    assert find.description == "Find a book."
    assert find.input_schema["properties"] == {
        "title": {"type": "string", "description": "The title."},
        "limit": {"type": "integer", "default": 3, "description": "How many."},
    }


def test_a_function_that_cannot_be_described_is_refused() -> None:
    def untyped(a) -> str:  # type: ignore[no-untyped-def]  # that is the point
        return str(a)

    def starred(*numbers: int) -> str:
        return str(numbers)

    for broken in (untyped, starred):
        with pytest.raises(TypeError):
            tool(broken)
