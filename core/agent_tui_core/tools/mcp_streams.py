"""Owns what of a server's messages never reaches the SDK; refuses to change anything else.

The SDK checks results against the schema that the server gave for them, regular expressions included: one
such schema and one such result could hold up the whole program. Without the schema it checks nothing.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from agent_tui_core.tools.mcp_names import MOST_TOOLS

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream
    from mcp.shared.message import SessionMessage


LEFT_OUT: Final = "agent-tui/left-out"
"""The key under which a list says how many tools were taken out of it."""
TASK: Final = "agent-tui/task"
"""The key under which the answer to a call says which task it became."""


def unburden(item: SessionMessage | Exception) -> None:
    """Take out of a list of tools the schemas of results, and the tools that nobody will use.

    The SDK takes nothing but a result for the answer to a call. That it became a task goes into an empty one.
    """
    result = None if isinstance(item, Exception) else getattr(item.message, "result", None)
    if not isinstance(result, dict):
        return
    if isinstance(task := result.get("task"), dict) and "content" not in result:
        result["content"], result["_meta"] = [], {TASK: task}
    tools = result.get("tools")
    if not isinstance(tools, list):
        return
    if (more := len(tools) - MOST_TOOLS) > 0:
        del tools[MOST_TOOLS:]
        result["_meta"] = {LEFT_OUT: more}
    for tool in tools:
        if isinstance(tool, dict):
            tool.pop("outputSchema", None)


class Unburdened:
    """A stream of messages of the SDK's own, each one passed through `unburden`."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception]) -> None:
        self._inner = inner

    @property
    def last_context(self) -> Any:
        """The context variables of whoever sent the last message; the SDK looks for this by name."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        item = await self._inner.receive()
        unburden(item)
        return item

    async def aclose(self) -> None:
        """Receive no more."""
        await self._inner.aclose()

    def __aiter__(self) -> Unburdened:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        item = await self._inner.__anext__()
        unburden(item)
        return item

    async def __aenter__(self) -> Unburdened:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)
