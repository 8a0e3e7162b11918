"""Owns the proof of owners and progress of results that come from outside; refuses sleeping."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from agent_tui_core import AgentOptions, AsyncToolRegistry, Client, Tool, ToolContext, ToolOutput
from agent_tui_core.events import ToolEnded, ToolProgressed
from agent_tui_core.tools.deferred import MOST_EARLY_PROGRESS
from scripted import Scripted, call, calls, says


async def waiting(registry: AsyncToolRegistry, *contexts: ToolContext) -> list[asyncio.Task[ToolOutput]]:
    tasks = [asyncio.create_task(registry.wait(context)) for context in contexts]
    await asyncio.sleep(0)
    return tasks


def of(owner: str, key: str) -> ToolContext:
    return ToolContext(Path("/"), owner, key)


async def test_all_calls_of_one_owner_are_cancelled_and_no_others() -> None:
    registry = AsyncToolRegistry()
    tasks = await waiting(registry, of("ann", "1"), of("bob", "2"), of("ann", "3"))
    assert registry.pending_of("ann") == ("1", "3")
    assert registry.cancel_all("ann", "ann went home") == 2
    assert registry.pending == ("2",)
    assert registry.cancel_all("ann") == 0
    assert registry.cancel_all() == 1
    outputs = await asyncio.gather(*tasks)
    assert [each.content for each in outputs] == ["ann went home", "it was cancelled", "ann went home"]
    assert {each.outcome for each in outputs} == {"cancelled"}


async def test_a_registered_call_has_its_owner_before_anyone_waits() -> None:
    registry = AsyncToolRegistry()
    registry.register("1", owner="ann")
    assert registry.pending_of("ann") == ("1",)
    assert registry.cancel_all("ann") == 1
    assert (await registry.wait("1")).is_error
    assert registry.pending_of("ann") == ()


async def test_progress_reaches_the_pane_in_order_also_what_came_before_the_wait() -> None:
    registry = AsyncToolRegistry()

    def weigh_elsewhere(key: str) -> None:
        assert registry.progress(key, "half way")
        assert registry.complete(key, "3 kg")
        assert not registry.progress(key, "late")

    async def weigh(_input: dict[str, object], context: ToolContext) -> ToolOutput:
        registry.register(context)
        assert registry.pending_of(context.agent_id) == (context.call_key,)
        assert registry.progress(context.call_key, "begun")
        threading.Thread(target=weigh_elsewhere, args=[context.call_key]).start()
        return await registry.wait(context)

    tool = Tool("weigh", "Weigh.", {"type": "object"}, weigh, takes_context=True)
    model = Scripted([calls(call("weigh", {})), says("ok")])
    options = AgentOptions(model="m", provider=model, tools=[tool], auto_execute_tools=True)
    async with asyncio.timeout(10), Client(options) as client:
        bodies = [event.body async for event in client.events("go")]
    assert [body.output for body in bodies if isinstance(body, ToolProgressed)] == ["begun", "half way"]
    assert [body.result.content for body in bodies if isinstance(body, ToolEnded)] == ["3 kg"]
    assert registry.pending == ()


async def test_progress_that_nobody_hears_yet_is_bounded_and_keeps_its_end() -> None:
    registry = AsyncToolRegistry()
    registry.register("1")
    for number in range(MOST_EARLY_PROGRESS + 5):
        assert registry.progress("1", str(number))
    heard: list[str] = []
    task = asyncio.create_task(registry.wait("1", report=heard.append))
    await asyncio.sleep(0)
    assert registry.complete("1")
    await task
    assert (heard[0], heard[-1]) == ("5", str(MOST_EARLY_PROGRESS + 4))


async def test_a_listener_of_progress_that_breaks_does_not_break_the_wait(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_output: str) -> None:
        raise RuntimeError("no screen")

    registry = AsyncToolRegistry()
    task = asyncio.create_task(registry.wait("1", report=broken))
    await asyncio.sleep(0)
    assert registry.progress("1", "half")
    assert registry.complete("1", "done")
    assert await task == ToolOutput("done")
    assert "no screen" in caplog.text


async def test_progress_of_an_unknown_call_is_false() -> None:
    assert not AsyncToolRegistry().progress("nobody", "x")
