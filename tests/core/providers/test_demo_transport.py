import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx
import pytest

from agent_tui_core.blocks import Text
from agent_tui_core.messages import Message, ModelRequest
from agent_tui_core.providers.demo import DEMO_AGENTS, DEMO_BASE_URL, DemoTransport
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.openai import OpenAIProvider


@pytest.fixture
async def provider() -> AsyncIterator[OpenAIProvider]:
    async with http_client(transport=DemoTransport(pace=0)) as client:
        yield OpenAIProvider(client, DEMO_BASE_URL)


async def test_the_same_conversation_gives_the_same_bytes(provider: OpenAIProvider) -> None:
    body = {"model": "demo/fixer", "messages": [{"role": "user", "content": "hi"}]}
    async with http_client(transport=DemoTransport(pace=0)) as one:
        first = await one.post(f"{DEMO_BASE_URL}/chat/completions", json=body)
    async with http_client(transport=DemoTransport(pace=0)) as other:
        second = await other.post(f"{DEMO_BASE_URL}/chat/completions", json=body)
    assert first.content == second.content
    assert first.content.endswith(b"data: [DONE]\n\n")
    assert b'"usage"' not in first.content


async def test_models_and_errors_are_those_of_a_server(provider: OpenAIProvider) -> None:
    assert await provider.models() == [agent.model for agent in DEMO_AGENTS]
    async with http_client(transport=DemoTransport(pace=0)) as client:
        assert (await client.get(f"{DEMO_BASE_URL}/other")).status_code == 404
        for content in (b"{", b"[]", b'{"messages": []}', json.dumps({"model": 1, "messages": []}).encode()):
            answer = await client.post(f"{DEMO_BASE_URL}/chat/completions", content=content)
            assert answer.status_code == 400
            assert "demo model" in answer.json()["error"]["message"]


async def test_odd_conversations_are_answered_too() -> None:
    parts = [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {"url": "http://x"}}]
    async with http_client(transport=DemoTransport(pace=0)) as client:
        for messages in ([], [{"role": "tool", "content": "x"}], [{"role": "user", "content": parts}]):
            body = {"model": "demo/fixer", "messages": messages}
            answer = await client.post(f"{DEMO_BASE_URL}/chat/completions", json=body)
            assert answer.status_code == 200
            assert '"finish_reason": "stop"' in answer.text


async def test_the_first_token_comes_fast_and_the_rest_at_a_human_pace() -> None:
    began = time.perf_counter()
    async with asyncio.timeout(20), http_client(transport=DemoTransport()) as client:
        prompt = next(agent.prompt for agent in DEMO_AGENTS if agent.name == "tester")
        body = {"model": "demo/tester", "messages": [{"role": "user", "content": prompt}]}
        arrived: list[float] = []
        async with client.stream("POST", f"{DEMO_BASE_URL}/chat/completions", json=body) as response:
            async for piece in response.aiter_bytes():
                if b'"content": "' in piece and b'"content": ""' not in piece:
                    arrived.append(time.perf_counter() - began)
                if len(arrived) == 40:
                    break
    assert arrived[0] < 0.3
    assert 0.4 < arrived[-1] - arrived[0] < 2.5


async def test_leaving_in_the_middle_of_an_answer_leaves_nothing_behind() -> None:
    async with http_client(transport=DemoTransport()) as client:
        provider = OpenAIProvider(client, DEMO_BASE_URL)
        request = ModelRequest("demo/fixer", (Message("user", (Text("hello"),)),))
        async with aclosing(provider.stream(request)) as events:
            await anext(events)


@pytest.mark.parametrize("method", ["DELETE", "POST"])
async def test_the_demo_never_reaches_the_network(method: str) -> None:
    async with http_client(transport=DemoTransport(pace=0)) as client:
        answer = await client.request(method, "http://127.0.0.1:1/anything")
        assert isinstance(answer, httpx.Response)
        assert answer.status_code == 404
