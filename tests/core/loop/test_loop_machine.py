from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agent_tui_core.agent.approvals import AllowAlways, AllowEdited, AllowOnce, Answer, DenyCall
from agent_tui_core.errors import BadRequest, Overloaded, ProviderError, StreamTruncated
from agent_tui_core.events import AnswerEnded, StreamEvent, TextDelta, ToolUseDelta, UsageReported
from agent_tui_core.messages import StopReason, Usage
from loop_bench import TURNS, Bench

TURNS_BETWEEN = st.sampled_from([TURNS, TURNS, TURNS, TURNS, 0, 1, 2, 3, 5, 8, 13])
"""Mostly until nothing moves; else the next step falls into the middle of this one."""
ARGUMENTS = ["{}", '{"a": 1}', '{"a": "no"}', '{"a"', "[1]", '{"a": 1, "a": 2}', ""]
ENDS: list[StopReason] = ["end", "tool_use", "length", "content_filter", "error"]


def _errors() -> list[ProviderError]:
    return [
        Overloaded("busy", status=503),
        Overloaded("come back", status=503, retry_after=5.0),
        BadRequest("no", status=400),
        StreamTruncated("cut"),
    ]


class LoopMachine(RuleBasedStateMachine):
    """Whatever the model sends, the person does and the machine loses: invariants 10 and 14 hold."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()
        self.said = 0

    def teardown(self) -> None:
        try:
            self.bench.act(self.bench.worker.interrupt)
            self.bench.check()
            assert not self.bench.worker.busy
        finally:
            self.bench.close()

    @invariant()
    def holds(self) -> None:
        self.bench.check()

    # --- the person -----------------------------------------------------------------------------------------

    @rule(turns=TURNS_BETWEEN, now=st.booleans())
    def prompt(self, turns: int, now: bool) -> None:
        self.said += 1
        tell = self.bench.worker.prompt_now if now else self.bench.worker.prompt
        self.bench.act(lambda: tell(f"prompt {self.said}"), turns)

    @precondition(lambda self: self.bench.worker.busy)
    @rule(again=st.booleans())
    def interrupt(self, again: bool) -> None:
        bench = self.bench
        queued = bench.act(lambda: (bench.worker.interrupt(), bench.worker.queue)[1], 1)
        if again:
            bench.act(bench.worker.hurry)
        bench.turn()
        assert not bench.worker.busy, "an interrupt ends the run"
        assert bench.worker.queue == queued, "what is queued stays, unsent"

    @precondition(lambda self: self.bench.worker.busy)
    @rule(turns=st.integers(0, 8))
    def interrupt_unseen(self, turns: int) -> None:
        """The next step comes before the run has ended."""
        self.bench.act(self.bench.worker.interrupt, turns)

    @precondition(lambda self: self.bench.worker.queue)
    @rule(turns=TURNS_BETWEEN)
    def take_back(self, turns: int) -> None:
        self.bench.act(lambda: self.bench.worker.unqueue(-1), turns)

    @precondition(lambda self: self.bench.desk.pending)
    @rule(
        turns=TURNS_BETWEEN,
        which=st.integers(0, 3),
        answer=st.sampled_from(
            [
                AllowOnce(),
                AllowOnce(),
                AllowAlways("Poke"),
                AllowEdited({"a": 2}),
                AllowEdited({"a": "still wrong"}),
                DenyCall("not now"),
                DenyCall("enough", stop=True),
            ]
        ),
    )
    def answer(self, turns: int, which: int, answer: Answer) -> None:
        pending = self.bench.desk.pending
        request = pending[which % len(pending)]
        settle = self.bench.desk.answer
        assert self.bench.act(lambda: settle(request.id, answer), 0) >= 1
        assert self.bench.act(lambda: settle(request.id, AllowOnce()), turns) == 0

    # --- the model ------------------------------------------------------------------------------------------

    def _send(self, step: StreamEvent | ProviderError, turns: int) -> None:
        self.bench.say(step, turns=turns)

    @precondition(lambda self: self.bench.model.line is not None)
    @rule(turns=TURNS_BETWEEN, words=st.sampled_from(["Hel", "lo", " ", "\n", "x"]))
    def text(self, turns: int, words: str) -> None:
        self._send(TextDelta(words), turns)

    @precondition(lambda self: self.bench.model.line is not None)
    @rule(turns=TURNS_BETWEEN, tokens=st.integers(0, 50))
    def usage(self, turns: int, tokens: int) -> None:
        self._send(UsageReported(Usage(tokens, tokens)), turns)

    @precondition(lambda self: self.bench.model.line is not None)
    @rule(
        turns=TURNS_BETWEEN,
        name=st.sampled_from(["Peek", "Peek", "Poke", "Poke", "Unknown"]),
        arguments=st.sampled_from(ARGUMENTS),
    )
    def call(self, turns: int, name: str, arguments: str) -> None:
        model = self.bench.model
        place, model.calls = model.calls, model.calls + 1
        self._send(ToolUseDelta(place, f"call_{place}", name, arguments), turns)

    @precondition(lambda self: self.bench.model.line is not None)
    @rule(turns=TURNS_BETWEEN, reason=st.sampled_from(ENDS))
    def end(self, turns: int, reason: StopReason) -> None:
        self._send(AnswerEnded(reason), turns)

    @precondition(lambda self: self.bench.model.line is not None)
    @rule(turns=TURNS_BETWEEN, which=st.integers(0, 3))
    def fail(self, turns: int, which: int) -> None:
        self._send(_errors()[which], turns)

    @rule(seconds=st.sampled_from([0.1, 1.0, 30.0]))
    def time_passes(self, seconds: float) -> None:
        self.bench.loop.now += seconds
        self.bench.turn()

    # --- the tools and the machine --------------------------------------------------------------------------

    @precondition(lambda self: self.bench.running)
    @rule(turns=TURNS_BETWEEN, works=st.booleans(), which=st.integers(0, 3))
    def tool_ends(self, turns: int, works: bool, which: int) -> None:
        done = self.bench.running[which % len(self.bench.running)]
        if done.done():
            return
        if works:
            self.bench.act(lambda: done.set_result("done"), turns)
        else:
            self.bench.act(lambda: done.set_exception(OSError("the disk is full")), turns)

    @rule()
    def crash_and_resume(self) -> None:
        self.bench.run(self.bench.revive())
        assert not self.bench.worker.busy


_IN_SUITE = settings(
    max_examples=200,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.register_profile("loop-soak", parent=_IN_SUITE, max_examples=100_000)


@pytest.mark.timeout(240)
def test_no_order_of_events_breaks_the_conversation_or_leaves_a_run_without_its_end() -> None:
    run_state_machine_as_test(LoopMachine, settings=_IN_SUITE)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_hundred_thousand_orders_of_events_break_nothing() -> None:
    run_state_machine_as_test(LoopMachine, settings=settings.get_profile("loop-soak"))


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
