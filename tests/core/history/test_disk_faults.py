"""The disk fails at the k-th write, for every k: what was acknowledged is there, and nothing else.

strace makes the calls fail that go to the history's own files, in a real process with a real SQLite file.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agent_tui_core.events import MessageCommitted
from agent_tui_core.history.store import History
from disk_child import TURNS

TESTS = Path(__file__).resolve().parents[2]
WRITES = "pwrite64,write,fsync,fdatasync,ftruncate"
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


async def recorded(path: Path, fault: str) -> tuple[list[int], bool]:
    """Run the child with this fault; return the turns it was told are kept, and whether it could open."""
    named = [f"-P{path}{suffix}" for suffix in ("", "-wal", "-shm", "-journal")]
    log = path.with_name("strace")
    command = ["strace", "-f", "-qq", "-o", str(log), *named, f"-einject={WRITES}:{fault}"]
    child = await asyncio.create_subprocess_exec(
        *command,
        sys.executable,
        str(TESTS / "disk_child.py"),
        str(path),
        env={**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent / 'core'}"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(40):
        output, errors = await child.communicate()
    assert child.returncode == 0, errors.decode()
    lines = output.decode().split("\n")
    return [int(line[5:]) for line in lines if line.startswith("kept ")], "unopened" not in lines


async def held(path: Path) -> list[int]:
    """The turns that history has, as the next start of the program finds them."""
    history = await History.open(path)
    try:
        if not await history.sessions():
            return []
        stored = await history.load()
        bodies = [body for one in stored.conversations for _, _, body in one.bodies]
    finally:
        await history.close()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    said = [body.message.text for body in bodies if isinstance(body, MessageCommitted)]
    return sorted({int(words.split()[1]) for words in said if words.startswith("turn ")})


@needs_strace
@pytest.mark.parametrize(
    "step",
    [
        pytest.param(41, id="some"),
        pytest.param(1, id="all", marks=[pytest.mark.soak, pytest.mark.timeout(900)]),
    ],
)
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
async def test_whatever_write_fails_history_keeps_what_it_acknowledged(
    tmp_path: Path, error: str, lasting: bool, step: int
) -> None:
    failures = []
    kth, failed, outcomes = 1, True, set()
    while failed and kth < 1_000:
        folder = tmp_path / f"{kth}"
        folder.mkdir()
        path = folder / "history.db"
        kept, opened = await recorded(path, f"error={error}:when={kth}{'+' if lasting else ''}")
        failed = "INJECTED" in (folder / "strace").read_text()
        outcomes.add((opened, len(kept)))
        if (found := await held(path)) != kept:
            failures.append(f"write {kth}: {kept} were acknowledged, {found} are there")
        kth += step
    assert not failures, "\n".join(failures)
    assert not failed, "the loop ended before the writes did"
    assert (True, TURNS) in outcomes
    assert len(outcomes) > 1, "no fault ever cost a turn"
