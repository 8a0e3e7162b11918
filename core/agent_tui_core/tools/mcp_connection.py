"""Owns one connection to an MCP server, from the handshake to its end, and all that goes over it.

Refuses to start again: a connection has one life. What the server asks of us is answered here: roots are the
workspace, sampling is refused, questions go to a person.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agent_tui_core.errors import ToolError
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line
from agent_tui_core.tools.base import ToolContext
from agent_tui_core.tools.mcp_calls import ActiveCall, ActiveCalls, ServerGone, told
from agent_tui_core.tools.mcp_listing import Tools, list_tools, runs_tasks, tells_changes
from agent_tui_core.tools.mcp_resources import Offered, lists_any, offered
from agent_tui_core.tools.mcp_stdio import Program, missing_variables
from agent_tui_core.tools.mcp_tasks import TaskCalls
from agent_tui_core.tools.mcp_values import Ask, Hopeless, ListedTool, ServerSpec

if TYPE_CHECKING:
    from mcp.client.client import Client
    from mcp.client.context import ClientRequestContext
    from mcp.client.session import IncomingMessage
    from mcp_types import (
        CallToolResult,
        ListRootsResult,
        LoggingMessageNotificationParams,
        ReadResourceResult,
    )

    from agent_tui_core.tools.mcp_http import Address

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

LISTED_EVERY: Final = 0.5
"""Seconds between two lists, however often a server says that its tools changed."""
CLOSING: Final = 5.0
"""Seconds that an end may take before it is forced."""

_SDK_LOGGERS = ("mcp", "client")
"""What they say of a server's mistakes is as long as the server likes; what matters is in our own words."""
_LONGEST_LOGGED = 300
_MOST_LOGGED = 200
_LISTENED_AGAIN = 3


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a server said of itself; foreign."""

    name: str = ""
    version: str = ""
    protocol: str = ""


class EndedEarly(ToolError):
    """It ended before the handshake was over: perhaps it wants another handshake."""


class Connection:
    """One life of one server. `open` once, `close` once; in between `call`."""

    def __init__(
        self,
        spec: ServerSpec,
        workspace: Path,
        folder: Path,
        *,
        ask: Ask | None,
        on_tools: Callable[[Tools], None],
        on_end: Callable[[str], None],
        old: bool = False,
    ) -> None:
        """`on_tools` gets each list, `on_end` why it ended by itself once it was open.

        Without `ask` the server is told that nobody can be asked. `old` begins with the handshake of before
        2026, for servers that end at the question which one they speak.
        """
        self.greeting = Greeting()
        self.why = ""
        """Why it ended."""
        self.has_resources = False
        """It listed something that can be read."""
        self._spec = spec
        self._workspace = workspace
        self._folder = folder
        self._on_tools = on_tools
        self._on_end = on_end
        self._old = old
        self._calls = ActiveCalls(spec, ask)
        self._tasks = TaskCalls(spec.name, spec.timeout)
        self._client: Client | None = None
        self._transport: Program | Address | None = None
        self._life: asyncio.Task[None] | None = None
        self._helpers: list[asyncio.Task[None]] = []
        self._stop = asyncio.Event()
        self._opened = False
        self._changed = asyncio.Event()
        self._logged = 0

    @property
    def over(self) -> bool:
        """It was open and is so no longer."""
        return self._opened and self._client is None

    async def open(self) -> None:
        """Start it, shake hands, list its tools. Raises `ToolError` with its words."""
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live(opened), name=f"mcp {self._spec.name}")
        try:
            await opened
        except asyncio.CancelledError:
            await self.close()
            raise

    async def close(self) -> None:
        """End it; nothing of it is left."""
        self._stop.set()
        if (life := self._life) is None:
            return
        if not self._opened:
            life.cancel()
        _, pending = await asyncio.wait({life}, timeout=CLOSING)
        if pending:
            life.cancel()
            await asyncio.wait({life})

    @property
    def runs_tasks(self) -> bool:
        """It runs calls as tasks, if they ask for that."""
        return self._client is not None and runs_tasks(self._client)

    async def call(self, tool: ListedTool, arguments: dict[str, Any], context: ToolContext) -> CallToolResult:
        """Call a tool. Raises `ToolError`; cancelling tells the server and ends the call at once."""

        async def request(client: Client, call: ActiveCall) -> CallToolResult:
            if tool.as_task:
                return await self._tasks.run(client, tool.name, arguments, call)
            return await client.call_tool(tool.name, arguments, progress_callback=call.progressed)

        return await self._run(request, context)

    async def resources(self, context: ToolContext) -> Offered:
        """What it offers to be read, within bounds. Raises `ToolError`."""

        async def request(client: Client, _call: ActiveCall) -> Offered:
            return await offered(client)

        return await self._run(request, context)

    async def read(self, uri: str, context: ToolContext) -> ReadResourceResult:
        """Read one resource. Raises `ToolError`."""

        async def request(client: Client, _call: ActiveCall) -> ReadResourceResult:
            return await client.read_resource(uri, cache_mode="bypass")

        return await self._run(request, context)

    async def _run(
        self, request: Callable[[Client, ActiveCall], Coroutine[Any, Any, Answer]], context: ToolContext
    ) -> Answer:
        if (client := self._client) is None:
            raise ServerGone(self.why or "it ended")
        try:
            return await self._calls.run(lambda call: request(client, call), context)
        except ToolError as error:
            transport = self._transport
            if isinstance(error, ServerGone) and transport is not None:
                transport.lose(str(error))
            elif transport is None or not transport.ended.is_set():
                raise
            if self._life is not None:
                _, pending = await asyncio.wait({self._life}, timeout=CLOSING)
                if pending:
                    await self.close()
            unheard = transport is not None and transport.forgot
            raise ServerGone(self.why or str(error), unheard=unheard) from error

    # --- its life -------------------------------------------------------------------------------------------

    async def _live(self, opened: asyncio.Future[None]) -> None:
        error: ToolError | None = None
        try:
            await self._talk(opened)
        except asyncio.CancelledError:
            self.why = self.why or "it was stopped"
        except ToolError as refused:
            error, self.why = refused, self.why or str(refused)
        except Exception as broken:  # noqa: BLE001 - whatever a server makes the SDK raise ends in words
            self.why = self.why or told(broken)
        finally:
            self._client = None
            for helper in self._helpers:
                helper.cancel()
            await asyncio.gather(*self._helpers, return_exceptions=True)
            await self._calls.end()
            if not opened.done():
                opened.set_exception(error or ToolError(self.why or "it ended"))
            elif not self._stop.is_set() and not opened.cancelled():
                self._on_end(self.why)

    async def _talk(self, opened: asyncio.Future[None]) -> None:
        transport = self._transport = await asyncio.to_thread(self._new_transport)
        limit = self._spec.start_timeout
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(limit):
                    client = await stack.enter_async_context(self._made(transport))
                    tools = await list_tools(client)
                    self.has_resources = await lists_any(client)
            except TimeoutError:
                words = await transport.last_words()
                raise ToolError(
                    f"it did not answer within {limit:g} s{f': {words}' if words else ''}"
                ) from None
            except ToolError:
                raise
            except Exception as error:
                words = await transport.last_words() or told(error)
                kind = EndedEarly if transport.ended.is_set() and not transport.fault else ToolError
                raise kind(words) from error
            self._client = client
            self.greeting = _greeting(client)
            self._opened = True
            self._on_tools(tools)
            opened.set_result(None)
            await self._stay(client, transport)

    async def _stay(self, client: Client, transport: Program | Address) -> None:
        """Wait until it ends or shall end."""
        self._helpers.append(asyncio.create_task(self._keep_listed(client)))
        if tells_changes(client):
            self._helpers.append(asyncio.create_task(self._follow(client)))
        ends = [asyncio.create_task(each.wait()) for each in (self._stop, transport.ended)]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()
        if self._stop.is_set():
            self.why = "it was stopped"
            await self._calls.end()
        else:
            self.why = await transport.last_words() or "it ended"

    def _new_transport(self) -> Program | Address:
        """Runs in a thread: here the SDK is imported."""
        import mcp.client.client  # noqa: F401

        for name in _SDK_LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)

        if self._spec.folder is not None and (self._spec.env_from or self._spec.headers_env):
            raise Hopeless("a project's server gets no variables of yours: name them in your own settings")
        if missing := missing_variables(self._spec):
            raise missing
        if self._spec.command is not None:
            with suppress(OSError):  # then the start says so
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return Program(self._spec, self._workspace, self._folder)
        from agent_tui_core.tools.mcp_http import Address

        return Address(self._spec)

    def _made(self, transport: Program | Address) -> Client:
        from mcp.client.client import Client
        from mcp_types import Implementation

        return Client(
            transport,
            mode="legacy" if self._old else "auto",
            client_info=Implementation(name="agent-tui", version="0.1.0"),
            list_roots_callback=self._roots,
            logging_callback=self._log,
            message_handler=self._heard,
            elicitation_callback=self._calls.elicit if self._calls.asks else None,
            cache=None,
        )

    # --- its tools ------------------------------------------------------------------------------------------

    async def _keep_listed(self, client: Client) -> None:
        """List the tools again whenever the server says that they changed."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                async with asyncio.timeout(self._spec.timeout):
                    tools = await list_tools(client)
            except Exception as error:  # noqa: BLE001 - the old list stays
                log.warning("the MCP server %s could not list its tools: %s", self._spec.name, told(error))
            else:
                self._on_tools(tools)
            await asyncio.sleep(LISTED_EVERY)

    async def _follow(self, client: Client) -> None:
        """Hear of changes where they have to be asked for (protocol 2026-07-28)."""
        from mcp.client.subscriptions import SubscriptionLost

        for _ in range(_LISTENED_AGAIN):
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    async for _change in changes:
                        self._changed.set()
                return
            except SubscriptionLost:
                self._changed.set()
            except Exception as error:  # noqa: BLE001 - then there is nothing to hear
                log.info("the MCP server %s tells no changes: %s", self._spec.name, told(error))
                return

    # --- what it asks of us ---------------------------------------------------------------------------------

    async def _roots(self, context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG002
        from mcp_types import ListRootsResult, Root

        return ListRootsResult(roots=[Root.model_validate({"uri": self._workspace.as_uri()})])

    async def _heard(self, message: IncomingMessage) -> None:
        match getattr(message, "method", ""):
            case "notifications/tools/list_changed":
                self._changed.set()
            case "notifications/resources/list_changed":
                self.has_resources = True
                self._changed.set()
            case "notifications/progress":
                if (said := getattr(message, "params", None)) is not None:
                    await self._tasks.progressed(said.progress_token, said.progress, said.total, said.message)

    async def _log(self, params: LoggingMessageNotificationParams) -> None:
        self._logged += 1
        if self._logged <= _MOST_LOGGED:
            words = safe_line(str(params.data)[:_LONGEST_LOGGED])
            log.info("the MCP server %s says: %s", self._spec.name, words)


def _greeting(client: Client) -> Greeting:
    info = client.server_info
    if info is None:
        return Greeting(protocol=client.protocol_version)
    return Greeting(safe_line(info.name)[:80], safe_line(info.version)[:40], client.protocol_version)
