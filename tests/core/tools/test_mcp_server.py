"""A server's life: started when needed, killed, started again, given up, closed without a trace."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.tools.mcp_server import ATTEMPTS
from agent_tui_core.tools.mcp_values import ServerSpec
from mcp_servers import bench, group_lives, until


async def test_a_server_starts_when_it_is_needed_and_lists_its_tools(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        assert here.server.state == "not started"
        assert not here.folder.joinpath("pids").exists()
        server = await here.started()
        assert (server.state, server.why) == ("ready", "")
        assert [tool.name for tool in server.tools][:2] == ["mcp__test__die", "mcp__test__echo"]
        assert all(tool.writes for tool in server.tools)
        assert "\x1b" not in server.greeting.name
        assert (await here.call("echo", "hello")).content == "echo: hello"


async def test_a_server_killed_in_a_call_makes_it_an_error_and_the_next_call_starts_it_again(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        server = await here.started()
        with pytest.raises(
            ToolError, match=r"ended during the call: it was ended by signal 9: .*it hurts"
        ) as told:
            await here.call("die")
        assert "\x1b" not in str(told.value)
        assert server.state == "stopped"
        assert len(here.server.tools) > 5
        assert (await here.call("echo", "again")).content == "echo: again"
        assert len(here.pids()) == 2


async def test_a_server_that_was_killed_from_outside_is_started_by_the_next_request(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        server = await here.started()
        os.kill(here.pids()[0], signal.SIGKILL)
        await until(lambda: server.state == "stopped")
        await here.started()
        assert server.state == "ready"


async def test_a_server_that_dies_at_its_start_says_why_and_is_given_up_after_some_attempts(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, "dies") as here:
        server = await here.started()
        assert str(server.state) == "restarting"
        assert "KeyError: 'TOKEN is missing'" in server.why
        await until(lambda: server.state == "failed")
        assert len(here.pids()) == ATTEMPTS + 1  # once more, with the older handshake
        assert server.tools == ()
        await server.restart()
        assert server.state == "restarting"


async def test_a_server_that_dies_in_every_call_is_given_up_until_a_person_restarts_it(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        server = await here.started()
        for _ in range(ATTEMPTS):
            with pytest.raises(ToolError, match="ended during the call"):
                await here.call("die")
        assert server.state == "failed"
        with pytest.raises(ToolError, match=r"does not run: .* A person can start it again"):
            await here.call("echo")
        await server.restart()
        assert (await here.call("echo", "up")).content == "echo: up"


async def test_a_server_that_never_answers_ends_its_start_after_its_time(tmp_path: Path) -> None:
    async with bench(tmp_path, "silent", start_timeout=0.5) as here:
        began = time.monotonic()
        server = await here.started()
        assert "did not answer within 0.5 s" in server.why
        assert time.monotonic() - began < 5


async def test_a_program_that_is_not_there_is_not_tried_again(tmp_path: Path) -> None:
    async with bench(tmp_path, spec=ServerSpec("gone", command="/no/such/program")) as here:
        server = await here.started()
        assert server.state == "failed"
        assert "/no/such/program" in server.why


async def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    async with bench(tmp_path, spec=ServerSpec("x", command="true", env_from=("NO_SUCH_NAME",))) as here:
        server = await here.started()
        assert (server.state, server.why) == ("failed", "the environment variables NO_SUCH_NAME are not set")


async def test_a_server_that_ends_at_questions_from_before_the_handshake_gets_the_old_one(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, "strict") as here:
        server = await here.started()
        assert server.state == "ready", server.why
        assert len(here.pids()) == 2


async def test_a_server_that_ignores_signals_and_has_children_is_gone_after_its_end(tmp_path: Path) -> None:
    async with bench(tmp_path, "stubborn") as here:
        await here.started()
        pid = here.pids()[0]
        assert group_lives(pid)
        began = time.monotonic()
        await here.server.close()
        assert not group_lives(pid)
        assert time.monotonic() - began < 4


async def test_closing_during_a_start_leaves_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, "silent") as here:
        here.server.wake()
        await until(lambda: (here.folder / "heard.jsonl").exists())
        await here.server.close()
        assert here.server.state == "stopped"


async def test_closing_during_a_call_makes_the_call_an_error(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.started()
        call = asyncio.create_task(here.call("never"))
        await until(lambda: here.heard("tools/call"))
        await here.server.close()
        with pytest.raises(ToolError, match="was stopped"):
            await call


async def test_a_call_that_takes_too_long_ends_and_the_server_is_told(tmp_path: Path) -> None:
    async with bench(tmp_path, timeout=0.3) as here:
        await here.started()
        output = await here.call("never")
        assert (output.outcome, output.is_error) == ("timed_out", True)
        assert "did not answer within 0.3 s" in output.content
        await until(lambda: here.heard("notifications/cancelled"))
        assert (await here.call("echo", "still there")).content == "echo: still there"


async def test_an_interrupt_ends_a_call_at_once_and_the_server_is_told(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.started()
        call = asyncio.create_task(here.call("never"))
        await until(lambda: here.heard("tools/call"))
        began = time.monotonic()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert time.monotonic() - began < 1
        await until(lambda: here.heard("notifications/cancelled"))
        cancelled = here.heard("notifications/cancelled")[0]["params"]["requestId"]
        assert cancelled == here.heard("tools/call")[0]["id"]
        assert (await here.call("echo", "next")).content == "echo: next"


async def test_a_server_has_an_environment_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-1")
    monkeypatch.setenv("SOME_SECRET", "secret-2")
    monkeypatch.setenv("WANTED", "yes")
    told = tmp_path / "environment"
    said = "(dict(os.environ), os.getcwd(), os.getsid(0) == os.getpid())"
    program = f"import os; open({str(told)!r}, 'w').write(repr({said}))"
    spec = ServerSpec("x", sys.executable, ("-S", "-c", program), env={"GIVEN": "1"}, env_from=("WANTED",))
    async with bench(tmp_path, spec=spec) as here:
        await here.started()
        said = told.read_text()
    assert "secret" not in said
    assert "'GIVEN': '1'" in said
    assert "'WANTED': 'yes'" in said
    assert repr(str(tmp_path / "cwd")) in said
    assert said.endswith("True)")
