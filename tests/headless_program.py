"""The real `agent-tui run` in a process of its own, with pipes; refuses to wait without a bound."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 30.0
KEY = "sk-a-key-that-nobody-may-see"


def environment(folder: Path, base_url: str = "") -> dict[str, str]:
    """What the program inherits: places of its own, and a key that must not show."""
    given = {
        "PYTHONPATH": f"{ROOT / 'core'}:{ROOT / 'tui'}",
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        "AGENT_TUI_CONFIG_DIR": str(folder / "config"),
        "AGENT_TUI_DATA_DIR": str(folder / "data"),
    }
    if base_url:
        given |= {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": KEY, "AGENT_TUI_MODEL": "m"}
    return given


@dataclass(slots=True)
class Program:
    """One running program."""

    process: asyncio.subprocess.Process
    lines: list[dict[str, Any]] = field(default_factory=list)
    """What `until` read in --json mode."""

    def send(self, **order: object) -> None:
        self.send_raw(json.dumps(order).encode() + b"\n")

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def end_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def until(self, claim: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Read lines of JSON until one fits; return it."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := await self.process.stdout.readline():
                self.lines.append(json.loads(line))
                if claim(self.lines[-1]):
                    return self.lines[-1]
        raise AssertionError(f"the output ended: {[each['type'] for each in self.lines]}")

    async def until_type(self, kind: str) -> dict[str, Any]:
        return await self.until(lambda line: line["type"] == kind)

    async def read(self, count: int) -> bytes:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            return await self.process.stdout.readexactly(count)

    async def end(self) -> Ended:
        """Close the input, and read to the end."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        async with asyncio.timeout(PATIENCE):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return Ended(self.process.returncode, out.decode(), err.decode(), self.lines)


@dataclass(frozen=True, slots=True)
class Ended:
    """What a program left."""

    code: int
    out: str
    err: str
    before: list[dict[str, Any]]

    @property
    def lines(self) -> list[dict[str, Any]]:
        return self.before + [json.loads(line) for line in self.out.splitlines()]

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["type"] == kind]


@asynccontextmanager
async def started(
    folder: Path, *args: str, base_url: str = "", stdin: int | None = None, deaf: bool = False
) -> AsyncIterator[Program]:
    """Start `agent-tui ARGS` in `folder/workspace`; it does not outlive the block.

    `deaf`: its output goes into a pipe that nobody reads.
    """
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    read_end, write_end = os.pipe() if deaf else (-1, asyncio.subprocess.PIPE)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-W", "error", "-X", "dev", "-m", "agent_tui", *args),
        stdin=asyncio.subprocess.DEVNULL if stdin is None else stdin,
        stdout=write_end,
        stderr=asyncio.subprocess.PIPE,
        cwd=workspace,
        env=environment(folder, base_url),
        limit=2**24,
    )
    try:
        yield Program(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
        if deaf:
            os.close(read_end)
            os.close(write_end)


async def ran(folder: Path, *args: str, base_url: str = "", given: bytes | None = None) -> Ended:
    """Run it to its end, with this on standard input."""
    pipe = None if given is None else asyncio.subprocess.PIPE
    async with started(folder, *args, base_url=base_url, stdin=pipe) as program:
        if given is not None:
            program.send_raw(given)
        return await program.end()
