"""Owns the search for model servers on this machine; refuses to fail, to wait long, or to trust an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

import httpx

from agent_tui_core.providers.http import collect
from agent_tui_core.providers.ports import LOCAL_SERVERS
from agent_tui_core.providers.server import endpoint_url, model_names
from agent_tui_core.records import dataclass

__all__ = ["LOCAL_SERVERS", "FoundServer", "probe"]

MAX_BODY = 2**20


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that listed its models."""

    name: str
    base_url: str
    models: tuple[str, ...]
    """Names that can be shown and sent as they are; empty when it has no model loaded or pulled."""
    seconds: float
    """How long the answer took."""


async def probe(
    client: httpx.AsyncClient, servers: Iterable[tuple[str, str]] = LOCAL_SERVERS, timeout: float = 0.3
) -> list[FoundServer]:
    """Ask all servers at once for their models and return those that answered, in the order given.

    Whatever else listens on these ports (web pages, other APIs, silence, endless bodies) is left out.
    """
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(_ask(client, name, base_url, timeout)) for name, base_url in servers]
    return [found for task in asked if (found := task.result())]


async def _ask(client: httpx.AsyncClient, name: str, base_url: str, timeout: float) -> FoundServer | None:
    began = time.perf_counter()
    try:
        async with asyncio.timeout(timeout):
            body = await _get(client, endpoint_url(httpx.URL(base_url), "models"))
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError):
        return None
    models = model_names(body) if body is not None else None
    return None if models is None else FoundServer(name, base_url, models, time.perf_counter() - began)


async def _get(client: httpx.AsyncClient, url: httpx.URL) -> bytes | None:
    request = client.build_request("GET", url)
    response = await client.send(request, stream=True)
    try:
        if response.status_code != 200:
            return None
        return await collect(response.aiter_bytes(), MAX_BODY)
    finally:
        await response.aclose()
