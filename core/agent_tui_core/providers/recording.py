"""Owns record and replay: a client that writes a cassette for each response, a transport that plays them.

Refuses the network while it replays: what no cassette fits is answered with an error that says what differs.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx

from agent_tui_core.providers.cassettes import (
    Cassette,
    End,
    Tape,
    conversation_hash,
    make_folder,
    messages,
    read_folder,
)
from agent_tui_core.text import safe_line

log = logging.getLogger(__name__)

_BEGAN = "agent_tui.began"


def record(client: httpx.AsyncClient, folder: Path) -> None:
    """Let a client write every response that it gets from now on; raises `ConfigError`.

    A recording that cannot be written is logged and harms nobody.
    """
    make_folder(folder)

    async def begin(request: httpx.Request) -> None:
        request.extensions[_BEGAN] = time.monotonic()

    async def listen(response: httpx.Response) -> None:
        request = response.request
        tape = Tape(request, response, request.extensions.get(_BEGAN, time.monotonic()))
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _Overheard(response.stream, tape, folder)

    hooks = client.event_hooks
    client.event_hooks = {
        "request": [*hooks["request"], begin],
        "response": [*hooks["response"], listen],
    }


class _Overheard(httpx.AsyncByteStream):
    """Passes bytes on as they come; when the body ends or is left, the cassette is written."""

    def __init__(self, stream: httpx.AsyncByteStream, tape: Tape, folder: Path) -> None:
        self._stream = stream
        self._tape = tape
        self._folder = folder
        self._end: End = "cut"
        self._kept = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for data in self._stream:
                self._tape.add(data)
                yield data
        except httpx.HTTPError:
            self._end = "broken"
            raise
        self._end = "whole"

    async def aclose(self) -> None:
        """Hang up first, then write: nobody waits for the disk."""
        try:
            await self._stream.aclose()
        finally:
            if not self._kept:
                self._kept = True
                self._keep()

    def _keep(self) -> None:
        try:
            self._tape.keep(self._folder, self._end)
        except (OSError, ValueError) as error:
            log.warning("a response was not recorded: %s", error)


class ReplayTransport(httpx.AsyncBaseTransport):
    """Answers each request with the next cassette of the same conversation."""

    def __init__(self, cassettes: list[Cassette], *, pace: float = 1.0) -> None:
        """`pace` stretches the recorded time between two pieces; 0 is as fast as possible."""
        self._cassettes = cassettes
        self._left = list(cassettes)
        self._pace = pace

    @classmethod
    def of(cls, folder: Path, *, pace: float = 1.0) -> ReplayTransport:
        """Play what was recorded in a folder; raises `ConfigError`."""
        return cls(read_folder(folder), pace=pace)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Play the cassette that fits."""
        began = time.monotonic()
        content = await request.aread()
        body = json.loads(content) if content else None
        fits = _fitting(request, body)
        cassette = next((each for each in self._left if fits(each)), None)
        if cassette is None:
            if request.method == "GET" and _endpoint(request.url) == "models":
                return self._models()
            return _misfit(self._why(request, body, fits))
        self._left.remove(cassette)
        await _until(began + cassette.head.at * self._pace)
        return httpx.Response(
            cassette.head.status,
            headers=cassette.head.headers,
            stream=_Played(cassette, began, self._pace),
        )

    def _models(self) -> httpx.Response:
        names = {
            str(each.head.request["model"]): None
            for each in self._cassettes
            if "model" in (each.head.request or {})
        }
        return httpx.Response(200, json={"object": "list", "data": [{"id": name} for name in names]})

    def _why(self, request: httpx.Request, body: object, fits: Callable[[Cassette], bool]) -> str:
        if any(fits(each) for each in self._cassettes):
            return "every cassette of this conversation was played already"
        asked = messages(body)
        alike = [
            each for each in self._cassettes if _endpoint(httpx.URL(each.head.url)) == _endpoint(request.url)
        ]
        if not alike:
            return f"no cassette answers {request.method} {request.url.path}"
        nearest = max(alike, key=lambda each: _common(asked, messages(each.head.request)))
        recorded = messages(nearest.head.request)
        place = _common(asked, recorded)
        if place == len(asked) == len(recorded):
            return f"the nearest, {nearest.file.name}, was recorded with another model"
        return (
            f"the nearest, {nearest.file.name}, has {len(recorded)} messages and this request {len(asked)}; "
            f"number {place + 1} is the first that differs: {_quoted(asked, place)} here, "
            f"{_quoted(recorded, place)} there"
        )


class _Played(httpx.AsyncByteStream):
    def __init__(self, cassette: Cassette, began: float, pace: float) -> None:
        self._cassette = cassette
        self._began = began
        self._pace = pace

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._cassette.pieces:
            await _until(self._began + piece.at * self._pace)
            yield piece.bytes()
        if self._cassette.end != "whole":
            raise httpx.ReadError("the recording ends here")


async def _until(moment: float) -> None:
    """Sleep; even without a pace other tasks get their turn."""
    await asyncio.sleep(max(0.0, moment - time.monotonic()))


def _fitting(request: httpx.Request, body: object) -> Callable[[Cassette], bool]:
    wanted = (request.method, _endpoint(request.url), conversation_hash(body))

    def fits(cassette: Cassette) -> bool:
        head = cassette.head
        return wanted == (head.method, _endpoint(httpx.URL(head.url)), conversation_hash(head.request))

    return fits


def _endpoint(url: httpx.URL) -> str:
    return url.path.rstrip("/").rpartition("/")[2]


def _common(ours: object, theirs: object) -> int:
    """How many messages are the same at the beginning."""
    count = 0
    if isinstance(ours, list) and isinstance(theirs, list):
        while count < min(len(ours), len(theirs)) and ours[count] == theirs[count]:
            count += 1
    return count


def _quoted(said: object, place: int) -> str:
    if not isinstance(said, list) or place >= len(said):
        return "nothing"
    return repr(safe_line(json.dumps(said[place], ensure_ascii=False))[:120])


def _misfit(why: str) -> httpx.Response:
    words = f"no cassette fits this request: {why}"
    return httpx.Response(400, json={"error": {"message": words, "type": "invalid_request"}})
