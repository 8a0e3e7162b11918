"""Owns the way from a TOML file to `Settings` and the words for what is wrong; refuses to repeat a value.

A value in a settings file may be a key that was put in the wrong place, so messages name where, what is
expected and the nearest right name, and never quote what stood there unless it names something of ours.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from agent_tui_core.config.equipment import (
    HOOK_POINTS,
    ExternalToolSettings,
    HookSettings,
    McpServerSettings,
    McpSettings,
    PermissionSettings,
    SandboxSettings,
)
from agent_tui_core.config.models import (
    AgentSettings,
    DashboardSettings,
    ProviderSettings,
    Settings,
)
from agent_tui_core.config.paths import absolute, settings_file
from agent_tui_core.config.words import Loc, dotted, nearest, quoted
from agent_tui_core.errors import ConfigError
from agent_tui_core.regular_file import open_regular
from agent_tui_core.text import safe_line

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

T = TypeVar("T")

LARGEST_FILE: Final = 2**20
_TABLES: Final[Mapping[str, type]] = {
    "providers.NAME": ProviderSettings,
    "agents.NAME": AgentSettings,
    "dashboard": DashboardSettings,
    "permissions": PermissionSettings,
    "mcp.servers.NAME": McpServerSettings,
    "tools.NAME": ExternalToolSettings,
    "sandbox": SandboxSettings,
}
_KEY_WORDS: Final = frozenset(
    {"apikey", "key", "token", "apitoken", "accesstoken", "secret", "password", "bearer"}
)
_EXPECTED: Final[Mapping[str, str]] = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": 'a list, like ["one", "two"]',
    "dict_type": "a table",
    "mapping_type": "a table",
    "dataclass_type": "a table",
}


def load_settings(path: Path | None, *, environ: Mapping[str, str]) -> Settings:
    """Read `path`, which must exist, or the file at the usual place, which need not.

    Raises `ConfigError`, which names the file, the key and what would be right.
    """
    file = settings_file(environ) if path is None else absolute(path)
    text = _read(file, must_exist=path is not None)
    if text is None:
        return Settings()
    settings = validated(Settings, parsed(text, str(file)), str(file))
    from agent_tui_core.config.checks import check_settings

    check_settings(settings, str(file))
    return settings


def _read(file: Path, *, must_exist: bool) -> str | None:
    try:
        with open_regular(file) as stream:
            raw = stream.read(LARGEST_FILE + 1)
        if len(raw) > LARGEST_FILE:
            raise ConfigError("a settings file has at most 1 MiB", file=str(file))
        return raw.decode("utf-8-sig")
    except FileNotFoundError as error:
        if not must_exist:
            return None
        raise ConfigError("there is no such settings file", file=str(file)) from error
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=str(file)) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(f"line {line}: is not UTF-8 text", file=str(file)) from error


def parsed(text: str, file: str) -> dict[str, Any]:
    """The tables of a TOML file; raises `ConfigError` with line and column."""
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        said = str(error)
        place = re.search(r" \(at line (\d+), column (\d+)\)$", said)
        if place is not None:
            where, what = f"line {place[1]}, column {place[2]}", said[: place.start()]
        else:
            lines = text.splitlines() or [""]
            where = f"line {len(lines)}, column {len(lines[-1]) + 1}"
            what = said.removesuffix(" (at end of document)")
        raise ConfigError(f"{where}: this is not valid TOML: {safe_line(what)}", file=file) from error


def validated(shape: type[T], table: dict[str, Any], file: str) -> T:
    """The tables as values of this shape; raises `ConfigError` for the first key that does not fit."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(shape).validate_python(table)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=True, include_input=False)
        problems.sort(key=lambda problem: problem["type"] != "unexpected_keyword_argument")
        _refuse(problems[0], shape, table, file)


def _refuse(problem: ErrorDetails, shape: type, table: dict[str, Any], file: str) -> NoReturn:
    loc: Loc = problem["loc"]
    kind = problem["type"]
    bounds = problem.get("ctx", {})
    if kind == "unexpected_keyword_argument":
        message = _unknown(loc, shape)
    elif kind == "missing":
        message = "is missing"
    elif loc[0] == "hooks" and loc[-1] == "[key]":
        loc = loc[:-1]
        message = f"there is no such point; {nearest(str(loc[-1]), HOOK_POINTS)}"
    elif loc[0] == "hooks" and len(loc) == 2:
        message = f"should be a list of tables: write [[{dotted(loc)}]]"
    elif kind in _EXPECTED:
        message = f"should be {_EXPECTED[kind]}, not {_kind_of(_at(table, loc))}"
    elif kind == "literal_error":
        message = f"should be {bounds.get('expected')}"
    elif kind == "greater_than_equal":
        message = f"should be at least {bounds.get('ge'):g}"
    elif kind == "less_than_equal":
        message = f"should be at most {bounds.get('le'):g}"
    else:
        message = "has a value that does not fit"
    raise ConfigError(message, file=file, key=dotted(loc))


def _unknown(loc: Loc, shape: type) -> str:
    wrong = str(loc[-1])
    if re.sub(r"[^a-z]", "", wrong.casefold()) in _KEY_WORDS:
        example = 'api_key_env = "OPENAI_API_KEY"'
        if loc[0] == "mcp":
            example = 'headers_env = { Authorization = "SERVER_TOKEN" }'
        return (
            "a key does not belong in this file. Put it in an environment variable and name that one here: "
            f"{example}"
        )
    here = _fields(_table_at(loc[:-1]) or shape)
    if difflib.get_close_matches(wrong, here, n=1, cutoff=0.6):
        return f"there is no such key; {nearest(wrong, here)}"
    elsewhere = [place for place, table in _TABLES.items() if wrong in _fields(table)]
    if elsewhere:
        tables = " or ".join(f"[{place}]" for place in elsewhere)
        return f"there is no such key here; {quoted(wrong)} belongs in {tables}"
    return f"there is no such key; {nearest(wrong, here)}"


def _table_at(loc: Loc) -> type | None:
    match loc:
        case ("providers", _):
            return ProviderSettings
        case ("agents", _):
            return AgentSettings
        case ("dashboard",):
            return DashboardSettings
        case ("permissions",):
            return PermissionSettings
        case ("hooks", _, _):
            return HookSettings
        case ("mcp",):
            return McpSettings
        case ("mcp", "servers", _):
            return McpServerSettings
        case ("tools", _):
            return ExternalToolSettings
        case ("sandbox",):
            return SandboxSettings
        case _:
            return None


def _fields(table: type) -> list[str]:
    return [field.name for field in dataclasses.fields(table)]


def _at(value: Any, loc: Loc) -> object:
    for part in loc:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _kind_of(value: object) -> str:
    match value:
        case bool():
            return "true or false"
        case int():
            return "a number"
        case float():
            return "a number with a fraction"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "a table"
        case _:
            return "a date or time"
