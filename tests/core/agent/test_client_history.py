from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core import AgentOptions, Client, Image, Message, Reasoning, Text, Tool, ToolResult, ToolUse
from agent_tui_core.config.servers import ANTHROPIC_BASE_URL, OPENAI_BASE_URL
from agent_tui_core.errors import BadRequest
from scripted import Answer, Scripted, call, calls, says

LOOK = Tool("look", "Look.", {"type": "object"}, lambda _input: "seen")
ASK = Message("user", (Text("go"),))
CALL = Message("assistant", (Text("wait"), ToolUse("c1", "look", {}), ToolUse("c2", "look", {})))
ANSWER = Message("tool", (ToolResult("c1", "1"), ToolResult("c2", "2")))
SAID = Message("assistant", (Reasoning("hm"), Text("done")), "end")


def client_of(*answers: Answer, **more: Any) -> tuple[Client, Scripted]:
    model = Scripted(list(answers))
    return Client(AgentOptions(model="m", provider=model, tools=[LOOK], **more)), model


async def talk(client: Client, *prompts: str) -> None:
    for prompt in prompts:
        await client.send(prompt)
        async with asyncio.timeout(10):
            while await client.receive() is not None:
                pass


async def test_another_client_goes_on_from_a_history() -> None:
    first, _ = client_of(says("one"))
    async with first:
        await talk(first, "hi")
    second, model = client_of(says("two"))
    async with second:
        second.load_history(first.history)
        await talk(second, "and?")
        assert [message.text for message in second.history] == ["hi", "one", "and?", "two"]
    assert [message.text for message in model.requests[0].messages] == ["hi", "one", "and?"]


@pytest.mark.parametrize("auto", [False, True])
async def test_the_open_calls_of_a_loaded_history_wait_for_their_results(auto: bool) -> None:
    client, model = client_of(says("thanks"), auto_execute_tools=auto)
    async with client:
        client.load_history([ASK, CALL])
        client.add_tool_result("c2", "two")
        client.add_tool_result("c1", "one")
        await client.send()
        assert await client.receive() == Text("thanks")
    assert [each.content for each in model.requests[0].messages[-1].tool_results] == ["one", "two"]


async def test_a_history_that_ends_with_a_question_can_be_sent_as_it_is() -> None:
    client, model = client_of(says("yes"))
    async with client:
        client.load_history([ASK])
        await client.send()
        assert await client.receive() == Text("yes")
    assert list(model.requests[0].messages) == [ASK]


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([ANSWER], "no calls before it"),
        ([ASK, CALL, SAID], "c1, c2 before it have no results"),
        ([ASK, CALL, Message("tool", (ToolResult("c1", "1"),)), SAID], "answers c1, but"),
        ([ASK, CALL, Message("tool", (ToolResult("c2", "2"), ToolResult("c1", "1")))], "answers c2, c1, but"),
        ([ASK, CALL, ANSWER, ANSWER], "no calls before it"),
        ([ASK, CALL, Message("tool", (*ANSWER.blocks, Text("x")))], "results alone"),
        ([Message("user", (Text(" "),))], "is empty"),
        ([Message("user", ())], "is empty"),
        ([Message("user", (ToolResult("c1", "1"),))], "text and images alone"),
        ([ASK, Message("assistant", ())], "is empty"),
        ([ASK, Message("assistant", (Image("https://x.invalid/a.png"),))], "tool uses alone"),
    ],
)
async def test_what_a_provider_would_not_accept_is_refused_and_changes_nothing(
    messages: list[Message], words: str
) -> None:
    client, _ = client_of()
    client.load_history([ASK, SAID])
    with pytest.raises(ValueError, match=words):
        client.load_history(messages)
    assert client.history == (ASK, SAID)


async def test_a_picture_alone_is_a_message() -> None:
    client, _ = client_of()
    client.load_history([Message("user", (Image("https://x.invalid/a.png"),)), SAID])
    assert len(client.history) == 2


async def test_only_the_last_prompts_are_kept_with_all_that_came_of_them() -> None:
    client, model = client_of(
        says("1"), calls(call("look", {})), says("2"), says("3"), says("4"), auto_execute_tools=True
    )
    async with client:
        await talk(client, "a", "b", "c")
        assert client.keep_prompts(3) == 0
        assert client.keep_prompts(2) == 2
        assert [message.role for message in client.history[:3]] == ["user", "assistant", "tool"]
        await talk(client, "d")
        assert model.requests[-1].messages[0].text == "b"
        assert client.keep_prompts(0) == 8
        assert client.history == ()
        with pytest.raises(ValueError, match="0 or more"):
            client.keep_prompts(-1)


