"""Owns server-sent events: bytes in, events out, by WHATWG HTML 9.2; refuses to know what the data says.

Nothing here waits, connects or reads a clock; the same bytes give the same events however they are cut.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Final

import msgspec

from agent_tui_core.errors import StreamMalformed

_BOM = b"\xef\xbb\xbf"
MOST_RETRY_MS: Final = 24 * 60 * 60 * 1000
"""A day. Who asks for a longer wait is not taken at its word."""
_MOST_RETRY_DIGITS: Final = 15
_LF: Final = 0x0A
_CR: Final = 0x0D
_NOTHING: Final = ()
_LONG: Final = 64 * 2**10
"""Bytes that are not copied without need."""


class ServerSentEvent(msgspec.Struct, frozen=True, gc=False):
    """One dispatched event; `id` is the last event id that the stream had set by then.

    A `Struct`, because making a frozen dataclass would take longer than parsing the event.
    """

    event: str = "message"
    data: str = ""
    id: str = ""


class SseParser:
    """An incremental parser of one stream.

    A field `error: {…}`, which llama.cpp wrote where SSE knows no such field, is kept in `error_fields` and
    leaves at the blank line as an event of its own, `ServerSentEvent("error", "{…}")`.
    """

    def __init__(self, *, max_event_bytes: int = 16 * 2**20) -> None:
        self.last_event_id = ""
        self.retry_ms: int | None = None
        """What the server last asked for as the time to wait before a new connection."""
        self.error_fields: list[str] = []
        """The values of all `error` fields that held a JSON object."""
        self._limit = max_event_bytes
        self._head: bytes | None = b""
        """The first bytes while they may still be a byte order mark; None once that is settled."""
        self._after_cr = False
        self._tail: list[bytes] = []
        """Pieces of the line that has no end yet: joined once, so that a long line costs linear time."""
        self._tail_size = 0
        self._data: list[bytes] = []
        self._data_size = 0
        self._event = ""
        self._id = ""
        self._errors: list[bytes] = []
        self._broken: StreamMalformed | None = None
        front = self._front()
        next(front)
        self.feed: Callable[[bytes], Sequence[ServerSentEvent]] = front.send
        """Take the next bytes and return the events that they complete.

        Raises `StreamMalformed` once a line or the data of an event is over the limit. Events that the same
        bytes completed before are returned first; the error then comes with the next call.
        """

    def _front(self) -> Generator[Sequence[ServerSentEvent], bytes, None]:
        """What `feed` sends chunks to: what is usual ends here, the rest goes on to the whole machine.

        A generator, because its locals cost a fraction of attributes and of a call, and a slow link brings an
        event in many pieces.
        """
        tail, limit, size, idle = self._tail, self._limit, 0, False
        done: Sequence[ServerSentEvent] = _NOTHING
        while True:
            chunk = yield done
            if idle and _CR not in chunk:
                if _LF not in chunk:
                    size += len(chunk)
                    if size <= limit:
                        tail.append(chunk)
                        done = _NOTHING
                        continue
                    size -= len(chunk)
                elif chunk[-2:] == b"\n\n":
                    if tail:
                        tail.append(chunk)
                        chunk = b"".join(tail)
                        tail.clear()
                        size = 0
                    if usual := self._usual(chunk):
                        done = usual
                        continue
                elif usual := self._whole_events(chunk):
                    size, done = self._tail_size, usual
                    continue
            self._tail_size = size
            done = self._whatever(chunk)
            size = self._tail_size
            begun = self._data or self._event or self._errors or self._after_cr
            idle = self._head is None and self._broken is None and not begun

    def _whatever(self, chunk: bytes) -> list[ServerSentEvent]:
        """Take bytes of any kind."""
        if self._broken is not None:
            raise self._broken
        events: list[ServerSentEvent] = []
        try:
            self._feed(chunk, events)
        except StreamMalformed as error:
            self._broken = error
            self.feed = self._whatever
            self._tail.clear()
            self._data.clear()
            if not events:
                raise
        return events

    def close(self) -> ServerSentEvent | None:
        """End the input; return the event that was begun but not ended by a blank line, if there is one.

        By the rules such an event does not count, and it commits no id. Raises what `feed` had still to
        raise.
        """
        if self._broken is not None:
            raise self._broken
        line = (self._head or b"") + b"".join(self._tail)
        committed, retry_ms = self.last_event_id, self.retry_ms
        self.feed = _ended
        self._head, self._tail, self._tail_size = None, [], 0
        if line:
            self._take(line)
        self.retry_ms = retry_ms
        self.error_fields.extend(map(_decode, self._errors))
        errors, data, event = self._errors, self._data, self._event or "message"
        self._errors, self._data, self._data_size, self._event, self._id = [], [], 0, "", committed
        if errors:
            return ServerSentEvent("error", _decode(errors[0]), committed)
        return ServerSentEvent(event, _decode(b"\n".join(data)), committed) if data else None

    def _feed(self, chunk: bytes, events: list[ServerSentEvent]) -> None:
        if self._head is not None:
            chunk = self._without_mark(chunk)
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk[0] == 0x0A:
                chunk = chunk[1:]
        if not chunk:
            return
        if _CR in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = chunk.rfind(b"\n") + 1
        if end:
            head, chunk = chunk[:end], chunk[end:]
            if self._tail:
                self._tail.append(head)
                head = b"".join(self._tail)
                self._tail.clear()
                self._tail_size = 0
            idle = not (self._data or self._event or self._errors)
            if idle and head.endswith(b"\n\n") and (usual := self._usual(head)):
                events.extend(usual)
            else:
                self._take_lines(head, events)
        if chunk:
            self._tail.append(chunk)
            self._tail_size += len(chunk)
            if self._tail_size > self._limit:
                raise self._too_long()

    def _without_mark(self, chunk: bytes) -> bytes:
        """Return the chunk less a leading BOM; nothing while it is too short to tell."""
        head = (self._head or b"") + chunk
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._head = head
            return b""
        self._head = None
        return head.removeprefix(_BOM)

    def _whole_events(self, chunk: bytes) -> list[ServerSentEvent] | None:
        """Return the events that end in the chunk if they are usual, and keep what follows."""
        end = chunk.rfind(b"\n\n") + 2
        if end == 1:
            return None
        rest = chunk[end:]
        if _LF in rest or len(rest) > self._limit:
            return None
        usual = self._usual(b"".join((*self._tail, chunk[:end])))
        if usual is not None:
            self._tail[:] = (rest,)
            self._tail_size = len(rest)
        return usual

    def _usual(self, lines: bytes) -> list[ServerSentEvent] | None:
        """Return the events of lines that are nothing but events of one `data: ` line each.

        The lines end with a blank one.
        """
        if lines[:6] != b"data: " or len(lines) > self._limit:
            return None
        if len(lines) > _LONG and (end := lines.find(b"\n")) > len(lines) // 2:
            return self._usual_long(lines, end)
        body, committed = lines[6:-2], self._id
        try:  # half the price of naming an error handler
            if _LF not in body:
                usual = [ServerSentEvent("message", body.decode(), committed)]
            else:
                values = body.split(b"\n\ndata: ")
                if _LF in b"".join(values):
                    return None
                usual = [ServerSentEvent("message", value.decode(), committed) for value in values]
        except UnicodeDecodeError:
            return None
        self.last_event_id = committed
        return usual

    def _usual_long(self, lines: bytes, end: int) -> list[ServerSentEvent] | None:
        """Do the same where nearly all is one line, which ends at `end`: that one is copied once."""
        if lines[end + 1] != _LF:
            return None
        try:
            first = ServerSentEvent("message", str(memoryview(lines)[6:end], "utf-8"), self._id)
        except UnicodeDecodeError:
            return None
        others = self._usual(rest) if (rest := lines[end + 2 :]) else []
        if others is None:
            return None
        self.last_event_id = self._id
        return [first, *others]

    def _take_lines(self, lines: bytes, events: list[ServerSentEvent]) -> None:
        for line in lines.split(b"\n")[:-1]:
            if line:
                self._take(line)
            else:
                self._dispatch(events)

    def _take(self, line: bytes) -> None:
        if len(line) > self._limit:
            raise self._too_long()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._grow(line)
            self._data.append(value)
        elif name == b"event":
            self._event = _decode(value)
        elif name == b"id" and b"\0" not in value:
            self._id = _decode(value)
        elif name == b"retry" and value.isdigit() and len(value) <= _MOST_RETRY_DIGITS:
            asked = int(value)
            self.retry_ms = asked if asked <= MOST_RETRY_MS else self.retry_ms
        elif name == b"error" and value.startswith(b"{"):
            self._grow(line)
            self._errors.append(value)

    def _grow(self, line: bytes) -> None:
        self._data_size += len(line)
        if self._data_size > self._limit:
            raise self._too_long()

    def _dispatch(self, events: list[ServerSentEvent]) -> None:
        self.last_event_id = self._id
        if self._data:
            data = _decode(b"\n".join(self._data))
            events.append(ServerSentEvent(self._event or "message", data, self._id))
            self._data.clear()
        for error in self._errors:
            self.error_fields.append(_decode(error))
            events.append(ServerSentEvent("error", self.error_fields[-1], self._id))
        self._errors.clear()
        self._data_size = 0
        self._event = ""

    def _too_long(self) -> StreamMalformed:
        return StreamMalformed(f"the server sent an event of more than {self._limit} bytes")


def _ended(_chunk: bytes) -> Sequence[ServerSentEvent]:
    """Take the place of `feed` after the end; a parser that is done holds no cycle."""
    return _NOTHING


def _decode(value: bytes) -> str:
    return value.decode("utf-8", "replace")
