import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx
import pytest

from agent_tui_core.blocks import Text
from agent_tui_core.errors import (
    BadRequest,
    ProviderError,
)
from agent_tui_core.events import StreamEvent, TextDelta
from agent_tui_core.messages import Message, ModelRequest, ToolSpec
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.openai import OpenAIProvider
from loopback import (
    Answer,
    LoopbackServer,
    json_answer,
    say,
)

KEY = "sk-very-secret-0123456789"
ASK = ModelRequest("m", (Message("user", (Text("hi"),)),), tools=(ToolSpec("Bash", "", {"type": "object"}),))


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with http_client(idle_timeout=5.0) as made:
        yield made


async def collected(provider: OpenAIProvider, request: ModelRequest = ASK) -> list[StreamEvent]:
    async with asyncio.timeout(10), aclosing(provider.stream(request)) as events:
        return [event async for event in events]


def words(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def failure_of(client: httpx.AsyncClient, answer: Answer, key: str | None = KEY) -> ProviderError:
    async with LoopbackServer([answer]) as server:
        with pytest.raises(ProviderError) as caught:
            await collected(OpenAIProvider(client, server.base_url, key))
    return caught.value


async def test_stream_options_are_left_out_for_a_server_that_refuses_them(client: httpx.AsyncClient) -> None:
    refusal = json_answer({"error": {"message": "Unknown parameter: stream_options"}}, status=400)
    async with LoopbackServer([refusal, say("a"), say("b")]) as server:
        provider = OpenAIProvider(client, server.base_url)
        assert words(await collected(provider)) == "a"
        assert words(await collected(provider)) == "b"
    assert ["stream_options" in asked.json for asked in server.requests] == [True, False, False]


async def test_another_bad_request_is_not_made_twice(client: httpx.AsyncClient) -> None:
    async with LoopbackServer([json_answer({"error": {"message": "bad"}}, status=400)]) as server:
        with pytest.raises(BadRequest, match="bad"):
            await collected(OpenAIProvider(client, server.base_url))
    assert len(server.requests) == 1


def test_the_providers_bring_neither_rich_nor_click_with_them() -> None:
    code = "import sys, agent_tui_core.providers.openai, agent_tui_core.providers.demo; print(*sys.modules)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert not {"rich", "click", "textual", "pygments"} & set(done.stdout.split())
