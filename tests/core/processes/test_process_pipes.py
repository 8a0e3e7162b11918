"""Owns the proof of what goes in and out of a child: input, stderr apart, living pipes; refuses mocks."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.processes.environment import child_environment
from agent_tui_core.processes.owned import PIPE, OwnedProcess
from agent_tui_core.processes.runner import ProcessOutput, run_process

MEGABYTES = b"0123456789abcdef" * 2**18


async def sh(script: str, cwd: Path, **more: object) -> ProcessOutput:
    return await run_process(["/bin/sh", "-c", script], cwd=cwd, timeout=20, **more)  # type: ignore[arg-type]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_input_arrives_whole_and_ends(tmp_path: Path) -> None:
    done = await sh("wc -c; cat; echo end", tmp_path, input=MEGABYTES)
    assert done.text.split() == [str(len(MEGABYTES)), "end"]
    assert (await sh("cat; echo end", tmp_path, input=b"")).text == "end\n"


async def test_input_that_nobody_reads_is_no_failure(tmp_path: Path) -> None:
    assert (await sh("exec <&-; echo fine; sleep 0.1", tmp_path, input=MEGABYTES)).text == "fine\n"
    assert (await sh("echo fine", tmp_path, input=MEGABYTES)).text == "fine\n"


async def test_who_reads_slowly_is_waited_for_and_the_loop_goes_on(tmp_path: Path) -> None:
    script = "dd bs=1 count=1 2>/dev/null; sleep 0.3; wc -c"
    began = time.monotonic()
    turns = 0
    task = asyncio.create_task(sh(script, tmp_path, input=MEGABYTES))
    while not task.done():
        await asyncio.sleep(0.01)
        turns += 1
    assert (await task).text == f"0{len(MEGABYTES) - 1}\n"
    assert turns > 15
    assert time.monotonic() - began < 10


async def test_errors_are_kept_apart_and_both_are_drained_and_bounded(tmp_path: Path) -> None:
    done = await sh("echo out; echo err >&2; exit 2", tmp_path, separate=True)
    assert (done.text, done.errors, done.exit_code) == ("out\n", "err\n", 2)
    done = await sh("seq 1 300000 >&2; seq 1 300000", tmp_path, separate=True, limit=1_000)
    assert done.text.endswith("300000\n")
    assert done.errors.endswith("300000\n")
    assert len(done.text) + len(done.errors) < 2_600


async def test_a_deadline_holds_while_input_is_refused(tmp_path: Path) -> None:
    done = await run_process(["/bin/sleep", "30"], cwd=tmp_path, timeout=0.2, input=MEGABYTES)
    assert done.timed_out


async def test_no_run_leaves_a_descriptor_open(tmp_path: Path) -> None:
    before = descriptors()
    for _ in range(3):
        await sh("exec <&-; sleep 0.05", tmp_path, input=MEGABYTES, separate=True)
        with pytest.raises(ToolError):
            await run_process(["/no/such"], cwd=tmp_path, timeout=1, input=b"x", separate=True)
        with pytest.raises(ToolError):
            await OwnedProcess.start(["/no/such"], cwd=tmp_path, environment={}, stdin=PIPE, stdout=PIPE)
    assert descriptors() == before


async def test_an_owned_process_is_talked_to_until_it_is_ended(tmp_path: Path) -> None:
    before = descriptors()
    script = "import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)"
    child = await OwnedProcess.start(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        environment=child_environment(os.environ),
        stdin=PIPE,
        stdout=PIPE,
    )
    assert child.stdin
    assert child.stdout
    async with asyncio.timeout(10):
        for word in (b"one\n", b"two\n"):
            child.stdin.write(word)
            await child.stdin.drain()
            assert await child.stdout.readline() == word.upper()
        child.stdin.close()
        assert await child.wait() == 0
        await child.end()
        await child.end()
    assert await child.stdout.read() == b""
    await asyncio.sleep(0)
    assert descriptors() == before


async def test_the_end_of_an_owned_process_is_that_of_its_group(tmp_path: Path) -> None:
    script = "trap '' TERM; sleep 60 & echo $!; wait; sleep 60"
    child = await OwnedProcess.start(
        ["/bin/sh", "-c", script], cwd=tmp_path, environment={}, stdin=PIPE, stdout=PIPE
    )
    assert child.stdin
    assert child.stdout
    grandchild = int(await child.stdout.readline())
    child.stdin.write(MEGABYTES)  # nobody reads it, and nobody waits for that
    began = time.monotonic()
    await child.end()
    assert time.monotonic() - began < 3.5
    assert not Path(f"/proc/{child.pid}").exists()
    assert not Path(f"/proc/{grandchild}").exists() or "Z" in Path(f"/proc/{grandchild}/stat").read_text()
