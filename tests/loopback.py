"""Owns the suite's one scripted model: an OpenAI-compatible HTTP server on 127.0.0.1, on raw asyncio sockets.

Refuses to understand what it is asked: it records each request and plays the answer that its script gives.

    async with LoopbackServer([say("Hello")]) as server:        # a list: one answer after the other
        ...  # OpenAIProvider(client, server.base_url)
        assert server.requests[0].json["model"] == "m"

    release = asyncio.Event()
    def script(request: Request) -> Answer:                     # a callable: decides for each request
        return Answer(text("Hel"), release, text("lo"), finish(), DONE)
    async with LoopbackServer(script) as server:
        await server.until(lambda: server.open_now == 8)        # bound it with asyncio.timeout
        await server.streams[0].disconnected.wait()             # the client left before the answer was whole

A step of an answer is bytes (sent at once), a number (seconds to wait), an `asyncio.Event` (wait until it is
set) or an `End`: CLOSE (the socket, mid-body), RESET (RST), HANG (silence for ever). Steps are taken lazily.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import chain
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias


class End(Enum):
    """How an answer stops without being whole."""

    CLOSE = auto()
    RESET = auto()
    HANG = auto()


CLOSE, RESET, HANG = End.CLOSE, End.RESET, End.HANG
Step: TypeAlias = bytes | float | asyncio.Event | End


class Answer:
    """What the server says to one request: status, headers, and the steps of its body."""

    def __init__(
        self,
        *steps: Step,
        lazily: Iterable[Step] = (),
        status: int = 200,
        content_type: str | None = "text/event-stream",
        headers: dict[str, str] | None = None,
        framing: Literal["chunked", "close", "none"] = "chunked",
    ) -> None:
        """`lazily`: further steps, e.g. from a generator. Framing "close": the body ends with the connection;
        "none": there is no body."""
        self.steps = steps
        self.lazily = lazily
        self.status = status
        self.headers = dict(headers or {})
        self.framing = framing
        if content_type is not None:
            self.headers.setdefault("Content-Type", content_type)

    def head(self) -> bytes:
        """The status line and headers as they go over the wire."""
        framing = {
            "chunked": "Transfer-Encoding: chunked",
            "close": "Connection: close",
            "none": "Content-Length: 0",
        }
        lines = [f"HTTP/1.1 {self.status} Scripted", framing[self.framing]]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    number: int
    """Counts the requests of this server from 0."""
    at: float
    """`time.perf_counter()` when it was read."""

    @property
    def json(self) -> Any:
        """The body as JSON; raises ValueError when it is none."""
        return json.loads(self.body)


@dataclass(slots=True)
class Stream:
    """One answer under way; `server.streams[n]` belongs to `server.requests[n]`."""

    request: Request
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client left before the answer was whole."""
    disconnected_at: float | None = None
    """`time.perf_counter()` at that moment."""
    whole: bool = False
    """The last step was sent."""


Script: TypeAlias = Callable[[Request], Answer]


