import json
from collections.abc import AsyncIterator

import httpx
import pytest

from agent_tui_core.blocks import Text
from agent_tui_core.errors import ConfigError, Unauthorized
from agent_tui_core.messages import Message, ModelRequest
from agent_tui_core.providers.http import http_client
from loopback import Answer, LoopbackServer, json_answer
from protocols import KEY, Speech, collected, failure_of, over_protocols, say


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with http_client(idle_timeout=5.0) as made:
        yield made


@over_protocols
async def test_the_request_goes_to_its_endpoint_with_its_key(
    speech: Speech, client: httpx.AsyncClient
) -> None:
    name, prefix = speech.key_header
    async with LoopbackServer([say(speech, "a"), say(speech, "b"), say(speech, "c")]) as server:
        await collected(speech.provider(client, f"{server.base_url}/", f" {KEY}\n"))
        await collected(speech.provider(client, f"{server.base_url}{speech.path.removeprefix('/v1')}?v=3"))
        await collected(speech.provider(client, server.base_url, "  "))
    first, second, third = server.requests
    assert (first.method, first.path) == ("POST", speech.path)
    assert first.headers[name] == prefix + KEY
    assert first.headers["content-type"] == "application/json"
    assert first.json["stream"] is True
    assert second.path == f"{speech.path}?v=3"
    assert name not in third.headers
    for asked in server.requests:
        speech.rules(asked.json)
        assert asked.headers.get("anthropic-version", "2023-06-01") == "2023-06-01"
        assert ("anthropic-version" in asked.headers) == (speech.name == "anthropic")


@over_protocols
async def test_the_key_is_in_no_error_and_no_repr(speech: Speech, client: httpx.AsyncClient) -> None:
    echo = {"error": {"type": "authentication_error", "message": f"invalid x-api-key: {KEY}"}}
    for answer in (
        json_answer(echo, status=401),
        json_answer(echo),
        Answer(b"event: error\ndata: " + json.dumps(echo).encode() + b"\n\n"),
        Answer(KEY.encode(), status=500),
    ):
        error = await failure_of(client, speech, answer)
        assert KEY not in f"{error!r} {error} {getattr(error, 'body', '')}"
    assert KEY not in repr(speech.provider(client, "http://127.0.0.1:1/v1", KEY))


@over_protocols
@pytest.mark.parametrize("key", ["sk-a\nX-Evil: 1", "sk a", "sk-ü", "sk-\x00"])
async def test_a_key_that_no_header_can_hold_is_refused_unseen(
    speech: Speech, client: httpx.AsyncClient, key: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        speech.provider(client, "http://127.0.0.1:1/v1", key)
    assert key not in str(caught.value)


@over_protocols
@pytest.mark.parametrize(
    "address", ["", "localhost:11434", "ftp://host/v1", "http://", "http://user:pw@host/v1", "http://host:x/"]
)
async def test_an_address_that_is_none_is_a_config_error(
    speech: Speech, client: httpx.AsyncClient, address: str
) -> None:
    with pytest.raises(ConfigError, match="base_url") as caught:
        speech.provider(client, address)
    assert "pw" not in str(caught.value)


@over_protocols
async def test_models_are_listed(speech: Speech, client: httpx.AsyncClient) -> None:
    listed = {"data": [{"id": "a"}, {"id": "b\x1b]0;x\x07"}, {"id": "c" * 999}, {"id": "d"}]}
    refused = json_answer({"detail": f"no {KEY}"}, status=401)
    async with LoopbackServer([json_answer(listed), refused]) as server:
        provider = speech.provider(client, server.base_url, KEY)
        assert await provider.models() == ["a", "d"]
        with pytest.raises(Unauthorized) as caught:
            await provider.models()
    assert KEY not in f"{caught.value} {caught.value.body}"
    assert server.requests[0].method == "GET"
    assert server.requests[0].path.partition("?")[0] == "/v1/models"


@over_protocols
async def test_half_a_surrogate_pair_in_a_prompt_is_sent_as_a_replacement(
    speech: Speech, client: httpx.AsyncClient
) -> None:
    odd = ModelRequest("m", (Message("user", (Text("a\ud83d b"),)),))
    async with LoopbackServer([say(speech, "x")]) as server:
        await collected(speech.provider(client, server.base_url), odd)
    assert "a\ufffd b" in json.dumps(server.requests[0].json, ensure_ascii=False)
