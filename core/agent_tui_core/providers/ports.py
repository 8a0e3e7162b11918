"""Owns the question which local ports answer, in milliseconds; refuses to ask what answers there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from urllib.parse import urlsplit

LOCAL_SERVERS: tuple[tuple[str, str], ...] = (
    ("ollama", "http://127.0.0.1:11434/v1"),
    ("lmstudio", "http://127.0.0.1:1234/v1"),
    ("llamacpp", "http://127.0.0.1:8080/v1"),
    ("vllm", "http://127.0.0.1:8000/v1"),
)
"""Name and address of the servers that people run, in the order in which they are preferred."""


async def listening(servers: Iterable[tuple[str, str]], timeout: float = 0.3) -> list[tuple[str, str]]:
    """Return those of the servers (name, base URL) that take a connection within `timeout` seconds."""
    wanted = list(servers)
    found = await asyncio.gather(*(_takes_connection(url, timeout) for _, url in wanted))
    return [server for server, there in zip(wanted, found, strict=True) if there]


async def _takes_connection(url: str, timeout: float) -> bool:
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True
