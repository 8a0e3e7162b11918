"""Owns the MCP servers of a session as settings name them: made at the first agent's start, shown, closed.

Refuses to speak the protocol and to judge a call: the rules ask `doubt` for the one fact they need.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui_core.blocks import JsonObject
from agent_tui_core.config.equipment import McpSettings
from agent_tui_core.config.profiles import AgentProfile, Plan
from agent_tui_core.errors import AgentTuiError
from agent_tui_core.runtime.forms import Form, Forms
from agent_tui_core.runtime.report import ReportRow, ReportSection
from agent_tui_core.text import safe_line

if TYPE_CHECKING:
    from agent_tui_core.tools.mcp_server import McpServer
    from agent_tui_core.tools.mcp_servers import AgentServers, McpServers
    from agent_tui_core.tools.mcp_values import Question, ServerSpec

OWN = "your settings"
PROJECT = "this project"
_NAMED = 4
_EMPTY = 'None. Add [mcp.servers.NAME] with command = "…" or url = "…" to the settings file.'


class SessionServers:
    """The servers that the agents of one session can have."""

    def __init__(self, plan: Plan, forms: Forms, *, attended: bool) -> None:
        """Servers may ask a person only where one is."""
        self._plan = plan
        self._forms = forms
        self._attended = attended
        self._projects: list[tuple[McpSettings, Path]] = []
        self._servers: McpServers | None = None
        self._making = threading.Lock()

    @property
    def running(self) -> tuple[McpServer, ...]:
        """Those that some agent needed so far, whatever became of them."""
        return self._servers.running if self._servers is not None else ()

    def of(self, profile: AgentProfile) -> tuple[AgentServers, ...]:
        """The source of an agent's tools; nothing without servers, and for the scripted model; may import."""
        scripted = profile.provider is None and (profile.model or "").startswith("demo/")
        if scripted or not (self._plan.equipment.mcp.servers or self._projects):
            return ()
        return (self._made().for_agent(profile.workspace, profile.mcp),)

    def use_project(self, settings: McpSettings, root: Path) -> None:
        """Offer the servers of a trusted project to agents that work in it."""
        if settings.servers:
            self._projects.append((settings, root))
            if self._servers is not None:
                self._servers.add(project_specs(settings, root))

    def doubt(self, tool: str, workspace: Path) -> str | None:
        """Why a call has to be asked about whatever the rules allow; None for all but MCP tools."""
        return self._servers.doubt(tool, workspace) if self._servers is not None else None

    async def close(self) -> None:
        """End all servers; nothing of them is left."""
        if self._servers is not None:
            await self._servers.close()

    def _made(self) -> McpServers:
        with self._making:
            if self._servers is None:
                from agent_tui_core.tools.mcp_servers import McpServers

                servers = McpServers(
                    own_specs(self._plan.equipment.mcp),
                    data_dir=self._plan.data_dir,
                    ask=self._asks if self._attended else None,
                )
                for settings, root in self._projects:
                    servers.add(project_specs(settings, root))
                self._servers = servers
            return self._servers

    async def _asks(self, question: Question) -> JsonObject | None:
        return await self._forms.ask(
            Form(
                "elicitation",
                f"MCP server {question.server}",
                question.message,
                question.schema,
                question.agent_id,
                question.call_key,
            )
        )

    # --- what is told ---------------------------------------------------------------------------------------

    def report(self) -> ReportSection:
        """Every server, those of several workspaces once for each."""
        return ReportSection("MCP servers", tuple(self._rows()), _EMPTY)

    async def act(self, row_id: str) -> str:
        """Start a server again, or accept its tools as they are now."""
        for server in self.running:
            if row_id == _id(server):
                if server.changes is not None:
                    await server.accept()
                    return f"Accepted: the tools of {server.spec.name} as they are now"
                await server.restart()
                if server.state != "ready":
                    raise AgentTuiError(f"{server.spec.name} did not start: {server.why}")
                return f"{server.spec.name} runs, with {_count(len(server.tools), 'tool')}"
        raise AgentTuiError("that server is not as it was shown; look again")

    def _rows(self) -> Iterator[ReportRow]:
        specs = self._servers.specs if self._servers is not None else self._specs()
        for spec in specs:
            here = [server for server in self.running if server.spec is spec]
            for server in here:
                yield _row(server, several=len(here) > 1)
            if not here:
                state = "disabled" if spec.disabled else "not started"
                yield ReportRow(spec.name, spec.name, state, f"{spec.address} · {spec.source}")

    def _specs(self) -> list[ServerSpec]:
        found = own_specs(self._plan.equipment.mcp)
        for settings, root in self._projects:
            found += project_specs(settings, root)
        return found


def own_specs(settings: McpSettings) -> list[ServerSpec]:
    """The servers of a person's own settings."""
    return _specs(settings, OWN, None)


def project_specs(settings: McpSettings, root: Path) -> list[ServerSpec]:
    """The servers of a project that the person trusted; they run in its folder."""
    return _specs(settings, f"{PROJECT} ({root})", root)


def _specs(settings: McpSettings, source: str, folder: Path | None) -> list[ServerSpec]:
    from agent_tui_core.tools.mcp_values import ServerSpec

    return [
        ServerSpec(
            name=name,
            command=one.command,
            args=one.args,
            env=one.env,
            env_from=one.env_from,
            url=one.url,
            headers_env=one.headers_env,
            timeout=one.timeout,
            start_timeout=one.start_timeout,
            disabled=one.disabled,
            source=source,
            folder=folder,
        )
        for name, one in settings.servers.items()
    ]


def _id(server: McpServer) -> str:
    """While there is something to accept it names just that: what a person did not see is not accepted."""
    changed = f" {server.met.key}" if server.changes is not None and server.met is not None else ""
    return f"{server.spec.name} {server.workspace}{changed}"


def _row(server: McpServer, *, several: bool) -> ReportRow:
    spec = server.spec
    changed = server.changes is not None
    detail = [spec.address, spec.source, *([f"for {server.workspace}"] if several else [])]
    if server.unusable:
        names = ", ".join(safe_line(name)[:60] for name in server.unusable[:_NAMED])
        more = f" and {len(server.unusable) - _NAMED} more" if len(server.unusable) > _NAMED else ""
        detail.insert(0, f"not offered (they only run as tasks, and it runs none): {names}{more}")
    if server.doubt:
        detail.insert(0, f"its tools changed since you allowed them: {server.changes}")
    elif server.why:
        detail.insert(0, server.why)
    verb = "accept" if changed else "restart" if server.state not in {"not started", "starting"} else ""
    bad = changed or server.state in {"failed", "restarting"}
    return ReportRow(_id(server), spec.name, _state(server), " · ".join(detail), bad, verb)


def _state(server: McpServer) -> str:
    match server.state:
        case "ready":
            return f"ready, {_count(len(server.tools), 'tool')}"
        case "restarting":
            left = max(0.0, server.next_start - time.monotonic())
            return f"restarting in {left:.0f} s"
        case state:
            return state


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
