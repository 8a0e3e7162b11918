"""Owns who still lives of what the rows of a table started; refuses to start anything."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Collection
from pathlib import Path


def living_in(folder: Path) -> set[int]:
    """The processes that work in this folder, also those whose parent is gone."""
    found = set[int]()
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if Path(os.readlink(link)).is_relative_to(folder.resolve()):
                found.add(int(link.parent.name))
    return found


async def nobody_lives_in(folder: Path) -> None:
    """Wait until that is so; raises TimeoutError when it is not soon."""
    async with asyncio.timeout(5):
        while living_in(folder):
            await asyncio.sleep(0.02)


def kill(pids: Collection[int]) -> None:
    """End what a mutation let live."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
