"""Owns the terminal of the measurements and the person at it, who presses letters and looks when they appear.

Refuses to know what runs there: the program says when to type, on a pipe whose number `BENCH_SAY` holds.
"""

from __future__ import annotations

import fcntl
import os
import pty
import random
import select
import struct
import subprocess
import termios
import time

PATIENCE = 60.0
LETTERS = "αβγδεζηθικλμνξοπρστυφχψω"
"""Keys that nothing else on the screen shows."""


def watch(command: list[str], environment: dict[str, str], folder: str, size: str) -> tuple[list[float], int]:
    """Be the terminal and its person: type while the window is open; return latencies and bytes read."""
    master, slave = pty.openpty()
    columns, rows = map(int, size.split("x"))
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    said, say = os.pipe()
    process = subprocess.Popen(
        [*command], stdin=slave, stdout=slave, stderr=slave, env=environment | {"BENCH_SAY": str(say)},
        cwd=folder, pass_fds=(say,),
    )  # fmt: skip
    os.close(slave)
    os.close(say)
    try:
        return Typist(master, said).type_until_the_end()
    finally:
        os.close(master)
        os.close(said)
        if process.poll() is None:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Typist:
    """Presses a letter, waits until the terminal shows it, takes it back, rests."""

    def __init__(self, master: int, said: int) -> None:
        self.master, self.said = master, said
        self.latencies: list[float] = []
        self.read_bytes = 0
        self._tail = b""
        self._counts = False
        self._ended = False

    def type_until_the_end(self) -> tuple[list[float], int]:
        """Type while the dashboard says that the window is open."""
        dice, number, give_up = random.Random(1), 0, time.monotonic() + 3 * PATIENCE
        while not self._ended and time.monotonic() < give_up:
            self._read(0.05 + dice.random() * 0.1)
            if not self._counts:
                continue
            letter = LETTERS[number % len(LETTERS)].encode()
            number += 1
            self._tail = b""
            pressed = time.perf_counter()
            os.write(self.master, letter)
            if self._read(5.0, letter):
                self.latencies.append(time.perf_counter() - pressed)
            os.write(self.master, b"\x7f")
        return self.latencies, self.read_bytes

    def _read(self, seconds: float, letter: bytes = b"") -> bool:
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0 and not self._ended:
            ready = select.select([self.master, self.said], [], [], left)[0]
            if self.said in ready:
                word = os.read(self.said, 64)
                self._counts = word.endswith(b"begin\n")
                self._ended = not word
            if self.master in ready:
                try:
                    data = os.read(self.master, 1 << 16)
                except OSError:
                    self._ended = True
                    return False
                self.read_bytes += len(data) if self._counts else 0
                if letter and letter in self._tail + data:
                    return True
                self._tail = data[-4:]
        return False
