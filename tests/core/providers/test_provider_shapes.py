"""Shapes that show only over a connection or over turns; `tests/streams/SOURCES.md` names their sources."""

from __future__ import annotations

import asyncio
import json
import zlib
from typing import Any

import pytest

from agent_tui_core import AgentOptions, Client, Reasoning, Text, Tool, ToolUse
from agent_tui_core.errors import ProviderRefused, StreamMalformed, StreamTruncated
from loopback import (
    DONE,
    Answer,
    LoopbackServer,
    chunk,
    finish,
    json_answer,
    say,
    sse,
    text,
    tool_call,
    usage,
)
from request_rules import chat_rules

BASH = Tool("Bash", "Run.", {"type": "object"}, lambda given: f"ran {given['command']}")


def client_of(server: LoopbackServer, **more: Any) -> Client:
    more.setdefault("tools", [BASH])
    return Client(AgentOptions(model="m", base_url=server.base_url, retries=0, **more))


async def received(client: Client, prompt: str = "go") -> list[Any]:
    await client.send(prompt)
    blocks = []
    async with asyncio.timeout(10):
        while (block := await client.receive()) is not None:
            blocks.append(block)
    return blocks


async def test_a_compressed_stream_arrives_piece_by_piece() -> None:
    packer = zlib.compressobj(wbits=31)

    def packed(piece: bytes, mode: int = zlib.Z_SYNC_FLUSH) -> bytes:
        return packer.compress(piece) + packer.flush(mode)

    more = asyncio.Event()
    head, tail = packed(text("first")), packed(text(" second") + finish() + DONE, zlib.Z_FINISH)
    answer = Answer(head[:7], head[7:], more, tail, headers={"Content-Encoding": "gzip"})
    async with LoopbackServer([answer]) as server, client_of(server) as client, asyncio.timeout(10):
        await client.send("go")
        assert await client.receive() == Text("first")
        more.set()
        assert await client.receive() == Text(" second")
        assert await client.receive() is None
    assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_ids_that_repeat_over_turns_stay_as_they_are_and_every_call_has_its_own_result() -> None:
    kimi = [tool_call("functions.Bash:0", "Bash", {"command": word}) for word in ("ls", "pwd")]
    answers = [Answer(call, finish("tool_calls"), DONE) for call in kimi]
    async with LoopbackServer([answers[0], say("one"), answers[1], say("two")]) as server:
        async with client_of(server, auto_execute_tools=True) as client:
            await received(client)
            await received(client, "again")
            results = [
                message.tool_results[0].content for message in client.history if message.role == "tool"
            ]
    assert results == ["ran ls", "ran pwd"]
    last = server.requests[-1].json
    chat_rules(last)
    ids = [each["tool_call_id"] for each in last["messages"] if each["role"] == "tool"]
    assert ids == ["functions.Bash:0"] * 2


async def test_a_result_by_hand_answers_the_call_of_this_turn() -> None:
    first = Answer(tool_call("functions.Bash:0", "Bash", {"command": "ls"}), finish("tool_calls"), DONE)
    second = Answer(tool_call("functions.Bash:0", "Bash", {"command": "pwd"}), finish("tool_calls"), DONE)
    async with LoopbackServer([first, second, say("done")]) as server, client_of(server) as client:
        assert await received(client) == [ToolUse("functions.Bash:0", "Bash", {"command": "ls"})]
        client.add_tool_result("functions.Bash:0", "a file")
        await client.send()
        assert await client.receive() == ToolUse("functions.Bash:0", "Bash", {"command": "pwd"})
        assert await client.receive() is None
        client.add_tool_result("functions.Bash:0", "a folder")
        await client.send()
        assert await client.receive() == Text("done")
    assert [each["content"] for each in server.requests[2].json["messages"] if each["role"] == "tool"] == [
        "a file",
        "a folder",
    ]


