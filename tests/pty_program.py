"""A program in a pseudo-terminal of any size, read in the event loop: every byte that it writes is kept.

Refuses to interpret them, and to sleep: what must come is waited for.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import signal
import struct
import termios
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from development import DEVELOPMENT

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 60.0
_AT_ONCE = 1 << 20
_PRESSES, _MOMENT, _REST = 60, 3.0, 0.06
_SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]")
"""Only to wait for words: what the bytes are is told by `terminal_bytes`, slower than a dashboard writes."""


def terminal_environment(folder: Path, **more: str) -> dict[str, str]:
    """What a program in a terminal inherits when all that it keeps is in this folder; `more` counts more."""
    return {
        "PYTHONPATH": f"{ROOT / 'core'}:{ROOT / 'tui'}",
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "AGENT_TUI_CONFIG_DIR": str(folder / "config"),
        "AGENT_TUI_DATA_DIR": str(folder / "data"),
        **DEVELOPMENT,
        **more,
    }


class PtyProgram:
    """A program and the terminal that it believes to have."""

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str], cwd: Path, rows: int, columns: int
    ) -> None:
        self.output = bytearray()
        self.rows, self.columns = rows, columns
        self.exit_code: int | None = None
        self._came = asyncio.Event()
        self._text = ""
        self._taken = 0
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                os.chdir(cwd)
                os.execve(argv[0], list(argv), dict(environment))
            finally:
                os._exit(127)
        os.set_blocking(self._terminal, False)
        asyncio.get_running_loop().add_reader(self._terminal, self._read)

    def _read(self) -> None:
        came = b""
        try:
            while len(came) < _AT_ONCE and (piece := os.read(self._terminal, 1 << 16)):
                came += piece
        except BlockingIOError:
            pass
        except OSError:
            asyncio.get_running_loop().remove_reader(self._terminal)
            self.exit_code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.output += came
        # What stands behind the last escape may still be cut in two.
        whole = self.output.rfind(b"\x1b", self._taken)
        if whole > self._taken:
            plain = _SEQUENCE.sub(b"", self.output[self._taken : whole])
            self._text += plain.decode("utf-8", "replace")
            self._taken = whole
        self._came.set()

    def since(self, mark: int) -> str:
        """The text that was written since this mark, as far as it is whole."""
        return self._text[mark:]

    async def until(self, *words: str, since: int = 0, patience: float = PATIENCE) -> int:
        """Wait until all of this was written after the mark `since`; return a mark for what follows."""
        sought = dict.fromkeys(words, since)
        try:
            async with asyncio.timeout(patience):
                while sought := self._still(sought):
                    assert self.exit_code is None, (list(sought), bytes(self.output[-3000:]))
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            raise AssertionError(f"never came: {list(sought)} in {self.since(since)[-3000:]!r}") from None
        return len(self._text)

    def _still(self, sought: Mapping[str, int]) -> dict[str, int]:
        """What was not written yet, and from where on to look for it next time."""
        read = len(self._text)
        return {
            word: max(start, read - len(word))
            for word, start in sought.items()
            if self._text.find(word, start) < 0
        }

    async def draws(self, mark: int) -> int:
        """Wait until anything at all is written after the mark; return a mark for what follows."""
        async with asyncio.timeout(PATIENCE):
            while len(self._text) <= mark and self.exit_code is None:
                self._came.clear()
                await self._came.wait()
        return len(self._text)

    async def press_until(self, keys: str, word: str, since: int, *, back: str) -> None:
        """Press the same keys until the word was written; each press is drawn before the next one.

        On a busy machine two presses can become one frame, in which the word is not: once more from `back`.
        """
        for rest in (_REST, 10 * _REST):
            for _ in range(_PRESSES):
                drawn = len(self.output)
                await self.press(keys)
                await self._rests(drawn, rest)
                if word in self.since(since):
                    return
                if len(self.output) == drawn:
                    break
            await self.press(back)
        raise AssertionError(f"never came: {word!r} in {self.since(since)[-3000:]!r}")

    async def _rests(self, drawn: int, rest: float) -> None:
        """Wait until more than this was written, and then nothing more for a while; or for a moment only."""
        with suppress(TimeoutError):
            while self.exit_code is None:
                before = len(self.output)
                async with asyncio.timeout(rest if before > drawn else _MOMENT):
                    self._came.clear()
                    await self._came.wait()

    async def press(self, keys: str) -> int:
        """Send keys; return a mark for what follows."""
        mark, sent = len(self._text), keys.encode()
        while sent:
            with suppress(BlockingIOError):
                sent = sent[os.write(self._terminal, sent) :]
            await asyncio.sleep(0)
        return mark

    async def end(self) -> int:
        """Wait until it has ended; return its exit code."""
        try:
            async with asyncio.timeout(PATIENCE):
                while self.exit_code is None:
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            raise AssertionError(f"it goes on: {bytes(self.output[-500:])!r}") from None
        return self.exit_code

    def close(self) -> None:
        """Nothing stays behind."""
        if self.exit_code is None:
            asyncio.get_running_loop().remove_reader(self._terminal)
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._terminal)


@asynccontextmanager
async def pty_program(
    argv: Sequence[str], environment: Mapping[str, str], cwd: Path, *, rows: int = 36, columns: int = 120
) -> AsyncIterator[PtyProgram]:
    """Start it; kill it at the end if it is still there."""
    program = PtyProgram(argv, environment, cwd, rows, columns)
    try:
        yield program
    finally:
        program.close()
