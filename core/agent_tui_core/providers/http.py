"""Owns the way to a model's server and back: the HTTP client, one streamed POST, and what its failures mean.

Refuses to know what the events say (an `AnswerStream` of `wire/` does), to follow redirects, to show a key.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Any

import httpcore
import httpx
import msgspec

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
from agent_tui_core.events import StreamEvent
from agent_tui_core.providers.direct import DirectClient, DirectTransport, has_proxy
from agent_tui_core.system_limits import system_limit
from agent_tui_core.text import safe_line
from agent_tui_core.wire.answer import AnswerStream
from agent_tui_core.wire.refusals import refusal
from agent_tui_core.wire.sse import SseParser
from agent_tui_core.wire.surrogates import mended

MAX_ERROR_BODY = 64 * 2**10
ERROR_BODY_SECONDS = 5.0
MAX_JSON_BODY = 16 * 2**20
DRAIN_SECONDS = 0.2
"""How long the rest of a body is read after `[DONE]`, so that the connection can be used again."""

_DIRECT = ("all://localhost", "all://127.0.0.1", "all://[::1]")
_BEFORE_CONTENT = b"\xef\xbb\xbf \t\r\n"
_TITLE = re.compile(rb"<title[^>]*>([^<]*)", re.IGNORECASE)
_NOTHING = httpx.ByteStream(b"")
_NOTHING_SAID = (
    ssl.SSLWantReadError,
    ssl.SSLWantWriteError,
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
    ssl.SSLSyscallError,
)
"""What `ssl` raises when a server hung up within the handshake: it may speak TLS all the same."""
_KINDS = ((Unauthorized, "not allowed"), (RateLimited, "rate limit"), (Overloaded, "not able to answer now"))
_SHORTEST_SECRET = 8
_SECRET_HEADERS = ("Authorization", "x-api-key", "api-key", "Cookie")


def http_client(
    *,
    connect_timeout: float = 10.0,
    idle_timeout: float = 300.0,
    transport: httpx.AsyncBaseTransport | None = None,
) -> httpx.AsyncClient:
    """Make the client that all agents of a session share; its owner closes it.

    An answer may take for ever as long as bytes come (`idle_timeout` between two reads). The pool has no
    limit, so that no agent waits for another's stream. The user's proxies count, but never for this machine.
    Ends in `ConfigError` when the environment names a proxy or certificates that cannot be used.
    """
    try:
        straight = transport or (None if has_proxy() else DirectTransport())
        return DirectClient(
            straight,
            trust_env=straight is None,
            timeout=httpx.Timeout(idle_timeout, connect=connect_timeout),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=30.0),
            mounts=dict.fromkeys(_DIRECT, DirectTransport()) if straight is None else None,
            headers={"User-Agent": "agent-tui", "Accept-Encoding": "identity"},
        )
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
        why = "SOCKS proxies are not supported" if isinstance(error, ImportError) else type(error).__name__
        raise ConfigError(
            f"the network cannot be set up ({why}): check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE"
        ) from error


async def stream_events(
    client: httpx.AsyncClient,
    url: httpx.URL | str,
    *,
    headers: Mapping[str, str],
    body: Mapping[str, Any],
    stream: AnswerStream,
    secrets: Collection[str] = (),
    idle_timeout: float | None = None,
) -> AsyncGenerator[StreamEvent, None]:
    """POST `body` and yield what the answer says, as it arrives; closing the generator hangs up at once.

    Every failure is a `ProviderError`: `ProviderUnreachable` as long as nothing was yielded, then
    `StreamTruncated`; `ProviderRefused` for a server that says no; `StreamMalformed` for what is no answer.
    None of them shows the key or one of the `secrets`, which stand in headers. `idle_timeout`, in seconds
    without a byte, is that of the client where it is None.
    """
    sent = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json", **headers}
    patience = client.timeout
    if idle_timeout is not None:
        patience = httpx.Timeout(idle_timeout, connect=patience.connect)
    more = {"secrets": tuple(secrets)}
    request = client.build_request(
        "POST", url, headers=sent, content=_encode(body), timeout=patience, extensions=more
    )
    started = False
    try:
        response = await _send(client, request)
        try:
            async with aclosing(_answer(response, stream)) as events:
                async for event in events:
                    started = True
                    yield event
        finally:
            await response.aclose()
            response.stream = _NOTHING  # httpx's own holds the response: a circle with all that was sent
    except httpx.HTTPError as error:
        raise failure(error, request, started=started) from error
    except ProviderError as error:
        if isinstance(error, ProviderRefused):
            _place(error, host(request.url))
        hide_key(error, request)
        raise


async def collect(chunks: AsyncIterator[bytes], limit: int, head: bytes = b"") -> bytes:
    """Read at most `limit` bytes of a body that began with `head`."""
    pieces, size = [head], len(head)
    while size < limit:
        try:
            piece = await anext(chunks)
        except StopAsyncIteration:
            break
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)[:limit]


async def refused(response: httpx.Response) -> ProviderRefused:
    """Return the error that a status other than 200 means, with the server's own words and a remedy."""
    where, status = host(response.url), response.status_code
    if response.is_redirect or 300 <= status < 400:
        target = safe_line(response.headers.get("Location", ""))[:200] or "nowhere"
        return BadRequest(
            f"{where} redirects to {target}; redirects are not followed: set base_url to the right address",
            status=status,
        )
    if status < 300:
        return BadRequest(f"{where} answered with status {status} and no answer in it", status=status)
    body = b""
    with suppress(httpx.HTTPError, TimeoutError):
        async with asyncio.timeout(ERROR_BODY_SECONDS):
            body = await collect(response.aiter_bytes(), MAX_ERROR_BODY)
    error = refusal(status, body, response.headers)
    _place(error, where)
    if status in {404, 405} and "model" not in str(error).lower():
        error.args = (f"{error} (asked for {response.url.path} at {where}: does base_url end with /v1?)",)
    return error