async def test_a_name_that_is_empty_at_first_is_taken_when_it_comes() -> None:
    pieces = [
        {"index": 0, "id": "c1", "type": "function", "function": {"name": "", "arguments": ""}},
        {"index": 0, "id": "c1", "function": {"name": "Bash", "arguments": '{"command":'}},
        {"index": 0, "function": {"name": "", "arguments": '"ls"}'}},
    ]
    sent = [chunk({"tool_calls": [piece]}) for piece in pieces]
    async with LoopbackServer([Answer(*sent, finish("tool_calls"), DONE)]) as server:
        async with client_of(server) as client:
            assert await received(client) == [ToolUse("c1", "Bash", {"command": "ls"})]


@pytest.mark.parametrize(
    "answer",
    [
        Answer(chunk({"role": "assistant"}), finish(), usage(36_000, 0), DONE),
        Answer(DONE),
        Answer(status=204, framing="none"),
        Answer(b"", content_type="application/json"),
    ],
)
async def test_an_answer_with_nothing_in_it_is_an_error_and_leaves_no_message(answer: Answer) -> None:
    async with LoopbackServer([answer, say("well")]) as server, client_of(server) as client:
        with pytest.raises((StreamMalformed, StreamTruncated, ProviderRefused)):
            await received(client)
        assert client.history == ()
        assert await received(client) == [Text("well")]


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", "text/plain", None])
async def test_a_whole_answer_in_place_of_a_stream_is_an_answer(content_type: str | None) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "ls"}'}}
    message = {"role": "assistant", "content": "I look.", "tool_calls": [call]}
    whole = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 4, "completion_tokens": 2},
    }
    answer = Answer(json.dumps(whole).encode(), content_type=content_type)
    async with LoopbackServer([answer]) as server, client_of(server) as client:
        assert await received(client) == [Text("I look."), ToolUse("c1", "Bash", {"command": "ls"})]
        assert client.last_run is not None
        assert client.last_run.usage.input_tokens == 4


async def test_a_whole_answer_with_the_end_mark_of_a_stream_behind_it_is_an_answer() -> None:
    message = {"role": "assistant", "content": "OK"}
    whole = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    answer = Answer(json.dumps(whole).encode(), b"\n\n", DONE)
    async with LoopbackServer([answer]) as server, client_of(server) as client:
        assert await received(client) == [Text("OK")]


async def test_a_web_page_with_status_200_is_an_error_that_quotes_its_title() -> None:
    page = Answer(b"<html><head><title>Blocked by gateway</title></head></html>", content_type="text/html")
    async with LoopbackServer([page]) as server, client_of(server) as client:
        with pytest.raises(StreamMalformed, match="Blocked by gateway"):
            await received(client)


async def test_think_tags_are_reasoning() -> None:
    answer = [Answer(text("<think>\nHm.\n</thi"), text("nk>\n\nYes."), finish(), DONE)]
    async with LoopbackServer(answer) as server, client_of(server) as client:
        blocks = await received(client)
    assert "".join(block.text for block in blocks if isinstance(block, Reasoning)) == "\nHm.\n"
    assert "".join(block.text for block in blocks if isinstance(block, Text)) == "Yes."


async def test_the_reason_of_a_provider_behind_the_provider_is_told() -> None:
    error = {
        "message": "Provider returned error",
        "code": 400,
        "metadata": {"raw": '{"error": {"message": "temperature is fixed"}}', "provider_name": "Acme"},
    }
    async with LoopbackServer([json_answer({"error": error}, status=400)]) as server:
        async with client_of(server) as client:
            with pytest.raises(ProviderRefused, match="Provider returned error: temperature is fixed"):
                await received(client)


async def test_a_failure_that_hides_behind_a_benign_finish_reason_runs_no_tool() -> None:
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", "native_finish_reason": "error"}
    answer = Answer(tool_call("c1", "Bash", {"command": "rm -r build"}), sse({"choices": [choice]}), DONE)
    ran: list[object] = []
    tool = Tool("Bash", "Run.", {"type": "object"}, ran.append)
    async with LoopbackServer([answer]) as server:
        async with client_of(server, tools=[tool], auto_execute_tools=True) as client:
            with pytest.raises(ProviderRefused, match="error"):
                await received(client)
    assert ran == []
