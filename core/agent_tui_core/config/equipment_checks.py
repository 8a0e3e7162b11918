"""Owns what hooks, servers, external tools and the sandbox may not say; refuses to start or to reach any.

The same checks hold for a person's settings and for what a project brings along.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from agent_tui_core.config.equipment import (
    ExternalToolSettings,
    HookPoint,
    HookSettings,
    McpServerSettings,
    McpSettings,
)
from agent_tui_core.config.models import BUILTIN_TOOLS, Settings, base_url_problem
from agent_tui_core.config.words import Place

_KEY_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SERVER_NAME: Final = re.compile(r"(?!_)(?:(?!__)[A-Za-z0-9_-]){1,40}(?<!_)")
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OUR_HEADERS: Final = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept"}
)
_EXACT_MATCHER: Final = re.compile(r"[A-Za-z0-9_\- ,|]*")


def check_hooks(hooks: Mapping[HookPoint, Iterable[HookSettings]], here: Place) -> None:
    """Raise `ConfigError` for a hook without a command, or with a matcher that cannot match."""
    for point, listed in hooks.items():
        for index, hook in enumerate(listed):
            place = here.at(point, index)
            if not hook.command.strip():
                place.at("command").refuse("should be a line for the shell, like ./check.sh")
            if "\0" in hook.command:
                place.at("command").refuse("has a NUL in it, which no program can be given")
            if hook.compat and hook.on_error is not None:
                place.at("on_error").refuse(
                    "compat says what a broken hook counts for; leave out one of them"
                )
            _check_variables(hook.env_from, place.at("env_from"))
            matcher = (hook.matcher or "").strip()
            if matcher != "*" and not _EXACT_MATCHER.fullmatch(matcher):
                _check_expression(matcher, place.at("matcher"))


def check_mcp(mcp: McpSettings, here: Place) -> None:
    """Raise `ConfigError` for a server that can neither be started nor called."""
    for name, server in mcp.servers.items():
        place = here.at(name)
        if not _SERVER_NAME.fullmatch(name):
            place.refuse(
                "the name of a server becomes a part of its tools' names: letters, digits, - and single _, "
                "at most 40"
            )
        if (server.command is None) == (server.url is None):
            place.refuse("needs either command (a program to start) or url (a server to call)")
        if server.command is not None:
            _check_program(server.command, server, place)
        else:
            _check_address(server, place)


def check_tools(tools: Mapping[str, ExternalToolSettings], here: Place) -> None:
    """Raise `ConfigError` for a tool that no model could call, or that takes the name of another one."""
    builtin = {name.casefold(): name for name in BUILTIN_TOOLS}
    for name, tool in tools.items():
        place = here.at(name)
        if not _TOOL_NAME.fullmatch(name):
            place.refuse("the name of a tool has letters, digits, _ and -, at most 64")
        if name.casefold() in builtin:
            place.refuse(f"{builtin[name.casefold()]} is a built-in tool; choose another name")
        if name.startswith("mcp__"):
            place.refuse("names with mcp__ in front belong to MCP servers; choose another name")
        if not tool.description.strip():
            place.at("description").refuse("should tell the model what the tool does")
        if tool.command and not tool.command[0].strip():
            place.at("command").refuse('should begin with a program, like ["./deploy.sh"]')
        if tool.input_schema.get("type") != "object":
            place.at("input_schema").refuse('should be a JSON schema with type = "object"')
        _check_variables(tool.env_from, place.at("env_from"))


def check_sandbox(settings: Settings, here: Place) -> None:
    """Raise `ConfigError` for a promise that could not be kept."""
    sandbox = settings.sandbox
    _check_variables(sandbox.env_from, here.at("env_from"))
    for index, folder in enumerate(sandbox.writable):
        place = here.at("writable", index)
        if not folder.startswith(("/", "~")):
            place.refuse("should be a whole path, like ~/.cache/pip or /var/cache")
        if not Path(folder).expanduser().resolve().name:
            place.refuse('opens the whole system; to run commands without a sandbox say mode = "off"')
    closed = [name for name, agent in settings.agents.items() if agent.network is False]
    if sandbox.mode == "off" and not sandbox.network:
        here.at("network").refuse('only a sandbox can close the network, and mode = "off" says none')
    if sandbox.mode == "off" and closed:
        place = Place(here.file, ("agents", closed[0], "network"))
        place.refuse('only a sandbox can close the network, and [sandbox] says mode = "off"')


def check_key_variable(name: str, here: Place) -> None:
    """Raise `ConfigError` when this cannot be the name of the variable that holds a key."""
    if not _KEY_VARIABLE.fullmatch(name):
        here.refuse(
            "should be the name of an environment variable, in capitals, like OPENAI_API_KEY; "
            "the key itself does not belong in this file"
        )


def _check_expression(matcher: str, here: Place) -> None:
    try:
        re.compile(matcher)
    except re.error as error:
        where = "" if error.pos is None else f", at character {error.pos + 1}"
        here.refuse(f"is no regular expression: {error.msg}{where}")
    except (OverflowError, RecursionError):
        here.refuse("is no regular expression that can be used: it is too large")


def _check_program(command: str, server: McpServerSettings, here: Place) -> None:
    if not command.strip() or any("\0" in word for word in (command, *server.args)):
        here.at("command").refuse("should be a program, like npx or ./server.py")
    if " " in command.strip() and "/" not in command:
        here.at("command").refuse("is one program; what follows it belongs in args, each word by itself")
    if server.headers_env:
        here.at("headers_env").refuse("belongs to a server with a url; a program takes env or env_from")
    for name, value in server.env.items():
        if not _VARIABLE.fullmatch(name) or "\0" in value:
            here.at("env", name).refuse("should be the name of a variable, with a text as its value")
    _check_variables(server.env_from, here.at("env_from"))


def _check_address(server: McpServerSettings, here: Place) -> None:
    for key in ("args", "env", "env_from"):
        if getattr(server, key):
            here.at(key).refuse("belongs to a server with a command; a url takes headers_env")
    url = server.url or ""
    if problem := base_url_problem(url):
        problem = problem.replace("http://127.0.0.1:11434/v1", "https://mcp.example/mcp")
        here.at("url").refuse(problem.replace("api_key_env", "headers_env"))
    for header, variable in server.headers_env.items():
        place = here.at("headers_env", header)
        if not _HEADER.fullmatch(header):
            place.refuse("is no name of an HTTP header, like Authorization")
        if header.casefold() in _OUR_HEADERS:
            place.refuse("is a header that the connection sets by itself; leave it out")
        check_key_variable(variable, place)
    if server.headers_env and urlsplit(url).scheme == "http" and not _is_local(url):
        here.at("url").refuse("would carry headers_env in the clear; use https")


def _is_local(url: str) -> bool:
    host = (urlsplit(url).hostname or "").casefold()
    return host in {"localhost", "::1"} or host.startswith("127.") or host.endswith(".localhost")


def _check_variables(names: Iterable[str], here: Place) -> None:
    for index, name in enumerate(names):
        if not _VARIABLE.fullmatch(name):
            here.at(index).refuse(
                "should be the name of an environment variable that has the value, like HTTPS_PROXY"
            )
