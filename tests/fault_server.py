"""Owns the suite's broken networks: a TCP server on 127.0.0.1 that plays a list of bytes, delays and actions.

Refuses to know HTTP: what a scenario does not say is not sent, so every byte of a broken answer is the
scenario's own. `loopback` is the server for answers that are whole.

    async with FaultServer() as server:
        server.play(b"HTTP/1.1 200 OK\r\n", 0.05, RESET)        # for the next connection
        ...                                                     # a client of server.base_url
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from types import TracebackType
from typing import Final, Self, TypeAlias

_AT_ONCE: Final = 256 * 2**10
"""Bytes that are sent in one turn of the event loop, which is the program's too."""


class Act(Enum):
    """What a scenario does besides sending."""

    CLOSE = auto()
    """The end of the connection, in order."""
    RESET = auto()
    """The end of the connection by RST."""
    HANG = auto()
    """Silence until the client leaves: a half-open connection."""
    UNREAD = auto()
    """As the first step: do not read the request before the next one, and have no handshake."""


CLOSE, RESET, HANG, UNREAD = Act.CLOSE, Act.RESET, Act.HANG, Act.UNREAD


@dataclass(frozen=True, slots=True)
class Tls:
    """As the first step of a server that has several certificates: show this one."""

    name: str


@dataclass(frozen=True, slots=True)
class Drip:
    """These bytes, one by one, each in a packet of its own."""

    whole: bytes


@dataclass(frozen=True, slots=True)
class Endless:
    """These bytes for ever, until the client leaves."""

    piece: bytes


Step: TypeAlias = bytes | float | Act | Tls | Drip | Endless


class FaultServer:
    """Plays one scenario for each connection, in the order in which they were given."""

    def __init__(self, tls: Mapping[str, ssl.SSLContext] | None = None) -> None:
        """`tls` holds certificates by name; where a scenario names none, the first is shown."""
        self.port = 0
        self.connections = 0
        """How many were accepted."""
        self.open_now = 0
        self.requests: list[bytes] = []
        """What clients said: head and body, of those scenarios that read it."""
        self._tls = tls or {}
        self._scenarios: list[tuple[Step, ...]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def base_url(self) -> str:
        """What a provider is configured with."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/v1"

    def play(self, *scenario: Step, times: int = 1) -> None:
        """Play this for the next connection, or for the next `times`."""
        self._scenarios += [scenario] * times

    def forget(self) -> int:
        """Drop the scenarios that nobody came for; return how many there were."""
        left, self._scenarios = len(self._scenarios), []
        return left

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=2**24)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for _ in range(3):  # a connection that was just accepted becomes a task first
            await asyncio.sleep(0)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for (
            writer
        ) in self._writers:  # what nobody reads is never flushed, and 3.12 waits for every connection
            writer.transport.abort()
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_now += 1
        self._writers.add(writer)
        scenario = self._scenarios.pop(0) if self._scenarios else ()
        try:
            if scenario[:1] != (UNREAD,):
                await self._shake_hands(scenario, writer)
                self.requests.append(await _request(reader))
            await _play(scenario, reader, writer)
        except (OSError, EOFError):
            pass  # the client left first
        finally:
            writer.transport.abort() if scenario[-1:] == (RESET,) else writer.close()
            self.open_now -= 1

    async def _shake_hands(self, scenario: Sequence[Step], writer: asyncio.StreamWriter) -> None:
        match scenario:
            case [Tls(name), *_]:
                await writer.start_tls(self._tls[name])
            case _ if self._tls:
                await writer.start_tls(next(iter(self._tls.values())))


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = (line.partition(b":") for line in head.lower().split(b"\r\n"))
    sizes = [int(value) for name, _, value in lines if name == b"content-length"]
    return head + await reader.readexactly(sizes[0] if sizes else 0)


async def _play(scenario: Iterable[Step], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    for step in scenario:
        match step:
            case Act.UNREAD | Act.CLOSE | Tls():
                pass
            case Act.RESET:
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            case Act.HANG:
                while await reader.read(2**16):
                    pass
            case bytes() | Drip() | Endless():
                async for piece in _pieces(step):
                    writer.write(piece)
                    await writer.drain()
            case _:
                await asyncio.sleep(step)


async def _pieces(step: bytes | Drip | Endless) -> AsyncIterator[bytes]:
    match step:
        case bytes():
            for start in range(0, len(step), _AT_ONCE):
                yield step[start : start + _AT_ONCE]
        case Drip(whole):
            for place in range(len(whole)):
                yield whole[place : place + 1]
                await asyncio.sleep(0)
        case Endless(piece):
            while True:
                yield piece
                await asyncio.sleep(0)


# --- bytes of HTTP ------------------------------------------------------------------------------------------


def http(
    body: bytes = b"",
    *headers: str,
    status: str = "200 OK",
    version: str = "1.1",
    content_type: str | None = "text/event-stream",
    length: int | None = -1,
) -> bytes:
    """An answer; `length` None gives no Content-Length, -1 the right one."""
    lines = [f"HTTP/{version} {status}", *headers]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    if length is not None:
        lines.append(f"Content-Length: {len(body) if length < 0 else length}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def chunked(*pieces: bytes, end: bool = True) -> bytes:
    """The head and body of an answer in chunks; without `end` the last chunk is missing."""
    head = http(b"", "Transfer-Encoding: chunked", length=None)
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return head + body + (b"0\r\n\r\n" if end else b"")
