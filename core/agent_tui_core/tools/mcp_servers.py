"""Owns the MCP servers of a session: which there are, which an agent has, when they start; refuses to judge.

Agents of one workspace share a server. Agents of another one have their own: the workspace is what a server
is told (its roots, its arguments), and what it remembers belongs there.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tui_core.text import safe_line
from agent_tui_core.tools.base import Tool
from agent_tui_core.tools.mcp_names import MOST_TOOLS, server_of
from agent_tui_core.tools.mcp_server import McpServer
from agent_tui_core.tools.mcp_trust import FILE, KnownServers
from agent_tui_core.tools.mcp_values import Ask, ServerSpec
from agent_tui_core.tools.paths import inside

if TYPE_CHECKING:
    from agent_tui_core.tools.registry import Tell

QUIET: Final = 1.0
"""Seconds that a start may take before a person is told."""


class McpServers:
    """The servers of one session."""

    def __init__(
        self,
        specs: Iterable[ServerSpec] = (),
        *,
        data_dir: Path,
        ask: Ask | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`ask` brings a server's questions to a person; None where there is nobody."""
        self._specs: dict[str, ServerSpec] = {}
        self._running: dict[tuple[str, Path], McpServer] = {}
        self._folder = data_dir / "mcp"
        self._known = KnownServers(data_dir / FILE)
        self._ask = ask
        self._jitter = jitter
        self._closed = False
        self.add(specs)

    @property
    def specs(self) -> tuple[ServerSpec, ...]:
        """All that were defined, those that are switched off included."""
        return tuple(self._specs.values())

    @property
    def running(self) -> tuple[McpServer, ...]:
        """Those that some agent needed so far, whatever became of them."""
        return tuple(self._running.values())

    def add(self, specs: Iterable[ServerSpec]) -> tuple[str, ...]:
        """Offer further servers; return the names that are taken already, whose servers stay as they are."""
        taken = []
        for spec in specs:
            if spec.name in self._specs:
                taken.append(spec.name)
            else:
                self._specs[spec.name] = spec
        return tuple(taken)

    def for_agent(self, workspace: Path, names: tuple[str, ...] | None) -> AgentServers:
        """What an agent of this workspace has; `names` limits it, None is all."""
        return AgentServers(self, workspace, names)

    def chosen(self, workspace: Path, names: tuple[str, ...] | None) -> list[McpServer]:
        """The servers of an agent; of a project's servers those of its own folder."""
        return [
            self._of(spec, workspace)
            for spec in self._specs.values()
            if not spec.disabled
            and (names is None or spec.name in names)
            and (spec.folder is None or inside(workspace, spec.folder))
        ]

    def doubt(self, tool: str, workspace: Path) -> str | None:
        """Why a call of this tool has to be asked about whatever the rules allow, or None."""
        name = server_of(tool)
        server = self._running.get((name, workspace)) if name else None
        return server.doubt if server else None

    async def close(self) -> None:
        """End all of them, at the same time."""
        self._closed = True
        await asyncio.gather(*(server.close() for server in self._running.values()))

    def _of(self, spec: ServerSpec, workspace: Path) -> McpServer:
        key = (spec.name, workspace)
        if key not in self._running:
            server = McpServer(
                spec,
                workspace,
                self._folder,
                known=self._known,
                ask=self._ask,
                jitter=self._jitter,
            )
            self._running[key] = server
        return self._running[key]


class AgentServers:
    """The servers of one agent: tools that come and go."""

    def __init__(self, servers: McpServers, workspace: Path, names: tuple[str, ...] | None) -> None:
        self._servers = servers
        self._workspace = workspace
        self._names = names
        self._parts: list[tuple[Tool, ...]] = []
        self._tools: tuple[Tool, ...] = ()
        self._told: set[str] = set()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the servers list now; the very same tuple as long as nothing changed."""
        parts = [server.tools for server in self._servers.chosen(self._workspace, self._names)]
        if len(parts) != len(self._parts) or any(a is not b for a, b in zip(parts, self._parts, strict=True)):
            self._parts = parts
            self._tools = tuple(tool for part in parts for tool in part)
        return self._tools

    async def ready(self, tell: Tell) -> None:
        """Start what does not run, and wait until each was tried once; a person hears of what takes long."""
        chosen = self._servers.chosen(self._workspace, self._names)
        if starting := [server for server in chosen if server.wake()]:
            waiting = [asyncio.create_task(server.tried()) for server in starting]
            try:
                _, late = await asyncio.wait(waiting, timeout=QUIET)
                if late:
                    names = [s.spec.name for s, task in zip(starting, waiting, strict=True) if task in late]
                    tell("info", f"Starting MCP servers: {', '.join(names)} …")
                    await asyncio.wait(late)
            finally:
                for task in waiting:
                    task.cancel()
        for words in self._news(chosen):
            if words not in self._told:
                self._told.add(words)
                tell("warning", words)

    def _news(self, chosen: list[McpServer]) -> list[str]:
        known = {spec.name for spec in self._servers.specs}
        news = [
            f"There is no MCP server '{safe_line(name)}' in the settings; this agent's profile names it."
            for name in self._names or ()
            if name not in known
        ]
        for server in chosen:
            name = server.spec.name
            if server.state in {"failed", "restarting"} and not server.tools:
                news.append(f"The MCP server {name} did not start, so its tools are missing: {server.why}")
            if server.left_out:
                count = f"{server.left_out + len(server.tools):,}"
                news.append(f"The MCP server {name} lists {count} tools; at most {MOST_TOOLS} are used.")
            if server.doubt:
                news.append(f"Careful: {server.doubt}. Its calls are asked about until you accept that.")
        return news
