"""Owns `agent-tui tool-result`: a result that somebody outside has, brought to the call that waits for it.

Refuses to know how it gets there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from agent_tui.options import CONTEXT, data_dir_option
from agent_tui_core.config.paths import absolute, data_dir
from agent_tui_core.errors import AgentTuiError
from agent_tui_core.runtime.delivery import (
    LINE_LIMIT,
    Delivery,
    Failure,
    NotUnderstood,
    Outcome,
    Progress,
    Result,
    is_call_id,
    read_outcome,
)
from agent_tui_core.text import safe_line, safe_text

_EPILOG: Final = """\b
Examples:
  agent-tui tool-result 3f2a… --result "deployed as v42"
  agent-tui tool-result 3f2a… --error "the build is red"
  agent-tui tool-result 3f2a… --result-file report.md
  agent-tui tool-result 3f2a… --progress "3 of 5 machines"
  agent-tui tool-result --list                                the calls that wait, with their ids
  echo '{"result": {"kg": 3.2}}' | agent-tui tool-result 3f2a…
  agent-tui tool-result "$AGENT_TUI_CALL_ID" --result done    in the program of [tools.NAME]

\b
CALL_ID stands in the card of the call. What is said with --result can be seen in the list of
processes; for secrets use a file or standard input. When no agent-tui waits for the call, but its
session can come back and the time is not over, the result is kept for it.

\b
Exit code: 0 delivered or kept, 1 too late, twice or unknown, 2 the arguments were no good.
"""

_SHOWN: Final = 100
_NAMED: Final = 40
_SHORT_ID: Final = 12


@click.command(name="agent-tui tool-result", epilog=_EPILOG, context_settings=CONTEXT)
@click.argument("call_id", required=False)
@click.option("listed", "--list", is_flag=True, help="Show the calls that wait, oldest first.")
@click.option("--result", metavar="TEXT", help="The result.")
@click.option(
    "--result-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file that holds the result as text; - is standard input.",
)
@click.option("--error", metavar="WHY", help="There is no result; the model reads why.")
@click.option("--progress", metavar="TEXT", help="Show this in the card of the call, which waits on.")
@data_dir_option
def command(
    call_id: str | None,
    listed: bool,
    result: str | None,
    result_file: Path | None,
    error: str | None,
    progress: str | None,
    data_dir: Path | None,
) -> int:
    """Deliver the result of a call that waits for it from outside.

    Without an option standard input is read: {"result": …} with text or any JSON value, {"error": "why"} or
    {"progress": "how far"}.
    """
    said = {"--result": result, "--result-file": result_file, "--error": error, "--progress": progress}
    if listed:
        return _list(_folder(data_dir), said=[call_id, *said.values()])
    if call_id is None:
        raise click.MissingParameter(param_type="argument", param_hint="'CALL_ID'")
    if not is_call_id(call_id):
        raise click.UsageError("That is no id of a call: those have 32 digits and letters from a to f.")
    outcome = _outcome(said)
    from agent_tui_core.runtime.hand_over import hand_over

    done = hand_over(Delivery(call_id, outcome), _folder(data_dir), os.environ)
    refused = done.became == "refused"
    click.echo(f"{'agent-tui: ' if refused else ''}{safe_text(done.words)}", err=refused)
    return 1 if refused else 0


def _list(folder: Path, said: Sequence[object]) -> int:
    if any(each is not None for each in said):
        raise click.UsageError("--list shows all calls that wait, and delivers nothing.")
    from agent_tui_core.runtime.hand_over import waiting_calls

    found = waiting_calls(folder)
    for call in found:
        until = datetime.fromtimestamp(call.until, tz=UTC).astimezone()
        who = f"{safe_line(call.agent_name)[:_NAMED]}, session {call.session_id[:_SHORT_ID]}"
        click.echo(f"{call.key}  {safe_line(call.tool)}  until {until:%Y-%m-%d %H:%M:%S}  {who}")
        click.echo(f"  {safe_line(call.input[: 4 * _SHOWN])[:_SHOWN]}")
    if not found:
        click.echo("No call waits.", err=True)
    return 0


def _outcome(said: Mapping[str, str | Path | None]) -> Outcome:
    named = [name for name, value in said.items() if value is not None]
    if len(named) > 1:
        raise click.UsageError(f"Say one of {' and '.join(named)}.")
    match named, [value for value in said.values() if value is not None]:
        case ["--result"], [str(result)]:
            return Result(result)
        case ["--error"], [str(why)]:
            return Failure(why)
        case ["--progress"], [str(words)]:
            return Progress(words)
        case ["--result-file"], [Path() as file]:
            return Result(_read(file).decode(errors="replace"))
    if sys.stdin.isatty():
        raise click.UsageError(
            "Say --result, --result-file, --error or --progress, or give JSON on standard input."
        )
    try:
        return read_outcome(_read(Path("-")))
    except NotUnderstood as problem:
        raise click.UsageError(f"Standard input: {problem}.") from problem


def _read(file: Path) -> bytes:
    """All of a file, or of standard input; raises `AgentTuiError` when it is too large or cannot be read."""
    try:
        if file == Path("-"):
            content = sys.stdin.buffer.read(LINE_LIMIT + 1)
        else:
            with file.open("rb") as opened:
                content = opened.read(LINE_LIMIT + 1)
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror or error}.") from error
    if len(content) > LINE_LIMIT:
        raise AgentTuiError(f"a result may have {LINE_LIMIT // 2**20} MiB; this one is larger")
    return content


def _folder(said: Path | None) -> Path:
    return absolute(said) if said is not None else data_dir(os.environ)
