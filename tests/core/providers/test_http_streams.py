import asyncio
import gzip
import socket
import time
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx
import pytest
from loopback import (
    CLOSE,
    DONE,
    HANG,
    RESET,
    Answer,
    LoopbackServer,
    Request,
    call,
    finish,
    json_answer,
    reasoning,
    say,
    text,
    tool_call,
    usage,
)

from agent_tui_core.blocks import Text
from agent_tui_core.errors import (
    BadRequest,
    ConfigError,
    Overloaded,
    ProviderError,
    ProviderRefused,
    ProviderUnreachable,
    RateLimited,
    StreamMalformed,
    StreamTruncated,
    Unauthorized,
)
from agent_tui_core.events import AnswerEnded, ReasoningDelta, StreamEvent, TextDelta, ToolUseDelta
from agent_tui_core.messages import Message, ModelRequest, ToolSpec
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.openai import OpenAIProvider

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


async def test_a_text_delta_arrives_before_the_rest_is_sent(client: httpx.AsyncClient) -> None:
    release = asyncio.Event()
    answer = Answer(text("first"), release, text(" second"), finish(), DONE)
    async with LoopbackServer([answer]) as server, asyncio.timeout(10):
        events = OpenAIProvider(client, server.base_url).stream(ASK)
        assert await anext(events) == TextDelta("first")
        release.set()
        rest = [event async for event in events]
    assert words(rest) == " second"
    assert isinstance(rest[-1], AnswerEnded)


async def test_an_answer_of_all_kinds_comes_through(client: httpx.AsyncClient) -> None:
    call_bytes = tool_call("call_7", "Bash", {"command": "ls"}, pieces=5)
    answer = Answer(reasoning("hm"), text("I look."), call_bytes, finish("tool_calls"), usage(7, 3), DONE)
    async with LoopbackServer([answer]) as server:
        events = await collected(OpenAIProvider(client, server.base_url))
    kinds = {type(event) for event in events}
    assert {ReasoningDelta, TextDelta, ToolUseDelta, AnswerEnded} <= kinds
    assert "".join(e.arguments for e in events if isinstance(e, ToolUseDelta)) == '{"command": "ls"}'
    assert isinstance(events[-1], AnswerEnded)


async def test_the_request_is_what_the_api_wants(client: httpx.AsyncClient) -> None:
    async with LoopbackServer([say("x")]) as server:
        await collected(OpenAIProvider(client, server.base_url + "/", KEY))
    (asked,) = server.requests
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["content-type"] == "application/json"
    assert asked.json["stream"] is True
    assert asked.json["messages"] == [{"role": "user", "content": "hi"}]


async def test_half_a_surrogate_pair_in_a_prompt_is_sent_as_a_replacement(client: httpx.AsyncClient) -> None:
    odd = ModelRequest("m", (Message("user", (Text("a\ud83d b"),)),))
    async with LoopbackServer([say("x")]) as server:
        await collected(OpenAIProvider(client, server.base_url), odd)
    assert server.requests[0].json["messages"][0]["content"] == "a\ufffd b"


async def test_a_whole_answer_leaves_the_connection_usable(client: httpx.AsyncClient) -> None:
    async with LoopbackServer([say("one"), call("Bash", {}), say("two")]) as server:
        provider = OpenAIProvider(client, server.base_url)
        for _ in range(3):
            await collected(provider)
    assert server.connections == 1


async def test_closing_the_stream_hangs_up_within_100_ms(client: httpx.AsyncClient) -> None:
    async with LoopbackServer([Answer(text("a"), HANG)]) as server, asyncio.timeout(10):
        events = OpenAIProvider(client, server.base_url).stream(ASK)
        await anext(events)
        closed_at = time.perf_counter()
        await events.aclose()
        await server.streams[0].disconnected.wait()
    assert server.streams[0].disconnected_at is not None
    assert server.streams[0].disconnected_at - closed_at < 0.1


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
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(StreamMalformed, match="does not speak HTTP"):
            await collected(OpenAIProvider(client, f"http://127.0.0.1:{port}"))


async def test_https_to_a_plain_server_names_the_scheme(client: httpx.AsyncClient) -> None:
    async with LoopbackServer() as server:
        with pytest.raises(BadRequest, match="does not speak TLS"):
            await collected(OpenAIProvider(client, server.base_url.replace("http:", "https:")))


