import gzip
from collections.abc import AsyncIterator

import httpx
import pytest

from agent_tui_core.errors import (
    BadRequest,
    Overloaded,
    StreamMalformed,
)
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.openai import OpenAIProvider
from loopback import (
    DONE,
    Answer,
    LoopbackServer,
    finish,
    text,
)
from protocols import CHAT, collected, failure_of, words


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with http_client(idle_timeout=5.0) as made:
        yield made


async def test_a_404_asks_about_the_address(client: httpx.AsyncClient) -> None:
    error = await failure_of(
        client, CHAT, Answer(b"404 page not found", status=404, content_type="text/plain")
    )
    assert "does base_url end with /v1?" in str(error)


async def test_a_redirect_is_not_followed_and_says_where_it_led(client: httpx.AsyncClient) -> None:
    headers = {"Location": "http://elsewhere.invalid/v1"}
    error = await failure_of(client, CHAT, Answer(status=307, headers=headers, framing="none"))
    assert isinstance(error, BadRequest)
    assert "elsewhere.invalid" in str(error)
    assert "not followed" in str(error)


@pytest.mark.parametrize("content_type", ["text/html", "text/event-stream"])
async def test_a_web_page_is_an_error_with_its_title(client: httpx.AsyncClient, content_type: str) -> None:
    page = b"<!doctype html><title>Please\x1b[31m log in</title><p>"
    error = await failure_of(client, CHAT, Answer(page, content_type=content_type))
    assert isinstance(error, StreamMalformed)
    assert "web page (“Please log in”)" in str(error)


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", None])
async def test_a_json_error_with_status_200_is_an_error(
    client: httpx.AsyncClient, content_type: str | None
) -> None:
    answer = Answer(b'\n{"error": {"message": "no such model here"}}', content_type=content_type)
    assert "no such model here" in str(await failure_of(client, CHAT, answer))


@pytest.mark.parametrize("content_type", ["text/event-stream; charset=latin-1", None, "application/json"])
async def test_an_event_stream_is_known_by_what_it_is(
    client: httpx.AsyncClient, content_type: str | None
) -> None:
    async with LoopbackServer([Answer(text("ü"), finish(), DONE, content_type=content_type)]) as server:
        assert words(await collected(OpenAIProvider(client, server.base_url))) == "ü"


async def test_a_compressed_stream_is_read(client: httpx.AsyncClient) -> None:
    packed = gzip.compress(text("a") + finish() + DONE)
    async with LoopbackServer([Answer(packed, headers={"Content-Encoding": "gzip"})]) as server:
        assert words(await collected(OpenAIProvider(client, server.base_url))) == "a"
        server.answers.append(Answer(b"not gzip", headers={"Content-Encoding": "gzip"}))
        with pytest.raises(StreamMalformed, match="compressed"):
            await collected(OpenAIProvider(client, server.base_url))


async def test_an_endless_error_body_is_not_read_to_its_end(client: httpx.AsyncClient) -> None:
    def flood() -> list[bytes]:
        return [b"x" * 2**16] * 64

    answer = Answer(lazily=flood(), status=500, content_type="text/plain")
    error = await failure_of(client, CHAT, answer)
    assert isinstance(error, Overloaded)
    assert len(error.body) <= 2**16
    assert len(str(error)) < 3000
