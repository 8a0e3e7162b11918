"""Owns `agent-tui export`: one stored session as Markdown or JSON lines; refuses to overwrite a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from agent_tui.options import CONTEXT, data_dir_option, session_id
from agent_tui.sessions import history_file
from agent_tui_core.errors import HistoryError
from agent_tui_core.history.export import json_lines, markdown, save
from agent_tui_core.history.store import History, StoredSession

_EXAMPLES = """\b
Examples:
  agent-tui export newest                       Markdown, to standard output
  agent-tui export 1a2b3c4d -o talk.md          into a new file that only you can read
  agent-tui export 1a2b3c4d --format jsonl      the events as JSON lines: docs/headless.md
"""


@click.command(name="agent-tui export", epilog=_EXAMPLES, context_settings=CONTEXT)
@click.argument("session")
@click.option("form", "--format", type=click.Choice(["md", "jsonl"]), default="md", help="md if not said.")
@click.option(
    "output",
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write into this new file, which only you can read; one that exists is left alone.",
)
@data_dir_option
def command(session: str, form: str, output: Path | None, data_dir: Path | None) -> int:
    """Write out a stored session: all agents, what was said, called, decided, and what came of it.

    SESSION is the beginning of its id, as "agent-tui sessions" lists them, or "newest".
    """
    prefix = session_id(session)
    if prefix is None:
        raise click.UsageError(f"'{session}' is no id of a session; agent-tui sessions lists them.")
    file = history_file(data_dir)
    if not file.exists():
        raise HistoryError("there is no session yet")
    stored = asyncio.run(_load(file, prefix))
    text = "\n".join(map(markdown, stored.conversations)) if form == "md" else _lines(stored)
    if output is None:
        click.echo(text.encode("utf-8", "replace"), nl=False)
    else:
        save(output, text)
    return 0


def _lines(stored: StoredSession) -> str:
    return "".join(line for conversation in stored.conversations for line in json_lines(conversation))


async def _load(file: Path, prefix: str) -> StoredSession:
    history = await History.open(file)
    try:
        return await history.load(prefix or None)
    finally:
        await history.close()
