"""A write of history fails for a moment: what happened is in it all the same, before anything else is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from agent_tui_core.agent.approvals import AllowOnce
from agent_tui_core.events import AnswerEnded, MessageCommitted, RunEnded, RunStarted, TextDelta, ToolUseDelta
from agent_tui_core.history.store import History
from agent_tui_core.runtime.session import HISTORY_FILE, open_session
from loop_bench import Bench
from loopback import LoopbackServer, say
from sessions import answer_all, planned, tool_answer
from strict_validator import guarded


def _go_through_a_run(bench: Bench) -> None:
    """Two calls, their results, and the last words, as far as history lets it."""
    bench.act(lambda: bench.worker.prompt("go"))
    calls = (ToolUseDelta(0, "a", "Peek", "{}"), ToolUseDelta(1, "b", "Poke", "{}"), AnswerEnded("tool_use"))
    for steps in (calls, (TextDelta("seen"), AnswerEnded("end"))):
        if bench.model.line is not None:
            bench.say(*steps)
        for request in bench.desk.pending:
            bench.act(partial(bench.desk.answer, request.id, AllowOnce()))
        while bench.running:
            bench.act(partial(bench.running[0].set_result, "done"))


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("after", range(8))
def test_whichever_write_fails_the_next_run_finds_the_one_before_ended(after: int, times: int) -> None:
    with Bench() as bench:
        bench.records_left, bench.refusals_left = after, times
        _go_through_a_run(bench)
        bench.check()
        bench.refusals_left = 0
        _go_through_a_run(bench)
        bench.check()
        assert bench.journal.owed == []
        ends = [body.end for _, _, body in bench.happened if isinstance(body, RunEnded)]
        assert ends[-1] == "completed"
        assert len(ends) == sum(isinstance(body, RunStarted) for _, _, body in bench.happened)


@pytest.mark.parametrize("after", range(8))
def test_what_the_program_could_not_write_before_it_was_killed_is_ended_when_it_comes_back(
    after: int,
) -> None:
    with Bench() as bench:
        bench.records_left = after
        _go_through_a_run(bench)
        bench.refusals_left = 0
        bench.run(bench.revive())
        bench.check()
        _go_through_a_run(bench)
        bench.check()


def test_the_result_of_a_tool_that_ran_is_told_though_writing_it_failed() -> None:
    with Bench() as bench:
        bench.act(lambda: bench.worker.prompt("go"))
        bench.say(ToolUseDelta(0, "a", "Peek", "{}"), AnswerEnded("tool_use"))
        bench.records_left, bench.refusals_left = 0, 1
        bench.act(partial(bench.running[0].set_result, "the one result"))
        results = bench.worker.conversation.messages[-1].tool_results
        assert [result.content for result in results] == ["the one result"]
        bench.check()


def test_words_that_came_are_kept_though_writing_them_failed() -> None:
    with Bench() as bench:
        bench.act(lambda: bench.worker.prompt("go"))
        bench.records_left, bench.refusals_left = 0, 1
        bench.say(TextDelta("all that was said"), AnswerEnded("end"))
        assert bench.worker.state == "failed"
        bench.act(lambda: bench.worker.prompt("again"))
        bench.say(TextDelta("well"), AnswerEnded("end"))
        kept = [body.message.text for _, _, body in bench.happened if isinstance(body, MessageCommitted)]
        assert kept == ["go", "all that was said", "again", "well"]
        bench.check()


REFUSALS = {
    "a run's end": "BEFORE UPDATE ON runs",
    "a message": "BEFORE INSERT ON messages",
    "a call's judgement": "BEFORE UPDATE ON tool_calls",
}


@pytest.mark.parametrize("trigger", REFUSALS.values(), ids=list(REFUSALS))
async def test_a_file_that_refuses_for_a_moment_ends_the_run_and_has_it_afterwards(
    tmp_path: Path, trigger: str
) -> None:
    answers = [tool_answer("Bash", {"command": "echo a > a.txt"}), say("one"), say("two"), say("three")]
    async with LoopbackServer(guarded(answers)) as server:
        the_plan = planned(server.base_url, tmp_path)
        async with open_session(the_plan) as session:
            [worker] = session.workers
            with closing(sqlite3.connect(the_plan.data_dir / HISTORY_FILE, isolation_level=None)) as other:
                other.execute(f"CREATE TRIGGER refusal {trigger} BEGIN SELECT RAISE(ABORT, 'not now'); END")
                worker.prompt("go")
                await answer_all(session)
                other.execute("DROP TRIGGER refusal")
            worker.prompt("and now?")
            await answer_all(session)
        history = await History.open(the_plan.data_dir / HISTORY_FILE)
        try:
            [stored] = (await history.load()).conversations
        finally:
            await history.close()
    bodies = [body for _, _, body in stored.bodies]
    assert [body.end for body in bodies if isinstance(body, RunEnded)] == ["failed", "completed"]
    assert tuple(b.message for b in bodies if isinstance(b, MessageCommitted)) == worker.conversation.messages
