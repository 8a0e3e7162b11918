"""Owns the proof of results that somebody else delivers, case by case; refuses sleeping."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
from agent_tui_core.tools.deferred import AsyncToolRegistry


@pytest.fixture
def registry() -> AsyncToolRegistry:
    return AsyncToolRegistry()


async def waiting(
    registry: AsyncToolRegistry, call_id: str, timeout: float | None = 10
) -> asyncio.Task[ToolOutput]:
    task = asyncio.create_task(registry.wait(call_id, timeout))
    async with asyncio.timeout(5):
        while call_id not in registry.pending:
            await asyncio.sleep(0)
    await asyncio.sleep(0)  # a registered id is pending before the task has begun
    return task


async def test_completing_delivers_and_empties(registry: AsyncToolRegistry) -> None:
    task = await waiting(registry, "a")
    assert registry.complete("a", "done")
    assert await task == ToolOutput("done")
    assert registry.pending == ()
    assert not registry.forget("a")


async def test_an_unknown_id_is_false(registry: AsyncToolRegistry) -> None:
    assert not registry.complete("a", "x")
    assert not registry.fail("a", "x")
    assert not registry.cancel("a")


async def test_the_first_answer_stays_and_a_second_is_false(registry: AsyncToolRegistry) -> None:
    task = await waiting(registry, "a")
    assert registry.complete("a", "first")
    assert not registry.complete("a", "second")
    assert not registry.fail("a", "third")
    assert not registry.cancel("a")
    assert await task == ToolOutput("first")


async def test_an_id_cannot_be_registered_or_awaited_twice(registry: AsyncToolRegistry) -> None:
    registry.register("a")
    with pytest.raises(ValueError):
        registry.register("a")
    task = await waiting(registry, "a")
    with pytest.raises(ValueError):
        await registry.wait("a")
    with pytest.raises(ValueError):
        registry.register("a")
    assert registry.complete("a", "still there")
    assert await task == ToolOutput("still there")


async def test_the_end_of_the_time_is_an_error_result(registry: AsyncToolRegistry) -> None:
    done = await registry.wait("a", timeout=0.01)
    assert done == ToolOutput("no result came within 0.01 s", is_error=True, outcome="timed_out")


async def test_completing_after_the_time_is_false(registry: AsyncToolRegistry) -> None:
    await registry.wait("a", timeout=0)
    assert not registry.complete("a", "late")
    assert registry.pending == ()


async def test_cancelling_the_one_who_waits_ends_the_wait_and_empties(registry: AsyncToolRegistry) -> None:
    task = await waiting(registry, "a")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert registry.pending == ()
    assert not registry.complete("a", "late")


async def test_completing_before_anyone_waits_is_not_lost(registry: AsyncToolRegistry) -> None:
    registry.register("a")
    assert registry.complete("a", {"n": 1})
    assert registry.pending == ()
    assert not registry.complete("a", "again")
    assert await registry.wait("a", timeout=0) == ToolOutput('{"n": 1}')


async def test_cancelling_one_leaves_the_others(registry: AsyncToolRegistry) -> None:
    one, other = await waiting(registry, "a"), await waiting(registry, "b")
    assert registry.cancel("a")
    assert await one == ToolOutput("it was cancelled", is_error=True, outcome="cancelled")
    assert registry.pending == ("b",)
    one_more = await waiting(registry, "c")
    one_more.cancel()
    await asyncio.wait([one_more])
    assert registry.complete("b", "fine")
    assert await other == ToolOutput("fine")


async def test_failing_gives_the_reason(registry: AsyncToolRegistry) -> None:
    task = await waiting(registry, "a")
    assert registry.fail("a", "the door was locked")
    assert await task == ToolOutput("the door was locked", is_error=True)


@pytest.mark.parametrize("value", ["", None])
async def test_an_empty_result_or_error_has_a_default_text(registry: AsyncToolRegistry, value: Any) -> None:
    registry.register("a")
    registry.complete("a", value)
    assert await registry.wait("a") == ToolOutput("(no result)")
    registry.register("b")
    registry.fail("b", " ")
    assert await registry.wait("b") == ToolOutput("it failed without a reason", is_error=True)


async def test_results_come_in_call_order_when_the_first_is_slow(registry: AsyncToolRegistry) -> None:
    tasks = [await waiting(registry, "slow"), await waiting(registry, "quick")]
    assert registry.complete("quick", "2")
    await tasks[1]
    assert registry.complete("slow", "1")
    assert [done.content for done in await asyncio.gather(*tasks)] == ["1", "2"]


async def test_the_answer_may_come_from_another_thread_and_only_one_wins(registry: AsyncToolRegistry) -> None:
    task = await waiting(registry, "a", timeout=None)
    start, wins = threading.Barrier(8), []

    def answer(number: int) -> None:
        start.wait()
        if registry.complete("a", str(number)):
            wins.append(number)

    threads = [threading.Thread(target=answer, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    async with asyncio.timeout(5):
        done = await task
    for thread in threads:
        thread.join()
    assert [str(number) for number in wins] == [done.content]


async def test_an_answer_accepted_in_the_last_moment_counts(registry: AsyncToolRegistry) -> None:
    async def wait_and_answer() -> ToolOutput:
        asyncio.get_running_loop().call_soon(registry.complete, "a", "just in time")
        return await registry.wait("a", timeout=0)

    assert await wait_and_answer() in (
        ToolOutput("just in time"),
        ToolOutput("no result came within 0 s", is_error=True, outcome="timed_out"),
    )
    assert registry.pending == ()


async def test_a_value_that_is_no_text_leaves_the_call_open(registry: AsyncToolRegistry) -> None:
    task = await waiting(registry, "a")
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ToolError):
        registry.complete("a", circle)
    assert registry.complete("a", [1, 2])
    assert await task == ToolOutput("[1, 2]")


async def test_a_registered_call_can_be_forgotten(registry: AsyncToolRegistry) -> None:
    registry.register("a")
    assert registry.forget("a")
    assert not registry.complete("a", "x")
    task = await waiting(registry, "b")
    assert not registry.forget("b")
    registry.cancel("b")
    await task


async def test_a_tool_waits_under_the_key_of_its_call(registry: AsyncToolRegistry, tmp_path: Path) -> None:
    async def run(given: dict[str, Any], context: ToolContext) -> ToolOutput:
        return await registry.wait(context.call_key, timeout=5)

    asked = Tool("Ask", "", {"type": "object"}, run=run, takes_context=True)
    task = asyncio.create_task(asked.execute({}, ToolContext(tmp_path, call_key="key-1")))
    async with asyncio.timeout(5):
        while registry.pending != ("key-1",):
            await asyncio.sleep(0)
    assert registry.complete("key-1", "yes")
    assert await task == ToolOutput("yes")
