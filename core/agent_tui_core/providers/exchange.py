"""Owns one HTTP/1.1 connection: a request goes out, the head and the pieces of its response come in.

Refuses to parse (llhttp does), to choose where to connect, and to hold more of a response than a bound.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

import httptools
import httpx

MOST_HEAD: Final = 100 * 2**10
"""Bytes of a head, or of what stands between two pieces of a body."""
MOST_HELD: Final = 512 * 2**10
"""Bytes of a body that wait for their reader; then the server waits."""
REST: Final = 0.045
"""Seconds in which a connection that talks all the time is not read, so that one reading finds more."""
_GROUPS: Final = 4
"""Strokes in that time: what is read at one stroke holds up the event loop, and so the keys."""
_TOGETHER: Final = 8
"""Connections read at one stroke in any case."""
_READ_AT_ONCE: Final = 16
"""Readings of one response before it rests at all: short answers never do."""
_SMALL: Final = 4 * 2**10
"""Bytes in one reading; who sends more is read without rests."""
_LATE: Final = 0.02
"""Seconds by which a look may be late; later than that the loop was busy, and heard nothing meanwhile."""
_READING: Final = 64 * 2**10
"""Bytes that one reading takes at most."""
_NO_BODY: Final = frozenset({204, 304})


class Shared:
    """What all connections of a loop share: a place to read into, and a clock.

    Those that rest are read together, many of them in some groups.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.buffer = memoryview(bytearray(_READING))
        """What is read is worked off at once; asyncio's own way asks for 256 KiB at each reading."""
        self._loop = loop
        self._resting: deque[tuple[float, Connection]] = deque()
        self._handle: asyncio.TimerHandle | None = None

    def add(self, connection: Connection) -> None:
        """Wake this connection at the first stroke after its rest."""
        self._resting.append((self._loop.time() + REST - REST / _GROUPS, connection))
        if self._handle is None:
            self._handle = self._loop.call_later(REST, self._strike)

    def stop(self) -> None:
        """No stroke comes any more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._resting.clear()

    def _strike(self) -> None:
        self._handle, now = None, self._loop.time()
        for _ in range(max(_TOGETHER, len(self._resting) // _GROUPS)):
            if not self._resting or self._resting[0][0] > now:
                break
            self._resting.popleft()[1].end_rest()
        if self._resting:
            due = max(self._resting[0][0], now + REST / _GROUPS)
            self._handle = self._loop.call_at(due, self._strike)


class Connection(asyncio.BufferedProtocol):
    """One connection, one exchange after the other; `failed` and `whole` say how the last one ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop, shared: Shared) -> None:
        self.loop = loop
        self.idle_since = 0.0
        self.status: int | None = None
        self.headers: list[tuple[bytes, bytes]] = []
        self.whole = True
        """The response came to its end."""
        self._shared = shared
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._held: list[bytes] = []
        self.on_body = self._held.append
        """llhttp gives a piece of the body straight to the list: a token costs no call of ours."""
        self._counted = self._ends_at = self._held_size = self._unsaid = self._readings = 0
        self._failed: Exception | None = None
        self._lost = self._until_close = self._surplus = self._keeps = False
        self._resting = self._full = False
        self._waiter: asyncio.Future[None] | None = None
        self._patience = self._heard = self._due = self._doubted = 0.0
        self._watch: asyncio.TimerHandle | None = None

    # --- an exchange ----------------------------------------------------------------------------------------

    def send(self, request: bytes, patience: float | None) -> None:
        """Begin an exchange; silence of more than `patience` seconds ends it."""
        assert self._transport is not None
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_chunked_length=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        self.status, self.headers = None, []
        self.whole = self._until_close = self._surplus = self._keeps = False
        self._unsaid = self._readings = 0
        self._transport.write(request)
        if patience is not None:
            self._patience, self._heard = patience, self.loop.time()
            self._look_in(patience)

    async def head(self) -> None:
        """Wait until `status` and `headers` are there; raises `httpx.TransportError`."""
        while self.status is None:
            if self._failed is not None:
                raise self._failed
            await self._more()

    async def piece(self) -> bytes:
        """The next bytes of the body, nothing at its end; raises `httpx.TransportError`."""
        while not self._held:
            if self._failed is not None:
                raise self._failed
            if self.whole:
                return b""
            await self._more()
        held = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        self._let_go()
        if self._full:
            self._full = False
            self._read_on()
        return held

    def end(self) -> bool:
        """End the exchange; True when another one can follow, else the connection is closed at once."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self._parser = None
        self._let_go()
        good = self.whole and self._keeps and not (self._surplus or self._lost or self._failed)
        if not good or self._transport is None or self._transport.get_write_buffer_size():
            self.abort()
            return False
        self.idle_since = self.loop.time()
        self._resting = self._full = False
        self._transport.resume_reading()
        return True

    @property
    def is_open(self) -> bool:
        """Whether nothing speaks against another exchange."""
        return not self._lost and self._transport is not None and not self._transport.is_closing()

    def abort(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.abort()

    async def _more(self) -> None:
        self._waiter = self.loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        if not self.whole and self._failed is None:
            self._failed = error
        self._wake()

    def _look(self) -> None:
        """Fail when nothing was heard for too long; a slow reader and a full loop are no silence."""
        now = self.loop.time()
        left = self._heard + self._patience - now
        if left > 0:
            self._look_in(left)
        elif self._waiter is None or self._resting:
            self._look_in(self._patience)
        elif now - self._due > _LATE and self._heard != self._doubted:
            self._doubted = self._heard
            self._look_in(self._patience / 2)
        else:
            self._watch = None
            self._fail(httpx.ReadTimeout("silence"))

    def _look_in(self, seconds: float) -> None:
        self._due = self.loop.time() + seconds
        self._watch = self.loop.call_at(self._due, self._look)

    # --- reading, and not reading ---------------------------------------------------------------------------

    def end_rest(self) -> None:
        """Read again; who did not listen has no silence to complain of."""
        self._resting, self._heard = False, self.loop.time()
        self._read_on()

    def _read_on(self) -> None:
        if self._transport is not None and not (self._resting or self._full):
            self._transport.resume_reading()

    def _let_go(self) -> None:
        self._held.clear()
        self._counted = self._ends_at = self._held_size = 0

    def _count(self) -> None:
        """Count the pieces of the body that came; what came behind its end is none of it."""
        if self.whole:
            del self._held[self._ends_at :]
        if new := self._held[self._counted :]:
            self._counted, self._unsaid = len(self._held), 0
            self._held_size += sum(map(len, new))

    def _pause(self, size: int) -> None:
        """Stop reading while much waits to be taken, or for a moment when little came, again and again."""
        assert self._transport is not None
        if self._held_size > MOST_HELD:
            self._full = True
            self._transport.pause_reading()
        self._readings += 1
        if self._readings > _READ_AT_ONCE and size < _SMALL and not self._resting:
            self._resting = True
            self._transport.pause_reading()
            self._shared.add(self)

    # --- what asyncio calls ---------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there, TLS included."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the protocol's
        """Where to put what comes next."""
        return self._shared.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes came."""
        if self._parser is None:  # nobody asked: what a server says unasked is no answer to the next request
            self.abort()
            return
        self._heard = self.loop.time()
        self._unsaid += nbytes
        try:
            self._parser.feed_data(self._shared.buffer[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            what = "illegal answer" if self.status is None else "illegal body"
            self._keeps = False
            self._fail(httpx.RemoteProtocolError(f"{what}: {error}"))
        self._count()
        if self._unsaid > MOST_HEAD:
            self._fail(httpx.RemoteProtocolError("illegal answer: its head is too long"))
        if self._failed is None and not self.whole and self.status is not None:
            self._pause(nbytes)
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._lost = True
        if self._until_close and exc is None:
            self.whole = True
        elif isinstance(exc, OSError):
            error = httpx.ReadError(str(exc))
            error.__cause__ = exc
            self._fail(error)
        else:
            self._fail(httpx.RemoteProtocolError("the server hung up"))
        self._wake()

    # --- what llhttp calls ----------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A head begins."""
        self._surplus = self.whole

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of the head, or a trailer."""
        if self.status is None and not self.whole:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The head is whole."""
        assert self._parser is not None
        status = self._parser.get_status_code()
        if self.whole or status < 200:
            self.headers = self.headers if self.whole else []
            return
        self.status, self._unsaid = status, 0
        self._keeps = self._parser.should_keep_alive()
        said = {name.lower(): value.lower() for name, value in self.headers}
        chunked = said.get(b"transfer-encoding", b"").endswith(b"chunked")
        framed = chunked or (b"content-length" in said and b"transfer-encoding" not in said)
        self._until_close = not framed and status not in _NO_BODY

    def on_message_complete(self) -> None:
        """The response is whole, or was only one that says that another will come."""
        if self.status is not None and not self.whole:
            self.whole, self._ends_at = True, len(self._held)