class LoopbackServer:
    """An HTTP/1.1 server with keep-alive. Leaving it raises what its script raised, if it did."""

    def __init__(self, script: Script | Iterable[Answer] = ()) -> None:
        """`script` answers each request, or is the list of answers; after the last one comes status 500."""
        self.answers: deque[Answer] = deque() if callable(script) else deque(script)
        self.script: Script = script if callable(script) else self._next_answer
        self.requests: list[Request] = []
        self.streams: list[Stream] = []
        self.connections = 0
        """How many connections were ever opened."""
        self.open_now = 0
        """Answers that are being sent at this moment."""
        self.open_most = 0
        self.failures: list[Exception] = []
        self.port = 0
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        """What a provider is configured with; ends in /v1."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def until(self, claim: Callable[[], bool]) -> None:
        """Wait until the claim about this server holds; it is looked at after every change."""
        while not claim():
            await self._changed.wait()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=64 * 2**20)
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
        await self._server.wait_closed()
        if self.failures and error is None:
            raise self.failures[0]

    def _next_answer(self, request: Request) -> Answer:
        if not self.answers:
            raise AssertionError(
                f"no answer left for request {request.number}: {request.method} {request.path}"
            )
        return self.answers.popleft()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        first = asyncio.create_task(_first_byte(reader))
        try:
            while byte := await first:
                request = await self._read(byte, reader)
                first = asyncio.create_task(_first_byte(reader))
                if not await self._answer(request, writer, first):
                    break
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            writer.transport.abort()
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        finally:
            first.cancel()
            with suppress(OSError):
                await writer.wait_closed()

    async def _read(self, byte: bytes, reader: asyncio.StreamReader) -> Request:
        lines = (byte + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _version = lines[0].split(" ", 2)
        pairs = (line.partition(":") for line in lines[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        request = Request(method, path, headers, body, len(self.requests), time.perf_counter())
        self.requests.append(request)
        self.streams.append(Stream(request))
        return request

    async def _answer(
        self, request: Request, writer: asyncio.StreamWriter, leaving: asyncio.Task[bytes]
    ) -> bool:
        """Play one answer, unless the client leaves first. True: the connection can be used again."""
        stream = self.streams[request.number]
        try:
            answer = self.script(request)
        except Exception as error:  # noqa: BLE001 - a broken script has to reach the test
            self.failures.append(error)
            answer = Answer(repr(error).encode(), status=500, content_type="text/plain")
        self.open_now += 1
        self.open_most = max(self.open_most, self.open_now)
        self._notify()
        playing = asyncio.create_task(_play(answer, writer))
        try:
            await asyncio.wait((playing, leaving), return_when=asyncio.FIRST_COMPLETED)
            if (playing.exception() is not None) if playing.done() else not leaving.result():
                stream.disconnected_at = time.perf_counter()
                stream.disconnected.set()
                return False
            stream.whole = await playing
            return stream.whole and answer.framing != "close"
        finally:
            if not playing.done():
                playing.cancel()
                await asyncio.wait((playing,))
            self.open_now -= 1
            self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


async def _first_byte(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(1)
    except OSError:
        return b""


async def _play(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    """Send the answer; False when a step broke the connection on purpose."""
    writer.write(answer.head())
    await writer.drain()
    for step in chain(answer.steps, answer.lazily):
        match step:
            case bytes():
                if step:
                    framed = b"%x\r\n%b\r\n" % (len(step), step) if answer.framing == "chunked" else step
                    writer.write(framed)
                    await writer.drain()
            case asyncio.Event():
                await step.wait()
            case End.HANG:
                await asyncio.Event().wait()
            case End.RESET:
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return False
            case End.CLOSE:
                return False
            case _:
                await asyncio.sleep(step)
    if answer.framing == "chunked":
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    return True


# --- the bytes of chat completions --------------------------------------------------------------------------

DONE = b"data: [DONE]\n\n"


def sse(payload: object) -> bytes:
    """One server-sent event with this JSON."""
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def chunk(delta: dict[str, object], finish_reason: str | None = None) -> bytes:
    """One chat.completion.chunk with one choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return sse(
        {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "scripted", "choices": [choice]}
    )


def text(piece: str) -> bytes:
    """A piece of text."""
    return chunk({"content": piece})


def reasoning(piece: str) -> bytes:
    """A piece of reasoning."""
    return chunk({"reasoning_content": piece})


def tool_call(id: str, name: str, arguments: object, *, index: int = 0, pieces: int = 2) -> bytes:
    """A whole tool call, its arguments in `pieces` chunks; a string is sent as it is, an object as JSON."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    head = {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
    size = max(1, -(-len(raw) // pieces))
    parts = [raw[start : start + size] for start in range(0, len(raw), size)]
    rest = [chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]}) for part in parts]
    return chunk({"tool_calls": [head]}) + b"".join(rest)


def finish(reason: str = "stop") -> bytes:
    """The chunk with the finish reason."""
    return chunk({}, reason)


def usage(input_tokens: int, output_tokens: int) -> bytes:
    """The usage chunk: no choices."""
    counts = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}
    return sse({"object": "chat.completion.chunk", "choices": [], "usage": counts})


def say(words: str) -> Answer:
    """A whole answer of text."""
    return Answer(chunk({"role": "assistant", "content": ""}), text(words), finish(), usage(10, 5), DONE)


def call(name: str, arguments: object, *, id: str = "call_1", words: str = "") -> Answer:
    """A whole answer with one tool call."""
    before = text(words) if words else b""
    return Answer(before, tool_call(id, name, arguments), finish("tool_calls"), usage(10, 5), DONE)


def json_answer(payload: object, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """A body of JSON, e.g. an error or the list of models."""
    body = json.dumps(payload).encode()
    return Answer(body, status=status, content_type="application/json", headers=headers)
