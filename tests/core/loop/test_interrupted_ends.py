from __future__ import annotations

import asyncio
import time
from functools import partial
from pathlib import Path

import pytest

from agent_tui_core.agent.approvals import AllowOnce
from agent_tui_core.events import AnswerEnded, RunEnded, TextDelta, ToolEnded, ToolProposed, ToolUseDelta
from agent_tui_core.processes.child import TERM_GRACE
from agent_tui_core.runtime.session import open_session
from loop_bench import Bench
from loopback import LoopbackServer
from sessions import planned, tool_answer, waiting


@pytest.mark.parametrize("turns", range(16))
def test_an_interrupt_while_the_last_answer_is_written_sends_nothing_more(turns: int) -> None:
    with Bench() as bench:
        bench.act(lambda: bench.worker.prompt("first"))
        bench.act(lambda: bench.worker.prompt("second"))
        bench.say(TextDelta("whole"), AnswerEnded("end"), turns=turns)
        queued = bench.act(lambda: (bench.worker.queue, bench.worker.interrupt())[0])
        assert not bench.worker.busy
        assert bench.worker.queue == queued
        bench.check()


@pytest.mark.parametrize("which", range(1, 5))
def test_a_history_that_breaks_leaves_no_call_without_its_end(which: int) -> None:
    with Bench() as bench:
        bench.act(lambda: bench.worker.prompt("go"))
        bench.records_left = which
        bench.say(
            ToolUseDelta(0, "a", "Peek", "{}"), ToolUseDelta(1, "b", "Poke", "{}"), AnswerEnded("tool_use")
        )
        for request in bench.desk.pending:
            bench.act(partial(bench.desk.answer, request.id, AllowOnce()))
        for done in list(bench.running):
            bench.act(partial(done.set_result, "x"))
        for done in list(bench.running):
            bench.act(partial(done.set_result, "y"))
        bodies = [event.body for event in bench.events]
        assert [body.end for body in bodies if isinstance(body, RunEnded)] == ["failed"]
        proposed = sorted(body.key for body in bodies if isinstance(body, ToolProposed))
        assert sorted(body.key for body in bodies if isinstance(body, ToolEnded)) == proposed
        assert bench.desk.pending == ()


async def test_a_second_interrupt_kills_a_command_that_will_not_end_without_its_grace(tmp_path: Path) -> None:
    stubborn = "trap '' TERM; touch ready; while true; do sleep 0.05; done"
    async with (
        LoopbackServer([tool_answer("Bash", {"command": stubborn})]) as server,
        open_session(planned(server.base_url, tmp_path)) as session,
    ):
        [worker] = session.workers
        worker.prompt("go")
        await waiting(session)
        session.desk.answer(session.desk.pending[0].id, AllowOnce())
        async with asyncio.timeout(10):
            while not (worker.workspace / "ready").exists():
                await asyncio.sleep(0.005)
        began = time.monotonic()
        worker.interrupt()
        await asyncio.sleep(0.01)
        worker.hurry()
        await worker.idle()
        assert time.monotonic() - began < TERM_GRACE / 2
        assert worker.state == "interrupted"
