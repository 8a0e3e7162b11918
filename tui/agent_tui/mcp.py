"""Owns `agent-tui mcp`: the MCP servers that are configured, what one of them offers; refuses to call tools.

Listing starts nothing. A probe starts one server, shows it and ends it. All that a server says is foreign.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from agent_tui.options import CONTEXT, config_option, data_dir_option, hand_down, workspace_option
from agent_tui.rule_sources import Sources, find_sources, plain_line
from agent_tui.signals import ENDING
from agent_tui_core.errors import AgentTuiError, ConfigError
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line

if TYPE_CHECKING:
    from agent_tui_core.tools.mcp_server import McpServer
    from agent_tui_core.tools.mcp_values import ServerSpec

_DESCRIPTION_WIDTH: Final = 100
_TERMINATED: Final = 128 + signal.SIGTERM
_NOT_TRUSTED: Final = "you did not trust this folder: agent-tui trust"
_EPILOG: Final = """\b
Examples:
  agent-tui mcp                          the configured servers; nothing is started
  agent-tui mcp probe git                start it, and show its version, its tools and how long that took
  agent-tui mcp probe git --accept KEY   let rules hold again for the changed tools that a probe showed

\b
In the settings file:
  [mcp.servers.git]
  command = "mcp-server-git"
  args = ["--repository", "{workspace}"]
Exit code: 0, 1 the server did not start, 2 usage or settings.
"""


@dataclass(frozen=True, slots=True)
class _Configured:
    """One server, and why it cannot be started now, if it cannot."""

    spec: ServerSpec
    held: str = ""


@click.group(name="agent-tui mcp", epilog=_EPILOG, context_settings=CONTEXT, invoke_without_command=True)
@workspace_option
@config_option
@data_dir_option
@click.pass_context
def command(ctx: click.Context, workspace: Path | None, config: Path | None, data_dir: Path | None) -> int:
    """See the MCP servers that agents can use, and try one."""
    hand_down(ctx)
    return _list(workspace, config, data_dir) if ctx.invoked_subcommand is None else 0


@command.command(name="list", context_settings=CONTEXT)
@workspace_option
@config_option
@data_dir_option
def list_servers(workspace: Path | None, config: Path | None, data_dir: Path | None) -> int:
    """Show the servers that are configured; nothing is started."""
    return _list(workspace, config, data_dir)


@command.command(name="probe", epilog=_EPILOG, context_settings=CONTEXT)
@click.argument("name")
@click.option(
    "--accept", metavar="KEY", help="Let rules hold again for the tools that a probe showed with KEY."
)
@workspace_option
@config_option
@data_dir_option
def probe(
    name: str, accept: str | None, workspace: Path | None, config: Path | None, data_dir: Path | None
) -> int:
    """Start the server NAME, show its tools, and end it."""
    sources = find_sources(workspace, config, data_dir)
    servers = {one.spec.name: one for one in _configured(sources)}
    chosen = servers.get(name)
    if chosen is None:
        known = (
            f"there is: {', '.join(servers)}" if servers else "none is configured; see agent-tui mcp --help"
        )
        raise ConfigError(f"there is no MCP server '{plain_line(name)}'; {known}", key="NAME")
    if chosen.held:
        raise ConfigError(f"'{name}' is not started: {chosen.held}", key="NAME")
    # The SDK's warnings would go to the terminal as they are.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        return asyncio.run(_probe(chosen.spec, sources.folder, _data_dir(data_dir), accept=accept))
    except asyncio.CancelledError:
        return _TERMINATED


# --- list ---------------------------------------------------------------------------------------------------


def _list(workspace: Path | None, config: Path | None, data_dir: Path | None) -> int:
    sources = find_sources(workspace, config, data_dir)
    servers = list(_configured(sources))
    if not servers:
        click.echo("No MCP server is configured. agent-tui mcp --help shows how.")
        return 0
    width = max(len(one.spec.name) for one in servers)
    for one in servers:
        state = one.held or "not started: that comes with an agent's first request"
        click.echo(f"{one.spec.name:<{width}}  {plain_line(one.spec.address)}")
        click.echo(f"{'':<{width}}  {plain_line(one.spec.source)} · {state}")
    return 0


def _configured(sources: Sources) -> Iterator[_Configured]:
    from agent_tui_core.runtime.session_servers import own_specs, project_specs

    for spec in own_specs(sources.settings.mcp):
        yield _Configured(spec, "disabled" if spec.disabled else "")
    if (project := sources.project) is not None:
        for spec in project_specs(project.equipment.mcp, project.root):
            held = "disabled" if spec.disabled else ""
            yield _Configured(spec, held if sources.trusted else _NOT_TRUSTED)


def _data_dir(said: Path | None) -> Path:
    import os

    from agent_tui_core.config.paths import absolute, data_dir

    return absolute(said) if said is not None else data_dir(os.environ)


# --- probe --------------------------------------------------------------------------------------------------


async def _probe(spec: ServerSpec, workspace: Path, data_dir: Path, *, accept: str | None) -> int:
    from agent_tui_core.tools.mcp_servers import QUIET, McpServers

    if (task := asyncio.current_task()) is not None:  # so that the server is ended as well
        for number in ENDING:
            if number != signal.SIGINT and signal.getsignal(number) != signal.SIG_IGN:
                asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    servers = McpServers([spec], data_dir=data_dir)
    (server,) = servers.chosen(workspace, None)
    server.wake()
    try:
        trying = asyncio.create_task(server.tried())
        try:
            await asyncio.wait({trying}, timeout=QUIET)
            if not trying.done():
                click.echo(f"Starting {spec.name} …", err=True)
            await trying
        finally:
            trying.cancel()
        if server.state != "ready":
            raise AgentTuiError(f"the MCP server {spec.name} did not start: {server.why}")
        changes = server.changes
        if accept is not None and changes is not None:
            if server.met is None or server.met.key != accept:
                raise AgentTuiError(f"the tools of {spec.name} are not those of that key; probe it again")
            await server.accept()
        _show(server, changes, accepted=accept is not None)
    finally:
        await servers.close()
    return 0


def _show(server: McpServer, changes: str | None, *, accepted: bool) -> None:
    spec, said = server.spec, server.greeting
    click.echo(f"{spec.name}: ready in {server.started_in:.1f} s")
    click.echo(f"  server   {safe_line(f'{said.name} {said.version}')}, MCP {safe_line(said.protocol)}")
    click.echo(f"  address  {plain_line(spec.address)}")
    click.echo(f"  source   {plain_line(spec.source)}")
    if changes is None:
        click.echo("  trust    these are the tools that you know")
    elif accepted:
        click.echo(f"  trust    accepted now ({safe_line(changes)})")
    else:
        click.echo(f"  trust    changed since you allowed them ({safe_line(changes)}):")
        key = server.met.key if server.met is not None else ""
        click.echo(f"           every call is asked about, until you say --accept {key}")
    more = f"; {server.left_out:,} more are left out" if server.left_out else ""
    click.echo(f"  tools    {len(server.tools)}{more}")
    if server.unusable:
        names = ", ".join(plain_line(name) for name in server.unusable)
        click.echo(f"  not offered, because they only run as tasks and this server runs none: {names}")
    width = min(40, max((len(tool.name) for tool in server.tools), default=0))
    for tool in server.tools:
        first = safe_line(tool.description.partition("\n")[0])
        cut = first if len(first) <= _DESCRIPTION_WIDTH else f"{first[: _DESCRIPTION_WIDTH - 1]}…"
        click.echo(f"    {tool.name:<{width}}  {cut}".rstrip())
