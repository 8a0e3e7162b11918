"""The whole program in a pseudo-terminal: it starts, ends in order and leaves the terminal as it was."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shlex
import signal
import sqlite3
import stat
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from pty_program import terminal_environment

PATIENCE = 20.0
SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]")
LEFT_ALTERNATE_SCREEN = b"\x1b[?1049l"
IN_THE_FOOTER = b"quit"
AT_WORK = b"streaming"


class Terminal:
    """A pseudo-terminal of 120x36 with the program in it."""

    def __init__(self, places: Path, *args: str, in_shell: bool = False) -> None:
        self.output = b""
        environment = terminal_environment(places)
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
            program = [sys.executable, "-m", "agent_tui", *args]
            if in_shell:
                program = ["/bin/sh", "-c", f"{shlex.join(program)}; sleep 60"]
            os.execve(program[0], program, environment)
        self._code: int | None = None

    def until(self, says: bytes) -> None:
        """Read until the text is on the screen."""
        deadline = time.monotonic() + PATIENCE
        while says not in SEQUENCE.sub(b"", self.output):
            assert time.monotonic() < deadline, self.output[-2000:]
            assert self._read(), self.output[-2000:]

    def end(self) -> int:
        """Read on until the program has ended; return its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self._read():
            assert time.monotonic() < deadline, self.output[-2000:]
        return self.wait()

    def wait(self) -> int:
        """The exit code."""
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code

    def hang_up(self) -> None:
        """The window is closed."""
        os.close(self._terminal)
        self._terminal = -1

    def close(self) -> None:
        """Nothing stays behind, however the test went."""
        if self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.wait()
        if self._terminal >= 0:
            os.close(self._terminal)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], PATIENCE)
        try:
            piece = os.read(self._terminal, 65536) if ready else b""
        except OSError:
            return False
        self.output += piece
        return bool(piece)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, "--demo")
    yield terminal
    terminal.close()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_the_program_in_order(
    demo: Terminal, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    demo.until(IN_THE_FOOTER)
    os.kill(demo.pid, number)
    assert demo.end() == code
    assert LEFT_ALTERNATE_SCREEN in demo.output
    assert b"Traceback" not in demo.output
    with closing(sqlite3.connect(tmp_path / "data" / "history.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_session_in_which_something_was_said_tells_how_to_come_back(demo: Terminal) -> None:
    demo.until(AT_WORK)
    os.kill(demo.pid, signal.SIGTERM)
    demo.end()
    after = demo.output.rpartition(LEFT_ALTERNATE_SCREEN)[2]
    assert re.search(rb"agent-tui --resume [0-9a-f]{8}\r\n", after)


def test_a_closed_window_ends_the_program(demo: Terminal) -> None:
    demo.until(IN_THE_FOOTER)
    demo.hang_up()
    assert demo.wait() == 129


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for the program in /proc")
def test_a_closed_window_ends_the_program_that_a_shell_ran_in_it(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    terminal = Terminal(tmp_path, "--demo", "--data-dir", data, in_shell=True)
    try:
        terminal.until(AT_WORK)
        assert _running(data)
        terminal.hang_up()
        deadline = time.monotonic() + PATIENCE
        while left := _running(data):
            assert time.monotonic() < deadline, left
            time.sleep(0.02)
    finally:
        terminal.close()


def _running(argument: str) -> list[int]:
    """The programs with this argument that run now."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            arguments = (place / "cmdline").read_bytes().split(b"\0")
            if argument.encode() in arguments:
                found.append(int(place.name))
    return found


def test_what_it_writes_is_private_and_the_log_has_no_error(demo: Terminal, tmp_path: Path) -> None:
    demo.until(IN_THE_FOOTER)
    os.kill(demo.pid, signal.SIGTERM)
    demo.end()
    written = list((tmp_path / "data").iterdir())
    assert {"agent-tui.log", "history.db"} <= {file.name for file in written}
    assert [file for file in written if stat.S_IMODE(file.stat().st_mode) & 0o077] == []
    log = (tmp_path / "data" / "agent-tui.log").read_text()
    assert "ERROR" not in log
    assert "Traceback" not in log


def test_an_unknown_session_is_one_message(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "--resume", "abcdef12")
    try:
        assert terminal.end() == 1
        assert terminal.output.startswith(b"agent-tui: ")
        assert b"Traceback" not in terminal.output
    finally:
        terminal.close()


def test_the_id_that_was_told_brings_the_session_back(demo: Terminal, tmp_path: Path) -> None:
    demo.until(AT_WORK)
    os.kill(demo.pid, signal.SIGTERM)
    demo.end()
    told = re.search(rb"--resume ([0-9a-f]{8})", demo.output)
    assert told
    again = Terminal(tmp_path, "--resume", told[1].decode())
    try:
        again.until(IN_THE_FOOTER)
        os.kill(again.pid, signal.SIGTERM)
        assert again.end() == 143
        assert told[0] in again.output.rpartition(LEFT_ALTERNATE_SCREEN)[2]
    finally:
        again.close()
