"""Whatever the model sends, the person does and the computer loses: what `Bench.check` asks for holds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Protocol, TypeAlias, TypeVar

import pytest
from hypothesis import currently_in_test_context, given, note
from hypothesis import strategies as st

from agent_tui_core.agent.approvals import AllowAlways, AllowEdited, AllowOnce, Answer, DenyCall
from agent_tui_core.errors import BadRequest, ContextExceeded, Overloaded, ProviderError, StreamTruncated
from agent_tui_core.events import (
    AnswerEnded,
    Body,
    RunEnded,
    StreamEvent,
    TextDelta,
    ToolEnded,
    ToolJudged,
    ToolUseDelta,
    UsageReported,
)
from agent_tui_core.messages import StopReason, Usage
from loop_bench import TURNS, Bench
from properties import IN_SOAK, tried

T = TypeVar("T")
STEPS = 25


@dataclass(frozen=True)
class Call:
    """A call that the model makes."""

    name: str
    arguments: str = "{}"


Part: TypeAlias = str | int | Call
"""Text, tokens, or a call."""
LOOK, CHANGE = Call("Peek"), Call("Poke", '{"a": 1}')
BROKEN = [Call("Peek", arguments) for arguments in ('{"a": "no"}', '{"a"', "[1]", '{"a": 1, "a": 2}', "")]
ANSWERS: list[list[Part]] = [
    [LOOK],
    [CHANGE],
    [CHANGE, CHANGE],
    [LOOK, CHANGE, LOOK],
    ["On it. ", 12, CHANGE],
    ["Well. ", LOOK, *BROKEN[:2], CHANGE],
    [Call("Unknown")],
    [*BROKEN],
    ["Hel", "lo\n"],
    [" "],
]
ENDS: list[StopReason | None] = [
    *("tool_use", "tool_use", "tool_use", "tool_use", "tool_use", "tool_use"),
    *("end", "length", "content_filter", "error", None, None),
]
ERRORS: list[ProviderError] = [
    Overloaded("busy", status=503),
    Overloaded("come back", status=503, retry_after=5.0),
    BadRequest("no", status=400),
    ContextExceeded("too long", status=400),
    StreamTruncated("cut"),
]
VERDICTS: list[Answer] = [
    *(AllowOnce(), AllowOnce(), AllowOnce(), AllowAlways("Poke"), AllowEdited({"a": 2})),
    *(AllowEdited({"a": "still wrong"}), DenyCall("not now"), DenyCall("enough", stop=True)),
]
MOST_MORE_WALKS = 300
NEEDED = {
    *("completed: ", "interrupted: by you", "interrupted: the program ended", "interrupted: enough"),
    *("failed: busy", "failed: no", "failed: cut", "failed: the disk is full"),
    *("limit: 2 rounds of tool calls; send a prompt to go on", "Compacted", "CompactionUndone"),
    *("allowed by person", "allowed by rule", "denied by person", "denied by loop"),
    *("call ok", "call error", "call denied", "call cancelled", "call not_run"),
}
"""What enough examples have to come to, or the machine proves nothing."""


class Choose(Protocol):
    """Where chance comes from: Hypothesis draws, or plain numbers when examples have to be cheap."""

    def __call__(self, of: Sequence[T], /) -> T: ...


class LoopMachine:
    """One agent on a bench, and all that can happen to it next."""

    def __init__(self, choose: Choose) -> None:
        self.bench = Bench()
        self.choose = choose
        self.said = 0
        self.hasty = choose([False, True])
        """Steps fall into the middle of what goes on."""
        self.interrupts, self.crashes, self.compacts = (choose([False, True]) for _ in range(3))
        self.disk_fills = choose([False, False, False, True])

    def step(self) -> None:
        """Let one of the things happen that can happen now; what was begun goes on most often."""
        ways = [way for weight, way in self._ways() for _ in range(weight)]
        way = self.choose(ways)
        if currently_in_test_context():
            note(way.__name__)
        way()
        self.bench.check(wholly=way == self.undo_compaction)

    def end(self) -> None:
        """Stop what goes on."""
        self.bench.act(self.bench.worker.interrupt)
        self.bench.check()
        assert not self.bench.worker.busy

    def _ways(self) -> Iterator[tuple[int, Callable[[], None]]]:
        bench = self.bench
        worker, busy = bench.worker, bench.worker.busy
        yield 1 if busy else 12, self.prompt
        yield 8 * (bench.model.line is not None), self.answer_comes
        yield 1 * (bench.model.line is not None), self.fail
        yield 6 * bool(bench.desk.pending), self.answer
        yield 6 * bool(bench.running), self.tool_ends
        yield 6 * (worker.state == "retrying"), self.time_passes
        yield 1 * bool(worker.queue), self.take_back
        yield 1 * (self.interrupts and busy), self.interrupt
        yield 1 * self.crashes, self.crash_and_resume
        yield 1 * self.disk_fills, self.disk_fills_for_a_while
        yield 6 * (self.compacts and not busy and len(worker.conversation.messages) > 2), self.compact
        yield 3 * (not busy and worker.conversation.compaction is not None), self.undo_compaction

    def _turns(self) -> int:
        return self.choose([TURNS, TURNS, TURNS, 0, 1, 2, 3, 5, 8, 13]) if self.hasty else TURNS

    # --- the person -----------------------------------------------------------------------------------------

    def prompt(self) -> None:
        self.said += 1
        worker = self.bench.worker
        tell = self.choose([worker.prompt, worker.prompt_now])
        self.bench.act(lambda: tell(f"prompt {self.said}"), self._turns())

    def interrupt(self) -> None:
        """Begin to; with few turns the next step comes before the run has ended."""
        bench, turns = self.bench, self._turns()
        queued = bench.act(lambda: (bench.worker.interrupt(), bench.worker.queue)[1], min(turns, 1))
        if self.choose([False, True]):
            bench.act(bench.worker.hurry, turns)
        bench.turn(turns)
        if turns == TURNS:
            assert not bench.worker.busy, "an interrupt ends the run"
            assert bench.worker.queue == queued, "what is queued stays, unsent"

    def take_back(self) -> None:
        worker = self.bench.worker
        self.bench.act(lambda: [worker.unqueue(last.id) for last in worker.queue[-1:]], self._turns())

    def answer(self) -> None:
        settle, answer, turns = self.bench.desk.answer, self.choose(VERDICTS), self._turns()
        pending = self.bench.desk.pending
        for request in self.choose([pending, (self.choose(pending),)]):
            self.bench.act(partial(settle, request.id, answer), 0)
            assert self.bench.act(partial(settle, request.id, AllowOnce()), turns) == 0

    def compact(self) -> None:
        self.bench.act(self.bench.worker.compact, self._turns())

    def undo_compaction(self) -> None:
        self.bench.refusals_left = 0
        self.bench.run(self.bench.worker.undo_compaction())
        self.bench.act(lambda: None)

    # --- the model ------------------------------------------------------------------------------------------

    def answer_comes(self) -> None:
        parts, end, turns = self.choose(ANSWERS), self.choose(ENDS), self._turns()
        for part in parts:
            if self.bench.model.line is not None:
                self.bench.say(self._event(part), turns=turns)
        if end is not None and self.bench.model.line is not None:
            self.bench.say(AnswerEnded(end), turns=turns)

    def _event(self, part: Part) -> StreamEvent:
        match part:
            case str():
                return TextDelta(part)
            case int():
                return UsageReported(Usage(part, part))
            case Call(name, arguments):
                model = self.bench.model
                place, model.calls = model.calls, model.calls + 1
                return ToolUseDelta(place, f"call_{place}", name, arguments)

    def fail(self) -> None:
        error, turns = self.choose(ERRORS), self._turns()
        for _ in range(self.choose([1, 4])):
            if self.bench.model.line is not None:
                self.bench.say(error, turns=turns)
                self.bench.loop.now += 30.0
                self.bench.turn(turns)

    # --- the tools and the computer -------------------------------------------------------------------------

    def tool_ends(self) -> None:
        works, turns = self.choose([True, True, False]), self._turns()
        for done in list(self.bench.running)[: self.choose([1, 9])]:
            self.bench.act(partial(_finish, done, works), turns)

    def time_passes(self) -> None:
        self.bench.loop.now += self.choose([0.1, 1.0, 30.0])
        self.bench.turn()

    def disk_fills_for_a_while(self) -> None:
        self.bench.records_left, self.bench.refusals_left = self.choose(range(6)), self.choose([1, 2])

    def crash_and_resume(self) -> None:
        self.bench.check()
        self.bench.refusals_left = 0
        self.bench.run(self.bench.revive())
        self.bench.check()
        assert not self.bench.worker.busy


def _finish(done: asyncio.Future[str], works: bool) -> None:
    if done.done():  # what was begun before this step has ended it
        return
    if works:
        done.set_result("done")
    else:
        done.set_exception(OSError("broken"))


def _kind(body: Body) -> str:
    match body:
        case RunEnded(end, reason):
            return f"{end}: {reason.split('. ')[0]}"  # what happened, without the next step
        case ToolJudged(allowed=allowed, by=by):
            return f"{'allowed' if allowed else 'denied'} by {by}"
        case ToolEnded(outcome=outcome):
            return f"call {outcome}"
        case _:
            return type(body).__name__


@pytest.mark.timeout(0 if IN_SOAK else 240)
def test_no_order_of_events_breaks_the_conversation_or_leaves_a_run_without_its_end() -> None:
    reached: set[str] = set()

    def walked(chance: Random | st.DataObject) -> None:
        choose = chance.choice if isinstance(chance, Random) else lambda of: chance.draw(st.sampled_from(of))
        machine = LoopMachine(choose)
        try:
            for _ in range(STEPS):
                machine.step()
            machine.end()
            reached.update(_kind(body) for _, _, body in machine.bench.told_to_history())
        finally:
            machine.bench.close()

    @tried()
    @given(st.randoms(use_true_random=True) if IN_SOAK else st.data())
    def walk(chance: Random | st.DataObject) -> None:
        walked(chance)

    logging.disable(logging.CRITICAL)  # tools that break fill it
    try:
        walk()
        for seed in range(MOST_MORE_WALKS):  # what is rare may have been drawn by none of them
            if reached >= NEEDED:
                break
            walked(Random(seed))
    finally:
        logging.disable(logging.NOTSET)
    assert sorted(reached) == sorted(reached | NEEDED)


def test_the_bench_itself_runs_a_call_to_its_end() -> None:
    with Bench() as bench:
        bench.act(lambda: bench.worker.prompt("go"))
        bench.say(ToolUseDelta(0, "c", "Poke", "{}"), AnswerEnded("tool_use"))
        bench.act(lambda: bench.desk.answer(bench.desk.pending[0].id, AllowOnce()))
        [done] = bench.running
        bench.act(lambda: done.set_result("poked"))
        bench.say(TextDelta("ok"), AnswerEnded("end"))
        roles = [message.role for message in bench.worker.conversation.messages]
        assert roles == ["user", "assistant", "tool", "assistant"]
        bench.check()
