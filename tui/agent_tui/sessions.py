"""Owns `agent-tui sessions`: what was kept, newest first, a line each; refuses to change any of it."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from agent_tui.options import CONTEXT, data_dir_option
from agent_tui_core.config.paths import absolute, data_dir
from agent_tui_core.history.store import History, SessionSummary
from agent_tui_core.text import safe_line

SHORT_ID: Final = 12


@click.command(name="agent-tui sessions", context_settings=CONTEXT)
@click.option(
    "limit", "-n", "--limit", type=click.IntRange(min=1), default=50, help="How many; 50 if not said."
)
@data_dir_option
def command(limit: int, data_dir: Path | None) -> int:
    """List the stored sessions, newest first: id, when something last happened, workspace, first words.

    The id, or its beginning, is what "agent-tui --resume" and "agent-tui export" take.
    """
    file = history_file(data_dir)
    if not file.exists():
        click.echo("There is no session yet.", err=True)
        return 0
    for each in asyncio.run(_sessions(file, limit)):
        click.echo(_line(each))
    return 0


def history_file(said: Path | None) -> Path:
    """The history file that these options and this environment mean."""
    from agent_tui_core.runtime.session import HISTORY_FILE

    return (absolute(said) if said is not None else data_dir(os.environ)) / HISTORY_FILE


async def _sessions(file: Path, limit: int) -> list[SessionSummary]:
    history = await History.open(file)
    try:
        return await history.sessions(limit)
    finally:
        await history.close()


def _line(each: SessionSummary) -> str:
    when = f"{datetime.fromtimestamp(each.last_at, tz=UTC).astimezone():%Y-%m-%d %H:%M}"
    title = each.title or "(nothing said)"
    workspace = "(demo)" if each.demo else safe_line(each.workspace)
    return f"{each.id[:SHORT_ID]}  {when}  {workspace}  {safe_line(title)}"
