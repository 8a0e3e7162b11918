"""What an interrupt leaves behind where two things happen at the same time."""

from __future__ import annotations

from agent_tui_core.agent.approvals import AllowOnce
from agent_tui_core.events import AnswerEnded, RunEnded, TextDelta, ToolUseDelta
from loop_bench import Bench


def test_an_interrupt_that_comes_while_the_last_answer_is_written_sends_nothing_more() -> None:
    for turns in range(12):
        bench = Bench()
        bench.act(lambda b=bench: b.worker.prompt("first"))  # type: ignore[misc]
        bench.act(lambda b=bench: b.worker.prompt("second"))  # type: ignore[misc]
        bench.say(TextDelta("whole"), AnswerEnded("end"), turns=turns)
        if not bench.act(bench.worker.interrupt):
            bench.close()
            break
        assert not bench.worker.busy
        assert bench.worker.queue == ("second",), f"interrupted after {turns} turns"
        bench.check()
        bench.close()
    else:
        raise AssertionError("the run did not end by itself")
