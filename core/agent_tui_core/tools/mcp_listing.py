"""Owns the question which tools a server has, page by page, within bounds; refuses to judge what it lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent_tui_core.tools.mcp_names import MOST_TOOLS, listed
from agent_tui_core.tools.mcp_streams import LEFT_OUT
from agent_tui_core.tools.mcp_values import ListedTool

if TYPE_CHECKING:
    from mcp.client.client import Client
    from mcp_types import ListToolsResult

Tools: TypeAlias = "tuple[tuple[ListedTool, ...], int]"
"""A list of tools, and how many were left out of it."""

MOST_PAGES: Final = 64


async def list_tools(client: Client) -> Tools:
    """Ask for all tools."""
    if client.server_capabilities.tools is None:
        return (), 0
    found: list[dict[str, Any]] = []
    more, cursor = 0, None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        room = MOST_TOOLS - len(found)
        found += [one.model_dump(by_alias=True, mode="json") for one in page.tools[:room]]
        more += max(0, len(page.tools) - room) + _left_out(page)
        cursor = page.next_cursor
        if cursor is None:
            break
    tools, left_out = listed(found)
    return tools, left_out + more


def tells_changes(client: Client) -> bool:
    """Whether changes have to be asked for (protocol 2026-07-28), and are told then."""
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    tools = client.server_capabilities.tools
    return bool(tools and tools.list_changed) and client.protocol_version in MODERN_PROTOCOL_VERSIONS


def runs_tasks(client: Client) -> bool:
    """Whether it runs calls of tools as tasks when they ask for that."""
    tasks = client.server_capabilities.tasks
    requests = tasks.requests if tasks else None
    return bool(requests and requests.tools and requests.tools.call is not None)


def _left_out(page: ListToolsResult) -> int:
    count = (page.meta or {}).get(LEFT_OUT)
    return count if isinstance(count, int) else 0
