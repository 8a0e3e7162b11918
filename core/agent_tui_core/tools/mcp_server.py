"""Owns the life of one MCP server: started when it is needed, again when it ended, at most so often.

Refuses to judge a call. Its tools are what it listed last; whether the person knows that list is `doubt`.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from agent_tui_core.errors import AgentTuiError, ToolError
from agent_tui_core.system_limits import system_limit
from agent_tui_core.text import safe_line
from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
from agent_tui_core.tools.mcp_calls import CallTimedOut, ServerGone
from agent_tui_core.tools.mcp_connection import Connection, EndedEarly, Greeting
from agent_tui_core.tools.mcp_listing import Tools
from agent_tui_core.tools.mcp_resources import LinkedResources, as_list, owns
from agent_tui_core.tools.mcp_results import as_resource_output, as_tool_output, bounded_output
from agent_tui_core.tools.mcp_tools import server_tools
from agent_tui_core.tools.mcp_trust import Fingerprint, KnownServers
from agent_tui_core.tools.mcp_values import Ask, Hopeless, ListedTool, ServerSpec

log = logging.getLogger(__name__)

_Ask: TypeAlias = Callable[[Connection], Awaitable[ToolOutput]]

ServerState: TypeAlias = Literal["not started", "starting", "ready", "stopped", "restarting", "failed"]

ATTEMPTS: Final = 5
"""Starts without a call that was answered; after them only a person starts it again."""
FIRST_DELAY: Final = 0.5
LONGEST_DELAY: Final = 30.0
LIVED: Final = 60.0
"""Seconds after which a server that ends has not failed at its start."""


class McpServer:
    """One server for the agents of one workspace."""

    def __init__(
        self,
        spec: ServerSpec,
        workspace: Path,
        folder: Path,
        *,
        known: KnownServers,
        ask: Ask | None = None,
        on_change: Callable[[], None] = lambda: None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`jitter` gives numbers in [0, 1) for the delays between starts."""
        self.spec = spec
        self.workspace = workspace
        self.state: ServerState = "not started"
        self.why = ""
        """Why it stopped or failed."""
        self.tools: tuple[Tool, ...] = ()
        """What it listed last; another tuple after each change."""
        self.left_out = 0
        """Tools that it listed and that are too many, or named impossibly."""
        self.unusable: tuple[str, ...] = ()
        """Tools that want to run as tasks, of a server that says of itself that it runs none."""
        self.changes: str | None = None
        """What changed since the person used it, if they did not accept that."""
        self.met: Fingerprint | None = None
        """What that was held against: the list that `tools` is made of."""
        self.next_start = 0.0
        """When it is started again; by the monotonic clock."""
        self.started_in = 0.0
        """Seconds that the last start took."""
        self._folder = folder
        self._known = known
        self._ask = ask
        self._on_change = on_change
        self._jitter = jitter
        self._connection: Connection | None = None
        self._listed: Mapping[str, ListedTool] = {}
        self._abilities = (False, False)
        """Whether it runs tasks, and has resources."""
        self._linked = LinkedResources()
        self._fresh: Tools | None = None
        self._failures = 0
        self._old = False
        self._closed = False
        self._opened_at = 0.0
        self._starting: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()
        self._meeting: set[asyncio.Task[None]] = set()
        self._meets = asyncio.Lock()

    @property
    def greeting(self) -> Greeting:
        """What it said of itself; empty while it is not connected."""
        return self._connection.greeting if self._connection else Greeting()

    @property
    def doubt(self) -> str | None:
        """Why its calls have to be asked about whatever the rules allow; None when the person knows it."""
        if self.changes is None:
            return None
        return f"the tools of server {self.spec.name} changed since you allowed them ({self.changes})"

    # --- what one can tell it -------------------------------------------------------------------------------

    def wake(self) -> bool:
        """Start it if it never was or if it ended; return whether its first start is still under way."""
        if self.state in {"not started", "stopped"} and not self._closed:
            self._begin()
        return not self._tried.is_set() and not self._closed

    async def tried(self) -> None:
        """Wait until the first start after `wake` came to something."""
        await self._tried.wait()

    async def call(self, listed: ListedTool, input: dict[str, Any], context: ToolContext) -> ToolOutput:
        """Call a tool, on a server that is started again if it ended. Raises `ToolError`."""

        async def ask(connection: Connection) -> ToolOutput:
            now = self._listed.get(listed.name)
            if now is None or now.digest != listed.digest:
                word = "changed" if now else "is gone"
                raise ToolError(
                    f"the tool {listed.name} of the MCP server {self.spec.name} {word} since it was "
                    "described; nothing was run. The next request has the new list"
                )
            result = await connection.call(listed, input, context)
            self._linked.learn(result)
            self._offer(self._listed)
            return await as_tool_output(result)

        return await self._asked(ask, context)

    async def read(self, uri: str, context: ToolContext) -> ToolOutput:
        """Read one of its resources, or list them when `uri` is empty. Raises `ToolError`."""

        async def ask(connection: Connection) -> ToolOutput:
            name = self.spec.name
            if not uri:
                return await bounded_output(as_list(await connection.resources(context), name))
            if uri not in self._linked and not owns(await connection.resources(context), uri):
                raise ToolError(
                    f"the MCP server {name} never named {safe_line(uri[:300])}; nothing was read. Without a "
                    "URI this tool lists what there is"
                )
            return await as_resource_output(await connection.read(uri, context))

        return await self._asked(ask, context)

    async def _asked(self, ask: _Ask, context: ToolContext) -> ToolOutput:
        try:
            try:
                return await self._asked_once(ask, context)
            except ServerGone as error:
                if not error.unheard:
                    raise
            return await self._asked_once(ask, context)
        except ServerGone as error:
            words = f"the MCP server {self.spec.name} ended during the call: {error}"
            raise ToolError(f"{words}. The next call starts it again") from error

    async def _asked_once(self, ask: _Ask, context: ToolContext) -> ToolOutput:
        connection = await self._connected(context)
        try:
            output = await ask(connection)
        except CallTimedOut as error:
            return ToolOutput(str(error), is_error=True, outcome="timed_out")
        except ServerGone as error:
            self._ended(connection, str(error))
            raise
        self._failures = 0
        return output

    async def restart(self) -> None:
        """End it and start it, however often that failed before; wait for the first start."""
        await self._end()
        if self._closed:
            return
        self._failures, self._old = 0, False
        self._begin()
        await self.tried()

    async def accept(self) -> None:
        """The person knows it as it is now. Raises `AgentTuiError` when that cannot be kept."""
        if (found := self.met) is None:
            return
        await asyncio.to_thread(self._known.accept, found)
        if self.met is found:
            self.changes = None
            self._on_change()

    async def close(self) -> None:
        """End it for good; nothing of it is left."""
        self._closed = True
        await self._end()
        self._tried.set()

    # --- its life -------------------------------------------------------------------------------------------

    async def _end(self) -> None:
        tasks = [task for task in (self._starting, *self._meeting) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._starting = None
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
        self._become("stopped", "it was stopped")

    def _begin(self) -> None:
        delay = self._delay()
        self._tried.clear()
        self._become("restarting" if delay else "starting", self.why)
        self._starting = asyncio.create_task(self._come_up(delay), name=f"mcp {self.spec.name} start")

    async def _come_up(self, delay: float) -> None:
        try:
            while self.state != "ready" and self._failures < ATTEMPTS:
                if delay:
                    self.next_start = time.monotonic() + delay
                    self._become("restarting", self.why)
                    await asyncio.sleep(delay)
                self._become("starting", self.why)
                try:
                    await self._start()
                except ToolError as error:
                    self._failures = ATTEMPTS if isinstance(error, Hopeless) else self._failures + 1
                    delay = self._delay()
                    self._become("restarting" if self._failures < ATTEMPTS else "failed", str(error))
                self._tried.set()
        except Exception as bug:
            log.exception("the MCP server %s could not be started", self.spec.name)
            self._become("failed", system_limit(bug) or f"a bug: {type(bug).__name__}: {bug}")
        finally:
            self._tried.set()

    async def _start(self) -> None:
        began = time.monotonic()
        connection = self._new_connection()
        try:
            await connection.open()
        except EndedEarly:
            if self._old:
                raise
            self._old = True
            connection = self._new_connection()
            await connection.open()
        self._connection = connection
        self._opened_at = time.monotonic()
        self.started_in = self._opened_at - began
        try:
            await self._meet()
        except asyncio.CancelledError:
            self._connection = None
            await connection.close()
            raise
        if connection.over:
            self._connection = None
            raise ToolError(connection.why)
        self._become("ready", "")

    def _new_connection(self) -> Connection:
        connection: Connection = Connection(
            self.spec,
            self.workspace,
            self._folder,
            ask=self._ask,
            on_tools=self._take,
            on_end=lambda why: self._ended(connection, why),
            old=self._old,
        )
        return connection

    def _ended(self, connection: Connection, why: str) -> None:
        if connection is not self._connection or self.state != "ready":
            return
        self._connection = None
        if time.monotonic() - self._opened_at > LIVED:
            self._failures = 0
        self._failures += 1
        self._become("failed" if self._failures >= ATTEMPTS else "stopped", why)

    async def _connected(self, context: ToolContext) -> Connection:
        if self._connection is not None and self.state == "ready":
            return self._connection
        if self.state in {"not started", "stopped"} and not self._closed:
            self._begin()
        if self.state in {"starting", "restarting"} and self._starting is not None:
            if (left := self.next_start - time.monotonic()) > 0:
                context.report(f"The MCP server {self.spec.name} is started again in {left:.1f} s.\n")
            await asyncio.wait({self._starting})
        if self._connection is None:
            raise ToolError(
                f"the MCP server {self.spec.name} does not run: {self.why or 'it was stopped'}. "
                "A person can start it again"
            )
        return self._connection

    def _delay(self) -> float:
        """Full jitter; the first start again comes at once."""
        if self._failures <= 1 and self.state != "starting":
            return 0.0
        ceiling: float = min(LONGEST_DELAY, FIRST_DELAY * 2 ** max(0, self._failures - 1))
        return self._jitter() * ceiling

    def _become(self, state: ServerState, why: str) -> None:
        self.state, self.why = state, why
        self._on_change()

    # --- its tools ------------------------------------------------------------------------------------------

    def _take(self, tools: Tools) -> None:
        self._fresh = tools
        if self.state == "ready":
            task = asyncio.create_task(self._meet())
            self._meeting.add(task)
            task.add_done_callback(self._meeting.discard)

    async def _meet(self) -> None:
        """Hold the newest list against what the person knows; then it is what agents have."""
        async with self._meets:
            if self._fresh is None:
                return
            tools, left_out = self._fresh
            found = Fingerprint.of(self.spec, tools)
            try:
                changes = await asyncio.to_thread(self._known.meet, found)
            except AgentTuiError as error:
                changes = str(error)
            self.met, self.changes = found, changes
            self._offer({tool.name: tool for tool in tools})
            self.left_out = left_out
            self._on_change()

    def _offer(self, listed: Mapping[str, ListedTool]) -> None:
        """Make the tools of a list, unless they are those that there are."""
        connection = self._connection
        tasks = connection is not None and connection.runs_tasks
        reads = bool(self._linked) or (connection is not None and connection.has_resources)
        if listed == self._listed and (tasks, reads) == self._abilities:
            return
        self._listed, self._abilities = listed, (tasks, reads)
        self.unusable = tuple(tool.name for tool in listed.values() if tool.as_task and not tasks)
        usable = [tool for tool in listed.values() if tool.name not in self.unusable]
        self.tools = tuple(server_tools(self.spec.name, usable, self.call, self.read if reads else None))
