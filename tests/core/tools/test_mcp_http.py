"""Servers that are addresses: a real one of the SDK, and answers that no good server gives."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.tools.base import ToolContext
from agent_tui_core.tools.mcp_values import ServerSpec
from loopback import Answer, LoopbackServer, Request, json_answer
from mcp_servers import bench, until

SERVER = Path(__file__).parents[2] / "mcp_sdk_server.py"


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[str, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as listens:
        yield f"http://127.0.0.1:{listens.getsockname()[1]}/mcp", listens


@asynccontextmanager
async def serving(listens: socket.socket) -> AsyncIterator[subprocess.Popen[bytes]]:
    program = [sys.executable, str(SERVER), str(listens.fileno())]
    process = subprocess.Popen(program, pass_fds=[listens.fileno()], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert await asyncio.to_thread(process.stdout.readline) == b"up\n"
        yield process
    finally:
        process.kill()
        process.stdout.close()
        await asyncio.to_thread(process.wait)


@pytest.mark.parametrize("old", [False, True], ids=["2026", "2025"])
async def test_a_server_is_listed_called_interrupted_killed_and_called_again(
    tmp_path: Path, old: bool
) -> None:
    async with listening() as (url, listens):
        async with bench(tmp_path, spec=ServerSpec("web", url=url)) as here:
            reported: list[str] = []
            context = ToolContext(tmp_path, report=reported.append)
            async with serving(listens):
                here.server._old = old
                server = await here.started()
                assert server.state == "ready", server.why
                assert server.greeting.protocol[:4] == ("2025" if old else "2026")
                assert (server.greeting.name, server.greeting.version) == ("sdk-test", "7")
                tools = {tool.name: tool for tool in server.tools}
                assert {"mcp__web__add", "mcp__web__die"} < set(tools)
                assert (await tools["mcp__web__add"].execute({"a": 2, "b": 3}, context)).content == "5"
                slow = asyncio.create_task(tools["mcp__web__slow"].execute({}, context))
                await until(lambda: reported)
                assert reported == ["1 of 2: half\n"]
                slow.cancel()
                with pytest.raises(asyncio.CancelledError):
                    async with asyncio.timeout(1):
                        await slow
                with pytest.raises(ToolError):
                    async with asyncio.timeout(10):
                        await tools["mcp__web__die"].execute({}, context)
            async with serving(listens):
                async with asyncio.timeout(20):
                    assert (await tools["mcp__web__add"].execute({"a": 2, "b": 4}, context)).content == "6"


async def test_a_call_is_made_again_in_a_new_session_where_the_server_forgot_the_old_one(
    tmp_path: Path,
) -> None:
    async with listening() as (url, listens), bench(tmp_path, spec=ServerSpec("web", url=url)) as here:
        here.server._old = True
        async with serving(listens):
            server = await here.started()
            add = next(tool for tool in server.tools if tool.name == "mcp__web__add")
        async with serving(listens):
            async with asyncio.timeout(30):
                assert (await add.execute({"a": 1, "b": 1}, ToolContext(tmp_path))).content == "2"


async def test_nobody_listening_is_said_in_words(tmp_path: Path) -> None:
    async with listening() as (url, listens):
        listens.close()
        async with bench(tmp_path, spec=ServerSpec("web", url=url)) as here:
            server = await here.started()
            assert server.state == "restarting"
            assert "connect" in server.why.lower()


async def test_headers_come_from_the_environment_and_stay_with_their_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WEB_TOKEN", "Bearer very-secret")
    caplog.set_level("DEBUG")
    async with LoopbackServer([]) as elsewhere:
        away = {"Location": f"http://localhost:{elsewhere.port}/mcp"}
        async with LoopbackServer(lambda _request: Answer(status=307, headers=away, framing="none")) as web:
            url = f"http://127.0.0.1:{web.port}/mcp"
            spec = ServerSpec("web", url=url, headers_env={"Authorization": "WEB_TOKEN"})
            async with bench(tmp_path, spec=spec) as here:
                server = await here.started()
                assert server.state == "restarting"
                assert "not followed" in server.why
            assert web.requests[0].headers["authorization"] == "Bearer very-secret"
        assert elsewhere.requests == []
    assert "very-secret" not in caplog.text + server.why


async def test_a_refusal_is_told_with_its_status(tmp_path: Path) -> None:
    async with LoopbackServer(lambda _request: json_answer({"error": "no"}, status=401)) as web:
        spec = ServerSpec("web", url=f"http://127.0.0.1:{web.port}/mcp")
        async with bench(tmp_path, spec=spec) as here:
            assert "it answered 401" in (await here.started()).why


@pytest.mark.parametrize(
    ("headers", "body", "words"),
    [
        ({}, b"x" * (9 * 2**20), "more than 8 MiB"),
        ({"Content-Encoding": "gzip"}, b"x", "a packed answer that nobody asked for"),
    ],
    ids=["long", "packed"],
)
async def test_an_answer_without_bounds_is_not_read(
    tmp_path: Path, headers: dict[str, str], body: bytes, words: str
) -> None:
    def script(_request: Request) -> Answer:
        return Answer(body, content_type="application/json", headers=headers)

    async with LoopbackServer(script) as web:
        spec = ServerSpec("web", url=f"http://127.0.0.1:{web.port}/mcp")
        async with bench(tmp_path, spec=spec) as here:
            assert words in (await here.started()).why


async def test_a_value_that_no_header_can_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEB_TOKEN", "a\r\nX-Evil: 1")
    spec: Any = ServerSpec("web", url="http://127.0.0.1:9/", headers_env={"Authorization": "WEB_TOKEN"})
    async with bench(tmp_path, spec=spec) as here:
        server = await here.started()
        assert server.state == "failed"
        assert server.why.startswith("the variable WEB_TOKEN holds what no header can")
