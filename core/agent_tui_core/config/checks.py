"""Owns what a settings file may not say although its shape is right: names, addresses, pairs of keys.

Refuses to read a file and to repeat a value: it may be a key in the wrong place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from agent_tui_core.config.equipment import PermissionSettings
from agent_tui_core.config.equipment_checks import (
    check_hooks,
    check_key_variable,
    check_mcp,
    check_sandbox,
    check_tools,
)
from agent_tui_core.config.models import (
    BUILTIN_TOOLS,
    DEFAULT_PROFILE,
    AgentSettings,
    ProviderSettings,
    Settings,
    base_url_problem,
    name_problem,
)
from agent_tui_core.config.rule_text import read_rule
from agent_tui_core.config.words import Place, nearest, quoted
from agent_tui_core.wire.headers import header_name_problem, header_value_problem, sounds_secret
from agent_tui_core.wire.request_options import body_problem, stop_problem

_LISTS: Final = ("allow", "ask", "deny")


def check_settings(settings: Settings, file: str) -> None:
    """Raise `ConfigError` for what a person's own settings cannot mean."""
    place = Place(file)
    for name, provider in settings.providers.items():
        here = place.at("providers", name)
        check_name(name, here)
        if problem := base_url_problem(provider.base_url):
            here.at("base_url").refuse(problem)
        if provider.api_key_env is not None:
            check_key_variable(provider.api_key_env, here.at("api_key_env"))
        _check_headers(provider, here)
        _check_extra_body(provider.extra_body, here.at("extra_body"))
    for name, agent in settings.agents.items():
        check_agent(name, agent, settings, place.at("agents", name))
    _check_dashboard(settings, place)
    check_rules(settings.permissions, settings.tools, place.at("permissions"))
    check_hooks(settings.hooks, place.at("hooks"))
    check_mcp(settings.mcp, place.at("mcp", "servers"))
    check_tools(settings.tools, place.at("tools"))
    check_sandbox(settings, place.at("sandbox"))


def check_name(name: str, here: Place) -> None:
    """Raise `ConfigError` when a table cannot have this name."""
    if problem := name_problem(name):
        here.refuse(problem)


def check_agent(name: str, agent: AgentSettings, settings: Settings, here: Place) -> None:
    """Raise `ConfigError` when a profile names what there is not."""
    check_name(name, here)
    if agent.provider is not None:
        _check_known(agent.provider, settings.providers, "provider", here.at("provider"))
    known = (*BUILTIN_TOOLS, *settings.tools)
    for index, tool in enumerate(agent.tools or ()):
        _check_known(tool, known, "tool", here.at("tools", index))
    if problem := stop_problem(agent.stop):
        here.at("stop").refuse(problem)
    _check_extra_body(agent.extra_body, here.at("extra_body"))
    for index, server in enumerate(agent.mcp or ()):
        _check_known(server, settings.mcp.servers, "MCP server", here.at("mcp", index))


def _check_headers(provider: ProviderSettings, here: Place) -> None:
    for name, value in provider.headers.items():
        place = here.at("headers", name)
        if problem := header_name_problem(name):
            place.refuse(problem)
        if sounds_secret(name):
            place.refuse(
                "sounds like a secret, which does not belong in this file. Put it in an environment variable "
                f'and name that one: headers_env = {{ {name} = "SERVER_KEY" }}'
            )
        if problem := header_value_problem(value):
            place.refuse(problem)
    taken = {name.lower() for name in provider.headers}
    for name, variable in provider.headers_env.items():
        place = here.at("headers_env", name)
        if problem := header_name_problem(name):
            place.refuse(problem)
        if name.lower() in taken:
            place.refuse("is there twice")
        taken.add(name.lower())
        check_key_variable(variable, place)
    own = "x-api-key" if provider.protocol == "anthropic" else "authorization"
    if provider.api_key_env is not None and own in taken:
        here.at("api_key_env").refuse(f"sets the header {own}, which headers_env sets too")


def _check_extra_body(body: Mapping[str, Any], here: Place) -> None:
    if problem := body_problem(body):
        here.refuse(problem)


def check_rules(rules: PermissionSettings, tools: Collection[str], here: Place) -> None:
    """Raise `ConfigError` for the first rule that cannot be read or is about no tool."""
    for name in _LISTS:
        texts: Iterable[str] = getattr(rules, name)
        for index, text in enumerate(texts):
            if problem := rule_problem(text, tools):
                here.at(name, index).refuse(problem)


def rule_problem(text: str, tools: Collection[str] = ()) -> str | None:
    """Why a rule cannot be used, or None. `tools` are those that are known beside the built-in ones."""
    try:
        rule = read_rule(text)
    except ValueError as error:
        return str(error)
    if rule.tool.startswith("mcp__") or rule.tool in BUILTIN_TOOLS or rule.tool in tools:
        return None
    return f"there is no tool {quoted(rule.tool[:80])}; {nearest(rule.tool, (*BUILTIN_TOOLS, *tools))}"


def _check_known(name: str, known: Collection[str], what: str, here: Place) -> None:
    if name not in known:
        here.refuse(f"there is no {what} {quoted(name)}; {nearest(name, known)}")


def _check_dashboard(settings: Settings, place: Place) -> None:
    known = [*settings.agents, *([] if DEFAULT_PROFILE in settings.agents else [DEFAULT_PROFILE])]
    for index, agent in enumerate(settings.dashboard.agents):
        _check_known(agent, known, "agent", place.at("dashboard", "agents", index))
    for action, keys in settings.keys.items():
        if not all(key.strip() for key in keys.split(",")):
            place.at("keys", action).refuse('should name one key or several, like "f3,ctrl+g"')
