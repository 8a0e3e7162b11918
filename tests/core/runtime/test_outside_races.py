from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from agent_tui_core.config.equipment import ExternalToolSettings
from agent_tui_core.messages import new_id
from agent_tui_core.runtime import hand_over
from agent_tui_core.runtime.delivery import Delivery, Failure, Outcome, Result
from agent_tui_core.runtime.forms import Forms
from agent_tui_core.runtime.outside import Outside
from agent_tui_core.tools.base import Tool, ToolContext

WAITS = 1_000
SHORT = 1.0
"""Seconds of every fourth wait: its end falls among the answers."""


def outside_of(folder: Path) -> tuple[Outside, Forms]:
    (folder / "data").mkdir(mode=0o700)
    forms = Forms()
    return Outside(folder / "data", forms), forms


def tool_of(outside: Outside, folder: Path, *command: str, timeout: float) -> Tool:
    said = ExternalToolSettings(type="external", description="Ask.", command=command, timeout=timeout)
    outside.add({"ask": said}, folder)
    [tool] = outside.tools(folder)
    return tool


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def all_wait(forms: Forms, count: int) -> None:
    async with asyncio.timeout(30):
        while len(forms.pending) < count:
            await asyncio.sleep(0)


class Race:
    """Threads that all try to end every call, and what each of them was told."""

    def __init__(self, outside: Outside, data: Path, keys: list[str]) -> None:
        self.gate = threading.Event()
        self.accepted: dict[str, list[str]] = {key: [] for key in keys}
        self._outside = outside
        self._data = data
        self._keys = keys

    def run(self, seed: int) -> None:
        mixed = random.Random(seed).sample(self._keys, len(self._keys))
        self.gate.wait()
        for key in mixed:
            self._try(key, seed)

    def over_the_socket(self, seed: int) -> None:
        chosen = random.Random(seed).sample(self._keys, 60)
        self.gate.wait()
        for key in chosen:
            words = f"socket {seed} {key}"
            outcome: Outcome = Result(words) if seed % 2 else Failure(words)
            if hand_over.hand_over(Delivery(key, outcome), self._data, {}).became == "delivered":
                self.accepted[key].append(words)

    def _try(self, key: str, seed: int) -> None:
        words, calls = f"{seed} {key}", self._outside.calls
        match seed % 3:
            case 0:
                receipt = calls.deliver(key, words)
            case 1:
                receipt = calls.fail(key, words)
            case _:
                receipt = calls.cancel(key)
                words = "a person cancelled this call before a result came"
        if receipt.state == "accepted":
            self.accepted[key].append(words)


async def test_a_thousand_waits_each_end_once_whatever_races_for_them(tmp_path: Path) -> None:
    outside, forms = outside_of(tmp_path)
    tool = tool_of(outside, tmp_path, timeout=60)
    tasks, open_before = len(asyncio.all_tasks()), descriptors()
    keys = [new_id() for _ in range(WAITS)]
    race = Race(outside, tmp_path / "data", keys)
    long, short = keys[: -WAITS // 4], keys[-WAITS // 4 :]
    waits = [asyncio.create_task(tool.execute({}, ToolContext(tmp_path, call_key=key))) for key in long]
    until = time.time() + SHORT
    for key in short:
        context = ToolContext(tmp_path, call_key=key, since=until - SHORT, until=until)
        waits.append(asyncio.create_task(tool.execute({}, context)))
    await all_wait(forms, len(long))
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(max_workers=10) as pool:
        racing = [loop.run_in_executor(pool, race.over_the_socket, seed) for seed in range(4)]
        racing += [loop.run_in_executor(pool, race.run, seed) for seed in range(6)]
        loop.call_later(max(0.0, until - time.time() - 0.02), race.gate.set)
        async with asyncio.timeout(50):
            outputs = await asyncio.gather(*waits)
            await asyncio.gather(*racing)
    late = 0
    for key, output in zip(keys, outputs, strict=True):
        if output.outcome == "timed_out":
            late += 1
            assert race.accepted[key] == []
        else:
            assert race.accepted[key] == [output.content]
    assert late <= len(short)
    assert (outside.calls.waiting, forms.pending) == ((), ())
    await outside.close()
    assert len(asyncio.all_tasks()) == tasks
    assert descriptors() <= open_before + 2  # what the loop keeps for its threads
    assert not list((tmp_path / "data").glob("run/*"))


async def test_programs_that_answered_or_died_leave_nothing_behind(tmp_path: Path) -> None:
    outside, forms = outside_of(tmp_path)
    good = tool_of(outside, tmp_path, "sh", "-c", "cat >/dev/null; exec sleep 300", timeout=60)
    before = descriptors()
    keys = [new_id() for _ in range(20)]
    waits = [asyncio.create_task(good.execute({}, ToolContext(tmp_path, call_key=key))) for key in keys]
    await all_wait(forms, len(keys))
    for key in keys[:10]:
        assert outside.calls.deliver(key, "done").state == "accepted"
    for key in keys[10:]:
        assert outside.calls.cancel(key).state == "accepted"
    async with asyncio.timeout(20):
        outputs = await asyncio.gather(*waits)
    assert [output.outcome for output in outputs] == [None] * 10 + ["cancelled"] * 10
    async with asyncio.timeout(20):
        await outside.close()
    assert descriptors() <= before + 2
    assert sleepers(tmp_path) == []


def sleepers(folder: Path) -> list[str]:
    """The processes that still run in this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdecimal() and (entry / "cwd").resolve() == folder.resolve():
                found.append((entry / "cmdline").read_bytes().decode())
    return found
