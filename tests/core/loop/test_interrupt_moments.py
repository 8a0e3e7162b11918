"""Interrupts at random moments, over real sockets and processes, and what is left of them: nothing."""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui_core.runtime.session import Session, open_session
from agent_tui_core.runtime.worker import Worker
from loopback import DONE, Answer, LoopbackServer, Request, Step, finish, say, text, tool_call
from sessions import planned, settled
from strict_validator import check_chat_request

LATEST = 0.1
"""Seconds from the interrupt until the server sees that the client left."""
LONGEST_WAIT = 0.06
SLEEPS = "61.5"
FOLLOW_UP = "and now?"


@pytest.mark.parametrize(
    "runs",
    [40, pytest.param(200, marks=[pytest.mark.soak, pytest.mark.timeout(300)])],
)
async def test_an_interrupt_at_any_moment_hangs_up_at_once_and_leaves_nothing_behind(
    tmp_path: Path, runs: int, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(runs)
    delays: list[float] = []
    before = (_sockets(), asyncio.all_tasks())
    async with LoopbackServer(_script) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            session.permissions.session.add_allow("Bash")
            [worker] = session.workers
            for number in range(runs):
                worker.prompt(f"go {number % 3}")
                await asyncio.sleep(chance.uniform(0, LONGEST_WAIT))  # the random moment itself
                delays += await _interrupted(server, worker)
                assert session.desk.pending == ()
                assert _sleeping() == 0
                await _works(session, worker)
    assert (_sockets(), asyncio.all_tasks()) == before
    assert len(delays) > runs / 4, "many interrupts came while an answer was under way"
    cuts = statistics.quantiles(delays, n=100)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{runs} interrupts, {len(delays)} with an open answer: the server saw it after "
            f"p50 {cuts[49] * 1e3:.1f} ms, p99 {cuts[98] * 1e3:.1f} ms, max {max(delays) * 1e3:.1f} ms\n"
        )
    assert cuts[98] < LATEST


async def _interrupted(server: LoopbackServer, worker: Worker) -> list[float]:
    """Interrupt; return how long the server still believed in the answer that was under way, if one was."""
    under_way = [s for s in server.streams if not s.whole and not s.disconnected.is_set()]
    at = time.perf_counter()
    worker.interrupt()
    async with asyncio.timeout(3):
        await worker.idle()
        for stream in under_way:
            while not stream.whole and not stream.disconnected.is_set():
                await asyncio.sleep(0.0005)
    assert not worker.busy
    return [s.disconnected_at - at for s in under_way if s.disconnected_at is not None]


async def _works(session: Session, worker: Worker) -> None:
    worker.prompt(FOLLOW_UP)
    await settled(session)
    assert worker.state == "idle"
    assert worker.conversation.messages[-1].text == "fine"


def _script(request: Request) -> Answer:
    check_chat_request(request.json)
    words = next(m["content"] for m in reversed(request.json["messages"]) if m["role"] == "user")
    if words == FOLLOW_UP:
        return say("fine")
    return Answer(lazily=_slowly(words.split()[-1]))


def _slowly(kind: str) -> Iterator[Step]:
    """An answer of some 40 ms: text, then, by its kind, nothing, a command that runs, or a question."""
    yield 0.01
    for word in range(10):
        yield text(f"{word} ")
        yield 0.002
    if kind == "1":
        yield tool_call("c", "Bash", {"command": f"sleep {SLEEPS}"})
    if kind == "2":
        yield tool_call("c", "Write", {"file_path": "a.txt", "content": "a"})
    yield 0.01
    yield finish()
    yield DONE


def _sockets() -> int:
    names = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            names.append(os.readlink(link))
        except OSError:  # the descriptor of this very listing
            continue
    return sum(name.startswith("socket:") for name in names)


def _sleeping() -> int:
    """How many of our commands live."""
    found = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                found += f"sleep {SLEEPS}" in (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (OSError, UnicodeDecodeError):
                continue
    return found
