"""Owns `agent-tui trust`: what a folder brings along for its agents, and whether the person trusts it.

Refuses to run any of it, and to take anything but a clear yes for one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

from agent_tui.options import CONTEXT, config_option, data_dir_option
from agent_tui.rule_sources import find_sources, plain_line
from agent_tui_core.config.paths import absolute, data_dir
from agent_tui_core.config.project import Project
from agent_tui_core.config.trust import TrustStore
from agent_tui_core.errors import AgentTuiError, ConfigError

_EPILOG: Final = """\b
Examples:
  agent-tui trust                  what this folder brings along, and a question; no is the default
  agent-tui trust ~/src/project --show
  agent-tui trust --yes            for scripts: you have read it
  agent-tui trust --forget

\b
What counts: .agent-tui/settings.toml, .agent-tui/hooks.json, AGENTS.md and the files in the folder that their
commands name. One changed byte asks again. Exit code: 0 trusted, shown or forgotten, 1 not trusted, 2 usage.
"""


@click.command(name="agent-tui trust", epilog=_EPILOG, context_settings=CONTEXT)
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Trust it without a question.")
@click.option("--show", is_flag=True, help="Only show it.")
@click.option("--forget", is_flag=True, help="Trust it no longer.")
@config_option
@data_dir_option
def command(
    folder: Path | None, yes: bool, show: bool, forget: bool, config: Path | None, data_dir: Path | None
) -> int:
    """Decide whether agents may use what a folder brings along: hooks, servers, tools, rules, AGENTS.md.

    Nothing in the folder is run, and nothing of it counts before it is trusted, but rules that forbid.
    """
    if yes + show + forget > 1:
        raise click.UsageError("--yes, --show and --forget exclude each other.")
    place = folder if folder is not None else Path.cwd()
    store = TrustStore(_data_dir(data_dir))
    if forget:
        return _forget(store, absolute(place).resolve())
    found = find_sources(place, config, data_dir)
    if found.project is None or not (found.project.would_run or found.project.problems):
        click.echo(f"{plain_line(str(found.folder))} brings nothing along: there is nothing to trust.")
        return 0
    _tell(found.project, trusted=found.trusted)
    if show or found.trusted or not found.project.would_run:
        return 0
    if not yes and not _asked():
        click.echo("Not trusted: none of it is used.")
        return 1
    store.trust(found.project)
    click.echo("Trusted, until a byte of it changes.")
    return 0


def _data_dir(said: Path | None) -> Path:
    return absolute(said) if said is not None else data_dir(os.environ)


def _tell(project: Project, *, trusted: bool) -> None:
    state = "trusted" if trusted else "not trusted"
    click.echo(f"{plain_line(str(project.root))} ({state}) brings along:")
    for line in project.would_run:
        click.echo(f"  {line}")
    for line in project.problems:
        click.secho(f"  ! {line}", fg="yellow")


def _asked() -> bool:
    """A yes that a person typed; an empty line, an end of input and anything else is a no."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise ConfigError("there is no terminal to answer at; read it with --show, then say --yes")
    click.echo("Any of this may do what you may do. Use it? [y/N] ", nl=False)
    return sys.stdin.readline().strip().casefold() in {"y", "yes"}


def _forget(store: TrustStore, root: Path) -> int:
    if not store.forget(root):
        raise AgentTuiError(f"{plain_line(str(root))} was not trusted")
    click.echo(f"{plain_line(str(root))} is trusted no longer.")
    return 0
