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
    ConfigError,
    ProviderError,
    Unauthorized,
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


async def test_the_key_is_in_no_error_and_no_repr(client: httpx.AsyncClient) -> None:
    echo = {"error": {"message": f"Incorrect API key provided: {KEY}"}}
    for answer in (
        json_answer(echo, status=401),
        json_answer(echo),
        Answer(b"data: " + json_answer(echo).steps[0] + b"\n\n"),  # type: ignore[operator]  # a bytes step
        Answer(KEY.encode(), status=500),
    ):
        error = await failure_of(client, answer)
        assert KEY not in f"{error!r} {error} {getattr(error, 'body', '')}"
    assert KEY not in repr(OpenAIProvider(client, "http://127.0.0.1:1/v1", KEY))


@pytest.mark.parametrize("key", ["sk-a\nX-Evil: 1", "sk a", "sk-ü", "sk-\x00"])
async def test_a_key_that_no_header_can_hold_is_refused_unseen(client: httpx.AsyncClient, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAIProvider(client, "http://127.0.0.1:1/v1", key)
    assert key not in str(caught.value)


async def test_a_key_is_trimmed_and_an_empty_one_is_none(client: httpx.AsyncClient) -> None:
    async with LoopbackServer([say("a"), say("b")]) as server:
        await collected(OpenAIProvider(client, server.base_url, f" {KEY}\n"))
        await collected(OpenAIProvider(client, server.base_url, "  "))
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in server.requests[1].headers


@pytest.mark.parametrize(
    "address", ["", "localhost:11434", "ftp://host/v1", "http://", "http://user:pw@host/v1", "http://host:x/"]
)
async def test_an_address_that_is_none_is_a_config_error(client: httpx.AsyncClient, address: str) -> None:
    with pytest.raises(ConfigError, match="base_url") as caught:
        OpenAIProvider(client, address)
    assert "pw" not in str(caught.value)


async def test_a_query_in_the_address_stays_and_the_endpoint_is_not_doubled(
    client: httpx.AsyncClient,
) -> None:
    async with LoopbackServer([say("a")]) as server:
        address = f"{server.base_url}/chat/completions?api-version=3"
        await collected(OpenAIProvider(client, address))
    assert server.requests[0].path == "/v1/chat/completions?api-version=3"


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


async def test_models_are_listed(client: httpx.AsyncClient) -> None:
    listed = {
        "object": "list",
        "data": [{"id": "a"}, {"id": "b\x1b]0;x\x07"}, {"id": "c" * 999}, {"id": "d"}],
    }
    async with LoopbackServer(
        [json_answer(listed), json_answer({"detail": f"no {KEY}"}, status=401)]
    ) as server:
        provider = OpenAIProvider(client, server.base_url, KEY)
        assert await provider.models() == ["a", "d"]
        with pytest.raises(Unauthorized) as caught:
            await provider.models()
    assert KEY not in f"{caught.value} {caught.value.body}"
    assert (server.requests[0].method, server.requests[0].path) == ("GET", "/v1/models")


def test_the_providers_bring_neither_rich_nor_click_with_them() -> None:
    code = "import sys, agent_tui_core.providers.openai, agent_tui_core.providers.demo; print(*sys.modules)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert not {"rich", "click", "textual", "pygments"} & set(done.stdout.split())
