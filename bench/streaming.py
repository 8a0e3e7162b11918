"""Owns the server of the measurements: it answers every chat with tokens at a rate, in its own process.

Refuses to be what is measured: what it sends was made before, and a token that is late is sent with the next.

    with served(tokens=500, rate=50) as url: ...
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice

FASTEST = 0.005
"""Seconds between two writes; a model's gateway sends no oftener either."""
AT_ONCE = 40
"""Tokens in a write at full speed."""
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_MODELS = b'{"data": [{"id": "bench"}]}'
_OTHER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"

Tokens = Callable[[int], Iterator[str]]
"""The tokens of the answer with this number, without an end."""


def event(piece: str | None) -> bytes:
    """A token as a chunk of HTTP; without one the finish reason."""
    delta = {"content": piece} if piece is not None else {}
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None if piece else "stop"}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1731000000, "model": "bench"}
    data = b"data: " + json.dumps(head | {"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(data), data)


_LAST = event(None) + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


class Answers:
    """What the server says: so many answers, made before anybody asks, then the first of them again."""

    def __init__(self, tokens_of: Tokens, count: int, tokens: int, rate: float, history: int = 0) -> None:
        """`history` characters come at once, before the first of the tokens; rate 0 is full speed."""
        self._rate = rate
        self._made = [_made(tokens_of(number), tokens, history) for number in range(count)]

    async def send(self, number: int, writer: asyncio.StreamWriter) -> None:
        """Send an answer in its time."""
        before, sent = self._made[number % len(self._made)]
        writer.write(_HEAD)
        await _pour(before, writer)
        if self._rate:
            await self._paced(sent, writer)
        else:
            await _pour(sent, writer)
        writer.write(_LAST)
        await writer.drain()

    async def _paced(self, sent: list[bytes], writer: asyncio.StreamWriter) -> None:
        start, number = time.monotonic() + random.random() / self._rate, 0
        while number < len(sent):
            due = start + number / self._rate
            await asyncio.sleep(max(FASTEST if 1 / self._rate < FASTEST else 0.0, due - time.monotonic()))
            until = max(number + 1, int((time.monotonic() - start) * self._rate) + 1)
            writer.write(b"".join(sent[number:until]))
            number = until


def _made(source: Iterator[str], tokens: int, history: int) -> tuple[list[bytes], list[bytes]]:
    before = [event(piece) for piece in before_it(source, history)]
    return before, [event(piece) for piece in islice(source, tokens)]


def before_it(source: Iterator[str], history: int) -> Iterator[str]:
    """Pieces of at least so many characters together."""
    while history > 0:
        piece = "".join(islice(source, 200))
        history -= len(piece)
        yield piece


async def _pour(pieces: list[bytes], writer: asyncio.StreamWriter) -> None:
    for start in range(0, len(pieces), AT_ONCE):
        writer.write(b"".join(pieces[start : start + AT_ONCE]))
        await writer.drain()


async def serve(answers: Answers) -> None:
    """Print the port, then answer for ever: chats, and whoever asks which models there are."""
    numbers = iter(range(1 << 30))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                asked = await reader.readuntil(b"\r\n\r\n")
                size = asked.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(size or 0))
                if asked.startswith(b"POST"):
                    await answers.send(next(numbers), writer)
                else:
                    writer.write(_OTHER % (len(_MODELS), _MODELS))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


@contextmanager
def served(command: list[str]) -> Iterator[str]:
    """The address of a server that this command runs; it ends with the block."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.terminate()
