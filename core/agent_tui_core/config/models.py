"""Owns the shape of a settings file: tables, keys, types and bounds; refuses to read or to resolve.

The tables are plain dataclasses that pydantic validates when there is a file (`load.py`). pydantic is not
imported here: it costs a third of the time to the first frame, and most starts have no file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Final, TypeAlias
from urllib.parse import urlsplit

from agent_tui_core.config.bounds import Exactly, OneOf, Switch
from agent_tui_core.config.equipment import (
    ExternalToolSettings,
    HookPoint,
    HookSettings,
    McpSettings,
    PermissionSettings,
    SandboxSettings,
)
from agent_tui_core.config.modes import Mode
from agent_tui_core.messages import ReasoningEffort, ThinkTags
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line
from agent_tui_core.wire.protocols import WireProtocol

DEFAULT_TOOL_ITERATIONS: Final = 25
DEFAULT_PROFILE: Final = "default"
BUILTIN_TOOLS: Final = ("Bash", "Read", "Write", "Edit", "Glob", "Grep")
"""The names that `tools` may list; a test keeps them equal to what the tools room builds."""
LONGEST_NAME: Final = 40
_SECRET: Final = re.compile(r"(?:^|&)[^=]*(?:key|token|secret|password|sig)[^=&]*=", re.IGNORECASE)


Iterations: TypeAlias = Annotated[int, Exactly(1, 10_000)]
Tokens: TypeAlias = Annotated[int, Exactly(1, 100_000_000)]
Seconds: TypeAlias = Annotated[float, Exactly(0, 86_400)]
Patience: TypeAlias = Annotated[float, Exactly(0.1, 86_400)]
Temperature: TypeAlias = Annotated[float, Exactly(0, 2)]
TopP: TypeAlias = Annotated[float, Exactly(0, 1)]
Seed: TypeAlias = Annotated[int, Exactly(-(2**63) + 1, 2**63 - 1)]
Retries: TypeAlias = Annotated[int, Exactly(0, 100)]
Requests: TypeAlias = Annotated[int, Exactly(1, 10_000)]
ThinkTagsSetting: TypeAlias = Annotated[ThinkTags, OneOf((True, False, "open"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """`[providers.NAME]`: a server, and the protocol that it speaks."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic reads it, slots forbid more

    base_url: str
    api_key_env: str | None = None
    """The *name* of the environment variable that holds the key; None sends none."""
    models: tuple[str, ...] = ()
    """The first one is used where an agent names none."""
    protocol: WireProtocol = "chat"
    think_tags: ThinkTagsSetting = True
    """Text that begins with `<think>` is reasoning; "open": the model's template writes that tag itself."""
    thinking: Switch = False
    """Ask for thinking (Anthropic) or for summaries of it (Responses)."""
    progress_timeout: Seconds | None = None
    """Seconds without text, call or usage after which a request is given up, whatever bytes come; 0 waits for
    ever. None takes what `agent-tui run` and the dashboard do."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers of each request, in the open; what is secret belongs in `headers_env`."""
    headers_env: Mapping[str, str] = field(default_factory=dict)
    """Header → the name of the environment variable that holds its value."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of each request."""
    idle_timeout: Patience | None = None
    """Seconds without a byte; None is 300."""
    retries: Retries | None = None
    """How often a request is made again that failed; None is 3."""
    max_concurrent_requests: Requests | None = None
    """How many requests of all agents this server gets at once; the others wait for their turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """`[agents.NAME]`: a profile that agents are made from."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    provider: str | None = None
    """A name from `[providers]`; None takes the first one in the file."""
    model: str | None = None
    system_prompt: str | None = None
    tools: tuple[str, ...] | None = None
    """None offers all built-in tools, an empty list none."""
    max_tool_iterations: Iterations = DEFAULT_TOOL_ITERATIONS
    context_limit: Tokens | None = None
    """Tokens that the model can read; near it the oldest part of the conversation is summarised."""
    workspace: str | None = None
    mode: Mode = "ask"
    """What runs without a question besides what the rules allow."""
    max_tokens: Tokens | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    stop: tuple[str, ...] = ()
    seed: Seed | None = None
    reasoning_effort: ReasoningEffort | None = None
    think_tags: ThinkTagsSetting | None = None
    """None takes what the provider says."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of each request, before those of the provider."""
    mcp: tuple[str, ...] | None = None
    """Names from `[mcp.servers]`; None offers the tools of all of them, an empty list none."""
    progress_timeout: Seconds | None = None
    """The same as the provider's, for this profile; goes before it."""
    network: Switch | None = None
    """Whether commands reach the network, in the sandbox; None takes what `[sandbox]` says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardSettings:
    """`[dashboard]`: what is open at the start and how it looks."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    agents: tuple[str, ...] = ()
    theme: str | None = None
    mouse: Switch = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A whole settings file."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    providers: Mapping[str, ProviderSettings] = field(default_factory=dict)
    agents: Mapping[str, AgentSettings] = field(default_factory=dict)
    dashboard: DashboardSettings = field(default_factory=DashboardSettings)
    keys: Mapping[str, str] = field(default_factory=dict)
    """Action id → the keys that trigger it, as "f3,ctrl+g"."""
    permissions: PermissionSettings = field(default_factory=PermissionSettings)
    hooks: Mapping[HookPoint, tuple[HookSettings, ...]] = field(default_factory=dict)
    mcp: McpSettings = field(default_factory=McpSettings)
    tools: Mapping[str, ExternalToolSettings] = field(default_factory=dict)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)


def base_url_problem(url: str) -> str | None:
    """Return why `url` cannot be a provider's address, or None; never repeats it: it may hold a password."""
    if url != url.strip() or not url.isprintable() or " " in url:
        return "holds spaces or control characters"
    try:
        parts = urlsplit(url)
        port_is_legal = parts.port is None or parts.port > 0
    except ValueError:
        return "is no URL; write it like http://127.0.0.1:11434/v1"
    if parts.scheme not in {"http", "https"}:
        return "should start with http:// or https://, like http://127.0.0.1:11434/v1"
    if not parts.hostname or not port_is_legal:
        return "names no server; write it like http://127.0.0.1:11434/v1"
    if "@" in parts.netloc:
        return "holds credentials; put the key in an environment variable and name that in api_key_env"
    if _SECRET.search(parts.query):
        return "holds a key; put it in an environment variable and name that in api_key_env"
    if parts.fragment:
        return "has a part after #, which no server gets"
    return None


def name_problem(name: str) -> str | None:
    """Return why `name` cannot name an agent, a profile or a provider, or None."""
    if not name or name != safe_line(name) or not name.isprintable():
        return "a name is one line of printable text without spaces at its ends"
    if "=" in name:
        return "a name has no = in it"
    if len(name) > LONGEST_NAME:
        return f"a name has at most {LONGEST_NAME} characters"
    return None
