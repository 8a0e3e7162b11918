"""A terminal that outlives the program in it, so that a test can see in what state it was left.

Refuses to draw: it keeps the modes that were switched on, and the bytes.
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
from contextlib import asynccontextmanager
from pathlib import Path

PATIENCE = 50.0
SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]")
_MODE = re.compile(rb"\x1b\[\?([0-9;]+)([hl])|\x1b\[([<>])[0-9]*u")
_KITTY = -1
_UNTOUCHED = {7: True, 25: True}
"""Modes that are on from the start: lines wrap, and there is a cursor."""


class HeldTerminal:
    """Both ends of a pseudo-terminal, and a program that has it as its own."""

    def __init__(self, rows: int, columns: int) -> None:
        self.output = bytearray()
        self._ours, self._theirs = pty.openpty()
        self.before = termios.tcgetattr(self._theirs)
        self._came = asyncio.Event()
        self.resize(rows, columns, tell=False)
        os.set_blocking(self._ours, False)
        asyncio.get_running_loop().add_reader(self._ours, self._read)

    async def start(self, argv: Sequence[str], environment: Mapping[str, str], cwd: Path) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *argv,
            env=dict(environment),
            cwd=cwd,
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def resize(self, rows: int, columns: int, *, tell: bool = True) -> None:
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if tell:
            self.signal(signal.SIGWINCH)

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    @property
    def attributes(self) -> list[object]:
        return termios.tcgetattr(self._theirs)

    @attributes.setter
    def attributes(self, wanted: list[object]) -> None:
        termios.tcsetattr(self._theirs, termios.TCSANOW, wanted)  # type: ignore[arg-type]

    @property
    def is_raw(self) -> bool:
        flags = self.attributes[3]
        assert isinstance(flags, int)
        return not flags & (termios.ECHO | termios.ICANON | termios.ISIG)

    @property
    def changed(self) -> dict[int, object]:
        """Modes that are not as they were at the start; under -1 how many keyboard modes are stacked."""
        modes: dict[int, object] = dict(_UNTOUCHED)
        stacked = 0
        for found in _MODE.finditer(bytes(self.output)):
            if found[3] is not None:
                stacked = max(0, stacked + (1 if found[3] == b">" else -1))
            else:
                modes |= {int(number): found[2] == b"h" for number in found[1].split(b";")}
        changed = {number: on for number, on in modes.items() if on is not _UNTOUCHED.get(number, False)}
        return changed | ({_KITTY: stacked} if stacked else {})

    def text(self, since: int = 0) -> str:
        return SEQUENCE.sub(b"", bytes(self.output[since:])).decode("utf-8", "replace")

    async def until(self, *words: str, since: int = 0) -> int:
        """Wait until all of these are on the terminal; return a mark for what follows."""
        await self._until(lambda: all(word in self.text(since) for word in words), words)
        return len(self.output)

    async def until_raw(self) -> None:
        while not self.is_raw:  # nothing tells that the attributes changed
            await asyncio.sleep(0.01)

    async def until_stopped(self) -> None:
        stat = Path(f"/proc/{self.process.pid}/stat")
        while stat.read_text().rpartition(")")[2].split()[0] != "T":
            await asyncio.sleep(0.01)

    async def end(self) -> int:
        """Wait until the program is gone; return its exit code."""
        async with asyncio.timeout(PATIENCE):
            code = await self.process.wait()
        await asyncio.sleep(0)  # what it wrote last is read
        self._read()
        return code

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._ours)
        os.close(self._ours)
        os.close(self._theirs)

    async def _until(self, claim: object, words: object) -> None:
        assert callable(claim)
        try:
            async with asyncio.timeout(PATIENCE):
                while not claim():
                    assert self.process.returncode is None, self.text()[-2000:]
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            raise AssertionError(f"never came: {words} in {self.text()[-2000:]!r}") from None

    def _read(self) -> None:
        try:
            while piece := os.read(self._ours, 1 << 16):
                self.output += piece
        except (BlockingIOError, OSError):
            pass
        self._came.set()


@asynccontextmanager
async def held_terminal(
    argv: Sequence[str], environment: Mapping[str, str], cwd: Path, *, rows: int = 24, columns: int = 80
) -> AsyncIterator[HeldTerminal]:
    """Start the program in it; kill it at the end if it is still there."""
    terminal = HeldTerminal(rows, columns)
    await terminal.start(argv, environment, cwd)
    try:
        yield terminal
    finally:
        if terminal.process.returncode is None:
            terminal.process.kill()
            await terminal.process.wait()
        terminal.close()
