"""Tools that a server only runs as tasks: begun, followed, asked about, cancelled, or not offered."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.blocks import JsonObject
from agent_tui_core.errors import ToolError
from agent_tui_core.tools.mcp_values import Ask, Question, ServerSpec
from mcp_servers import Bench, bench, until

SCRIPT = Path(__file__).parents[2] / "mcp_task_server.py"


@asynccontextmanager
async def serving(folder: Path, *modes: str, ask: Ask | None = None, **more: Any) -> AsyncIterator[Bench]:
    (folder / "server").mkdir()
    arguments = ("-S", "-E", str(SCRIPT), str(folder / "server"), *modes)
    async with bench(folder, spec=ServerSpec("test", sys.executable, arguments, **more), ask=ask) as here:
        await here.started()
        yield here


async def test_a_tool_that_requires_it_runs_as_a_task_with_progress_in_its_card(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        output = await here.call("research")
        assert (output.content, output.is_error) == ("done: research null", False)
        told = "".join(here.reported)
        assert [f"step {number}" in told for number in (1, 2, 3)] == [True] * 3
        assert "\x1b" not in told
        assert "of 3" in told
        assert len(here.heard("tasks/get")) == 4
        [begun] = here.heard("tools/call")
        assert begun["params"]["task"]["ttl"] > 0
        assert here.heard("tasks/cancel") == []


async def test_a_tool_that_can_run_either_way_is_simply_called(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        assert (await here.call("either")).content == "answered at once"
        assert here.heard("tasks/get") == []


async def test_an_interrupt_cancels_the_task(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        call = asyncio.create_task(here.call("endless"))
        await until(lambda: here.heard("tasks/get"))
        began = asyncio.get_running_loop().time()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert asyncio.get_running_loop().time() - began < 2
        await until(lambda: here.heard("tasks/cancel"))
        assert (await here.call("either")).content == "answered at once"


async def test_a_task_without_progress_ends_after_the_time_of_a_call_and_is_cancelled(tmp_path: Path) -> None:
    async with serving(tmp_path, timeout=0.5) as here:
        output = await here.call("stuck")
        assert (output.is_error, output.outcome) == (True, "timed_out")
        await until(lambda: here.heard("tasks/cancel"))


async def test_a_task_with_progress_may_take_longer_than_a_call(tmp_path: Path) -> None:
    async with serving(tmp_path, timeout=0.5) as here:
        call = asyncio.create_task(here.call("endless"))
        await until(lambda: len(here.heard("tasks/get")) > 20)  # of 0.05 s each
        assert not call.done()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_what_a_task_asks_for_is_a_form_and_its_answer_gets_there(tmp_path: Path) -> None:
    questions: list[Question] = []

    async def ask(question: Question) -> JsonObject | None:
        questions.append(question)
        return {"name": "ann"}

    async with serving(tmp_path, ask=ask) as here:
        output = await here.call("asking")
        assert '"name": "ann"' in output.content
        assert [question.message for question in questions] == ["Who?"]


async def test_a_task_that_failed_says_why(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        with pytest.raises(ToolError, match="the task failed: the disk is full"):
            await here.call("failing")


async def test_a_tool_that_requires_tasks_is_not_offered_where_the_server_runs_none(tmp_path: Path) -> None:
    async with serving(tmp_path, "no-tasks") as here:
        names = [tool.name for tool in here.server.tools]
        assert names == ["mcp__test__either", "mcp__test__links", "mcp__test__read_resource"]
        assert here.server.unusable == ("research", "endless", "asking", "failing", "stuck")
