"""Owns a server that is an address: its HTTP client and headers; refuses other hosts and boundless answers.

The values of headers come from the environment when a connection is made, and are written nowhere.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Final

import httpx2

from agent_tui_core.text import safe_line
from agent_tui_core.tools.mcp_streams import Unburdened
from agent_tui_core.tools.mcp_values import Hopeless, ServerSpec

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

LARGEST_ANSWER: Final = 8 * 2**20
"""Bytes of one JSON body, or of one event of a stream."""

_CONNECT_TIMEOUT = 10.0
_GOODBYE = 1.0


class Address:
    """One connection to a streamable HTTP server, as the pair of streams that the SDK talks over."""

    def __init__(self, spec: ServerSpec) -> None:
        self._spec = spec
        self._stack = AsyncExitStack()
        self.ended = asyncio.Event()
        """The session there is over, as far as requests can tell."""
        self.fault = ""
        self.forgot = False
        """The server does not know this session any more: the last request did nothing."""

    async def __aenter__(self) -> TransportStreams:
        from mcp.client.streamable_http import streamable_http_client

        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(
                httpx2.AsyncClient(
                    headers=_headers(self._spec),
                    timeout=httpx2.Timeout(_CONNECT_TIMEOUT, read=None),
                    follow_redirects=False,
                    event_hooks={"request": [self._leave_soon], "response": [self._look_at]},
                )
            )
            streams = streamable_http_client(
                self._spec.url or "", http_client=client, max_sse_event_size=LARGEST_ANSWER
            )
            reading, writing = await stack.enter_async_context(streams)
            self._stack = stack.pop_all()
        return Unburdened(reading), writing

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def last_words(self) -> str:
        """What it refused with."""
        return self.fault

    def lose(self, why: str) -> None:
        """A request broke: what was agreed on there may be gone."""
        self.fault = self.fault or why
        self.ended.set()

    async def _leave_soon(self, request: httpx2.Request) -> None:
        """Do not wait long for the end of a session (DELETE), nor at all for that of a lost one."""
        if request.method == "DELETE":
            if self.ended.is_set():
                raise httpx2.ConnectError("the session is over already", request=request)
            request.extensions["timeout"] = httpx2.Timeout(_GOODBYE).as_dict()

    async def _look_at(self, response: httpx2.Response) -> None:
        """Let no body through that is packed, or that is long and no stream of events."""
        if response.request.method == "POST":
            code, phrase = response.status_code, response.reason_phrase
            self.fault = f"it answered {code} {safe_line(phrase)[:60]}".strip() if code >= 400 else ""
            if code == 404 and "mcp-session-id" in response.request.headers:
                self.forgot, self.fault = True, "it forgot this session"
                self.ended.set()
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError(
                "it sent a packed answer that nobody asked for", request=response.request
            )
        kind = response.headers.get("content-type", "").lower()
        if not kind.startswith("text/event-stream") and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Limited(response.stream, response.request)


def _headers(spec: ServerSpec) -> dict[str, str]:
    headers = {"accept-encoding": "identity"}
    for header, variable in spec.headers_env.items():
        value = os.environ.get(variable, "").strip()
        if not value.isprintable() or not value.isascii():
            raise Hopeless(f"the variable {variable} holds what no header can: only plain ASCII can be sent")
        headers[header.lower()] = value
    return headers


class _Limited(httpx2.AsyncByteStream):
    """The body of an answer, up to its limit."""

    def __init__(self, inner: httpx2.AsyncByteStream, request: httpx2.Request) -> None:
        self._inner = inner
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = 0
        async for chunk in self._inner:
            total += len(chunk)
            if total > LARGEST_ANSWER:
                raise httpx2.ReadError(
                    f"it sent an answer of more than {LARGEST_ANSWER // 2**20} MiB", request=self._request
                )
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
