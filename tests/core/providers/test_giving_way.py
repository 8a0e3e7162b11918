"""Requests that are made again with less, because the server refused just that, in the servers' own words."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from agent_tui_core.blocks import Reasoning, Text
from agent_tui_core.errors import BadRequest, ContextExceeded
from agent_tui_core.messages import Message
from agent_tui_core.providers.anthropic import AnthropicProvider
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.responses import ResponsesProvider
from loopback import Answer, LoopbackServer, json_answer, sse
from protocols import ASK, MESSAGES, RESPONSES, Speech, collected, over_protocols, say, words


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with http_client(idle_timeout=5.0) as made:
        yield made


def refusal(message: str) -> Answer:
    error = {"type": "invalid_request_error", "message": message}
    return json_answer({"type": "error", "error": error}, status=400)


def field(server: LoopbackServer, name: str) -> list[Any]:
    return [asked.json.get(name) for asked in server.requests]


# https://github.com/docker/docker-agent/issues/569
WINDOW = "input length and `max_tokens` exceed context limit: 178959 + 32000 > 200000, decrease input length"
LARGEST = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-x"


async def test_a_model_that_says_less_is_asked_for_less_from_then_on(client: httpx.AsyncClient) -> None:
    answers = [refusal(LARGEST), say(MESSAGES, "a"), say(MESSAGES, "b"), say(MESSAGES, "c")]
    async with LoopbackServer(answers) as server:
        provider = AnthropicProvider(client, server.base_url)
        assert words(await collected(provider)) == "a"
        assert words(await collected(provider)) == "b"
        await collected(provider, replace(ASK, model="another"))
    assert field(server, "max_tokens") == [32_000, 8192, 8192, 32_000]


async def test_a_window_that_is_nearly_full_is_filled_once(client: httpx.AsyncClient) -> None:
    async with LoopbackServer([refusal(WINDOW), say(MESSAGES, "a"), say(MESSAGES, "b")]) as server:
        provider = AnthropicProvider(client, server.base_url)
        await collected(provider)
        await collected(provider)
    assert field(server, "max_tokens") == [32_000, 200_000 - 178_959, 32_000]


async def test_a_window_that_is_full_is_said_to_be(client: httpx.AsyncClient) -> None:
    async with LoopbackServer([refusal(WINDOW.replace("178959", "199500"))]) as server:
        with pytest.raises(ContextExceeded):
            await collected(AnthropicProvider(client, server.base_url))
    assert len(server.requests) == 1


@pytest.mark.parametrize("said", [LARGEST, WINDOW])
async def test_a_limit_that_the_agent_named_is_not_changed(client: httpx.AsyncClient, said: str) -> None:
    async with LoopbackServer([refusal(said)]) as server:
        with pytest.raises(BadRequest):
            await collected(AnthropicProvider(client, server.base_url), replace(ASK, max_tokens=32_000))
    assert len(server.requests) == 1


async def test_a_server_that_refuses_everything_is_not_asked_for_ever(client: httpx.AsyncClient) -> None:
    all_at_once = f"{WINDOW} {LARGEST} thinking `signature` 'include' reasoning.summary could not be verified"
    for make in (AnthropicProvider, ResponsesProvider):
        async with LoopbackServer(lambda _request: refusal(all_at_once)) as server:
            with pytest.raises(BadRequest):
                await collected(make(client, server.base_url, thinking=True))
        assert len(server.requests) <= 6


async def test_thinking_is_asked_for_in_the_way_that_the_model_takes(client: httpx.AsyncClient) -> None:
    answers = [refusal("adaptive thinking is not supported on this model"), say(MESSAGES, "a")]
    answers += [refusal("thinking is not supported"), say(MESSAGES, "b"), say(MESSAGES, "c")]
    async with LoopbackServer(answers) as server:
        provider = AnthropicProvider(client, server.base_url, thinking=True)
        for _ in range(3):
            await collected(provider)
    kinds = [asked and asked["type"] for asked in field(server, "thinking")]
    assert kinds == ["adaptive", "enabled", "enabled", None, None]


@pytest.mark.parametrize(
    "said",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
        "messages.1.content.0: `thinking` blocks in the latest assistant message cannot be modified.",
    ],
)
async def test_thinking_that_does_not_fit_is_left_out_of_this_request(
    client: httpx.AsyncClient, said: str
) -> None:
    signed = Reasoning("hm", {"anthropic": {"type": "thinking", "signature": "other"}})
    history = (*ASK.messages, Message("assistant", (signed, Text("a")), "end"), *ASK.messages)
    async with LoopbackServer([refusal(said), say(MESSAGES, "a")]) as server:
        provider = AnthropicProvider(client, server.base_url, thinking=True)
        assert words(await collected(provider, replace(ASK, messages=history))) == "a"
    assert [len(MESSAGES.sealed(asked.json)) for asked in server.requests] == [1, 0]


async def test_a_model_that_does_not_reason_is_not_asked_for_reasoning(client: httpx.AsyncClient) -> None:
    answers = [
        refusal("Unsupported parameter: 'reasoning.summary' is not supported with this model."),
        refusal("Encrypted content is not supported with this model."),
        say(RESPONSES, "a"),
        say(RESPONSES, "b"),
    ]
    async with LoopbackServer(answers) as server:
        provider = ResponsesProvider(client, server.base_url, thinking=True)
        assert words(await collected(provider)) == "a"
        assert words(await collected(provider)) == "b"
    assert [asked is not None for asked in field(server, "reasoning")] == [True, False, False, False]
    assert [asked is not None for asked in field(server, "include")] == [True, True, False, False]


async def test_reasoning_of_another_account_is_left_out_of_this_request(client: httpx.AsyncClient) -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "other"}
    answer = Message("assistant", (Reasoning("", {"responses": item}), Text("a")), "end")
    invalid = refusal("The encrypted content for item rs_1 could not be verified.")
    async with LoopbackServer([invalid, say(RESPONSES, "a")]) as server:
        history = (*ASK.messages, answer, *ASK.messages)
        await collected(ResponsesProvider(client, server.base_url), replace(ASK, messages=history))
    assert [len(RESPONSES.sealed(asked.json)) for asked in server.requests] == [1, 0]


@over_protocols
async def test_a_refusal_within_an_answer_is_not_asked_again(
    speech: Speech, client: httpx.AsyncClient
) -> None:
    said = "stream_options thinking 'include' reasoning.summary"
    error = sse({"type": "error", "error": {"type": "invalid_request_error", "message": said}})
    async with LoopbackServer([Answer(speech.writer().text("Half"), error)]) as server:
        with pytest.raises(BadRequest, match="stream_options"):
            await collected(speech.provider(client, server.base_url))
    assert len(server.requests) == 1


async def test_another_refusal_is_not_made_twice(client: httpx.AsyncClient) -> None:
    for make in (AnthropicProvider, ResponsesProvider):
        async with LoopbackServer([refusal("messages: something else is wrong")]) as server:
            with pytest.raises(BadRequest, match="something else"):
                await collected(make(client, server.base_url, thinking=True))
        assert len(server.requests) == 1
