"""Owns what an MCP server is before it runs: how to reach it, what it is called; refuses to start one.

Its definition is the person's own words, or those of a project that they trusted.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from agent_tui_core.blocks import JsonObject
from agent_tui_core.errors import ToolError
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line

WORKSPACE: Final = "{workspace}"
"""In an argument it stands for the agent's folder."""
_ADDRESS_WIDTH = 200


class Hopeless(ToolError):
    """It cannot be started as it is defined: trying again gives the same."""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """One MCP server: a program (`command`) or an address (`url`)."""

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    env_from: tuple[str, ...] = ()
    url: str | None = None
    headers_env: Mapping[str, str] = field(default_factory=dict)
    """Header → the name of the variable that holds its value."""
    timeout: float = 60.0
    """Seconds for one call; the time that a person needs for a form does not count."""
    start_timeout: float = 20.0
    disabled: bool = False
    source: str = ""
    """Whose words these are: a file, for a person to read."""
    folder: Path | None = None
    """Where the program runs; None is a folder of ours that no repository can put anything into."""

    @property
    def address(self) -> str:
        """What a person reads: the command line, or the address without what may be secret in it."""
        if self.command is not None:
            return safe_line(shlex.join([self.command, *self.args]))[:_ADDRESS_WIDTH]
        parts = urlsplit(self.url or "")
        shown = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
        return safe_line(shown)[:_ADDRESS_WIDTH]

    @property
    def digest(self) -> str:
        """A hash of what runs or is called; time-outs and the place of the words do not count."""
        headers, env = sorted(self.headers_env.items()), sorted(self.env.items())
        said = [self.command, self.args, env, sorted(self.env_from), self.url, headers]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Question:
    """What a server wants a person to fill in while a call runs."""

    server: str
    message: str
    schema: JsonObject
    agent_id: str = ""
    call_key: str = ""


Ask: TypeAlias = Callable[[Question], Awaitable[JsonObject | None]]
"""Asks a person; None when they decline. Cancelling withdraws the question."""


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server describes it: all of it is foreign."""

    name: str
    description: str
    schema: Mapping[str, Any]
    digest: str
    """A hash of all that the server says of it."""
    as_task: bool = False
    """It can only be called as a task."""
