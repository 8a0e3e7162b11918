"""Owns the Bash tool: one command line in a fresh shell in the workspace; refuses to judge what it does."""

from __future__ import annotations

import asyncio
import shutil
import signal
from functools import cache
from pathlib import Path
from typing import Any

from agent_tui_core.blocks import JsonObject
from agent_tui_core.errors import ToolError
from agent_tui_core.events import ApprovalPreview
from agent_tui_core.processes.command import CommandOutput, Place, run_command
from agent_tui_core.processes.runner import ProcessOutput
from agent_tui_core.text import visible_text
from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
from agent_tui_core.tools.git_watch import GitWatch

DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 600_000
MAX_COMMAND = 100_000
"""Characters: a little less than Linux starts (128 KiB), for all of them are held against every rule."""

_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "command": {
            "type": "string",
            "maxLength": MAX_COMMAND,
            "description": (
                f"The command line to run, at most {MAX_COMMAND:,} characters: write a file for more."
            ),
        },
        "timeout": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_TIMEOUT_MS,
            "description": (
                f"Milliseconds after which the command and all its children are killed; "
                f"{DEFAULT_TIMEOUT_MS} without it, {MAX_TIMEOUT_MS} at most."
            ),
        },
        "description": {
            "type": "string",
            "description": "What the command does, in five to ten words, for the person who watches.",
        },
    },
    "required": ["command"],
    "additionalProperties": False,
}
_DESCRIPTION = (
    "Run a command line with bash. Each call starts a fresh shell in the workspace folder: `cd` and "
    "variables do not last from one call to the next. There is no terminal and no input, so use flags that "
    "keep programs from asking. stdout and stderr come back together; a long output comes back as its head "
    "and tail, with the name of a file that holds more. What a command leaves running with `&` goes on, "
    "writes to a file that the result names, and ends with you. For files use Read, Grep, Glob, Edit, Write."
)


async def _run(input: dict[str, Any], context: ToolContext) -> ToolOutput:
    milliseconds = min(input.get("timeout") or DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS)
    command: str = input["command"]
    place = Place(context.workspace, context.sandbox, context.background, context.environment)
    done = await _watched(command, place, context, milliseconds / 1000)
    output = done.output
    text = output.text.rstrip("\n") or "(no output)"
    more = _left(done)
    if output.timed_out:
        return ToolOutput(f"timed out after {milliseconds} ms and was killed\n{text}", is_error=True)
    if output.exit_code != 0:
        if done.boxed and context.sandbox is not None:
            more = "\n".join(filter(None, (context.sandbox.hint(output.text), more)))
        return ToolOutput("\n".join(filter(None, (_ending(output, done.boxed), text, more))), is_error=True)
    return ToolOutput(f"{text}\n{more}" if more else text)


async def _watched(command: str, place: Place, context: ToolContext, timeout: float) -> CommandOutput:
    """Run it, and tell what it left in `.git` for the person's next git, however it ended."""
    watch = await asyncio.to_thread(GitWatch, context.workspace)
    try:
        done = await run_command(
            _argv(command),
            command,
            place,
            timeout=timeout,
            report=context.report,
            spawned=context.spawned,
        )
    except BaseException:
        boxed = context.sandbox is not None and not context.sandbox.trouble()
        for words in watch.news(boxed=boxed):  # some milliseconds; an interrupt waits for no thread
            context.warn(words)
        raise
    for words in await asyncio.to_thread(watch.news, boxed=done.boxed):
        context.warn(words)
    return done


def _left(done: CommandOutput) -> str:
    """What the model has to know of what goes on, or does no longer."""
    if done.ended:
        return "[What it left running in the background was ended.]"
    if done.left is None:
        return ""
    left = done.left
    program = visible_text(left.program or "a program").replace("\n", " ")
    where = f"its output goes to {left.file}" if left.file else "its output is dropped"
    # In a sandbox of its own no other command could reach that number.
    number = "" if done.boxed or not left.pids else f" (pid {left.pids[0]})"
    return (
        f"[Left running in the background as {left.id}: {program}{number}; {where}. "
        "It is ended together with you, or by the person.]"
    )


async def _preview(input: JsonObject, context: ToolContext) -> ApprovalPreview:  # noqa: ARG001
    return ApprovalPreview("command", str(input["command"]))


def _argv(command: str) -> list[str]:
    if not command.strip():
        raise ToolError("the command is empty")
    # A shell would take a first word that starts with one of these for its own options.
    return [_shell(), "-c", f" {command}" if command[0] in "-+" else command]


@cache
def _shell() -> str:
    for candidate in ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", shutil.which("bash") or ""):
        if Path(candidate).is_absolute() and Path(candidate).is_file():
            return candidate
    return "/bin/sh"


def _ending(output: ProcessOutput, boxed: bool) -> str:
    code = output.exit_code
    if code is None:
        return "the command could not be ended; it may still be running"
    if code < 0:
        return f"ended by {_signal(-code)}"
    if boxed and code > 128 and (name := _signal(code - 128)).startswith("SIG"):
        return f"exit code {code} ({name})"  # the sandbox tells both in the same way
    return f"exit code {code}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


BASH = Tool(
    name="Bash",
    description=_DESCRIPTION,
    input_schema=_SCHEMA,
    run=_run,
    takes_context=True,
    writes=True,
    timeout=MAX_TIMEOUT_MS / 1000 + 20,  # its own deadline comes first
    preview=_preview,
)
"""Runs a command line in the workspace."""
