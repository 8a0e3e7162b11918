"""Owns what a tool is: its spec, its run, its context and its output; refuses to judge or to schedule."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from agent_tui_core.blocks import Image, JsonObject
from agent_tui_core.errors import ToolError
from agent_tui_core.events import ApprovalPreview
from agent_tui_core.messages import ToolSpec


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gave back."""

    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()
    preview: ApprovalPreview | None = None
    """What changed, as a diff, for the pane; the model does not see it."""


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
    environment: tuple[str, ...] = ()
    """Names of further environment variables that a child may inherit."""


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
