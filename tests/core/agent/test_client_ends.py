from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from typing import Any

import pytest

from agent_tui_core import AgentOptions, AsyncToolRegistry, Client, Text, Tool, ToolContext, query
from agent_tui_core.errors import ConfigError, ProviderUnreachable, RateLimited, StreamTruncated
from agent_tui_core.events import RequestRetrying, RunEnded, ToolEnded, ToolStarted
from loopback import CLOSE, DONE, Answer, LoopbackServer, finish, json_answer, say, text, tool_call


def options(server: LoopbackServer, **more: Any) -> AgentOptions:
    return AgentOptions(model="m", base_url=server.base_url, **more)


def half() -> Answer:
    return Answer(text("half"), asyncio.Event(), finish(), DONE)


def limited(after: str = "0") -> Answer:
    return json_answer({"error": {"message": "slowly"}}, status=429, headers={"Retry-After": after})


async def rest(client: Client) -> str:
    async with asyncio.timeout(10):
        pieces = []
        while (block := await client.receive()) is not None:
            pieces.append(block.text if isinstance(block, Text) else "")
        return "".join(pieces)


async def nothing_is_left(server: LoopbackServer) -> None:
    async with asyncio.timeout(5):
        await server.until(lambda: server.open_now == 0)
    assert asyncio.all_tasks() - {asyncio.current_task()} == server._tasks | {
        task for task in asyncio.all_tasks() if "_first_byte" in repr(task.get_coro())
    }


async def test_retries_are_events_and_the_answer_comes_all_the_same() -> None:
    async with LoopbackServer([limited(), limited(), say("at last")]) as server:
        async with Client(options(server)) as client:
            bodies = [event.body async for event in client.events("hi")]
    retries = [body for body in bodies if isinstance(body, RequestRetrying)]
    assert [(body.attempt, body.attempts, body.delay) for body in retries] == [(1, 3, 0.0), (2, 3, 0.0)]
    assert "slowly" in retries[0].reason
    assert isinstance(bodies[-1], RunEnded)
    assert bodies[-1].end == "completed"


async def test_an_interrupt_ends_the_wait_between_two_attempts() -> None:
    async with LoopbackServer([limited("60"), say("again")]) as server, Client(options(server)) as client:
        async with asyncio.timeout(10), aclosing(client.events("hi")) as events:
            async for event in events:
                if isinstance(event.body, RequestRetrying):
                    assert client.interrupt()
        assert client.last_run is not None
        assert client.last_run.end == "interrupted"
        assert client.history == ()


async def test_an_error_is_raised_once_and_the_client_goes_on() -> None:
    answers = [limited("999"), Answer(text("ha"), CLOSE), say("well")]
    async with LoopbackServer(answers) as server, Client(options(server, retries=0)) as client:
        await client.send("one")
        with pytest.raises(RateLimited):
            await rest(client)
        assert await client.receive() is None
        assert [message.role for message in client.history] == []
        await client.send("two")
        assert await client.receive() == Text("ha")
        with pytest.raises(StreamTruncated):
            await rest(client)
        assert client.history[-1].stop_reason == "error"
        await client.send("three")
        assert await rest(client) == "well"


async def test_a_server_that_is_not_there_is_an_error_that_says_so() -> None:
    async with LoopbackServer() as server:
        gone = options(server, retries=0)
    async with Client(gone) as client:
        await client.send("hi")
        with pytest.raises(ProviderUnreachable, match="refused"):
            await rest(client)


async def test_an_address_that_cannot_be_used_is_told_by_send_and_changes_nothing() -> None:
    async with Client(AgentOptions(model="m", base_url="http://user:pass@host/v1")) as client:
        for _ in range(2):
            with pytest.raises(ConfigError, match="base_url"):
                await client.send("hi")
        assert client.history == ()
        with pytest.raises(RuntimeError, match="call send"):
            await client.receive()


async def test_an_interrupted_run_is_waited_for_by_the_next_send() -> None:
    async with LoopbackServer([half(), say("next")]) as server, Client(options(server)) as client:
        await client.send("hi")
        assert await client.receive() == Text("half")
        assert client.interrupt()
        assert client.interrupt()
        async with asyncio.timeout(5):
            await client.send("next")
        assert await rest(client) == "next"
    assert [message["role"] for message in server.requests[1].json["messages"]][-1] == "user"


async def test_leaving_a_query_early_hangs_up_at_once() -> None:
    async with LoopbackServer([half()]) as server:
        async with aclosing(query("hi", options(server))) as pieces:
            async for piece in pieces:
                assert piece == Text("half")
                break
        async with asyncio.timeout(5):
            await server.streams[0].disconnected.wait()
        await nothing_is_left(server)


async def test_a_cancelled_receive_loses_nothing() -> None:
    more = asyncio.Event()
    answer = Answer(text("one "), more, text("two"), finish(), DONE)
    async with LoopbackServer([answer]) as server, Client(options(server)) as client:
        await client.send("hi")
        assert await client.receive() == Text("one ")
        waiting = asyncio.create_task(client.receive())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        more.set()
        assert await rest(client) == "two"


async def test_all_who_receive_come_to_the_end() -> None:
    async with LoopbackServer([half()]) as server, Client(options(server)) as client:
        await client.send("hi")
        both = [asyncio.create_task(rest(client)) for _ in range(2)]
        async with asyncio.timeout(5):
            await server.until(lambda: server.open_now == 1)
            client.interrupt()
            assert "".join(await asyncio.gather(*both)) in {"half", ""}


async def test_closing_within_an_answer_leaves_no_task_and_no_socket() -> None:
    async with LoopbackServer([half()]) as server:
        async with Client(options(server)) as client:
            await client.send("hi")
            assert await client.receive() == Text("half")
        async with asyncio.timeout(5):
            await server.streams[0].disconnected.wait()
        await nothing_is_left(server)
        assert client.history[-1].stop_reason == "interrupted"
        await client.aclose()


async def test_an_interrupt_from_a_thread_after_the_end_does_nothing() -> None:
    async with LoopbackServer([say("x")]) as server, Client(options(server)) as client:
        await client.send("hi")
        assert await rest(client) == "x"
        said: list[bool] = []
        thread = threading.Thread(target=lambda: said.append(client.interrupt()))
        thread.start()
        thread.join()
        assert said == [False]


async def test_a_tool_in_a_client_waits_for_a_result_from_outside() -> None:
    registry = AsyncToolRegistry()

    async def weigh(_input: dict[str, Any], context: ToolContext) -> object:
        return await registry.wait(context.call_key, timeout=5)

    tool = Tool("weigh", "Weigh it.", {"type": "object"}, weigh, takes_context=True)
    asked = Answer(tool_call("c1", "weigh", {}), finish("tool_calls"), DONE)
    async with LoopbackServer([asked, say("heavy")]) as server:
        async with Client(options(server, tools=[tool], auto_execute_tools=True)) as client:
            ended = []
            async for event in client.events("go"):
                if isinstance(event.body, ToolStarted):
                    key = event.body.key
                    threading.Timer(0.01, lambda k=key: registry.complete(k, {"kg": 3})).start()
                if isinstance(event.body, ToolEnded):
                    ended.append(event.body.result.content)
    assert ended == ['{"kg": 3}']
    assert registry.pending == ()


async def test_options_are_there_and_belong_to_the_client() -> None:
    given = AgentOptions(model="m")
    client = Client(given)
    assert client.options is given
    with pytest.raises(AttributeError):
        client.options = given  # type: ignore[misc]  # that is the test
