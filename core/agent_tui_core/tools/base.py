"""Owns what a tool is: its spec, its run, its context and its output; refuses to judge or to schedule."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import field
from pathlib import Path
from typing import Any, TypeAlias

from agent_tui_core.blocks import Image, JsonObject
from agent_tui_core.errors import ToolError
from agent_tui_core.events import ApprovalPreview, CallOutcome
from agent_tui_core.messages import ToolSpec
from agent_tui_core.processes.background import AgentBackground
from agent_tui_core.processes.sandbox import AgentSandbox
from agent_tui_core.records import dataclass


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gave back."""

    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()
    preview: ApprovalPreview | None = None
    """What changed, as a diff, for the pane; the model does not see it."""
    outcome: CallOutcome | None = None
    """How the call ended, where "ok" or "error" is not all that can be said of it."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running tool may know of its surroundings."""

    workspace: Path
    """The folder the agent works in; absolute, links resolved."""
    agent_id: str = ""
    call_key: str = ""
    """Our key of this call."""
    report: Callable[[str], None] = field(default=lambda _output: None)
    """Show a piece of output while the tool runs; never waits."""
    warn: Callable[[str], None] = field(default=lambda _words: None)
    """Tell the person something that stays in the agent's pane; never waits."""
    spawned: Callable[[int], None] = field(default=lambda _pid: None)
    """Say that the call runs in a process with this id, which ends with it."""
    environment: tuple[str, ...] = ()
    """Names of further environment variables that a child may inherit."""
    sandbox: AgentSandbox | None = None
    """Where commands run; None: just here."""
    background: AgentBackground | None = None
    """Who takes what a command leaves running; None: it is ended with the command."""
    unreadable: Callable[[str], tuple[tuple[Path, str, bool], ...]] = field(default=lambda _tool: ())
    """What rules keep from this tool: gitignore patterns, each with the folder that it is counted from, and
    whether it holds for what the call itself names, too."""
    agent_name: str = ""
    """What the person calls the agent."""
    since: float | None = None
    until: float | None = None
    """When the call was started, and until when somebody outside may deliver its result (see `Tool.outside`);
    seconds since the epoch."""


SimpleRun: TypeAlias = Callable[[dict[str, Any]], Any]
ContextRun: TypeAlias = Callable[[dict[str, Any], ToolContext], Awaitable[ToolOutput]]
Preview: TypeAlias = Callable[[JsonObject, ToolContext], Awaitable[ApprovalPreview]]


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that a model can call.

    `run(input)` may be sync (it runs in a thread) or async and returns a string, a JSON-able dict or list,
    or a `ToolOutput`; with `takes_context` it is called as `run(input, context)`. It may raise `ToolError`
    with words for the model.
    """

    name: str
    description: str
    input_schema: JsonObject
    run: Callable[..., Any]
    takes_context: bool = False
    writes: bool = True
    """Calls of a tool that writes run alone; the others of one message run in parallel."""
    timeout: float | None = 600.0
    """Seconds that one call may take; None is without limit."""
    outside: float | None = None
    """Seconds in which somebody outside delivers its result: such a call outlives the program, which waits
    for it again when it comes back. None: it returns by itself."""
    preview: Preview | None = None
    """Builds what an approval shows; without it the input is shown as JSON."""

    @property
    def spec(self) -> ToolSpec:
        """What the model is told."""
        return ToolSpec(self.name, self.description, self.input_schema)

    async def execute(self, input: JsonObject, context: ToolContext) -> ToolOutput:
        """Run once. Raises `ToolError`, or whatever a broken tool raises."""
        arguments = (dict(input), context) if self.takes_context else (dict(input),)
        if inspect.iscoroutinefunction(self.run):
            value = await self.run(*arguments)
        else:
            value = await asyncio.to_thread(self.run, *arguments)
            if inspect.isawaitable(value):
                value = await value
        return as_output(value)


def as_output(value: object) -> ToolOutput:
    """Turn what a tool returned into an output; raises `ToolError` for what no model could read."""
    match value:
        case ToolOutput():
            return value
        case str():
            return ToolOutput(value)
        case None:
            return ToolOutput("")
        case _:
            try:
                return ToolOutput(json.dumps(value, ensure_ascii=False, default=str))
            except (TypeError, ValueError) as error:
                raise ToolError(f"the tool returned a value that is not JSON: {error}") from error
