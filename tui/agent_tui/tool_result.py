"""Owns `agent-tui tool-result`: a result that somebody outside has, brought to the call that waits for it.

Refuses to know how it gets there.
"""

from __future__ import annotations

import os
import sys
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
    Result,
    is_call_id,
    read_outcome,
)
from agent_tui_core.text import safe_text

_EPILOG: Final = """\b
Examples:
  agent-tui tool-result 3f2a… --result "deployed as v42"
  agent-tui tool-result 3f2a… --error "the build is red"
  agent-tui tool-result 3f2a… --result-file report.md
  echo '{"result": {"kg": 3.2}}' | agent-tui tool-result 3f2a…
  agent-tui tool-result "$AGENT_TUI_CALL_ID" --result done    in the program of [tools.NAME]

\b
CALL_ID stands in the card of the call. What is said with --result can be seen in the list of
processes; for secrets use a file or standard input. When no agent-tui waits for the call, but its
session can come back and the time is not over, the result is kept for it.

\b
Exit code: 0 delivered or kept, 1 too late, twice or unknown, 2 the arguments were no good.
"""


@click.command(name="agent-tui tool-result", epilog=_EPILOG, context_settings=CONTEXT)
@click.argument("call_id")
@click.option("--result", metavar="TEXT", help="The result.")
@click.option(
    "--result-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file that holds the result as text; - is standard input.",
)
@click.option("--error", metavar="WHY", help="There is no result; the model reads why.")
@data_dir_option
def command(
    call_id: str, result: str | None, result_file: Path | None, error: str | None, data_dir: Path | None
) -> int:
    """Deliver the result of a call that waits for it from outside.

    Without an option standard input is read: {"result": …} with text or any JSON value, or {"error": "why"}.
    """
    if not is_call_id(call_id):
        raise click.UsageError("That is no id of a call: those have 32 digits and letters from a to f.")
    outcome = _outcome(result, result_file, error)
    from agent_tui_core.runtime.hand_over import hand_over

    done = hand_over(Delivery(call_id, outcome), _folder(data_dir), os.environ)
    refused = done.became == "refused"
    click.echo(f"{'agent-tui: ' if refused else ''}{safe_text(done.words)}", err=refused)
    return 1 if refused else 0


def _outcome(result: str | None, file: Path | None, error: str | None) -> Outcome:
    said = [name for name, value in _named(result, file, error) if value is not None]
    if len(said) > 1:
        raise click.UsageError(f"Say one of {' and '.join(said)}.")
    if result is not None:
        return Result(result)
    if error is not None:
        return Failure(error)
    if file is not None:
        return Result(_read(file).decode(errors="replace"))
    if sys.stdin.isatty():
        raise click.UsageError("Say --result, --result-file or --error, or give JSON on standard input.")
    try:
        return read_outcome(_read(Path("-")))
    except NotUnderstood as problem:
        raise click.UsageError(f"Standard input: {problem}.") from problem


def _named(result: str | None, file: Path | None, error: str | None) -> tuple[tuple[str, object], ...]:
    return ("--result", result), ("--result-file", file), ("--error", error)


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
