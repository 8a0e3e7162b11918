"""Owns the tables that say what agents may do and use beside a model: rules, hooks, servers, tools, sandbox.

Refuses to read a file and to run anything. The person's own settings have these tables; of a project's file
they count only after the person trusted its content.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

from agent_tui_core.config.bounds import Exactly, Switch
from agent_tui_core.records import dataclass

HookPoint: TypeAlias = Literal[
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "Stop",
    "SessionStart",
    "SessionEnd",
    "PermissionRequest",
]
HOOK_POINTS: Final[tuple[HookPoint, ...]] = get_args(HookPoint)
OnError: TypeAlias = Literal["ask", "deny", "allow"]
SandboxMode: TypeAlias = Literal["auto", "off", "required"]
Seconds: TypeAlias = Annotated[float, Exactly(0.1, 86_400)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionSettings:
    """`[permissions]`: one layer of rules."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic reads it, slots forbid more

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """`[[hooks.POINT]]`: a command that hears of something."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    command: str
    """A line for the shell, run in the agent's workspace."""
    matcher: str | None = None
    timeout: Seconds = 60.0
    on_error: OnError | None = None
    """What a broken hook amounts to; None asks when a person is there and denies when not."""
    compat: Switch = False
    """A broken hook counts for nothing, as in the contract that this follows."""
    env_from: tuple[str, ...] = ()
    """Names of variables of ours that the command inherits, like DBUS_SESSION_BUS_ADDRESS."""
    plugin_root: str = ""
    """The folder of the plugin that the command is from, for one that means it by CLAUDE_PLUGIN_ROOT."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerSettings:
    """`[mcp.servers.NAME]`: a program to start, or an address to call."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    """Variable of the server → its value."""
    env_from: tuple[str, ...] = ()
    """Names of variables of ours that the server inherits."""
    url: str | None = None
    headers_env: Mapping[str, str] = field(default_factory=dict)
    """Header → the name of the environment variable that holds its value."""
    timeout: Seconds = 60.0
    """For one call."""
    start_timeout: Seconds = 20.0
    disabled: Switch = False


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """`[mcp]`."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    servers: Mapping[str, McpServerSettings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalToolSettings:
    """`[tools.NAME]`: a tool whose result somebody else delivers."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    type: Literal["external"]
    description: str
    command: tuple[str, ...] = ()
    """The program that is told of a call; empty: a person or a script answers."""
    input_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    timeout: Seconds = 600.0
    env_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSettings:
    """`[sandbox]`: where commands of agents run."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    mode: SandboxMode = "auto"
    """"auto" uses bubblewrap where it works; "required" refuses to run a command without it."""
    network: Switch = True
    """An agent's profile may say otherwise; the mode auto has none unless its profile says so."""
    writable: tuple[str, ...] = ()
    """Folders beside workspace and tmp that commands may write to."""
    env_from: tuple[str, ...] = ()
    """Names of further environment variables that commands inherit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EquipmentSettings:
    """All of these tables of one file."""

    permissions: PermissionSettings = field(default_factory=PermissionSettings)
    hooks: Mapping[HookPoint, tuple[HookSettings, ...]] = field(default_factory=dict)
    mcp: McpSettings = field(default_factory=McpSettings)
    tools: Mapping[str, ExternalToolSettings] = field(default_factory=dict)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
