"""Owns what tests of sandboxed commands share: whether bubblewrap works here, an agent's Bash, who lives."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from agent_tui_core.processes.background import Background
from agent_tui_core.processes.sandbox import Sandbox, SandboxRules
from agent_tui_core.tools.base import ToolContext, ToolOutput
from agent_tui_core.tools.shell import BASH


@cache
def why_no_sandbox() -> str:
    """Why bubblewrap cannot be used here; empty when it can."""
    sandbox = Sandbox(SandboxRules())
    sandbox.works()
    return sandbox.trouble


needs_sandbox = pytest.mark.skipif(bool(why_no_sandbox()), reason=f"no sandbox here: {why_no_sandbox()}")


class Shell:
    """One agent's Bash, with or without a sandbox."""

    def __init__(
        self,
        workspace: Path,
        *,
        boxed: bool = True,
        network: bool | None = None,
        confined: bool = False,
        rules: SandboxRules | None = None,
    ) -> None:
        self.workspace = workspace
        self.background = Background()
        self.said = ""
        self._news = asyncio.Event()
        sandbox = Sandbox(rules or SandboxRules("auto" if boxed else "off"))
        self.sandbox = sandbox.of(workspace, network=network, confined=lambda: confined)
        self.context = ToolContext(
            workspace,
            "id-ann",
            report=self._hear,
            sandbox=self.sandbox,
            background=self.background.of("id-ann", "ann"),
        )

    async def __call__(self, command: str, **more: int) -> ToolOutput:
        return await BASH.execute({"command": command, **more}, self.context)

    async def output(self, command: str) -> str:
        """What a command that ends well writes."""
        done = await self(command)
        assert not done.is_error, done.content
        return done.content

    async def close(self) -> None:
        await self.background.end_all()
        self.sandbox.forget()

    async def says(self, *words: str) -> None:
        """Wait until the running command said these."""
        async with asyncio.timeout(20):
            while not all(word in self.said for word in words):
                await self._news.wait()
                self._news.clear()

    def _hear(self, piece: str) -> None:
        self.said += piece
        self._news.set()


@contextmanager
def folder_at_home() -> Iterator[Path]:
    """A folder that is not below /tmp, which a sandbox replaces as a whole."""
    folder = Path(tempfile.mkdtemp(prefix=".agent-tui-test-", dir=Path.home()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def git(folder: Path, *words: str) -> str:
    line = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
    return subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True).stdout


def new_mark() -> str:
    """Ten digits, so that it can stand in the time that `sleep` is given."""
    return str(secrets.randbelow(10**10) + 10**10)[1:]


def marked(mark: str) -> list[int]:
    """The living processes that have this in their command line, wherever they are."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in words and state not in "ZX":
            found.append(int(entry.name))
    return found


async def until(true: Callable[[], object], seconds: float = 10) -> None:
    """Wait for something that no event tells."""
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.01)
