"""Owns a server that is a program: its process, its lines as messages, its last words; refuses to restart it.

Nothing that it does waits on us and nothing of ours waits on it: reading is bounded by the line, writing by
what it left unread.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from agent_tui_core.errors import ToolError
from agent_tui_core.processes.environment import child_environment
from agent_tui_core.processes.owned import PIPE, OwnedProcess
from agent_tui_core.text import safe_line
from agent_tui_core.tools.mcp_streams import unburden
from agent_tui_core.tools.mcp_values import WORKSPACE, Hopeless, ServerSpec
from agent_tui_core.wire.json_text import too_deep

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

LONGEST_MESSAGE: Final = 8 * 2**20
"""Bytes."""
MOST_UNREAD: Final = 32 * 2**20
"""Bytes that a server may leave unread before it counts as broken."""
MOST_GARBAGE: Final = 2_000
"""Lines in a row that are no messages."""
PATIENCE: Final = 0.5
"""Seconds in which a server may end by itself once nothing more is said to it."""

_CHUNK = 2**16
_WORDS_KEPT = 8_000
_WORDS_SHOWN = 300


class Program:
    """One run of a server's program, as the pair of streams that the SDK talks over."""

    def __init__(self, spec: ServerSpec, workspace: Path, folder: Path) -> None:
        """`folder` is where it runs when its definition names no other."""
        self._spec = spec
        self._workspace = workspace
        self._folder = spec.folder or folder
        self._process: OwnedProcess | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._words = b""
        self.ended = asyncio.Event()
        """It says nothing more."""
        self.fault = ""
        """What it did wrong, if that is why it ended."""
        self.forgot = False

    async def __aenter__(self) -> TransportStreams:
        import anyio
        from mcp.shared.message import SessionMessage

        spec = self._spec
        arguments = (str(self._workspace) if one == WORKSPACE else one for one in spec.args)
        environment = child_environment(os.environ, spec.env_from) | dict(spec.env)
        try:
            self._process = process = await OwnedProcess.start(
                [spec.command or "", *arguments],
                cwd=self._folder,
                environment=environment,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
            )
        except ToolError as error:
            raise Hopeless(str(error)) from error
        send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        assert process.stdin is not None
        self._tasks = [
            asyncio.create_task(self._hear(send), name=f"mcp {spec.name} out"),
            asyncio.create_task(self._keep_words(), name=f"mcp {spec.name} err"),
        ]
        return receive, _Writing(process.stdin, self._fail)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if (process := self._process) is None:
            return
        try:
            if process.stdin is not None:
                process.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await process.wait()
        finally:
            try:
                await process.end()
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    def lose(self, why: str) -> None:
        """A request broke: the pipes say so themselves."""

    async def last_words(self) -> str:
        """Why it ended, as far as it can be told: exit code and what it wrote to its standard error."""
        process = self._process
        if process is None:
            return self.fault
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await process.wait()
                await self._tasks[-1]
        code = process.exit_code
        said = [] if self.fault == "" else [self.fault]
        if code is not None and not said:
            said.append(f"it ended with exit code {code}" if code >= 0 else f"it was ended by signal {-code}")
        if words := self._shown_words():
            said.append(words)
        return ": ".join(said)

    # --- what it says ---------------------------------------------------------------------------------------

    async def _hear(self, send: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        import anyio

        process = self._process
        assert process is not None
        assert process.stdout is not None
        lines = _Lines()
        try:
            while chunk := await process.stdout.read(_CHUNK):
                for message in lines.feed(chunk):
                    await send.send(message)
                if lines.fault:
                    self._fail(lines.fault)
                    return
                await asyncio.sleep(0)  # `read` does not wait while there is more
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            pass  # the session is over
        finally:
            send.close()
            self.ended.set()

    async def _keep_words(self) -> None:
        process = self._process
        assert process is not None
        assert process.stderr is not None
        with suppress(OSError):
            while chunk := await process.stderr.read(_CHUNK):
                self._words = (self._words + chunk)[-_WORDS_KEPT:]
                await asyncio.sleep(0)

    def _shown_words(self) -> str:
        lines = [safe_line(line) for line in self._words.decode(errors="replace").splitlines()]
        said = [line for line in lines if line]
        # The last line of a traceback says what happened, the last lines of other programs too.
        words = " · ".join(said[-1:] if any(line.startswith("Traceback ") for line in said) else said[-3:])
        return words if len(words) <= _WORDS_SHOWN else f"…{words[1 - _WORDS_SHOWN :]}"

    def _fail(self, fault: str) -> None:
        self.fault = self.fault or fault
        self.ended.set()


class _Lines:
    """Bytes in, messages out; lines that are none are counted and dropped."""

    def __init__(self) -> None:
        self.fault = ""
        self._open: list[bytes] = []
        self._held = 0
        self._garbage = 0

    def feed(self, chunk: bytes) -> list[SessionMessage]:
        """The messages that this chunk completes; with a fault nothing more should be fed."""
        *whole, rest = chunk.split(b"\n")
        messages: list[SessionMessage] = []
        for part in whole:
            if message := self._message(b"".join([*self._open, part])):
                messages.append(message)
            self._open, self._held = [], 0
            if self._garbage > MOST_GARBAGE:
                self.fault = "it writes something else than MCP to its standard output"
                return messages
        if rest:
            self._open.append(rest)
            self._held += len(rest)
        if self._held > LONGEST_MESSAGE:
            self.fault = f"it sent a message of more than {LONGEST_MESSAGE // 2**20} MiB"
        return messages

    def _message(self, line: bytes) -> SessionMessage | None:
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        if not line.strip():
            return None
        if line.lstrip()[:1] == b"{" and not too_deep(line.decode("latin-1")):
            with suppress(ValueError, RecursionError):
                # A sixth of the time that pydantic takes to read it.
                said = msgspec.json.decode(line)
                message = SessionMessage(jsonrpc_message_adapter.validate_python(said, by_name=False))
                unburden(message)
                self._garbage = 0
                return message
        self._garbage += 1
        return None


class _Writing:
    """What is said to the program. Nobody waits until it was read."""

    def __init__(self, writer: asyncio.StreamWriter, fail: Any) -> None:
        self._writer = writer
        self._fail = fail

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message; raises what the SDK takes for a closed connection."""
        import anyio

        if self._writer.is_closing():
            raise anyio.ClosedResourceError
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        self._writer.write(line.encode(errors="replace") + b"\n")
        if self._writer.transport.get_write_buffer_size() > MOST_UNREAD:
            self._fail("it does not read what it is sent")
            raise anyio.BrokenResourceError

    async def aclose(self) -> None:
        """Say that no more comes."""
        self._writer.close()

    async def __aenter__(self) -> _Writing:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def missing_variables(spec: ServerSpec) -> Hopeless | None:
    """The error of a definition that names variables which are not set; None when all are."""
    named = [*spec.env_from, *spec.headers_env.values()]
    missing = [name for name in named if not os.environ.get(name)]
    if not missing:
        return None
    return Hopeless(f"the environment variables {', '.join(map(safe_line, missing))} are not set")
