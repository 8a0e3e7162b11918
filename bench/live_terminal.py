"""Owns the terminal of the soaked program, its two lines to us, and what it said so far; refuses to judge."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import termios
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from live_figures import Sample

ROWS, COLUMNS = 60, 200
SETTLING: Final = 150.0
"""Seconds after a rest in which conversations grow up again; of short runs at most a half."""


@dataclass
class Seen:
    """What the program said so far."""

    samples: list[Sample] = field(default_factory=list)
    rests: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    did: dict[str, int] = field(default_factory=dict)
    resting: bool = False

    def take(self, line: bytes) -> None:
        """Note one line."""
        fact = json.loads(line)
        kind = fact.pop("kind")
        self.did = fact.get("did", self.did)
        match kind:
            case "sample":
                self.samples.append(Sample(**fact["sample"]))
                self.resting = False
            case "resting":
                self.resting = True
            case "rest":
                self.rests.append(fact)
            case _:
                self.facts[kind] = fact

    def at_rests(self) -> list[Sample]:
        """What was counted at each rest."""
        return [Sample(**rest["sample"]) for rest in self.rests]

    def measured(self) -> list[Sample]:
        """The samples at work that count: after the first rest, and each time once the agents are back."""
        rests = [rest.at for rest in self.at_rests()]
        if not rests or not self.samples:
            return []
        settling = min(SETTLING, (self.samples[-1].at - rests[0]) / 2)
        return [
            each
            for each in self.samples
            if each.at > rests[0] and not any(at < each.at < at + settling for at in rests)
        ]


class Program:
    """The soaked program, its terminal, and its two lines to us."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path) -> None:
        said, say = os.pipe()
        hear, self._tell = os.pipe()
        self.exit_code: int | None = None
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                for descriptor in (say, hear):
                    os.set_inheritable(descriptor, True)
                os.chdir(folder)
                told = environment | {"SOAK_SAY": str(say), "SOAK_HEAR": str(hear)}
                os.execve(command[0], command, told)
            finally:
                os._exit(127)
        os.close(say)
        os.close(hear)
        self.said = said
        self.tail = b""
        """The last that it wrote to its terminal."""
        self._line = b""
        self.resize(ROWS, COLUMNS)

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of its terminal."""
        with suppress(OSError):
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str) -> None:
        """Write to its terminal."""
        with suppress(OSError):
            os.write(self.master, keys.encode())

    def stop(self) -> None:
        """Ask for an early end."""
        with suppress(OSError):
            os.write(self._tell, b"enough\n")

    def read(self, seconds: float, seen: Seen) -> bool:
        """Read what comes in this time; False when it has ended."""
        open_ones = [self.master, self.said] if self.exit_code is None else [self.said]
        for descriptor in select.select(open_ones, [], [], seconds)[0]:
            try:
                data = os.read(descriptor, 1 << 16)
            except OSError:
                data = b""
            if descriptor == self.master:
                self.tail = (self.tail + data)[-4000:]
                if not data:
                    self.exit_code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            elif not data:
                return self.exit_code is None
            else:
                *lines, self._line = (self._line + data).split(b"\n")
                for line in lines:
                    seen.take(line)
        return True

    def close(self) -> None:
        """End it if it has not ended."""
        if self.exit_code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, 9)
            self.exit_code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        for descriptor in (self.master, self.said, self._tell):
            os.close(descriptor)