async def test_the_history_cannot_be_changed_while_a_run_goes_on() -> None:
    gate = asyncio.Event()
    client, _ = client_of([gate, *says("x")])
    async with client:
        client.load_history([ASK, SAID])
        await client.send("hi")
        for change in (client.clear_history, lambda: client.load_history([]), lambda: client.keep_prompts(0)):
            with pytest.raises(RuntimeError, match="a run is going on"):
                change()
        gate.set()
        while await client.receive() is not None:
            pass
        client.clear_history()
        assert client.history == ()


async def test_the_last_run_tells_of_its_own_answer_alone() -> None:
    client, _ = client_of(says("one"), [BadRequest("no")])
    async with client:
        await talk(client, "hi")
        first = client.last_run
        with pytest.raises(BadRequest):
            await talk(client, "again")
        second = client.last_run
        assert first is not None
        assert first.message is not None
        assert (first.end, first.message.text) == ("completed", "one")
        assert second is not None
        assert second.end == "failed"
        assert second.reason.startswith("no. ")
        assert second.message is None
        assert client.history[-1].text == "one"


async def test_near_its_limit_the_oldest_part_is_summarised_and_history_stays_whole() -> None:
    long = "word " * 400
    client, model = client_of(says(long), says(long), says("a summary"), says("short"), context_limit=1_000)
    async with client:
        await talk(client, "a", "b", "c")
        assert [message.text for message in client.history] == ["a", long, "b", long, "c", "short"]
    assert "a summary" in model.requests[-1].messages[0].text


async def test_options_say_what_the_environment_says() -> None:
    served = AgentOptions.from_environment({"OPENAI_BASE_URL": "http://h:1/v1", "AGENT_TUI_MODEL": "x"})
    assert (served.base_url, served.model, served.api_key) == ("http://h:1/v1", "x", None)
    keyed = AgentOptions.from_environment({"OPENAI_API_KEY": "sk-1"})
    assert (keyed.base_url, keyed.api_key) == (OPENAI_BASE_URL, "sk-1")
    only = AgentOptions.from_environment({"ANTHROPIC_API_KEY": "sk-ant-1"})
    assert (only.base_url, only.protocol, only.key) == (ANTHROPIC_BASE_URL, "anthropic", "sk-ant-1")
    assert only.model.startswith("claude")
    assert "sk-ant-1" not in repr(only)
    both = AgentOptions.from_environment({"ANTHROPIC_API_KEY": "sk-ant-1", "OPENAI_API_KEY": "sk-1"})
    assert (both.protocol, both.key) == ("chat", "sk-1")
    demo = AgentOptions.from_environment({})
    assert demo.provider is not None
    with pytest.raises(ValueError, match="base_url"):
        AgentOptions.from_environment({"OPENAI_BASE_URL": "nonsense"})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"context_limit": -1}, "context_limit"),
        ({"idle_timeout": 0}, "seconds"),
        ({"protocol": "smoke"}, "chat, anthropic, responses"),
        ({"retries": -1}, "retries"),
        ({"retries": None}, "retries"),
        ({"max_tokens": "many"}, "max_tokens: should be a whole number"),
        ({"idle_timeout": float("inf")}, "idle_timeout"),
        ({"temperature": "hot"}, "temperature: should be a number from 0 to 2, not 'hot'"),
        ({"stop": "END"}, "stop: should be a list"),
        ({"seed": 1, "protocol": "responses"}, "seed: the protocol"),
        ({"headers": {"X-A": "one\nX-B: two"}}, "headers"),
        ({"headers": {"Host": "elsewhere"}}, "by itself"),
        ({"headers": "X-A: b"}, "headers"),
        ({"extra_body": {"stream": False}}, "stream"),
        ({"base_url": None}, "base_url"),
        ({"max_tool_iterations": 0}, "max_tool_iterations"),
    ],
)
def test_options_that_cannot_work_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AgentOptions(model="m", **wrong)


def test_headers_of_a_client_are_not_shown() -> None:
    options = AgentOptions(model="m", headers={"api-key": "azure-0123456789"})
    assert "azure-0123456789" not in repr(options)


def test_two_tools_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="look"):
        Client(AgentOptions(model="m", tools=[LOOK, LOOK], workspace=tmp_path))
