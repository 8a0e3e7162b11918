"""Owns the shortest way to a server: an httpx transport of connections that parse each byte once, in C.

Refuses proxies, HTTP/2, redirects and requests that stream; those are httpx's own transport's. A token in a
chunk of its own costs a third of what it costs there: see docs/design.md for the figures.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import os
import re
import ssl
import threading
from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.request import getproxies

import httpx

from agent_tui_core.providers.exchange import Connection, Shared

_MOST_IDLE: Final = 64
_KEPT_SECONDS: Final = 30.0
_STAGGER: Final = 0.25
"""Seconds until the next address of a host is tried beside one that does not answer."""
_SLICE: Final = 32 * 2**10
"""Bytes that a reader gets at once: what it makes of them holds up the event loop, and so the keys."""
_PACKED_SLICE: Final = 4 * 2**10
"""The same of a packed body; a bomb makes a thousand times as much of them."""
_PORTS: Final = {"http": 80, "https": 443}
_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_FORBIDDEN: Final = re.compile(rb"[\x00\r\n]")

_Place = tuple[str, str, int]


class DirectClient(httpx.AsyncClient):
    """httpx's client, but a request whose answer streams goes straight to the transport where no proxy is.

    What it skips, and nobody here uses: redirects, authentication, a jar that looks into every response.
    """

    def __init__(self, straight: httpx.AsyncBaseTransport | None, **options: Any) -> None:
        """`straight` takes all requests; without one httpx chooses by its options."""
        super().__init__(transport=straight, **options)
        self._straight = straight

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        """Send a request; see `httpx.AsyncClient.send`. Hooks, options and whole bodies go httpx's way."""
        straight = self._straight
        if straight is None or not stream or options or self.is_closed or any(self.event_hooks.values()):
            return await super().send(request, stream=stream, **options)
        response = await straight.handle_async_request(request)
        response.request = request
        if "set-cookie" in response.headers:
            self.cookies.extract_cookies(response)
        return response


