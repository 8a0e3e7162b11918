"""Owns the way from a TOML file to `Settings` and the words for what is wrong; refuses to repeat a value.

A value in a settings file may be a key that was put in the wrong place, so messages name where, what is
expected and the nearest right name, and never quote what stood there unless it names something of ours.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from agent_tui_core.config.models import (
    BUILTIN_TOOLS,
    DEFAULT_PROFILE,
    AgentSettings,
    DashboardSettings,
    ProviderSettings,
    Settings,
    base_url_problem,
    name_problem,
)
from agent_tui_core.config.paths import absolute, settings_file
from agent_tui_core.errors import ConfigError
from agent_tui_core.text import safe_line

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Loc: TypeAlias = tuple[int | str, ...]

LARGEST_FILE: Final = 2**20
_TABLES: Final[Mapping[str, type]] = {
    "providers.NAME": ProviderSettings,
    "agents.NAME": AgentSettings,
    "dashboard": DashboardSettings,
}
_KEY_WORDS: Final = frozenset(
    {"apikey", "key", "token", "apitoken", "accesstoken", "secret", "password", "bearer"}
)
_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
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
    settings = _validated(_parsed(text, file), str(file))
    _check_providers(settings, str(file))
    _check_agents(settings, str(file))
    _check_dashboard(settings, str(file))
    return settings


def nearest(wrong: str, right: Collection[str]) -> str:
    """What to say after an unknown name: the nearest right one, or all of them."""
    close = difflib.get_close_matches(wrong, right, n=1, cutoff=0.6)
    if not close:
        folded = {name.casefold(): name for name in right}
        close = [folded[wrong.casefold()]] if wrong.casefold() in folded else []
    if close:
        return f"did you mean {_quoted(close[0])}?"
    return "it may be " + ", ".join(_quoted(name) for name in right) if right else "none is defined"


def dotted(loc: Iterable[int | str]) -> str:
    """A place in a TOML file as a person writes it: `agents.reviewer.tools[2]`."""
    key = ""
    for part in loc:
        if isinstance(part, int):
            key += f"[{part + 1}]"
        else:
            key += ("." if key else "") + (part if _BARE.fullmatch(part) else f'"{safe_line(part)}"')
    return key


def _quoted(name: str) -> str:
    return f"'{safe_line(name)}'"


def _read(file: Path, *, must_exist: bool) -> str | None:
    try:
        with file.open("rb") as stream:
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


def _parsed(text: str, file: Path) -> dict[str, Any]:
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
        raise ConfigError(f"{where}: this is not valid TOML: {safe_line(what)}", file=str(file)) from error


def _validated(table: dict[str, Any], file: str) -> Settings:
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(Settings).validate_python(table)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=True, include_input=False)
        problems.sort(key=lambda problem: problem["type"] != "unexpected_keyword_argument")
        _refuse(problems[0], table, file)


def _refuse(problem: ErrorDetails, table: dict[str, Any], file: str) -> NoReturn:
    loc: Loc = problem["loc"]
    kind = problem["type"]
    bounds = problem.get("ctx", {})
    if kind == "unexpected_keyword_argument":
        message = _unknown(loc)
    elif kind == "missing":
        message = "is missing"
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


def _unknown(loc: Loc) -> str:
    wrong = str(loc[-1])
    if re.sub(r"[^a-z]", "", wrong.casefold()) in _KEY_WORDS:
        return (
            "a key does not belong in this file. Put it in an environment variable and name that one here: "
            'api_key_env = "OPENAI_API_KEY"'
        )
    here = _fields(_table_at(loc[:-1]))
    if difflib.get_close_matches(wrong, here, n=1, cutoff=0.6):
        return f"there is no such key; {nearest(wrong, here)}"
    elsewhere = [place for place, table in _TABLES.items() if wrong in _fields(table)]
    if elsewhere:
        return f"there is no such key here; {_quoted(wrong)} belongs in [{elsewhere[0]}]"
    return f"there is no such key; {nearest(wrong, here)}"


def _table_at(loc: Loc) -> type:
    match loc:
        case ("providers", _):
            return ProviderSettings
        case ("agents", _):
            return AgentSettings
        case ("dashboard",):
            return DashboardSettings
        case _:
            return Settings


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


def _check_providers(settings: Settings, file: str) -> None:
    for name, provider in settings.providers.items():
        _check_name(("providers", name), file)
        if problem := base_url_problem(provider.base_url):
            raise ConfigError(problem, file=file, key=dotted(("providers", name, "base_url")))
        if provider.api_key_env is not None and not _VARIABLE.fullmatch(provider.api_key_env):
            raise ConfigError(
                "should be the name of an environment variable, in capitals, like OPENAI_API_KEY; "
                "the key itself does not belong in this file",
                file=file,
                key=dotted(("providers", name, "api_key_env")),
            )


def _check_agents(settings: Settings, file: str) -> None:
    for name, agent in settings.agents.items():
        _check_name(("agents", name), file)
        if agent.provider is not None and agent.provider not in settings.providers:
            raise ConfigError(
                f"there is no provider {_quoted(agent.provider)}; "
                f"{nearest(agent.provider, settings.providers)}",
                file=file,
                key=dotted(("agents", name, "provider")),
            )
        for index, tool in enumerate(agent.tools or ()):
            if tool not in BUILTIN_TOOLS:
                raise ConfigError(
                    f"there is no tool {_quoted(tool)}; {nearest(tool, BUILTIN_TOOLS)}",
                    file=file,
                    key=dotted(("agents", name, "tools", index)),
                )


def _check_dashboard(settings: Settings, file: str) -> None:
    known = [*settings.agents, *([] if DEFAULT_PROFILE in settings.agents else [DEFAULT_PROFILE])]
    for index, agent in enumerate(settings.dashboard.agents):
        if agent not in known:
            raise ConfigError(
                f"there is no agent {_quoted(agent)}; {nearest(agent, known)}",
                file=file,
                key=dotted(("dashboard", "agents", index)),
            )
    for action, keys in settings.keys.items():
        if not all(key.strip() for key in keys.split(",")):
            raise ConfigError(
                'should name one key or several, like "f3,ctrl+g"', file=file, key=dotted(("keys", action))
            )


def _check_name(loc: tuple[str, str], file: str) -> None:
    if problem := name_problem(loc[1]):
        raise ConfigError(problem, file=file, key=dotted(loc))
