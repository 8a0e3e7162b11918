"""MCP servers for tests: the scripted one as a definition, and what became of its processes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_tui_core.tools.base import ToolContext, ToolOutput
from agent_tui_core.tools.mcp_server import McpServer
from agent_tui_core.tools.mcp_trust import FILE, KnownServers
from agent_tui_core.tools.mcp_values import Ask, ListedTool, ServerSpec

SCRIPT = Path(__file__).with_name("mcp_scripted_server.py")


def scripted(folder: Path, *modes: str, name: str = "test", **more: Any) -> ServerSpec:
    """The scripted server; `folder` is where it writes what it heard."""
    folder.mkdir(exist_ok=True)
    return ServerSpec(name, sys.executable, ("-S", "-E", str(SCRIPT), str(folder), *modes), **more)


@dataclass
class Bench:
    """One server and what it did."""

    server: McpServer
    folder: Path
    reported: list[str] = field(default_factory=list)

    async def started(self) -> McpServer:
        self.server.wake()
        async with asyncio.timeout(45):
            await self.server.tried()
        return self.server

    def listed(self, name: str) -> ListedTool:
        return self.server._listed[name]

    async def call(self, name: str, text: str = "") -> ToolOutput:
        context = ToolContext(self.folder, "agent", "call", report=self.reported.append)
        tool = next(one for one in self.server.tools if one.name.endswith(f"__{name}"))
        async with asyncio.timeout(45):
            takes_text = "text" in str(tool.input_schema.get("properties"))
            return await tool.execute({"text": text} if takes_text else {}, context)

    def heard(self, method: str) -> list[dict[str, Any]]:
        lines = (self.folder / "heard.jsonl").read_text().splitlines()
        return [one for one in map(json.loads, lines) if one.get("method") == method]

    def pids(self) -> list[int]:
        return [int(line) for line in (self.folder / "pids").read_text().split()]


@asynccontextmanager
async def bench(
    folder: Path, *modes: str, ask: Ask | None = None, spec: ServerSpec | None = None, **more: Any
) -> AsyncIterator[Bench]:
    """A server on its own; at the end nothing of it may be left: no task, no process of its groups."""
    before = asyncio.all_tasks()
    made = spec or scripted(folder / "server", *modes, **more)
    known = KnownServers(folder / FILE)
    server = McpServer(made, folder, folder / "cwd", known=known, ask=ask, jitter=lambda: 0.1)
    here = Bench(server, folder / "server")
    try:
        yield here
    finally:
        async with asyncio.timeout(10):
            await server.close()
    left = {task for task in asyncio.all_tasks() - before if "loopback" not in repr(task.get_coro())}
    left = {task for task in left if "LoopbackServer" not in repr(task) and not task.done()}
    assert not left, left
    if (here.folder / "pids").exists():
        assert [pid for pid in here.pids() if group_lives(pid)] == []


def group_lives(pid: int) -> bool:
    """Whether anything but a dead leader is left of the process group."""
    with suppress(ProcessLookupError):
        os.killpg(pid, 0)
        stats = (Path("/proc") / number / "stat" for number in os.listdir("/proc") if number.isdecimal())
        for stat in stats:
            with suppress(OSError):
                fields = stat.read_bytes().rpartition(b")")[2].split()
                if int(fields[2]) == pid and fields[0] not in (b"Z", b"X"):
                    return True
    return False


async def until(claim: Any, seconds: float = 30) -> None:
    """Wait for something that only another process can tell."""
    async with asyncio.timeout(seconds):
        while not claim():
            await asyncio.sleep(0.01)
