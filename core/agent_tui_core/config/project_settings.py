"""Owns what a project's own settings file may say, which is less than a person's; refuses to read files.

Servers of models, keys, the sandbox and the person's environment are never a project's to name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from agent_tui_core.config.equipment import EquipmentSettings, McpSettings
from agent_tui_core.config.models import AgentSettings, Settings
from agent_tui_core.errors import ConfigError
from agent_tui_core.records import dataclass

FOLDER: Final = ".agent-tui"
SETTINGS: Final = f"{FOLDER}/settings.toml"
_YOURS: Final[Mapping[str, str]] = {
    "providers": "servers and their keys",
    "dashboard": "what is open at the start",
    "keys": "keys of the keyboard",
    "sandbox": "the sandbox",
}


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """What of `.agent-tui/settings.toml` is a project's to say."""

    equipment: EquipmentSettings = field(default_factory=EquipmentSettings)
    agents: Mapping[str, AgentSettings] = field(default_factory=dict)


def read_settings(
    raw: bytes | None, root: Path, own: EquipmentSettings, problems: list[str]
) -> ProjectSettings:
    """What these bytes say; each of the `problems` that are added names what is not used, and why."""
    if raw is None:
        return ProjectSettings()
    from agent_tui_core.config.load import parsed, validated

    try:
        tables = parsed(raw.decode("utf-8-sig"), SETTINGS)
        for table in [name for name in tables if name in _YOURS]:
            del tables[table]
            problems.append(f"{SETTINGS}: [{table}]: only your own settings name {_YOURS[table]}: not used")
        agents = tables.pop("agents", {})
        shaped = validated(Settings, {**tables, "agents": agents}, SETTINGS)
        checked = _checked(shaped, own)
    except UnicodeDecodeError:
        problems.append(f"{SETTINGS} is not UTF-8 text: it is not used")
        return ProjectSettings()
    except ConfigError as error:
        problems.append(f"{error}: the file is not used")
        return ProjectSettings()
    return _allowed(checked, root, own, problems)


def _checked(said: Settings, own: EquipmentSettings) -> Settings:
    """Raise `ConfigError` for what cannot be meant; a profile may use what the person's settings define."""
    from agent_tui_core.config.checks import check_agent, check_rules
    from agent_tui_core.config.equipment_checks import check_hooks, check_mcp, check_tools
    from agent_tui_core.config.words import Place

    place = Place(SETTINGS)
    known = replace(
        said,
        tools={**said.tools, **own.tools},
        mcp=McpSettings(servers={**said.mcp.servers, **own.mcp.servers}),
    )
    check_rules(said.permissions, known.tools, place.at("permissions"))
    check_hooks(said.hooks, place.at("hooks"))
    check_mcp(said.mcp, place.at("mcp", "servers"))
    check_tools(said.tools, place.at("tools"))
    for name, agent in said.agents.items():
        check_agent(name, replace(agent, provider=None), known, place.at("agents", name))
    return said


def _allowed(said: Settings, root: Path, own: EquipmentSettings, problems: list[str]) -> ProjectSettings:
    """What of it is a project's to say."""

    def without(table: str, refused: Mapping[str, str | None]) -> set[str]:
        problems.extend(f"{SETTINGS}: {table}.{name}: {why}" for name, why in refused.items() if why)
        return {name for name, why in refused.items() if why}

    servers = {
        name: _not_yours(bool(server.env_from or server.headers_env), "env_from and headers_env")
        or _taken(name in own.mcp.servers, "a server")
        for name, server in said.mcp.servers.items()
    }
    tools = {
        name: _not_yours(bool(tool.env_from), "env_from") or _taken(name in own.tools, "a tool")
        for name, tool in said.tools.items()
    }
    agents = {name: _profile_problem(agent, root) for name, agent in said.agents.items()}
    gone = without("mcp.servers", servers), without("tools", tools), without("agents", agents)
    return ProjectSettings(
        EquipmentSettings(
            permissions=said.permissions,
            hooks=said.hooks,
            mcp=McpSettings(
                servers={name: each for name, each in said.mcp.servers.items() if name not in gone[0]}
            ),
            tools={name: each for name, each in said.tools.items() if name not in gone[1]},
        ),
        {name: each for name, each in said.agents.items() if name not in gone[2]},
    )


def _not_yours(is_said: bool, keys: str) -> str | None:
    return (
        f"{keys} would hand out your environment: only your own settings may; it is not used"
        if is_said
        else None
    )


def _taken(is_taken: bool, what: str) -> str | None:
    return f"your settings have {what} of that name: yours is used" if is_taken else None


def _profile_problem(agent: AgentSettings, root: Path) -> str | None:
    if agent.provider is not None:
        return "a project does not choose the provider; leave it out; the profile is not used"
    if agent.extra_body:
        return "a project does not say what is sent besides; leave out extra_body; the profile is not used"
    if agent.network:
        return "a project does not open the network; leave it out; the profile is not used"
    if agent.workspace is not None and not (root / agent.workspace).resolve().is_relative_to(root):
        return "its workspace is outside of the project; the profile is not used"
    return None