async def test_an_unknown_host_is_named(client: httpx.AsyncClient) -> None:
    with pytest.raises(ProviderUnreachable, match=r"no-such-host\.invalid:80"):
        await collected(OpenAIProvider(client, "http://no-such-host.invalid/v1"))


@pytest.mark.parametrize("end", [CLOSE, RESET], ids=["closed", "reset"])
async def test_a_connection_that_breaks_after_text_is_truncated(
    client: httpx.AsyncClient, end: type[CLOSE]
) -> None:
    error = await failure_of(client, Answer(text("a"), 0.05, end))
    assert isinstance(error, StreamTruncated)
    assert "broke before the answer was whole" in str(error)


async def test_a_connection_that_breaks_before_any_event_is_unreachable(client: httpx.AsyncClient) -> None:
    assert isinstance(await failure_of(client, Answer(b": wait\n\n", 0.05, CLOSE)), ProviderUnreachable)


async def test_a_connection_that_breaks_after_the_finish_reason_has_given_an_answer(
    client: httpx.AsyncClient,
) -> None:
    async with LoopbackServer([Answer(text("a"), finish(), 0.05, CLOSE)]) as server:
        events = await collected(OpenAIProvider(client, server.base_url))
    assert isinstance(events[-1], AnswerEnded)


async def test_a_body_that_ends_without_a_finish_reason_is_truncated(client: httpx.AsyncClient) -> None:
    assert isinstance(await failure_of(client, Answer(text("a"), framing="close")), StreamTruncated)


async def test_silence_is_bounded_by_the_idle_time_out_before_and_within_the_answer() -> None:
    async with http_client(idle_timeout=0.2) as client:
        error = await failure_of(client, Answer(HANG))
        assert isinstance(error, ProviderUnreachable)
        error = await failure_of(client, Answer(text("a"), HANG))
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


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, Unauthorized), (403, Unauthorized), (429, RateLimited), (503, Overloaded), (400, BadRequest)],
)
async def test_an_error_status_brings_the_servers_own_words(
    client: httpx.AsyncClient, status: int, kind: type[ProviderRefused]
) -> None:
    answer = json_answer(
        {"error": {"message": "the very reason"}}, status=status, headers={"Retry-After": "7"}
    )
    error = await failure_of(client, answer)
    assert isinstance(error, kind)
    assert "the very reason" in str(error)
    assert error.status == status
    if isinstance(error, RateLimited):
        assert error.retry_after == 7


async def test_a_404_asks_about_the_address(client: httpx.AsyncClient) -> None:
    error = await failure_of(client, Answer(b"404 page not found", status=404, content_type="text/plain"))
    assert "does base_url end with /v1?" in str(error)


async def test_a_redirect_is_not_followed_and_says_where_it_led(client: httpx.AsyncClient) -> None:
    headers = {"Location": "http://elsewhere.invalid/v1"}
    error = await failure_of(client, Answer(status=307, headers=headers, framing="none"))
    assert isinstance(error, BadRequest)
    assert "elsewhere.invalid" in str(error)
    assert "not followed" in str(error)


async def test_no_content_is_an_error(client: httpx.AsyncClient) -> None:
    assert "204" in str(await failure_of(client, Answer(status=204, framing="none")))


@pytest.mark.parametrize("content_type", ["text/html", "text/event-stream"])
async def test_a_web_page_is_an_error_with_its_title(client: httpx.AsyncClient, content_type: str) -> None:
    page = b"<!doctype html><title>Please\x1b[31m log in</title><p>"
    error = await failure_of(client, Answer(page, content_type=content_type))
    assert isinstance(error, StreamMalformed)
    assert "web page (“Please log in”)" in str(error)


async def test_a_whole_json_answer_in_place_of_a_stream_is_accepted(client: httpx.AsyncClient) -> None:
    message = {"role": "assistant", "content": "all at once"}
    whole = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    async with LoopbackServer([json_answer(whole)]) as server:
        events = await collected(OpenAIProvider(client, server.base_url))
    assert words(events) == "all at once"
    assert isinstance(events[-1], AnswerEnded)


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", None])
async def test_a_json_error_with_status_200_is_an_error(
    client: httpx.AsyncClient, content_type: str | None
) -> None:
    answer = Answer(b'\n{"error": {"message": "no such model here"}}', content_type=content_type)
    assert "no such model here" in str(await failure_of(client, answer))


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
    error = await failure_of(client, answer)
    assert isinstance(error, Overloaded)
    assert len(error.body) <= 2**16
    assert len(str(error)) < 3000


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
