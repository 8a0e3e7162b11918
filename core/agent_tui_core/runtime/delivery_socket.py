"""Owns the socket on which results come in while the program runs; refuses other users and waiting for one.

One JSON line each way; a peer that is slow, silent or talks nonsense has its time and then is cut off.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from agent_tui_core.errors import ToolError
from agent_tui_core.runtime import private_sockets
from agent_tui_core.runtime.delivery import (
    LINE_LIMIT,
    Delivery,
    NotUnderstood,
    read_delivery,
    receipt_line,
    refusal_line,
)
from agent_tui_core.tools.external import Receipt

PATIENCE: Final = 10.0
"""Seconds that one peer has for its line."""
PEERS_AT_ONCE: Final = 32
"""A further one takes the place of the oldest."""
_PIECE: Final = 2**16
_AFTER_A_FAILURE: Final = 0.5

log = logging.getLogger(__name__)


class DeliverySocket:
    """A socket that listens. Make one with `listen`, and `close` it."""

    def __init__(
        self,
        listening: socket.socket,
        path: Path,
        data_dir: Path,
        deliver: Callable[[Delivery], Receipt],
        user: int,
        patience: float,
    ) -> None:
        self.path = path
        self._listening = listening
        self._data_dir = data_dir
        self._deliver = deliver
        self._user = user
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._peers: dict[asyncio.Task[None], None] = {}
        self._accepting = asyncio.create_task(self._accept(), name=f"results over {path.name}")

    @classmethod
    async def listen(
        cls,
        data_dir: Path,
        environ: Mapping[str, str],
        deliver: Callable[[Delivery], Receipt],
        *,
        user: int | None = None,
        patience: float = PATIENCE,
    ) -> DeliverySocket:
        """Listen in the first folder that can be used; raises `ToolError` when none can.

        `deliver` is called for every delivery, and may raise `ToolError` with words for whoever sent it.
        `user` is who may connect: nobody but the one who runs the program.
        """
        failures = []
        for folder in private_sockets.folders(data_dir, environ):
            try:
                listening, path = private_sockets.listening(folder)
            except OSError as error:
                failures.append(f"{folder}: {error.strerror or error}")
                continue
            return cls(listening, path, data_dir, deliver, os.getuid() if user is None else user, patience)
        raise ToolError(f"no socket for results can be opened ({'; '.join(failures) or 'no folder for it'})")

    async def close(self) -> None:
        """Listen no more, and leave nothing behind."""
        private_sockets.leave(self.path, self._data_dir)
        ending = [self._accepting, *self._peers]
        for task in ending:
            task.cancel()
        await asyncio.wait(ending)
        self._listening.close()

    async def _accept(self) -> None:
        while True:
            try:
                connection, _ = await self._loop.sock_accept(self._listening)
            except OSError as error:  # such as no descriptor left
                log.warning("an answer could not come in: %s", error)
                await asyncio.sleep(_AFTER_A_FAILURE)
                continue
            connection.setblocking(False)
            if len(self._peers) >= PEERS_AT_ONCE:
                next(iter(self._peers)).cancel()
            task = asyncio.create_task(self._serve(connection))
            self._peers[task] = None
            task.add_done_callback(partial(self._served, connection))

    def _served(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        """Also for a task that was cancelled before its first step."""
        connection.close()
        del self._peers[task]

    async def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(self._patience):
                await self._loop.sock_sendall(connection, await self._reply(connection))

    async def _reply(self, connection: socket.socket) -> bytes:
        user = private_sockets.peer_uid(connection)
        if user != self._user:
            log.warning("somebody else (user %s) tried to deliver a result", user)
            return refusal_line("this program belongs to another user")
        try:
            delivery = read_delivery(await self._line(connection))
            return receipt_line(self._deliver(delivery))
        except (NotUnderstood, ToolError) as error:
            return refusal_line(str(error))

    async def _line(self, connection: socket.socket) -> bytes:
        """The first line, or all until the end; raises `NotUnderstood` when it is too long."""
        line = bytearray()
        while piece := await self._loop.sock_recv(connection, _PIECE):
            line += piece
            if b"\n" in piece:
                break
            if len(line) > LINE_LIMIT:
                raise NotUnderstood(f"an answer may have {LINE_LIMIT // 2**20} MiB; this one is larger")
        return bytes(line.partition(b"\n")[0])