def _place(error: ProviderRefused, where: str) -> None:
    """Say of what a server said which kind of refusal it is, by whom and with which status, once."""
    words = str(error)
    if where in words:
        return
    status = f"status {error.status}" if error.status else ""
    kind = next((words for kind, words in _KINDS if isinstance(error, kind)), "")
    told = "" if words == status else words
    who = ", ".join(filter(None, (where, status)))
    error.args = (f"{': '.join(filter(None, (kind, told)))} ({who})",)


def host(url: httpx.URL) -> str:
    """Return the host and port of a URL, as an error names them."""
    port = url.port or (443 if url.scheme == "https" else 80)
    return f"{url.host}:{port}"


def failure(error: httpx.HTTPError, request: httpx.Request, *, started: bool) -> ProviderError:
    """Return what a broken exchange means to a person; `started`: a part of the answer was already used."""
    where = host(request.url)
    patience = request.extensions.get("timeout", {})
    match error:
        case httpx.ConnectTimeout():
            return ProviderUnreachable(f"no connection to {where} within {patience.get('connect')} s")
        case httpx.ProxyError():
            return ProviderUnreachable(f"the proxy gave no connection to {where}")
        case httpx.ConnectError():
            return _no_connection(error, where)
        case httpx.DecodingError():
            return StreamMalformed(f"{where} sent a compressed answer that cannot be read")
        case httpx.RemoteProtocolError() if not started and "illegal" in str(error):
            return StreamMalformed(f"{where} does not speak HTTP: check the scheme and port of base_url")
        case httpx.TimeoutException() if started:
            return StreamTruncated(f"{where} went silent for {patience.get('read')} s within the answer")
        case httpx.TimeoutException():
            return ProviderUnreachable(f"{where} did not answer within {patience.get('read')} s")
        case httpx.NetworkError() | httpx.RemoteProtocolError() if started:
            return StreamTruncated(f"the connection to {where} broke before the answer was whole")
        case httpx.NetworkError() | httpx.RemoteProtocolError():
            return ProviderUnreachable(f"{where} closed the connection before it answered")
        case _:
            return BadRequest(f"the request to {where} could not be made ({type(error).__name__})")


def _no_connection(error: httpx.ConnectError, where: str) -> ProviderError:
    if limit := system_limit(error):
        return ProviderUnreachable(f"no connection to {where}: {limit}")
    causes = list(_causes(error))
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return ProviderUnreachable(f"nothing answers at {where} (connection refused): is the server running?")
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return ProviderUnreachable(f"no address is known for {where}: check base_url and the network")
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return BadRequest(f"the certificate of {where} cannot be trusted")
    if any(isinstance(cause, ssl.SSLError) and not isinstance(cause, _NOTHING_SAID) for cause in causes):
        return BadRequest(f"{where} does not speak TLS: should base_url begin with http:// ?")
    return ProviderUnreachable(f"no connection to {where}: is the server running, and the network up?")


def _causes(error: BaseException) -> Iterator[BaseException]:
    yield error
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _causes(inner)
    if cause := error.__cause__ or error.__context__:
        yield from _causes(cause)


