"""Owns the tools that an agent has of a server: those that it listed, and one that reads its resources.

Refuses to know how a call gets there. Each counts as writing, whatever its annotations say, and has its own
clock.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeAlias

from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
from agent_tui_core.tools.mcp_names import PREFIX, named
from agent_tui_core.tools.mcp_resources import INPUT_SCHEMA, description, tool_name, uri_of
from agent_tui_core.tools.mcp_values import ListedTool

Call: TypeAlias = Callable[[ListedTool, dict[str, Any], ToolContext], Awaitable[ToolOutput]]
Read: TypeAlias = Callable[[str, ToolContext], Awaitable[ToolOutput]]


def server_tools(server: str, tools: Sequence[ListedTool], call: Call, read: Read | None) -> Iterator[Tool]:
    """Make them; without `read` there is nothing to be read."""
    for name, listed in named(server, tools).items():
        yield _called(name, listed, call)
    reading = tool_name(listed.name for listed in tools)
    if read is not None and reading is not None:
        yield _reading(f"{PREFIX}{server}__{reading}", server, read)


def _called(name: str, listed: ListedTool, call: Call) -> Tool:
    async def run(input: dict[str, Any], context: ToolContext) -> ToolOutput:
        return await call(listed, input, context)

    return Tool(name, listed.description, listed.schema, run, takes_context=True, writes=True, timeout=None)


def _reading(name: str, server: str, read: Read) -> Tool:
    async def run(input: dict[str, Any], context: ToolContext) -> ToolOutput:
        return await read(uri_of(input), context)

    return Tool(name, description(server), INPUT_SCHEMA, run, takes_context=True, writes=True, timeout=None)