class DirectTransport(httpx.AsyncBaseTransport):
    """Connections to servers, kept for the next request; any number at the same time."""

    def __init__(self) -> None:
        """Ends in OSError when the certificates that the environment names cannot be read."""
        self._tls = _tls(*_named()) if any(_named()) else None
        self._making = threading.Lock()
        self._idle: dict[_Place, list[Connection]] = {}
        self._busy: set[Connection] = set()
        self._shared: Shared | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, return the response without its body yet; raises `httpx.TransportError`."""
        said = await _as_bytes(request)
        times = request.extensions.get("timeout", {})
        place = _place(request.url)
        connection = self._kept(place) or await self._connect(place, times.get("connect"))
        self._busy.add(connection)
        body = _Body(self, place, connection)
        try:
            connection.send(said, times.get("read"))
            await connection.head()
        except BaseException:
            await body.aclose()
            raise
        assert connection.status is not None
        body.look_at(connection.headers)
        return httpx.Response(connection.status, headers=connection.headers, stream=body)

    async def aclose(self) -> None:
        """Hang up everywhere."""
        if self._shared is not None:
            self._shared.stop()
        for connection in [*self._busy, *(each for kept in self._idle.values() for each in kept)]:
            connection.abort()
        self._busy.clear()
        self._idle.clear()

    def give_back(self, place: _Place, connection: Connection) -> None:
        """End an exchange; keep the connection if another one can follow."""
        self._busy.discard(connection)
        if connection.end():
            kept = self._idle.setdefault(place, [])
            kept.append(connection)
            if len(kept) > _MOST_IDLE:
                kept.pop(0).abort()

    def _kept(self, place: _Place) -> Connection | None:
        """A connection that is open still, the one that was used last; what got too old is closed."""
        loop = asyncio.get_running_loop()
        kept = self._idle.pop(place, [])
        oldest = loop.time() - _KEPT_SECONDS
        good = [each for each in kept if each.loop is loop and each.is_open and each.idle_since > oldest]
        for each in kept:
            if each not in good and each.loop is loop:
                each.abort()
        found = good.pop() if good else None
        if good:
            self._idle[place] = good
        return found

    async def _connect(self, place: _Place, patience: float | None) -> Connection:
        scheme, host, port = place
        loop = asyncio.get_running_loop()
        if self._shared is None or self._loop is not loop:
            self._shared, self._loop = Shared(loop), loop
        shared = self._shared
        try:
            async with asyncio.timeout(patience):
                tls = await asyncio.to_thread(self._trust) if scheme == "https" else None
                _, connection = await loop.create_connection(
                    lambda: Connection(loop, shared),
                    host,
                    port,
                    ssl=tls,
                    happy_eyeballs_delay=None if _is_address(host) else _STAGGER,
                )
        except TimeoutError as error:
            raise httpx.ConnectTimeout("no connection in time") from error
        except (OSError, ssl.SSLError, UnicodeError) as error:
            raise httpx.ConnectError(str(error)) from _one_cause(error)
        return connection

    def _trust(self) -> ssl.SSLContext:
        """The certificates that are trusted, read at the first need: 60 ms, so in a thread, and once."""
        with self._making:
            self._tls = self._tls or _tls(*_named())
            return self._tls


class _Body(httpx.AsyncByteStream):
    def __init__(self, transport: DirectTransport, place: _Place, connection: Connection) -> None:
        self._transport = transport
        self._place = place
        self._connection: Connection | None = connection
        self._slice = _SLICE

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._connection is not None and (piece := await self._connection.piece()):
            for start in range(0, len(piece), self._slice):
                if start:
                    await asyncio.sleep(0)
                yield piece[start : start + self._slice] if len(piece) > self._slice else piece

    def look_at(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Give a packed body out in smaller slices."""
        if any(name.lower() == b"content-encoding" for name, _ in headers):
            self._slice = _PACKED_SLICE

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._transport.give_back(self._place, connection)


def has_proxy() -> bool:
    """Whether the environment names a proxy for what is asked here."""
    return not {"http", "https", "all"}.isdisjoint(getproxies())


def reads_certificates() -> bool:
    """Whether making a client reads certificates, which takes 60 ms; else the first https address does."""
    return any(_named()) or has_proxy()


def _named() -> tuple[str | None, ...]:
    return tuple(map(os.environ.get, _CERTIFICATES))


@functools.lru_cache(1)
def _tls(*_files: str | None) -> ssl.SSLContext:
    """What the environment, with these names in it, trusts: read once for all clients of a process."""
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


async def _as_bytes(request: httpx.Request) -> bytes:
    body = await request.aread()
    headers = request.headers.raw
    names = {name.lower() for name, _ in headers}
    if request.method not in {"GET", "POST"} or b"transfer-encoding" in names:
        raise httpx.UnsupportedProtocol("only whole GET and POST requests are sent")
    if any(_FORBIDDEN.search(part) for header in headers for part in header):
        raise httpx.LocalProtocolError("a header holds a line break")
    lines = [b"%b %b HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    lines += [b"%b: %b" % header for header in headers]
    return b"\r\n".join([*lines, b"", body])


def _place(url: httpx.URL) -> _Place:
    if url.scheme not in _PORTS or not url.host:
        raise httpx.UnsupportedProtocol("the address has to begin with http:// or https://")
    return url.scheme, url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]


def _is_address(host: str) -> bool:
    """Whether there is but one place to try."""
    return ":" in host or host.replace(".", "").isdigit()


def _one_cause(error: Exception) -> Exception:
    """The reason of a failed connection; asyncio makes one text of the reasons of several addresses."""
    refused = f"[Errno {errno.ECONNREFUSED}]"
    if isinstance(error, OSError) and error.errno is None and refused in str(error):
        return ConnectionRefusedError(errno.ECONNREFUSED, "connection refused")
    return error
