"""Owns `agent-tui doctor`: what was found and what a start would do; refuses to change or to tell a key.

It works without a terminal. Each finding is ok, a note or a problem; a problem makes the exit code 1.
"""

from __future__ import annotations

import asyncio
import locale
import os
import platform
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import click

from agent_tui_core.config.load import load_settings
from agent_tui_core.config.models import Settings
from agent_tui_core.config.paths import absolute, settings_file
from agent_tui_core.config.profiles import Flags, Plan, plan
from agent_tui_core.config.servers import ANTHROPIC_KEY, OPENAI_KEY, ProviderProfile, api_key
from agent_tui_core.errors import AgentTuiError, ConfigError
from agent_tui_core.processes.environment import CERTIFICATES, PROXIES, passwords_left_out
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line

if TYPE_CHECKING:
    import httpx

    from agent_tui_core.providers.discovery import FoundServer

Verdict: TypeAlias = Literal["ok", "note", "problem"]

SMALLEST: Final = (80, 24)
SHOWN_MODELS: Final = 4
_COLORS: Final[Mapping[Verdict, str]] = {"ok": "green", "note": "yellow", "problem": "red"}
_VARIABLES: Final = (
    "OPENAI_BASE_URL",
    OPENAI_KEY,
    ANTHROPIC_KEY,
    "AGENT_TUI_MODEL",
    "AGENT_TUI_DATA_DIR",
    "AGENT_TUI_CONFIG_DIR",
    "NO_COLOR",
    *PROXIES,
    *CERTIFICATES,
)
_LEFT_OUT: Final = (
    "holds a name or password: hooks, servers and commands are not given it unless their env_from names it"
)
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    verdict: Verdict
    name: str
    words: str


@dataclass(frozen=True, slots=True)
class Servers:
    """What answered."""

    local: tuple[FoundServer, ...]
    answers: Mapping[str, tuple[str, ...] | AgentTuiError]
    """By provider's name: its models, or why there are none."""


def examine(flags: Flags, config: Path | None, environ: Mapping[str, str]) -> int:
    """Print the report; return 1 when something is broken, else 0."""
    broken = False

    def show(title: str, findings: Iterable[Finding]) -> None:
        nonlocal broken
        click.echo(f"\n{title}")
        for finding in findings:
            broken |= finding.verdict == "problem"
            _print(finding, colors=not environ.get("NO_COLOR"))

    settings, refused = _settings(config, environ)
    planned: Plan | None = None
    if refused is None:
        try:
            planned = plan(settings, flags, environ)
        except ConfigError as error:
            refused = error
    servers = asyncio.run(_ask_servers(planned, environ))
    show("Program", _program())
    show("Settings", _settings_findings(config, environ, refused))
    if planned is not None:
        show("Hooks", _hooks(planned))
        show("Data", _data(planned.data_dir))
    show("Environment (values are not shown)", _environment(planned, settings, environ))
    show("What commands of agents could read", _credentials(planned, environ))
    show("Model servers", _servers(planned, servers))
    show("Terminal", _terminal(environ))
    show("What agent-tui would do now", _outlook(planned, servers, refused))
    return int(broken)


def _print(finding: Finding, *, colors: bool) -> None:
    verdict = f"{finding.verdict:<8}"
    if colors and sys.stdout.isatty():
        verdict = click.style(verdict, fg=_COLORS[finding.verdict])
    click.echo(f"  {verdict} {safe_line(finding.name):<22} {safe_line(finding.words)}")


