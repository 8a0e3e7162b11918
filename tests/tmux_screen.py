"""A real terminal, tmux, that tests draw into: what it shows, and how many cells it gives to a text.

Refuses to guess when it is done: the program in it answers after the terminal's own cursor report.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

TMUX = shutil.which("tmux")
needs_tmux = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")
_REPORT = re.compile(rb"\x1b\[(\d+);(\d+)R")
_AT_ONCE = 100
"""Texts whose reports are on their way together: more than fits a terminal's buffers would stop both."""


class TmuxScreen:
    """One pane of its own server."""

    def __init__(self, tmux: Sequence[str], connection: socket.socket) -> None:
        self._tmux = tmux
        self._connection = connection

    def show(self, drawn: str) -> list[str]:
        """Write this to the terminal; return the rows that it shows then."""
        self._ask(drawn)
        shown = subprocess.run(
            [*self._tmux, "capture-pane", "-p", "-N"], capture_output=True, check=True, encoding="utf-8"
        )
        return shown.stdout.split("\n")

    def cells(self, texts: Sequence[str]) -> list[int]:
        """How far each of these moves the cursor, written into an empty row."""
        widths: list[int] = []
        for at in range(0, len(texts), _AT_ONCE):
            part = texts[at : at + _AT_ONCE]
            widths += self._ask("".join(f"\x1b[5;1H\x1b[K{text}\x1b[6n" for text in part))[: len(part)]
        return widths

    def _ask(self, drawn: str) -> list[int]:
        _send(self._connection, drawn.encode())
        answer = _receive(self._connection)
        return [int(each) for each in answer.split()]


@contextmanager
def tmux_screen(folder: Path, columns: int, rows: int) -> Iterator[TmuxScreen]:
    """A terminal of this size; it and its server are gone afterwards."""
    assert TMUX is not None
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "screen"))
    listener.listen()
    listener.settimeout(30)
    tmux = [TMUX, "-S", str(folder / "tmux"), "-f", "/dev/null", "-u"]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
    environment.pop("TMUX", None)
    program = [sys.executable, __file__, str(folder / "screen")]
    options = ["new-session", "-d", "-x", str(columns), "-y", str(rows)]
    subprocess.run([*tmux, *options, *program, ";", "set", "status", "off"], env=environment, check=True)
    try:
        connection, _ = listener.accept()
        connection.settimeout(60)
        with connection:
            yield TmuxScreen(tmux, connection)
    finally:
        listener.close()
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)


def _send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(struct.pack("!I", len(data)) + data)


def _receive(connection: socket.socket) -> bytes:
    size = struct.unpack("!I", _exactly(connection, 4))[0]
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def _main(path: str) -> None:
    """In the terminal: write what comes, and answer with the columns of all cursor reports."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    before = termios.tcgetattr(0)
    tty.setraw(0)
    os.write(1, b"\x1b[?7l")
    try:
        while True:
            drawn = _receive(connection) + b"\x1b[6n"
            wanted, reports = drawn.count(b"\x1b[6n"), b""
            while drawn:
                drawn = drawn[os.write(1, drawn) :]
            while len(found := _REPORT.findall(reports)) < wanted:
                reports += os.read(0, 1 << 16)
            _send(connection, b" ".join(b"%d" % (int(column) - 1) for _, column in found))
    except EOFError:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


if __name__ == "__main__":
    _main(sys.argv[1])
