import asyncio
import gzip
import ssl
import time
from collections.abc import AsyncIterator

import certifi
import httpx
import pytest

from agent_tui_core.providers.direct import DirectClient, DirectTransport
from agent_tui_core.providers.exchange import Connection, Shared
from fault_server import CLOSE, HANG, RESET, UNREAD, Drip, Endless, FaultServer, Step, chunked, http
from loopback import Answer, LoopbackServer, Request

WORDS = b"one two three"


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    timeout = httpx.Timeout(0.5, connect=2.0)
    async with httpx.AsyncClient(transport=DirectTransport(), timeout=timeout) as made, asyncio.timeout(20):
        yield made


async def asked(client: httpx.AsyncClient, *steps: Step) -> httpx.Response:
    async with FaultServer() as server:
        server.play(*steps)
        return await client.post(server.base_url, content=b"{}")


GOOD: dict[str, tuple[Step, ...]] = {
    "length": (http(WORDS),),
    "length, then closed": (http(WORDS), CLOSE),
    "chunks": (chunked(WORDS[:3], WORDS[3:]),),
    "byte by byte": (Drip(chunked(WORDS)),),
    "until the end": (http(WORDS, version="1.0", length=None), CLOSE),
    "until the end, by 1.1": (http(WORDS, "Connection: close", length=None), CLOSE),
    "chunked against a length": (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n" + chunked(WORDS)[17:],),
    "line feeds alone": (http(WORDS).replace(b"\r\n", b"\n"),),
    "extensions and trailers": (chunked(end=False) + b"d;a=b\r\n" + WORDS + b"\r\n0\r\nX-Sum: 1\r\n\r\n",),
    "after interim answers": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hint\r\nA: b\r\n\r\n" + http(WORDS),
    ),
    "packed": (http(gzip.compress(WORDS), "Content-Encoding: gzip"),),
}


@pytest.mark.parametrize("name", GOOD)
async def test_a_body_is_whole_however_it_is_framed(client: httpx.AsyncClient, name: str) -> None:
    assert (await asked(client, *GOOD[name])).content == WORDS