async def _send(client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    """Send, and hang up when cancelled within a TLS handshake, where httpcore leaves the socket open."""
    opened: list[httpcore.AsyncNetworkStream] = []

    async def trace(event: str, info: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            opened.append(info["return_value"])

    request.extensions["trace"] = trace
    try:
        return await client.send(request, stream=True)
    except asyncio.CancelledError:
        for each in opened:
            await each.aclose()
        raise


def _encode(body: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError, OverflowError):  # half characters, and numbers that no 64 bits hold
        return mended(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()


async def _answer(response: httpx.Response, stream: AnswerStream) -> AsyncGenerator[StreamEvent, None]:
    if response.status_code != 200:
        raise await refused(response)
    chunks = response.aiter_bytes()
    head = await _first_bytes(chunks)
    start = head.lstrip(_BEFORE_CONTENT)[:1]
    if start == b"<" or "html" in response.headers.get("Content-Type", ""):
        raise _web_page(response.url, await collect(chunks, MAX_ERROR_BODY, head))
    if start == b"{":
        document = await collect(chunks, MAX_JSON_BODY + 1, head)
        if len(document) > MAX_JSON_BODY:
            raise StreamMalformed(f"{host(response.url)} sent a JSON answer of more than 16 MiB")
        for event in stream.whole(document):
            yield event
        if stream.failed is not None:
            raise stream.failed
        return
    async with aclosing(_events(response.request, chunks, head, stream)) as events:
        async for event in events:
            yield event


def _web_page(url: httpx.URL, page: bytes) -> StreamMalformed:
    title = _TITLE.search(page)
    words = safe_line(title[1].decode("utf-8", "replace"))[:120] if title else ""
    named = f" (\u201c{words}\u201d)" if words else ""
    return StreamMalformed(f"{host(url)} sent a web page{named} in place of an answer: check base_url")


async def _first_bytes(chunks: AsyncIterator[bytes]) -> bytes:
    """Read until something stands there: what a body *is* shows in its first character.

    Servers label JSON as event streams and event streams as JSON, but no stream begins with `{` or `<`.
    """
    head = b""
    while not head.lstrip(_BEFORE_CONTENT) and len(head) < MAX_ERROR_BODY:
        try:
            head += await anext(chunks)
        except StopAsyncIteration:
            break
    return head


async def _events(
    request: httpx.Request, chunks: AsyncIterator[bytes], head: bytes, stream: AnswerStream
) -> AsyncGenerator[StreamEvent, None]:
    parser, chunk, started = SseParser(), head, False
    broken: httpx.HTTPError | None = None
    while True:
        said, wrong = _said(parser, stream, chunk)
        for event in said:
            started = True
            yield event
        if wrong is not None:
            raise wrong
        if stream.done:
            break
        try:
            chunk = await anext(chunks)
        except StopAsyncIteration:
            break
        except httpx.HTTPError as error:
            broken = error
            break
    last, wrong = _last(parser, stream)
    for event in last:
        started = True
        yield event
    if wrong is not None and broken is not None:
        raise failure(broken, request, started=started) from broken
    if wrong is not None:
        raise wrong
    if broken is None:
        await _drain(chunks)


def _said(
    parser: SseParser, stream: AnswerStream, chunk: bytes
) -> tuple[list[StreamEvent], ProviderError | None]:
    """What one reading from the network says, and how it went wrong after that."""
    try:
        sent = parser.feed(chunk)
    except ProviderError as error:
        return [], error
    return stream.feed_all(sent)


def _last(parser: SseParser, stream: AnswerStream) -> tuple[list[StreamEvent], ProviderError | None]:
    """What was still to be said when the bytes ended, and what the answer ended in."""
    try:
        return stream.close(parser.close()), stream.failed
    except ProviderError as error:
        return [], error


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    with suppress(httpx.HTTPError, TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in chunks:
                pass


def hide_key(error: ProviderError, request: httpx.Request) -> None:
    """Take the API key and other secrets out of an error, for servers that repeat them."""
    for secret in secrets_of(request):
        error.args = tuple(str(part).replace(secret, "(key)") for part in error.args)
        if isinstance(error, ProviderRefused):
            error.body = error.body.replace(secret, "(key)")


def secrets_of(request: httpx.Request) -> list[str]:
    """What a request holds that must not be shown, the longest first: whole values, and the words of them."""
    values = [request.headers.get(name, "") for name in _SECRET_HEADERS]
    values += request.extensions.get("secrets", ())
    found = {word for value in values for word in (value, *value.replace(";", " ").split())}
    found |= {word.partition("=")[2] for word in found}
    return sorted((word for word in found if len(word) >= _SHORTEST_SECRET), key=len, reverse=True)
