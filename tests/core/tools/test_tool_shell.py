"""Owns the proof of what a model gets from Bash; refuses a mocked shell."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.events import ApprovalPreview
from agent_tui_core.tools.base import ToolContext, ToolOutput
from agent_tui_core.tools.previews import preview_call
from agent_tui_core.tools.registry import ToolRegistry
from agent_tui_core.tools.shell import BASH


async def bash(workspace: Path, command: str, **more: Any) -> ToolOutput:
    return await BASH.execute({"command": command, **more}, ToolContext(workspace))


async def test_it_runs_in_the_workspace(tmp_path: Path) -> None:
    assert await bash(tmp_path, "pwd; echo x > made") == ToolOutput(str(tmp_path))
    assert (tmp_path / "made").read_text() == "x\n"


async def test_an_exit_code_is_an_error_with_the_output(tmp_path: Path) -> None:
    assert await bash(tmp_path, "echo why; exit 3") == ToolOutput("exit code 3\nwhy", is_error=True)
    assert (await bash(tmp_path, "kill -KILL $$")).content.startswith("ended by SIGKILL")


async def test_silence_is_said(tmp_path: Path) -> None:
    assert (await bash(tmp_path, "true")).content == "(no output)"
    assert (await bash(tmp_path, "false")).content == "exit code 1\n(no output)"


async def test_the_timeout_is_in_milliseconds(tmp_path: Path) -> None:
    done = await bash(tmp_path, "echo started; sleep 30", timeout=200)
    assert done == ToolOutput("timed out after 200 ms and was killed\nstarted", is_error=True)


async def test_a_command_is_never_taken_for_an_option(tmp_path: Path) -> None:
    for command in ("-x", "+x", "--version"):
        assert "command not found" in (await bash(tmp_path, command)).content


async def test_an_empty_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="empty"):
        await bash(tmp_path, " \n")


async def test_output_is_reported_while_it_runs(tmp_path: Path) -> None:
    heard = asyncio.Event()
    context = ToolContext(tmp_path, report=lambda piece: heard.set() if "begun" in piece else None)
    task = asyncio.create_task(BASH.execute({"command": "echo begun; cat <(sleep 30)"}, context))
    async with asyncio.timeout(5):
        await heard.wait()
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_long_result_is_bounded(tmp_path: Path) -> None:
    assert len((await bash(tmp_path, "seq 1 100000")).content) < 30_300


async def test_the_preview_is_the_whole_command(tmp_path: Path) -> None:
    command = "echo one\n" * 500
    shown = await preview_call(BASH, {"command": command, "description": "nice"}, ToolContext(tmp_path))
    assert shown == ApprovalPreview("command", command)


def test_the_schema_bounds_the_timeout() -> None:
    tools = ToolRegistry([BASH])
    assert tools.check(BASH, {"command": "x", "timeout": 600_000}) is None
    assert tools.check(BASH, {"command": "x", "timeout": 600_001}) is not None
    assert BASH.writes


def test_a_command_that_is_too_long_goes_back_with_its_length() -> None:
    tools = ToolRegistry([BASH])
    assert tools.check(BASH, {"command": "x" * 100_000}) is None
    refused = tools.check(BASH, {"command": "x" * 100_001})
    assert refused is not None
    assert "- command has 100,001 characters, and 100,000 are allowed" in refused
    assert "at most 100,000 characters: write a file" in str(BASH.input_schema)
    assert len(refused) < 1_000
