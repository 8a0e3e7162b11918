"""Owns a child that lives longer than one call, with pipes to talk to it, and its whole end.

Refuses to know what is said over the pipes and to start it again.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from agent_tui_core.errors import ToolError
from agent_tui_core.processes.child import Child
from agent_tui_core.processes.pipes import Pipes
from agent_tui_core.records import dataclass
from agent_tui_core.system_limits import system_limit

PIPE = subprocess.PIPE
DEVNULL = subprocess.DEVNULL
LINE_LIMIT = 16 * 2**20
"""Bytes that one line from a child may have before `readline` fails, and half of what waits unread."""


@dataclass(frozen=True, slots=True)
class OwnedProcess:
    """A running program in a session of its own. Whoever started it calls `end`."""

    child: Child
    stdin: asyncio.StreamWriter | None
    """Close it to say that no more comes; `drain` waits while the child does not read."""
    stdout: asyncio.StreamReader | None
    """Holds the child up when nobody reads it."""
    stderr: asyncio.StreamReader | None
    transports: tuple[asyncio.BaseTransport, ...]

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        stdin: int = DEVNULL,
        stdout: int = DEVNULL,
        stderr: int = DEVNULL,
    ) -> OwnedProcess:
        """Start `argv`; each of the three is `PIPE`, `DEVNULL` or a descriptor of the caller's.

        `environment` is all that the child has: begin with `child_environment(os.environ)`. Raises
        `ToolError` when it cannot be started.
        """
        pipes = Pipes()
        try:
            into, child_in = pipes.outgoing() if stdin == PIPE else (None, stdin)
            out, child_out = pipes.incoming() if stdout == PIPE else (None, stdout)
            err, child_err = pipes.incoming() if stderr == PIPE else (None, stderr)
            child = Child(argv, cwd, environment, stdin=child_in, stdout=child_out, stderr=child_err)
        except OSError as error:
            pipes.failed()
            raise ToolError(f"cannot start the program: {system_limit(error) or error}") from error
        except BaseException:
            pipes.failed()
            raise
        pipes.started()
        files = [_file(into, "wb"), _file(out, "rb"), _file(err, "rb")]
        transports: list[asyncio.BaseTransport] = []
        try:
            writer = await _writer(files[0], transports)
            stdout_, stderr_ = [await _reader(file, transports) for file in files[1:]]
        except BaseException:
            _close(transports)
            for file in files:
                if file is not None:
                    file.close()
            await child.end()
            raise
        return cls(child, writer, stdout_, stderr_, tuple(transports))

    @property
    def pid(self) -> int:
        """Its number, which is that of its group too."""
        return self.child.pid

    @property
    def exit_code(self) -> int | None:
        """Negative for a signal; None while it lives."""
        return self.child.exit_code

    async def wait(self) -> int | None:
        """Wait until the program itself ended; what it started may live on."""
        await self.child.exited.wait()
        return self.child.exit_code

    async def end(self) -> None:
        """Close the pipes and end the whole group: TERM, after 2 s KILL. Never hangs; again is harmless."""
        _close(self.transports)
        await self.child.end()


def _file(descriptor: int | None, mode: str) -> BinaryIO | None:
    return None if descriptor is None else cast("BinaryIO", os.fdopen(descriptor, mode, 0))


async def _writer(
    file: BinaryIO | None, transports: list[asyncio.BaseTransport]
) -> asyncio.StreamWriter | None:
    if file is None:
        return None
    loop = asyncio.get_running_loop()
    protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())  # has what a writer's close waits for
    transport, _ = await loop.connect_write_pipe(lambda: protocol, file)
    transports.append(transport)
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _reader(
    file: BinaryIO | None, transports: list[asyncio.BaseTransport]
) -> asyncio.StreamReader | None:
    if file is None:
        return None
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    transports.append(transport)
    return reader


def _close(transports: Sequence[asyncio.BaseTransport]) -> None:
    for transport in transports:
        if isinstance(transport, asyncio.WriteTransport):
            # Closing would wait until the child read the rest; what is closed must not be aborted.
            if not transport.is_closing() or transport.get_write_buffer_size():
                transport.abort()
        else:
            transport.close()
