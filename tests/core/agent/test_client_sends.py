"""A `send` while a run goes on: it waits for that end, loses nothing of it and raises nothing for it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from agent_tui_core import (
    AgentOptions,
    Client,
    Hooks,
    Message,
    Text,
    Tool,
    ToolContext,
    ToolOutput,
    ToolUse,
    UserPromptSubmitEvent,
    query,
    tool,
)
from agent_tui_core.events import RunEnded, TextDelta
from loopback import DONE, Answer, LoopbackServer, finish, say, text, tool_call, usage
from scripted import Scripted, call, calls, says


@tool
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


def options(server: LoopbackServer, **more: Any) -> AgentOptions:
    return AgentOptions(model="m", base_url=server.base_url, **more)


def scripted(*answers: Any, **more: Any) -> tuple[Client, Scripted]:
    model = Scripted(list(answers))
    return Client(AgentOptions(model="m", provider=model, **more)), model


async def rest(client: Client) -> str:
    async with asyncio.timeout(10):
        pieces = []
        while (block := await client.receive()) is not None:
            pieces.append(block.text if isinstance(block, Text) else "")
        return "".join(pieces)


def texts(client: Client) -> list[str]:
    return [message.text for message in client.history if message.role == "assistant"]


@pytest.mark.parametrize("time", range(5))
async def test_the_answer_after_a_call_that_was_answered_at_once_is_received(time: int) -> None:
    asks = Answer(tool_call("c1", "add", {"a": 17, "b": 25}), finish("tool_calls"), usage(5, 3), DONE)
    async with LoopbackServer([asks, say("It is 42.")]) as server:
        async with asyncio.timeout(10), Client(options(server, tools=[add])) as client:
            await client.send("17 + 25?")
            block = await client.receive()
            assert isinstance(block, ToolUse)
            client.add_tool_result(block.id, "42")
            await client.send()
            assert await rest(client) == "It is 42."


async def test_a_question_after_the_last_word_waits_for_the_end_of_its_answer() -> None:
    goes_on = asyncio.Event()
    slow = Answer(text("The word is no. "), goes_on, text("Because."), finish(), usage(5, 3), DONE)
    async with LoopbackServer([slow, say("Next.")]) as server, Client(options(server)) as client:
        await client.send("one")
        assert await client.receive() == Text("The word is no. ")
        sending = asyncio.create_task(client.send("two"))
        await server.until(lambda: len(server.requests) == 1)
        goes_on.set()
        async with asyncio.timeout(10):
            await sending
        assert client.last_run is not None
        assert (client.last_run.end, client.last_run.usage.output_tokens) == ("completed", 3)
        assert await rest(client) == "Next."
        assert texts(client) == ["The word is no. Because.", "Next."]
        asked = server.requests[1].json["messages"]
    assert [message["content"] for message in asked] == ["one", "The word is no. Because.", "two"]


@pytest.mark.parametrize("received", range(4))
async def test_wherever_a_caller_stops_receiving_the_next_answer_is_whole(received: int) -> None:
    client, _ = scripted(says("a", "b", "c"), says("d", "e"))
    async with asyncio.timeout(10), client:
        await client.send("one")
        for _ in range(received):
            assert await client.receive() is not None
        await client.send("two")
        assert await rest(client) == "de"
        assert texts(client) == ["abc", "de"]


async def test_a_run_that_fails_unseen_is_told_by_last_run_and_not_raised_for_the_next_prompt() -> None:
    goes_on = asyncio.Event()
    broken = Answer(text("half"), goes_on, framing="close")
    async with LoopbackServer([broken, say("well")]) as server:
        async with asyncio.timeout(10), Client(options(server)) as client:
            await client.send("one")
            assert await client.receive() == Text("half")
            goes_on.set()
            await client.send("two")
            assert client.last_run is not None
            assert (client.last_run.end, type(client.last_run.error).__name__) == (
                "failed",
                "StreamTruncated",
            )
            assert await rest(client) == "well"
            assert texts(client) == ["half", "well"]


async def test_two_tasks_that_send_take_turns_and_both_prompts_are_answered() -> None:
    async with LoopbackServer([say("one"), say("two")]) as server, Client(options(server)) as client:
        async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
            tasks.create_task(client.send("a"))
            tasks.create_task(client.send("b"))
        assert await rest(client) == "two"
        assert [message.text for message in client.history] == ["a", "one", "b", "two"]


async def test_events_of_two_tasks_stay_apart() -> None:
    goes_on = asyncio.Event()

    async def words(prompt: str) -> str:
        told = ""
        async with aclosing(client.events(prompt)) as events:
            async for event in events:
                if isinstance(event.body, TextDelta):
                    told += event.body.text
                    goes_on.set()
        return told

    client, _ = scripted(
        [*says("on")[:1], goes_on, *says("e")], [*says("tw")[:1], *says("o")], says("three"), says("four")
    )
    async with asyncio.timeout(10), client:
        assert await asyncio.gather(*map(words, "abcd")) == ["one", "two", "three", "four"]


async def test_events_that_are_left_early_interrupt_their_own_run_only() -> None:
    goes_on = asyncio.Event()
    client, _ = scripted(says("a", "b"), [*says("c")[:1], goes_on, *says("d")])
    async with asyncio.timeout(10), client:
        first = client.events("one")
        while not isinstance((await anext(first)).body, TextDelta):
            pass
        await client.send("two")
        assert await client.receive() == Text("c")
        await first.aclose()
        goes_on.set()
        assert await rest(client) == "d"
        assert client.last_run is not None
        assert client.last_run.end == "completed"


async def test_an_interrupt_while_a_send_waits_ends_the_run_that_goes_on_and_then_it_is_sent() -> None:
    never = asyncio.Event()
    client, model = scripted([*says("half")[:1], never], says("next"))
    async with asyncio.timeout(10), client:
        await client.send("one")
        assert await client.receive() == Text("half")
        sending = asyncio.create_task(client.send("two"))
        await asyncio.sleep(0)
        assert client.interrupt()
        await sending
        assert await rest(client) == "next"
    assert [message.text for message in model.requests[1].messages] == ["one", "half", "two"]


async def test_an_interrupt_while_a_hook_looks_at_the_prompt_counts() -> None:
    looking, go = asyncio.Event(), asyncio.Event()

    async def slow(_event: UserPromptSubmitEvent) -> None:
        looking.set()
        await go.wait()

    late = [asyncio.Event(), *says("late")]
    client, _ = scripted(late, says("next"), hooks=Hooks().add_user_prompt_submit(slow))
    async with asyncio.timeout(10), client:
        sending = asyncio.create_task(client.send("one"))
        await looking.wait()
        assert client.interrupt()
        go.set()
        await sending
        assert await client.receive() is None
        assert client.last_run is not None
        assert (client.last_run.end, client.history) == ("interrupted", ())
        await client.send("two")
        assert await rest(client) == "next"


async def test_a_send_that_is_cancelled_while_it_waits_changes_nothing() -> None:
    goes_on = asyncio.Event()
    client, model = scripted([*says("a")[:1], goes_on, *says("b")], says("c"))
    async with asyncio.timeout(10), client:
        await client.send("one")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.send("two"), 0.01)
        goes_on.set()
        assert await rest(client) == "ab"
        await client.send("three")
        assert await rest(client) == "c"
    assert [message.text for message in model.requests[1].messages] == ["one", "ab", "three"]


async def test_a_client_that_is_closed_sends_nothing_that_still_waited() -> None:
    client, model = scripted([*says("half")[:1], asyncio.Event()], says("never"))
    async with asyncio.timeout(10):
        await client.send("one")
        assert await client.receive() == Text("half")
        sending = asyncio.create_task(client.send("two"))
        await asyncio.sleep(0)
        await client.aclose()
        with pytest.raises(RuntimeError, match="closed"):
            await sending
    assert len(model.requests) == 1


async def test_a_tool_that_sends_to_its_own_client_is_told_that_it_would_wait_for_itself() -> None:
    async def ask_myself(_input: dict[str, Any], _context: ToolContext) -> ToolOutput:
        await client.send("what now?")
        return ToolOutput("never")

    asks = Tool("ask", "Ask.", {"type": "object"}, ask_myself, takes_context=True)
    client, model = scripted(calls(call("ask", {})), says("so be it"), tools=[asks], auto_execute_tools=True)
    async with asyncio.timeout(10), client:
        await client.send("go")
        assert await rest(client) == "so be it"
    (result,) = model.requests[1].messages[-1].tool_results
    assert result.is_error
    assert "wait for itself" in result.content


async def test_a_hook_that_sends_to_the_client_that_asks_it_is_told_so() -> None:
    async def asks(_event: UserPromptSubmitEvent) -> None:
        with pytest.raises(RuntimeError, match="wait for itself"):
            await client.send("me first")
        heard.append("told")

    heard: list[str] = []
    client, _ = scripted(says("one"), hooks=Hooks().add_user_prompt_submit(asks))
    async with asyncio.timeout(10), client:
        await client.send("go")
        assert await rest(client) == "one"
    assert heard == ["told"]


async def test_a_result_that_comes_while_the_answer_to_it_streams_is_refused_and_harms_nothing() -> None:
    goes_on = asyncio.Event()
    client, _ = scripted(
        calls(call("add", {"a": 1, "b": 2})), [*says("th")[:1], goes_on, *says("ree")], tools=[add]
    )
    async with asyncio.timeout(10), client:
        await client.send("go")
        block = await client.receive()
        assert isinstance(block, ToolUse)
        client.add_tool_result(block.id, "3")
        await client.send()
        assert await client.receive() == Text("th")
        with pytest.raises(RuntimeError, match="a run is going on"):
            client.add_tool_result(block.id, "4")
        goes_on.set()
        assert await rest(client) == "ree"


async def test_results_that_are_added_while_hooks_settle_the_others_are_refused() -> None:
    looking, go = asyncio.Event(), asyncio.Event()

    async def slow(_event: Any) -> None:
        looking.set()
        await go.wait()

    both = calls(call("add", {"a": 1, "b": 2}, id="c1"), call("add", {"a": 3, "b": 4}, id="c2", place=1))
    client, _ = scripted(both, says("done"), tools=[add], hooks=Hooks().add_post_tool_use(slow))
    async with asyncio.timeout(10), client:
        await client.send("go")
        assert await rest(client) == ""
        client.add_tool_result("c1", "3")
        sending = asyncio.create_task(client.send())
        await looking.wait()
        with pytest.raises(RuntimeError, match="a run is going on"):
            client.add_tool_result("c2", "7")
        go.set()
        await sending
        assert await rest(client) == "done"


async def test_a_query_that_is_left_after_its_first_word_leaves_nothing_running() -> None:
    model = Scripted([[*says("a")[:1], asyncio.Event()]])
    async with asyncio.timeout(10):
        async with aclosing(query("hi", AgentOptions(model="m", provider=model))) as pieces:
            assert await anext(pieces) == Text("a")
    assert model.closed == 1
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_one_end_for_each_run_also_when_the_next_was_sent_at_once() -> None:
    client, _ = scripted(*[says("a", "b")] * 6)
    ends: list[RunEnded] = []
    async with asyncio.timeout(10), client:
        for _ in range(3):
            await client.send("x")
            await client.receive()
            ends += [e.body async for e in client.events("y") if isinstance(e.body, RunEnded)]
    assert [ended.end for ended in ends] == ["completed"] * 3
    assert [type(message) for message in client.history] == [Message] * 12