BROKEN: dict[str, tuple[tuple[Step, ...], type[httpx.TransportError], str]] = {
    "nothing": ((CLOSE,), httpx.RemoteProtocolError, "hung up"),
    "reset": ((RESET,), httpx.ReadError, "reset"),
    "silence": ((HANG,), httpx.ReadTimeout, "silence"),
    "silence within the head": ((b"HTTP/1.1 200 OK\r\n", HANG), httpx.ReadTimeout, "silence"),
    "silence within the body": ((http(WORDS, length=99), HANG), httpx.ReadTimeout, "silence"),
    "cut within the body": ((http(WORDS, length=99), CLOSE), httpx.RemoteProtocolError, "hung up"),
    "cut within a chunk": ((chunked(end=False) + b"9\r\nab", CLOSE), httpx.RemoteProtocolError, "hung up"),
    "no last chunk": ((chunked(WORDS, end=False), CLOSE), httpx.RemoteProtocolError, "hung up"),
    "a size that is none": ((chunked(end=False) + b"zz\r\n",), httpx.RemoteProtocolError, "illegal"),
    "a chunk longer than said": ((chunked(end=False) + b"2\r\nabc",), httpx.RemoteProtocolError, "illegal"),
    "another protocol": ((b"SSH-2.0-OpenSSH_9.6\r\n", HANG), httpx.RemoteProtocolError, "illegal"),
    "another protocol chosen": (
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", HANG),
        httpx.RemoteProtocolError,
        "illegal",
    ),
    "two lengths": ((http(WORDS, "Content-Length: 7"),), httpx.RemoteProtocolError, "illegal"),
    "endless headers": (
        (b"HTTP/1.1 200 OK\r\n", Endless(b"A: b\r\n" * 500)),
        httpx.RemoteProtocolError,
        "too long",
    ),
    "an endless header": (
        (b"HTTP/1.1 200 OK\r\nA: ", Endless(b"b" * 9000)),
        httpx.RemoteProtocolError,
        "too long",
    ),
    "endless trailers": (
        (chunked(WORDS, end=False) + b"0\r\n", Endless(b"A: b\r\n" * 500)),
        httpx.RemoteProtocolError,
        "too long",
    ),
    "an endless extension": (
        (chunked(end=False) + b"d;a=", Endless(b"b" * 9000)),
        httpx.RemoteProtocolError,
        "too long",
    ),
    "endless interim answers": (
        (Endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 200),),
        httpx.RemoteProtocolError,
        "too long",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_exchange_ends_in_the_error_that_httpx_has_for_it(
    client: httpx.AsyncClient, name: str
) -> None:
    steps, kind, words = BROKEN[name]
    with pytest.raises(kind, match=words):
        await asked(client, *steps)


async def test_a_connection_is_used_again_after_a_whole_answer(client: httpx.AsyncClient) -> None:
    async with LoopbackServer(lambda _: Answer(WORDS)) as server:
        for _ in range(3):
            assert (await client.post(server.base_url, content=b"{}")).content == WORDS
        assert server.connections == 1


@pytest.mark.parametrize(
    "first",
    [
        http(WORDS) + http(b"unasked"),
        http(WORDS, "Connection: close"),
        http(WORDS, version="1.0"),
        http(WORDS) + b"x",
    ],
    ids=["a second answer", "told to close", "HTTP/1.0", "a byte too many"],
)
async def test_a_connection_that_cannot_be_trusted_is_not_used_again(
    client: httpx.AsyncClient, first: bytes
) -> None:
    async with FaultServer() as server:
        server.play(first, HANG)
        server.play(http(b"second"))
        assert (await client.post(server.base_url, content=b"{}")).content == WORDS
        assert (await client.post(server.base_url, content=b"{}")).content == b"second"
        assert server.connections == 2


async def test_what_a_server_says_unasked_is_no_answer_to_the_next_request(
    client: httpx.AsyncClient,
) -> None:
    async with FaultServer() as server:
        server.play(http(WORDS), 0.05, http(b"unasked"), HANG)
        server.play(http(b"second"))
        assert (await client.post(server.base_url, content=b"{}")).content == WORDS
        while server.open_now:
            await asyncio.sleep(0.01)
        assert (await client.post(server.base_url, content=b"{}")).content == b"second"


@pytest.mark.parametrize("size", [3, 100_000], ids=["small", "large"])
async def test_a_reader_that_is_late_gets_nothing_of_what_came_behind_the_answer(
    client: httpx.AsyncClient, size: int
) -> None:
    async with FaultServer() as server:
        body, unasked = b"a" * size, b"b" * size
        server.play(http(body) + http(unasked)[:60], 0.02, http(unasked)[60:], 0.02, http(unasked), HANG)
        async with client.stream("POST", server.base_url, content=b"{}") as response:
            await asyncio.sleep(0.2)
            assert b"".join([piece async for piece in response.aiter_raw()]) == body


async def test_certificates_that_the_environment_names_are_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    first, second = DirectTransport(), DirectTransport()
    assert first._trust() is second._trust()
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    assert DirectTransport()._trust() is not first._trust()


async def test_a_server_that_closed_its_end_is_connected_anew(client: httpx.AsyncClient) -> None:
    async with FaultServer() as server:
        server.play(http(WORDS), CLOSE)
        server.play(http(b"second"))
        await client.post(server.base_url, content=b"{}")
        transport = client._transport
        assert isinstance(transport, DirectTransport)
        while any(connection.is_open for kept in transport._idle.values() for connection in kept):
            await asyncio.sleep(0.01)
        assert (await client.post(server.base_url, content=b"{}")).content == b"second"


async def test_a_body_that_nobody_reads_is_not_read_from_the_network(client: httpx.AsyncClient) -> None:
    sent = 0

    async def pour(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(http(b"", length=10**9))
        try:
            while True:
                writer.write(b"x" * 2**16)
                await writer.drain()
                sent += 2**16
        except OSError:
            writer.close()

    async with await asyncio.start_server(pour, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        async with client.stream("POST", url, content=b"{}") as response:
            before = -1
            while sent != before:
                before = sent
                await asyncio.sleep(0.1)
            assert sent < 32 * 2**20
            taken = 0
            async for piece in response.aiter_raw():
                assert len(piece) <= 2**15
                taken += len(piece)
                if taken > before + 2**20:
                    break


async def test_a_stream_that_rests_loses_nothing_and_leaves_no_clock(client: httpx.AsyncClient) -> None:
    pieces = [b"%d " % number for number in range(300)]

    def script(_request: Request) -> Answer:
        return Answer(lazily=[step for piece in pieces for step in (piece, 0.001)])

    async with LoopbackServer(script) as server:
        async with client.stream("POST", server.base_url, content=b"{}") as response:
            readings = [piece async for piece in response.aiter_raw()]
        assert b"".join(readings) == b"".join(pieces)
        assert len(readings) < 150, "it does not rest"
    transport = client._transport
    assert isinstance(transport, DirectTransport)
    assert transport._shared is not None
    assert transport._shared._handle is None


async def test_many_streams_are_read_in_groups_and_none_of_them_is_forgotten(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    strokes: list[int] = []
    end_rest = Connection.end_rest
    strike = Shared._strike

    def counted(shared: Shared) -> None:
        strokes.append(0)
        strike(shared)

    def ended(connection: Connection) -> None:
        strokes[-1] += 1
        end_rest(connection)

    monkeypatch.setattr(Shared, "_strike", counted)
    monkeypatch.setattr(Connection, "end_rest", ended)
    many, pieces = 40, [b"%d " % number for number in range(200)]

    async def read(url: str) -> bytes:
        async with client.stream("POST", url, content=b"{}") as response:
            return b"".join([piece async for piece in response.aiter_raw()])

    steps = tuple(step for piece in pieces for step in (piece, 0.002))
    async with LoopbackServer(lambda _: Answer(lazily=list(steps))) as server:
        answers = await asyncio.gather(*(read(server.base_url) for _ in range(many)))
    assert answers == [b"".join(pieces)] * many
    assert max(strokes) <= many // 4
    assert sum(strokes) > many


async def test_a_loop_that_was_busy_does_not_take_its_own_deafness_for_silence(
    client: httpx.AsyncClient,
) -> None:
    async with LoopbackServer(lambda _: Answer(b"a", 0.3, b"b")) as server:
        async with client.stream("POST", server.base_url, content=b"{}") as response:
            pieces = response.aiter_raw()
            assert await anext(pieces) == b"a"
            time.sleep(0.7)
            assert await anext(pieces) == b"b"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_refused_connection_has_its_cause(client: httpx.AsyncClient, host: str) -> None:
    async with FaultServer() as server:
        port = server.port
    with pytest.raises(httpx.ConnectError) as caught:
        await client.post(f"http://{host}:{port}/", content=b"{}")
    assert isinstance(caught.value.__cause__, ConnectionRefusedError)


async def test_a_server_without_tls_is_told_from_one_that_is_not_trusted(client: httpx.AsyncClient) -> None:
    async with FaultServer() as server:
        server.play(UNREAD, http(WORDS), CLOSE)
        with pytest.raises(httpx.ConnectError) as caught:
            await client.post(server.base_url.replace("http:", "https:"), content=b"{}")
    assert isinstance(caught.value.__cause__, ssl.SSLError)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("HEAD", {}),
        ("POST", {"headers": {"X-Key": "a\r\nX-Other: b"}}),
        ("POST", {"headers": {"Transfer-Encoding": "chunked"}}),
    ],
)
async def test_a_request_that_could_be_read_as_another_is_not_sent(
    client: httpx.AsyncClient, method: str, options: dict[str, dict[str, str]]
) -> None:
    async with FaultServer() as server:
        with pytest.raises((httpx.LocalProtocolError, httpx.UnsupportedProtocol)):
            await client.request(method, server.base_url, **options)  # type: ignore[arg-type]
        assert server.connections == 0


async def test_closing_the_client_hangs_up(client: httpx.AsyncClient) -> None:
    async with FaultServer() as server:
        server.play(http(WORDS), HANG)
        await client.post(server.base_url, content=b"{}")
        await client.aclose()
        while server.open_now:
            await asyncio.sleep(0.01)


async def streamed(client: httpx.AsyncClient, url: str) -> tuple[int, bytes]:
    response = await client.send(client.build_request("GET", url), stream=True)
    try:
        return response.status_code, await response.aread()
    finally:
        await response.aclose()


async def test_a_cookie_comes_back_to_the_server_that_set_it() -> None:
    answers = [Answer(b"one", headers={"Set-Cookie": "seat=7"}), Answer(b"two")]
    async with LoopbackServer(answers) as server, DirectClient(DirectTransport()) as client:
        for _ in answers:
            await streamed(client, server.base_url)
    assert [request.headers.get("cookie") for request in server.requests] == [None, "seat=7"]


async def test_a_redirect_is_an_answer_and_nothing_else() -> None:
    moved = Answer(status=302, headers={"Location": "http://[broken"}, framing="none")
    async with LoopbackServer([moved]) as server, DirectClient(DirectTransport()) as client:
        assert await streamed(client, server.base_url) == (302, b"")
    assert len(server.requests) == 1


@pytest.mark.parametrize("whole", [True, False])
async def test_hooks_hear_of_every_answer(*, whole: bool) -> None:
    heard: list[int] = []

    async def hear(response: httpx.Response) -> None:
        heard.append(response.status_code)

    async with LoopbackServer([Answer(b"one")]) as server:
        async with DirectClient(DirectTransport(), event_hooks={"response": [hear]}) as client:
            request = client.build_request("GET", server.base_url)
            await (await client.send(request, stream=not whole)).aclose()
    assert heard == [200]


async def test_a_client_that_is_closed_sends_nothing() -> None:
    client = DirectClient(DirectTransport())
    await client.aclose()
    async with LoopbackServer([Answer(b"one")]) as server:
        with pytest.raises(RuntimeError, match="closed"):
            await client.send(client.build_request("GET", server.base_url), stream=True)
    assert server.requests == []
