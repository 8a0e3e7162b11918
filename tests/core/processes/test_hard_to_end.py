"""Owns the proof that an interrupt leaves nothing: grandchildren, daemons, floods, bombs; refuses mocks.

Each command is hard to end in its own way. Where there is no sandbox, what needs one is skipped with words.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from boxes import Shell, marked, needs_sandbox, new_mark, until

GROUP = {
    "a grandchild": "(sleep 1{mark} & sleep 2{mark} & wait) & echo ready; wait",
    "nohup": "nohup sleep 1{mark} >/dev/null 2>&1 & echo ready; sleep 2{mark}",
    "one that ignores TERM": "trap '' TERM; echo ready; sleep 1{mark}; sleep 2{mark}; sleep 3{mark}",
    "a pipe holder": "echo ready; sleep 1{mark} & exec >&-; sleep 2{mark} & wait",
    "a pipeline": "yes {mark} | cat | tee /dev/null | grep -q nothing & echo ready; wait",
    "a flood": "yes ready{mark}",
    "a small bomb": (
        "bomb() {{ local n=$1; if [ $n -gt 0 ]; then bomb $((n-1)) & bomb $((n-1)) & fi; "
        "exec -a bomb{mark} sleep 1{mark}; }}; echo ready; bomb 5"
    ),
}
LEAVERS = {
    "setsid": "setsid sleep 1{mark} & echo ready; sleep 2{mark}",
    "setsid and nohup": "nohup setsid sleep 1{mark} >/dev/null 2>&1 </dev/null & echo ready; sleep 2{mark}",
    "a double fork": "python3 -c '{daemon}' 1{mark}; echo ready; sleep 2{mark}",
    "a daemon that ignores all": "python3 -c '{stubborn}' 1{mark}; echo ready; sleep 2{mark}",
    "one that kills who watches it": "setsid sleep 1{mark} & echo ready; kill -STOP 2; sleep 2{mark}",
}
_DAEMON = """
import os, signal, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
{more}
while True: time.sleep(5)
"""
_STUBBORN = "for n in range(1, 32): n in (9, 19) or signal.signal(n, signal.SIG_IGN)"


def script(template: str, mark: str) -> str:
    daemon = _DAEMON.format(more="")
    return template.format(mark=mark, daemon=daemon, stubborn=_DAEMON.format(more=_STUBBORN))


@asynccontextmanager
async def shell_in(workspace: Path, *, boxed: bool) -> AsyncIterator[Shell]:
    shell = Shell(workspace, boxed=boxed)
    try:
        yield shell
    finally:
        await shell.close()


async def interrupted(shell: Shell, command: str, mark: str) -> float:
    """Run it, interrupt it once it is under way, and return how long that took."""
    task = asyncio.create_task(shell(command))
    await shell.says("ready")
    await until(lambda: marked(mark))
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return time.monotonic() - began


@needs_sandbox
@pytest.mark.parametrize("kind", [*GROUP, *LEAVERS])
async def test_an_interrupt_leaves_nothing_of_a_sandboxed_command(kind: str, tmp_path: Path) -> None:
    mark = new_mark()
    async with shell_in(tmp_path, boxed=True) as shell:
        assert await interrupted(shell, script((GROUP | LEAVERS)[kind], mark), mark) < 2.5
        assert marked(mark) == []
        assert shell.background.running == ()


@pytest.mark.parametrize("kind", GROUP)
async def test_an_interrupt_leaves_nothing_of_a_group_without_a_sandbox(kind: str, tmp_path: Path) -> None:
    mark = new_mark()
    async with shell_in(tmp_path, boxed=False) as shell:
        assert await interrupted(shell, script(GROUP[kind], mark), mark) < 2.5
        assert marked(mark) == []


@needs_sandbox
async def test_the_deadline_ends_daemons_too(tmp_path: Path) -> None:
    mark = new_mark()
    async with shell_in(tmp_path, boxed=True) as shell:
        done = await shell(script(LEAVERS["a daemon that ignores all"], mark), timeout=700)
        assert done.content.startswith("timed out after 700 ms")
        assert marked(mark) == []


@needs_sandbox
async def test_a_command_has_two_seconds_to_say_goodbye_in_the_sandbox_too(tmp_path: Path) -> None:
    async with shell_in(tmp_path, boxed=True) as shell:
        done = await shell(
            "trap 'sleep 0.2; echo bye; exit 3' TERM; while :; do sleep 0.02; done", timeout=500
        )
        assert done.content.endswith("bye")


@pytest.mark.parametrize("boxed", [pytest.param(True, marks=needs_sandbox), False])
async def test_a_flood_of_gigabytes_neither_fills_the_memory_nor_holds_up_the_loop(
    boxed: bool, tmp_path: Path
) -> None:
    async with shell_in(tmp_path, boxed=boxed) as shell:
        await shell("true")
        lags: list[float] = []

        async def tick() -> None:
            while True:
                before = time.perf_counter()
                await asyncio.sleep(0.005)
                lags.append(time.perf_counter() - before - 0.005)

        before = resident()
        ticker = asyncio.create_task(tick())
        task = asyncio.create_task(shell("yes 0123456789abcdef & cat /dev/zero & cat /dev/zero & wait"))
        await until(lambda: len(lags) > 300, seconds=30)
        began = time.monotonic()
        task.cancel()
        await asyncio.wait([task])
        took = time.monotonic() - began
        ticker.cancel()
        await asyncio.wait([ticker])
    assert took < 2.5
    assert resident() - before < 30 * 2**20
    assert sorted(lags)[int(len(lags) * 0.99)] < 0.1, max(lags)


def resident() -> int:
    """Bytes of memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
