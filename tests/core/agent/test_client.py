from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from agent_tui_core import (
    AgentOptions,
    Client,
    HookDecision,
    Hooks,
    Image,
    PermissionRules,
    Text,
    Tool,
    ToolUse,
    query,
)
from agent_tui_core.errors import BadRequest, PromptBlocked
from agent_tui_core.events import RunEnded, TextDelta, ToolEnded
from loopback import DONE, Answer, LoopbackServer, finish, reasoning, say, text, tool_call

ADD = Tool(
    "add",
    "Add two numbers.",
    {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    },
    lambda i: str(i["a"] + i["b"]),
)


def adds() -> Answer:
    return Answer(text("Adding. "), tool_call("c1", "add", {"a": 1, "b": 2}), finish("tool_calls"), DONE)


def options(server: LoopbackServer, **more: Any) -> AgentOptions:
    return AgentOptions(model="m", base_url=server.base_url, **more)


async def received(client: Client) -> list[Any]:
    blocks = []
    async with asyncio.timeout(10):
        while (block := await client.receive()) is not None:
            blocks.append(block)
    return blocks


async def test_a_query_streams_its_answer_in_pieces() -> None:
    async with LoopbackServer([Answer(text("Hel"), text("lo"), finish(), DONE)]) as server:
        assert [piece async for piece in query("hi", options(server))] == [Text("Hel"), Text("lo")]


async def test_by_hand_the_caller_runs_the_tool_and_goes_on_without_an_empty_message() -> None:
    async with LoopbackServer([adds(), say("3")]) as server, Client(options(server, tools=[ADD])) as client:
        await client.send("1+2?")
        blocks = await received(client)
        assert blocks == [Text("Adding. "), ToolUse("c1", "add", {"a": 1, "b": 2})]
        client.add_tool_result("c1", "3")
        await client.send()
        assert await received(client) == [Text("3")]
        assert [message.role for message in client.history] == ["user", "assistant", "tool", "assistant"]
        sent = server.requests[1].json["messages"]
        assert [message["role"] for message in sent] == ["user", "assistant", "tool"]


async def test_a_result_for_an_unknown_call_or_a_second_one_is_refused() -> None:
    async with LoopbackServer([adds()]) as server, Client(options(server, tools=[ADD])) as client:
        await client.send("1+2?")
        await received(client)
        with pytest.raises(ValueError, match="c1"):
            client.add_tool_result("other", "3")
        client.add_tool_result("c1", "3")
        with pytest.raises(ValueError, match="already"):
            client.add_tool_result("c1", "4")


async def test_automatic_mode_runs_the_tools_and_streams_every_answer() -> None:
    async with LoopbackServer([adds(), say("It is 3.")]) as server:
        async with Client(options(server, tools=[ADD], auto_execute_tools=True)) as client:
            await client.send("1+2?")
            blocks = await received(client)
            assert blocks[0] == Text("Adding. ")
            assert isinstance(blocks[1], ToolUse)
            assert "".join(block.text for block in blocks if isinstance(block, Text)) == "Adding. It is 3."
            assert client.last_run is not None
            assert (client.last_run.end, client.last_run.iterations) == ("completed", 2)


async def test_every_event_of_a_run_comes_live() -> None:
    async with LoopbackServer([adds(), say("3")]) as server:
        async with Client(options(server, tools=[ADD], auto_execute_tools=True)) as client:
            events = [event async for event in client.events("1+2?")]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert isinstance(events[-1].body, RunEnded)
    [ended] = [event.body for event in events if isinstance(event.body, ToolEnded)]
    assert ended.result.content == "3"


async def test_an_interrupt_from_another_thread_is_a_normal_end_and_the_client_stays_usable() -> None:
    stuck = Answer(text("half"), asyncio.Event(), finish(), DONE)
    async with LoopbackServer([stuck, say("again")]) as server, Client(options(server)) as client:
        await client.send("hi")
        assert await client.receive() == Text("half")
        threading.Thread(target=client.interrupt).start()
        assert await received(client) == []
        assert client.last_run is not None
        assert client.last_run.end == "interrupted"
        assert client.history[-1].text == "half"
        await client.send("go on")
        assert "again" in "".join(block.text for block in await received(client))


async def test_an_interrupt_right_after_sending_ends_the_run() -> None:
    async with LoopbackServer([say("x")]) as server, Client(options(server)) as client:
        await client.send("hi")
        assert client.interrupt()
        assert await received(client) == []
        assert client.last_run is not None
        assert client.last_run.end == "interrupted"
        assert not client.interrupt()


async def test_the_servers_refusal_is_raised_after_what_came_before_it() -> None:
    refused = Answer(b'{"error": {"message": "no such model"}}', status=404, content_type="application/json")
    async with LoopbackServer([refused]) as server, Client(options(server)) as client:
        await client.send("hi")
        with pytest.raises(BadRequest, match="no such model"):
            await received(client)
        assert client.last_run is not None
        assert isinstance(client.last_run.error, BadRequest)
        assert client.history == ()


async def test_a_hook_blocks_a_prompt_before_anything_is_sent() -> None:
    hooks = Hooks().add_user_prompt_submit(lambda _e: HookDecision.block("secret"))
    async with LoopbackServer([say("x")]) as server, Client(options(server, hooks=hooks)) as client:
        with pytest.raises(PromptBlocked, match="secret"):
            await client.send("hi")
    assert server.requests == []


async def test_rules_without_a_person_deny_what_they_leave_open_and_say_how_to_allow_it() -> None:
    async with LoopbackServer([adds(), say("ok")]) as server:
        rules = PermissionRules(deny=["other"])
        given = options(server, tools=[ADD], auto_execute_tools=True, permissions=rules)
        async with Client(given) as client:
            await client.send("1+2?")
            await received(client)
            [result] = client.history[2].tool_results
    assert result.is_error
    assert "add an allow rule" in result.content


async def test_reasoning_comes_in_pieces_and_images_go_out() -> None:
    answer = Answer(reasoning("hmm"), text("a cat"), finish(), DONE)
    async with LoopbackServer([answer]) as server, Client(options(server)) as client:
        await client.send([Text("what is this?"), Image.from_base64("QUJD", "image/png")])
        blocks = await received(client)
    assert [type(block).__name__ for block in blocks] == ["Reasoning", "Text"]
    content = server.requests[0].json["messages"][0]["content"]
    assert content[1]["image_url"]["url"] == "data:image/png;base64,QUJD"


async def test_options_keep_the_key_out_of_their_repr_and_refuse_nonsense() -> None:
    assert "sk-secret" not in repr(AgentOptions(model="m", api_key="sk-secret"))
    with pytest.raises(ValueError, match="http"):
        AgentOptions(model="m", base_url="ftp://x")
    with pytest.raises(ValueError, match="model"):
        AgentOptions(model="")


async def test_a_consumer_that_leaves_early_closes_the_connection() -> None:
    stuck = Answer(text("half"), asyncio.Event(), finish(), DONE)
    async with LoopbackServer([stuck]) as server:
        async with Client(options(server)) as client:
            events = client.events("hi")
            async for event in events:
                if isinstance(event.body, TextDelta):
                    break
            await events.aclose()
        async with asyncio.timeout(5):
            await server.streams[0].disconnected.wait()
