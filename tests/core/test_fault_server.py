"""The server of the table of faults ends on every Python, whatever its clients do."""

from __future__ import annotations

import asyncio

from fault_server import FaultServer


async def test_a_server_ends_though_its_client_never_reads_what_it_was_sent() -> None:
    async with asyncio.timeout(10):
        async with FaultServer() as server:
            server.play(b"x" * 50_000_000)
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1_024)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert await reader.readexactly(10) == b"x" * 10
    writer.close()
