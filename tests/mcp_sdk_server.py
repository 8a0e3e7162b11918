"""A server of the SDK for tests: over stdio, or with a descriptor that listens as its argument over HTTP."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import sys
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp_types import CallToolResult, ImageContent
from pydantic import BaseModel

server = MCPServer("sdk-test", version="7")
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100).decode()


class Guest(BaseModel):
    """What a person is asked for."""

    name: str


def who() -> Elicit[Guest]:
    return Elicit("Who comes?", Guest)


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.resource("memo://house/rules")
def rules() -> str:
    """What holds in the house."""
    return "no shoes"


@server.resource("memo://guest/{name}")
def guest(name: str) -> str:
    """What is known of a guest."""
    return f"{name} likes tea"


class Drawing(BaseModel):
    """A picture as data."""

    type: str
    data: str
    mimeType: str  # noqa: N815 - the protocol's name


@server.tool()
def draw() -> Annotated[CallToolResult, Drawing]:
    """Returns a picture, once as a part of the result and once as data, as servers do."""
    picture = ImageContent(type="image", data=PICTURE, mime_type="image/png")
    data = {"type": "image", "data": PICTURE, "mimeType": "image/png"}
    return CallToolResult(content=[picture], structured_content=data)


@server.tool()
def invite(guest: Annotated[Guest, Resolve(who)]) -> str:
    """Asks for a name."""
    return f"{guest.name} is invited"


@server.tool()
async def slow(ctx: Context) -> str:
    """Reports progress and then waits for ever."""
    await ctx.report_progress(1, 2, "half")
    await asyncio.Event().wait()
    return ""


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool and says so."""
    server.add_tool(add, "grown", description="Is new.")
    await ctx.notify_tools_changed()
    return "grown"


@server.tool()
def die() -> str:
    """Ends the server."""
    os._exit(1)


async def over_http(descriptor: int) -> None:
    import uvicorn

    app = server.streamable_http_app()
    listening = socket.socket(fileno=descriptor)
    web = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    serving = asyncio.create_task(web.serve(sockets=[listening]))
    while not web.started:
        await asyncio.sleep(0.01)
    sys.stdout.write("up\n")
    sys.stdout.flush()
    await serving


if sys.argv[1:]:
    asyncio.run(over_http(int(sys.argv[1])))
else:
    server.run("stdio")