def _program() -> Iterator[Finding]:
    for name in ("agent-tui-dashboard", "textual", "httpx"):
        try:
            yield Finding("ok", name, metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding("note", name, "not installed; running from the checkout")
    yield Finding("ok", "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    bash = shutil.which("bash")
    if bash is None:
        yield Finding("problem", "bash", "not found on PATH: the Bash tool cannot run anything")
    else:
        yield Finding("ok", "bash", bash)


def _settings(config: Path | None, environ: Mapping[str, str]) -> tuple[Settings, ConfigError | None]:
    try:
        return load_settings(config, environ=environ), None
    except ConfigError as error:
        return Settings(), error


def _settings_findings(
    config: Path | None, environ: Mapping[str, str], refused: ConfigError | None
) -> Iterator[Finding]:
    file = settings_file(environ) if config is None else absolute(config)
    if not file.exists() and config is None:
        yield Finding("ok", "file", f"{file} (not there, and not needed)")
    else:
        yield Finding("ok", "file", str(file))
    if refused is not None:
        yield Finding("problem", "", str(refused))


def _hooks(planned: Plan) -> Iterator[Finding]:
    from agent_tui_core.runtime.forms import Forms
    from agent_tui_core.runtime.session_hooks import SessionHooks

    hooks = SessionHooks(planned, Forms())
    try:
        hooks.read()
    except ConfigError as error:
        yield Finding("problem", "", str(error))
        return
    count = 0 if hooks.commands is None else len(hooks.commands.all)
    yield Finding("ok", "commands", f"{count or 'none'} (agent-tui hooks list)")


def _credentials(planned: Plan | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    from agent_tui_core.processes.credentials import credentials_named, credentials_there
    from agent_tui_core.processes.sandbox import Sandbox, SandboxRules

    sandbox = Sandbox(SandboxRules("auto" if planned is None else planned.equipment.sandbox.mode))
    hides = sandbox.works()
    words = "commands that you or a rule allow can read it"
    words += "; in the mode auto it is hidden" if hides else f", and nothing hides it: {sandbox.trouble}"
    there: dict[str, list[str]] = {}
    home = Path(environ.get("HOME") or Path.home())
    for kind, place in credentials_there(home):
        there.setdefault(kind.what, []).append(f"~/{place.relative_to(home)}")
    if named := [str(place) for place in credentials_named(environ)]:
        there["named by variables"] = named
    for what, places in there.items():
        yield Finding("note", what, f"{', '.join(places)}: {words}")
    if not there:
        yield Finding("ok", "credentials", "none at the usual places below the home folder")


def _data(folder: Path) -> Iterator[Finding]:
    if not folder.is_dir():
        above = next(parent for parent in folder.parents if parent.exists())
        if folder.exists() or not os.access(above, os.W_OK | os.X_OK):
            yield Finding("problem", "folder", f"{folder} cannot be made")
        else:
            yield Finding("ok", "folder", f"{folder} (will be made at the first start)")
        return
    if os.access(folder, os.W_OK | os.X_OK):
        yield Finding("ok", "folder", str(folder))
    else:
        yield Finding("problem", "folder", f"{folder} cannot be written")
    from agent_tui_core.runtime.session import HISTORY_FILE

    yield _database(folder / HISTORY_FILE)


def _database(file: Path) -> Finding:
    try:
        mode = file.stat().st_mode
        size = sum(part.stat().st_size for part in file.parent.glob(f"{file.name}*"))
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=2)) as database:
            tables = database.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").fetchone()[0]
    except FileNotFoundError:
        return Finding("ok", "history", "none yet")
    except (sqlite3.Error, OSError) as error:
        return Finding("problem", "history", f"{file} cannot be opened: {error}")
    if stat.S_IMODE(mode) & 0o077:
        return Finding("note", "history", f"{file} can be read by others; a start closes it to them")
    return Finding("ok", "history", f"{file} ({size / 1024:,.0f} KiB, {tables} tables)")


def _environment(planned: Plan | None, settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    named = [provider.api_key_env for provider in settings.providers.values() if provider.api_key_env]
    for name in dict.fromkeys((*_VARIABLES, *named)):
        if environ.get(name) or environ.get(name.lower()):
            yield Finding("ok", name, "set")
        elif name in environ:
            yield Finding("note", name, "set, but empty: counts as not set")
        elif name in named:
            yield Finding("note", name, "not set, and a provider takes its key from it")
    for name in passwords_left_out(environ):
        yield Finding("note", name, _LEFT_OUT)
    for name in CERTIFICATES:
        if places := _not_there(environ.get(name, "")):
            yield Finding("note", name, f"names what is not there: {places}")
    for provider in planned.providers.values() if planned else ():
        parts = urlsplit(provider.base_url)
        if provider.api_key_env and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            yield Finding("note", provider.name, "gets its key over http: anyone on the way can read it")


def _not_there(places: str) -> str:
    """Of the files and folders that a variable names; every child's connections would fail."""
    return ", ".join(place for place in places.split(os.pathsep) if place and not Path(place).exists())


async def _ask_servers(planned: Plan | None, environ: Mapping[str, str]) -> Servers:
    from agent_tui_core.providers.discovery import probe
    from agent_tui_core.providers.http import http_client

    used = planned.providers.values() if planned else ()
    async with http_client(connect_timeout=3.0) as client, asyncio.TaskGroup() as group:
        found = group.create_task(probe(client))
        asked = {provider.name: group.create_task(_models(client, provider, environ)) for provider in used}
    return Servers(tuple(found.result()), {name: task.result() for name, task in asked.items()})


async def _models(
    client: httpx.AsyncClient, provider: ProviderProfile, environ: Mapping[str, str]
) -> tuple[str, ...] | AgentTuiError:
    from agent_tui_core.providers.choice import make_provider
    from agent_tui_core.runtime.connections import server_extras

    try:
        key, extras = api_key(provider, environ), server_extras(provider, environ)
        return tuple(
            await make_provider(provider.protocol, client, provider.base_url, key, extras=extras).models()
        )
    except AgentTuiError as error:
        return error


def _servers(planned: Plan | None, servers: Servers) -> Iterator[Finding]:
    from agent_tui_core.providers.discovery import LOCAL_SERVERS

    started = {agent.provider for agent in planned.agents} if planned else set()
    for name, answer in servers.answers.items():
        url = _address(planned.providers[name]) if planned else ""
        if isinstance(answer, AgentTuiError):
            verdict: Verdict = "problem" if name in started else "note"
            yield Finding(verdict, name, f"{url}: {answer}")
        else:
            yield Finding("ok", name, f"{url}: {_model_words(answer)}")
    running = {server.base_url: server for server in servers.local}
    for name, url in LOCAL_SERVERS:
        server = running.get(url)
        if server is None:
            yield Finding("ok", name, f"{url}: not running")
        else:
            yield Finding("ok" if server.models else "note", name, f"{url}: {_model_words(server.models)}")


def _address(provider: ProviderProfile) -> str:
    spoken = {"anthropic": " (Anthropic Messages)", "responses": " (OpenAI Responses)"}
    return provider.base_url + spoken.get(provider.protocol, "")


def _model_words(models: tuple[str, ...]) -> str:
    if not models:
        return "answers, but has no model"
    more = len(models) - SHOWN_MODELS
    return ", ".join(models[:SHOWN_MODELS]) + (f" and {more} more" if more > 0 else "")


def _terminal(environ: Mapping[str, str]) -> Iterator[Finding]:
    term = environ.get("TERM", "")
    interactive = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    if not interactive:
        yield Finding("note", "terminal", "none here: the dashboard needs one")
    elif term in {"", "dumb"}:
        yield Finding("problem", "TERM", f"{term or 'not set'}: no terminal that a dashboard can be drawn on")
    yield Finding("ok", "TERM", term or "not set")
    deep = environ.get("COLORTERM", "") in {"truecolor", "24bit"}
    yield Finding("ok", "colours", "16 million" if deep else "256 or fewer (COLORTERM is not truecolor)")
    columns, lines = shutil.get_terminal_size()
    small = interactive and (columns < SMALLEST[0] or lines < SMALLEST[1])
    yield Finding(
        "note" if small else "ok", "size", f"{columns}x{lines}" + (", below 80x24" if small else "")
    )
    if environ.get("TMUX"):
        yield Finding("ok", "tmux", "yes")
    encoding = locale.getpreferredencoding(False)
    if encoding.lower().replace("-", "") == "utf8":
        yield Finding("ok", "encoding", encoding)
    else:
        yield Finding("note", "encoding", f"{encoding}: set LANG to a UTF-8 locale to see lines and signs")


def _outlook(planned: Plan | None, servers: Servers, refused: ConfigError | None) -> Iterator[Finding]:
    if planned is None:
        yield Finding("problem", "stop", f"with exit code 2: {refused}")
        return
    yield Finding("ok", "workspace", str(planned.workspace))
    if planned.demo:
        yield Finding("ok", "demo", "asked for with --demo; no model is used")
        return
    if planned.providers:
        for agent in planned.agents:
            provider = planned.providers[agent.provider or ""]
            yield _agent(agent.name, agent.model, provider.base_url, servers.answers.get(provider.name))
        return
    local = next((server for server in servers.local if server.models), None)
    names = [agent.name for agent in planned.agents]
    if local is not None:
        for name in names or ["agent-1"]:
            yield _agent(
                name, planned.profiles["default"].model or local.models[0], local.base_url, local.models
            )
    else:
        who = ", ".join(names) or "four scripted agents"
        yield Finding("ok", "demo", f"{who}: no provider is configured and no local server answers")
        yield Finding(
            "ok", "a real model", "--base-url URL --model NAME, OPENAI_API_KEY, ANTHROPIC_API_KEY, or a file"
        )


def _agent(name: str, model: str | None, url: str, answer: tuple[str, ...] | AgentTuiError | None) -> Finding:
    offered = answer if isinstance(answer, tuple) else ()
    if model is None and not offered:
        return Finding("problem", name, f"at {url}, which names no model: say --model NAME")
    chosen = model or offered[0]
    if offered and chosen not in offered:
        return Finding("note", name, f"{chosen} at {url}, which does not list this model")
    return Finding("ok", name, f"{chosen} at {url}")
