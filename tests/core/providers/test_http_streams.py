import asyncio
import socket
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from agent_tui_core.errors import (
    BadRequest,
    ConfigError,
    ProviderUnreachable,
    StreamMalformed,
    StreamTruncated,
)
from agent_tui_core.events import AnswerEnded
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.openai import OpenAIProvider
from loopback import (
    CLOSE,
    DONE,
    HANG,
    Answer,
    LoopbackServer,
    Request,
    finish,
    say,
    text,
)
from protocols import CHAT, collected, failure_of, words


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with http_client(idle_timeout=5.0) as made:
        yield made


@pytest.mark.parametrize("answer", [Answer(HANG), Answer(text("a"), HANG)], ids=["silent", "streaming"])
async def test_cancelling_the_reader_hangs_up_within_100_ms(
    client: httpx.AsyncClient, answer: Answer
) -> None:
    async with LoopbackServer([answer]) as server, asyncio.timeout(10):
        task = asyncio.create_task(collected(OpenAIProvider(client, server.base_url)))
        await server.until(lambda: server.open_now == 1)
        cancelled_at = time.perf_counter()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.streams[0].disconnected.wait()
    assert server.streams[0].disconnected_at is not None
    assert server.streams[0].disconnected_at - cancelled_at < 0.1


async def test_cancelling_within_a_tls_handshake_hangs_up(client: httpx.AsyncClient) -> None:
    greeted, left = asyncio.Event(), asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        greeted.set()
        await reader.read()
        left.set()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server, asyncio.timeout(10):
        port = server.sockets[0].getsockname()[1]
        task = asyncio.create_task(collected(OpenAIProvider(client, f"https://127.0.0.1:{port}/v1")))
        await greeted.wait()
        task.cancel()
        await left.wait()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with LoopbackServer([say("a")]) as server, http_client() as client:
        assert words(await collected(OpenAIProvider(client, server.base_url))) == "a"
        with pytest.raises(ProviderUnreachable):
            await collected(OpenAIProvider(client, "http://models.invalid/v1"))


@pytest.mark.parametrize(
    ("name", "value"),
    [("ALL_PROXY", "socks5://127.0.0.1:1"), ("HTTPS_PROXY", "odd://x"), ("SSL_CERT_FILE", "/no/such/file")],
)
async def test_an_environment_that_cannot_be_used_is_a_config_error(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=name):
        http_client()


async def test_sixty_four_streams_are_open_at_once(client: httpx.AsyncClient) -> None:
    release = asyncio.Event()

    def script(_request: Request) -> Answer:
        return Answer(text("a"), release, finish(), DONE)

    async with LoopbackServer(script) as server, asyncio.timeout(20), asyncio.TaskGroup() as group:
        provider = OpenAIProvider(client, server.base_url)
        tasks = [group.create_task(collected(provider)) for _ in range(64)]
        await server.until(lambda: server.open_now == 64)
        release.set()
        await asyncio.gather(*tasks)
    assert server.open_most == 64


async def test_a_refused_connection_asks_whether_the_server_runs(client: httpx.AsyncClient) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(ProviderUnreachable, match=f"127.0.0.1:{port}.*is the server running"):
            await collected(OpenAIProvider(client, f"http://127.0.0.1:{port}/v1"))


async def test_a_server_that_hangs_up_before_answering_is_unreachable(client: httpx.AsyncClient) -> None:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ProviderUnreachable, match="closed the connection before it answered"):
            await collected(OpenAIProvider(client, f"http://127.0.0.1:{port}"))


async def test_what_is_no_http_is_malformed(client: httpx.AsyncClient) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(StreamMalformed, match="does not speak HTTP"):
            await collected(OpenAIProvider(client, f"http://127.0.0.1:{port}"))


async def test_https_to_a_plain_server_names_the_scheme(client: httpx.AsyncClient) -> None:
    async def complain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(complain, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(BadRequest, match="does not speak TLS"):
            await collected(OpenAIProvider(client, f"https://127.0.0.1:{port}"))


async def test_an_unknown_host_is_named(client: httpx.AsyncClient) -> None:
    with pytest.raises(ProviderUnreachable, match=r"no-such-host\.invalid:80"):
        await collected(OpenAIProvider(client, "http://no-such-host.invalid/v1"))


async def test_a_connection_that_breaks_after_the_finish_reason_has_given_an_answer(
    client: httpx.AsyncClient,
) -> None:
    async with LoopbackServer([Answer(text("a"), finish(), 0.05, CLOSE)]) as server:
        events = await collected(OpenAIProvider(client, server.base_url))
    assert isinstance(events[-1], AnswerEnded)


async def test_silence_is_bounded_by_the_idle_time_out_before_and_within_the_answer() -> None:
    async with http_client(idle_timeout=0.2) as client:
        error = await failure_of(client, CHAT, Answer(HANG))
        assert isinstance(error, ProviderUnreachable)
        error = await failure_of(client, CHAT, Answer(text("a"), HANG))
        assert isinstance(error, StreamTruncated)
        assert "silent for 0.2 s" in str(error)


async def test_comments_are_a_sign_of_life() -> None:
    pulse = [step for _ in range(6) for step in (b": ping\n\n", 0.1)]
    async with http_client(idle_timeout=0.3) as client, LoopbackServer([]) as server:
        server.answers.append(Answer(text("a"), *pulse, text("b"), finish(), DONE))
        assert words(await collected(OpenAIProvider(client, server.base_url))) == "ab"


async def test_a_server_that_stays_open_after_done_does_not_hold_the_answer(
    client: httpx.AsyncClient,
) -> None:
    began = time.perf_counter()
    async with LoopbackServer([Answer(text("a"), finish(), DONE, HANG)]) as server:
        events = await collected(OpenAIProvider(client, server.base_url))
    assert isinstance(events[-1], AnswerEnded)
    assert time.perf_counter() - began < 2.0
