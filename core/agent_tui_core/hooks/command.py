"""Owns one command hook and one run of it: JSON in, its end and its answer out; refuses to fold and to ask.

It runs in a session and process group of its own, with both pipes drained, and nothing of it lives longer
than its time-out or the interrupt of whoever waits for it.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from agent_tui_core.errors import HookError, ToolError
from agent_tui_core.hooks.contract import HookAnswer, Point, read_answer
from agent_tui_core.hooks.matcher import matches
from agent_tui_core.processes.empty_folder import SAFE_START, empty_folder
from agent_tui_core.processes.project_words import from_project
from agent_tui_core.processes.runner import ProcessOutput, run_process
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line

OnError: TypeAlias = Literal["ask", "deny", "allow"]
Amounts: TypeAlias = Literal["none", "ask", "deny"]

DEFAULT_TIMEOUT: Final = 60.0
LARGEST_OUTPUT: Final = 200_000
"""Characters of each pipe that are kept; a decision is shorter."""
_WITHOUT_MATCHER: Final = ("UserPromptSubmit", "Stop")
"""Points that are about nothing with a name: whatever a matcher says there, all are heard."""
PLUGIN_ROOT: Final = "CLAUDE_PLUGIN_ROOT"
PROJECT_DIR: Final = "CLAUDE_PROJECT_DIR"
_SHELLS: Final = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh")
_OF_PLUGIN: Final = re.compile(rf"\$(?:\{{{PLUGIN_ROOT}\}}|{PLUGIN_ROOT}\b)")


@dataclass(frozen=True, slots=True)
class CommandHook:
    """A line for the shell that hears of something and may speak."""

    point: Point
    command: str
    source: str = ""
    """Where it stands, for a person: a file and a key. May be foreign."""
    matcher: str | None = None
    timeout: float = DEFAULT_TIMEOUT
    """Seconds."""
    on_error: OnError | None = None
    """What it amounts to when it breaks; goes before `compat`."""
    compat: bool = False
    """When it breaks it counts for nothing, as in the contract that this follows."""
    environment: tuple[str, ...] = ()
    """Names of variables of ours that it inherits beside the usual few; never a provider's key."""
    plugin_root: str = ""
    """The folder of the plugin that it comes from; its command and its programs know it by `PLUGIN_ROOT`."""
    root: Path | None = None
    """Only agents that work in this folder meet it: a project's hook."""

    @property
    def id(self) -> str:
        """The same hook at the same place has the same id in every run of the program."""
        words = "\0".join((self.point, self.matcher or "", self.command, self.source))
        return hashlib.sha256(words.encode(errors="replace")).hexdigest()[:16]

    @property
    def runs(self) -> str:
        """Its command with the folder of its plugin spelt out: which files it runs."""
        return _OF_PLUGIN.sub(lambda _: self.plugin_root, self.command) if self.plugin_root else self.command

    @property
    def name(self) -> str:
        """Its command as one short line that cannot move a terminal, in backquotes."""
        line = safe_line(self.command.strip())
        return f"`{line}`" if len(line) <= 60 else f"`{line[:59]}…`"

    def wants(self, point: Point, subject: str, workspace: Path) -> bool:
        """Whether it is to hear of this."""
        if self.point != point:
            return False
        if point not in _WITHOUT_MATCHER and not matches(self.matcher, subject):
            return False
        return self.root is None or workspace.is_relative_to(self.root)

    def broken(self, *, attended: bool) -> Amounts:
        """What it amounts to when it broke; `attended`: a person can be asked."""
        if self.on_error is not None:
            return "none" if self.on_error == "allow" else self.on_error
        if self.compat:
            return "none"
        return "ask" if attended else "deny"


@dataclass(frozen=True, slots=True)
class HookRun:
    """One run of a hook that ended by itself or by its time-out."""

    hook: CommandHook
    answer: HookAnswer = field(default_factory=HookAnswer)
    failure: str | None = None
    """Why it is broken; then the answer is silence."""
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = ""
    errors: str = ""


def names_plugin_root(command: str) -> bool:
    """Whether it means a file in the folder of a plugin."""
    return _OF_PLUGIN.search(command) is not None


async def run_hook(hook: CommandHook, given: bytes, workspace: Path) -> HookRun:
    """Run it once, with this JSON on its standard input. Cancelling ends all of its processes first.

    It starts in an empty folder, because the files of the workspace are not ours to trust: an interpreter
    would import from them. Paths that its command names count from the project.
    """
    project = hook.root or workspace
    variables = SAFE_START | {PROJECT_DIR: str(project)}
    if hook.plugin_root:
        variables[PLUGIN_ROOT] = hook.plugin_root
    try:
        ended = await run_process(
            _argv(from_project(hook.command, project)),
            cwd=empty_folder(),
            timeout=hook.timeout,
            environment=hook.environment,
            variables=variables,
            limit=LARGEST_OUTPUT,
            input=given,
            separate=True,
        )
    except (ToolError, OSError) as error:
        return HookRun(hook, failure=safe_line(str(error)))
    failure: str | None = None
    answer = HookAnswer()
    try:
        answer = _answer(hook, ended)
    except HookError as error:
        failure = str(error)
    return HookRun(hook, answer, failure, ended.exit_code, ended.seconds, ended.text, ended.errors)


def _answer(hook: CommandHook, ended: ProcessOutput) -> HookAnswer:
    if ended.timed_out:
        raise HookError(f"it took longer than {hook.timeout:g} s and was killed")
    return read_answer(hook.point, ended.exit_code, ended.text, ended.errors)


def _argv(command: str) -> list[str]:
    shell = next((path for path in _SHELLS if os.access(path, os.X_OK)), "/bin/sh")
    # A shell would take a first word that starts with one of these for its own options.
    return [shell, "-c", f" {command}" if command[:1] in "-+" else command]
