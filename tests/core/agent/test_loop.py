from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.agent.approvals import AllowAlways, AllowEdited, AllowOnce, ApprovalDesk, DenyCall
from agent_tui_core.agent.calls import Calls
from agent_tui_core.agent.conversation import CANCELLED, Conversation
from agent_tui_core.agent.gate import AgentIdentity, Gate, OpenGate, PersonGate
from agent_tui_core.agent.loop import Loop, LoopSettings
from agent_tui_core.agent.permissions import PermissionRules, Permissions
from agent_tui_core.agent.requesting import Requesting
from agent_tui_core.blocks import Reasoning, Text, ToolResult
from agent_tui_core.errors import (
    BadRequest,
    HistoryError,
    Overloaded,
    ProviderUnreachable,
    RateLimited,
    StreamMalformed,
    StreamTruncated,
    ToolError,
)
from agent_tui_core.events import (
    AnswerEnded,
    ApprovalRequested,
    ApprovalSettled,
    PromptReturned,
    ReasoningDelta,
    RequestRetrying,
    RunEnded,
    StreamEvent,
    TextDelta,
    ToolEnded,
    ToolJudged,
    ToolStarted,
    ToolUseDelta,
    UsageReported,
)
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.hooks.points import HookDecision, PreToolUseEvent
from agent_tui_core.messages import Message, Usage
from agent_tui_core.tools.base import Tool, ToolContext
from agent_tui_core.tools.registry import ToolRegistry
from scripted import Answer, Recorder, Scripted, call, calls, says

ANYTHING: dict[str, Any] = {"type": "object"}
STREAMED = {"TextDelta", "ToolUseDelta", "AnswerEnded", "RequestStarted", "UsageReported"}


class Bench:
    """A loop with everything real but the model."""

    def __init__(
        self,
        *answers: Answer,
        tools: tuple[Tool, ...] = (),
        hooks: Hooks | None = None,
        gate: Gate | None = None,
        **settings: Any,
    ) -> None:
        self.provider = Scripted(list(answers))
        self.journal = Recorder()
        self.conversation = Conversation()
        self.registry = ToolRegistry(tools)
        folder = Path.cwd()
        self.loop = Loop(
            self.provider,
            self.conversation,
            Calls(
                self.registry,
                hooks or Hooks(),
                gate or OpenGate(None, folder),
                self.journal,
                ToolContext(folder, "agent"),
            ),
            self.journal,
            LoopSettings("m", tools=self.registry, **settings),
            jitter=lambda: 0.0,
        )

    async def run(self, prompt: str | None = "hi") -> RunEnded:
        async with asyncio.timeout(10):
            return await self.loop.run(Message("user", (Text(prompt),)) if prompt else None)

    def start(self, prompt: str = "hi") -> asyncio.Task[RunEnded]:
        return asyncio.create_task(self.run(prompt))

    @property
    def roles(self) -> list[str]:
        return [message.role for message in self.conversation.messages]

    @property
    def results(self) -> list[ToolResult]:
        return [result for message in self.conversation.messages for result in message.tool_results]


def tool(name: str, run: Callable[..., Any], **more: Any) -> Tool:
    return Tool(name, f"{name}.", ANYTHING, run, **more)


def person(desk: ApprovalDesk, permissions: Permissions | None = None) -> PersonGate:
    identity = AgentIdentity("agent", "tester", "m", Path.cwd())
    return PersonGate(identity, permissions or Permissions(), desk)


ADD = tool("add", lambda i: str(i["a"] + i["b"]), writes=False)


async def test_text_streams_and_the_prompt_is_committed_with_its_answer() -> None:
    bench = Bench(says("Hel", "lo"))
    ended = await bench.run()
    assert (ended.end, ended.iterations) == ("completed", 1)
    assert bench.journal.names() == [
        "RunStarted",
        "RequestStarted",
        "TextDelta",
        "TextDelta",
        "AnswerEnded",
        "MessageCommitted",
        "MessageCommitted",
        "RunEnded",
    ]
    assert bench.roles == ["user", "assistant"]
    assert bench.conversation.messages[1].text == "Hello"


async def test_a_tool_result_reaches_the_model_and_the_answer_after_it_streams() -> None:
    bench = Bench(calls(call("add", {"a": 1, "b": 2}), text="Let me add."), says("3"), tools=(ADD,))
    ended = await bench.run()
    assert ended.end == "completed"
    assert bench.roles == ["user", "assistant", "tool", "assistant"]
    assert bench.results == [ToolResult("c1", "3")]
    assert [message.role for message in bench.provider.requests[1].messages] == ["user", "assistant", "tool"]


async def test_an_answer_is_committed_before_its_calls_run() -> None:
    seen: list[list[str]] = []
    look = tool("look", lambda _i: seen.append(bench.roles))
    bench = Bench(calls(call("look", {})), says("ok"), tools=(look,))
    await bench.run()
    assert seen == [["user", "assistant"]]


async def test_parallel_calls_keep_call_order_when_the_first_is_slow() -> None:
    gate = asyncio.Event()

    async def slow(_input: dict[str, Any]) -> str:
        await gate.wait()
        return "slow"

    def fast(_input: dict[str, Any]) -> str:
        return "fast"

    bench = Bench(
        calls(call("slow", {}, id="a"), call("fast", {}, id="b", place=1)),
        says("done"),
        tools=(tool("slow", slow, writes=False), tool("fast", fast, writes=False)),
    )
    run = bench.start()
    await bench.journal.until(ToolEnded)
    gate.set()
    assert (await run).end == "completed"
    ends = [body.result.content for body in bench.journal.of(ToolEnded) if isinstance(body, ToolEnded)]
    assert ends == ["fast", "slow"]
    assert [result.content for result in bench.results] == ["slow", "fast"]


async def test_calls_that_write_never_overlap() -> None:
    inside: list[int] = []
    most: list[int] = []

    async def write(_input: dict[str, Any]) -> str:
        inside.append(1)
        most.append(len(inside))
        await asyncio.sleep(0)
        inside.pop()
        return ""

    wanted = [call("write", {}, id=str(n), place=n) for n in range(5)]
    bench = Bench(calls(*wanted), says("done"), tools=(tool("write", write),))
    await bench.run()
    assert max(most) == 1
    assert len(most) == 5


async def test_a_call_that_waits_for_a_person_does_not_hold_up_the_others() -> None:
    desk = ApprovalDesk()
    permissions = Permissions(PermissionRules(allow=["read"]))
    bench = Bench(
        calls(call("write", {}, id="a"), call("read", {}, id="b", place=1)),
        says("done"),
        tools=(tool("write", lambda _i: "w"), tool("read", lambda _i: "r", writes=False)),
        gate=person(desk, permissions),
    )
    run = bench.start()
    await bench.journal.until(ToolEnded)
    assert len(desk.pending) == 1
    desk.answer(desk.pending[0].id, AllowOnce())
    await run
    assert [result.content for result in bench.results] == ["w", "r"]


async def test_nothing_runs_before_its_answer_and_a_denial_with_a_reason_reaches_the_model() -> None:
    ran: list[str] = []
    desk = ApprovalDesk()
    bench = Bench(
        calls(call("Danger", {})),
        says("understood"),
        tools=(tool("Danger", lambda _i: ran.append("x")),),
        gate=person(desk),
    )
    run = bench.start()
    await bench.journal.until(ApprovalRequested)
    assert ran == []
    assert desk.answer(desk.pending[0].id, DenyCall("not on a Friday")) == 1
    assert (await run).end == "completed"
    assert ran == []
    assert bench.results == [ToolResult("c1", "Denied by the user: not on a Friday", is_error=True)]
    [judged] = bench.journal.of(ToolJudged)
    assert isinstance(judged, ToolJudged)
    assert (judged.allowed, judged.by, judged.reason) == (False, "person", "not on a Friday")


async def test_a_late_answer_and_a_second_answer_settle_nothing() -> None:
    desk = ApprovalDesk()
    bench = Bench(calls(call("t", {})), says("ok"), tools=(tool("t", lambda _i: "ran"),), gate=person(desk))
    run = bench.start()
    await bench.journal.until(ApprovalRequested)
    request = desk.pending[0]
    assert desk.answer(request.id, AllowOnce()) == 1
    assert desk.answer(request.id, DenyCall()) == 0
    await run
    assert desk.answer(request.id, DenyCall()) == 0
    assert bench.results[0].content == "ran"


async def test_a_remembered_rule_settles_the_other_questions_that_it_covers() -> None:
    permissions = Permissions()
    desk = ApprovalDesk(lambda _request, answer: permissions.session.add_allow(answer.rule))
    gate = person(desk, permissions)
    names = ("t", "t", "other")
    wanted = [call(name, {}, id=str(n), place=n) for n, name in enumerate(names)]
    tools = (tool("t", lambda _i: "t"), tool("other", lambda _i: "o"))
    bench = Bench(calls(*wanted), says("ok"), tools=tools, gate=gate)
    run = bench.start()
    await bench.journal.until(ApprovalRequested, 3)
    first = desk.pending[0]
    assert first.remember == "t"
    assert desk.answer(first.id, AllowAlways("t")) == 2
    await bench.journal.until(ToolEnded, 2)
    assert [request.tool for request in desk.pending] == ["other"]
    desk.answer(desk.pending[0].id, DenyCall())
    await run
    settled = [body.answer for body in bench.journal.of(ApprovalSettled) if isinstance(body, ApprovalSettled)]
    assert sorted(settled) == ["covered", "denied", "remembered"]


async def test_an_edited_input_is_what_runs_and_the_model_is_told() -> None:
    desk = ApprovalDesk()
    bench = Bench(
        calls(call("echo", {"x": "rm -rf /"})),
        says("ok"),
        tools=(tool("echo", lambda i: i["x"]),),
        gate=person(desk),
    )
    run = bench.start()
    await bench.journal.until(ApprovalRequested)
    desk.answer(desk.pending[0].id, AllowEdited({"x": "ls"}))
    await run
    assert bench.results[0].content.startswith("ls\n\nThe user changed the input")


async def test_deny_and_stop_ends_the_run_and_cancels_the_other_calls() -> None:
    desk = ApprovalDesk()
    wanted = [call("t", {}, id=str(n), place=n) for n in range(2)]
    bench = Bench(calls(*wanted), tools=(tool("t", lambda _i: "ran"),), gate=person(desk))
    run = bench.start()
    await bench.journal.until(ApprovalRequested, 2)
    desk.answer(desk.pending[0].id, DenyCall("enough", stop=True))
    ended = await run
    assert (ended.end, ended.reason) == ("interrupted", "enough")
    assert [result.content for result in bench.results] == ["Denied by the user: enough", CANCELLED]
    assert desk.pending == ()


async def test_a_file_that_changed_while_the_question_was_open_is_asked_about_again(tmp_path: Path) -> None:
    from agent_tui_core.tools.registry import builtin_tools

    file = tmp_path / "a.txt"
    file.write_text("one\n")
    desk = ApprovalDesk()
    identity = AgentIdentity("agent", "tester", "m", tmp_path)
    journal = Recorder()
    registry = ToolRegistry(builtin_tools())
    edit: dict[str, object] = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    loop = Loop(
        Scripted([calls(call("Edit", edit)), says("ok")]),
        Conversation(),
        Calls(
            registry,
            Hooks(),
            PersonGate(identity, Permissions(), desk),
            journal,
            ToolContext(tmp_path, "agent"),
        ),
        journal,
        LoopSettings("m", tools=registry),
    )
    run = asyncio.create_task(loop.run(Message("user", (Text("go"),))))
    await journal.until(ApprovalRequested)
    assert "-one" in desk.pending[0].preview.content
    file.write_text("zero\none\n")
    desk.answer(desk.pending[0].id, AllowOnce())
    await journal.until(ApprovalRequested, 2)
    assert file.read_text() == "zero\none\n"
    assert "changed while" in desk.pending[0].reason
    desk.answer(desk.pending[0].id, AllowOnce())
    await run
    assert file.read_text() == "zero\ntwo\n"


@pytest.mark.parametrize(
    ("name", "run", "wanted", "outcome"),
    [
        ("raises", lambda _i: 1 / 0, "ZeroDivisionError", "error"),
        ("refuses", lambda _i: _raise(ToolError("no such city")), "no such city", "error"),
        ("gives", lambda _i: {"a": [1]}, '{"a": [1]}', "ok"),
    ],
)
async def test_whatever_a_tool_does_the_model_gets_one_result_and_the_run_goes_on(
    name: str, run: Callable[..., Any], wanted: str, outcome: str
) -> None:
    bench = Bench(calls(call(name, {})), says("ok"), tools=(tool(name, run),))
    assert (await bench.run()).end == "completed"
    assert wanted in bench.results[0].content
    [ended] = bench.journal.of(ToolEnded)
    assert isinstance(ended, ToolEnded)
    assert ended.outcome == outcome


def _raise(error: Exception) -> None:
    raise error


async def test_a_tool_over_its_time_limit_is_stopped_and_told() -> None:
    cancelled = asyncio.Event()

    async def hang(_input: dict[str, Any]) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ""

    bench = Bench(calls(call("hang", {})), says("ok"), tools=(tool("hang", hang, timeout=0.01),))
    await bench.run()
    assert cancelled.is_set()
    assert "longer than its limit" in bench.results[0].content


async def test_a_tool_that_is_not_there_and_arguments_that_do_not_fit_are_told_to_the_model() -> None:
    strict = Tool(
        "strict", "s", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, str
    )
    broken = ToolUseDelta(2, "c", "strict", '{"a": ')
    bench = Bench(
        calls(call("nope", {}, id="a"), call("strict", {"a": "x"}, id="b", place=1), broken),
        says("ok"),
        tools=(strict,),
    )
    await bench.run()
    first, second, third = bench.results
    assert "no tool" in first.content
    assert "does not fit" in second.content
    assert "could not be read" in third.content
    assert all(result.is_error for result in bench.results)
    assert bench.journal.of(ToolStarted) == []


async def test_at_the_limit_every_call_is_answered_and_the_run_says_so() -> None:
    bench = Bench(*[calls(call("add", {"a": 1, "b": 1}))] * 3, tools=(ADD,), max_tool_iterations=2)
    ended = await bench.run()
    assert ended.end == "limit"
    assert "2 rounds" in ended.reason
    assert bench.results[-1] == ToolResult("c1", "not executed: limit", is_error=True)
    assert bench.roles == ["user", *["assistant", "tool"] * 3]


@pytest.mark.parametrize(("stop", "end"), [("length", "limit"), ("content_filter", "failed")])
async def test_calls_of_a_cut_answer_never_run(stop: Any, end: str) -> None:
    ran: list[int] = []
    cut: Answer = [call("t", {}), AnswerEnded(stop)]
    bench = Bench(cut, tools=(tool("t", lambda _i: ran.append(1)),))
    assert (await bench.run()).end == end
    assert ran == []
    assert "not executed" in bench.results[0].content


async def test_usage_is_summed_over_the_answers_of_a_run() -> None:
    reported = UsageReported(Usage(10, 5))
    bench = Bench(
        [UsageReported(Usage(4, None)), call("add", {"a": 1, "b": 1}), reported, AnswerEnded("tool_use")],
        [TextDelta("2"), reported, AnswerEnded("end")],
        tools=(ADD,),
    )
    assert (await bench.run()).usage == Usage(20, 10)


# --- failures -----------------------------------------------------------------------------------------------


async def test_a_failure_before_the_first_byte_leaves_nothing_and_returns_the_prompt() -> None:
    bench = Bench([BadRequest("no such model", status=404)])
    ended = await bench.run("my prompt")
    assert ended.end == "failed"
    assert ended.reason.startswith("no such model. The same request would be refused again")
    assert bench.roles == []
    assert bench.journal.of(PromptReturned) == [PromptReturned("my prompt", ended.reason)]


async def test_text_before_an_error_is_kept_and_marked_and_its_calls_do_not_run() -> None:
    ran: list[int] = []
    bench = Bench(
        [TextDelta("half an"), call("t", {}), StreamTruncated("the connection broke")],
        tools=(tool("t", lambda _i: ran.append(1)),),
    )
    assert (await bench.run()).end == "failed"
    assert ran == []
    assert bench.roles == ["user", "assistant"]
    kept = bench.conversation.messages[1]
    assert (kept.text, kept.stop_reason, kept.tool_uses) == ("half an", "error", ())


async def test_a_stream_that_ends_without_its_end_is_truncated() -> None:
    bench = Bench([TextDelta("half")], retries=0)
    ended = await bench.run()
    assert ended.end == "failed"
    assert "stopped before" in ended.reason


async def test_what_can_help_is_tried_again_visibly_and_only_before_anything_came() -> None:
    bench = Bench([ProviderUnreachable("refused")], [Overloaded("busy", status=503)], says("ok"))
    assert (await bench.run()).end == "completed"
    assert len(bench.journal.of(RequestRetrying)) == 2
    broken = Bench([TextDelta("x"), ProviderUnreachable("gone")], says("never"))
    assert (await broken.run()).end == "failed"
    assert broken.journal.of(RequestRetrying) == []


HALF_CALL = ToolUseDelta(0, "c1", "t", '{"comm')


@pytest.mark.parametrize(
    "came",
    [
        [HALF_CALL],
        [TextDelta("\n\n"), HALF_CALL],
        [ReasoningDelta("Let me see."), HALF_CALL],
        [call("t", {})],
    ],
)
async def test_an_answer_that_broke_off_before_any_text_is_asked_for_again(came: list[StreamEvent]) -> None:
    ran: list[int] = []
    spent = UsageReported(Usage(10, 1))
    bench = Bench(
        [*came, spent, StreamTruncated("gone")], says("ok"), tools=(tool("t", lambda _i: ran.append(1)),)
    )
    ended = await bench.run()
    assert ended.end == "completed"
    assert (ended.usage.input_tokens, ended.usage.output_tokens) == (10, 1)
    assert ran == []
    assert len(bench.journal.of(RequestRetrying)) == 1
    assert [message.text for message in bench.conversation.messages] == ["hi", "ok"]
    assert bench.conversation.messages[1].blocks == (Text("ok"),)


async def test_a_call_that_broke_off_behind_text_is_not_asked_for_again() -> None:
    bench = Bench([TextDelta("I look."), HALF_CALL, StreamTruncated("gone")], says("never"))
    assert (await bench.run()).end == "failed"
    assert bench.conversation.messages[1].text == "I look."


async def test_a_malformed_first_chunk_is_asked_for_again_and_a_wrong_address_is_not() -> None:
    bench = Bench([StreamMalformed("junk", retryable=True)], says("ok"))
    assert (await bench.run()).end == "completed"
    lost = Bench([StreamMalformed("a web page")], says("never"))
    assert (await lost.run()).end == "failed"


async def test_thoughts_of_an_answer_that_broke_off_are_kept_when_no_attempt_is_left() -> None:
    bench = Bench([ReasoningDelta("Let me see."), StreamTruncated("gone")], retries=0)
    assert (await bench.run()).end == "failed"
    assert bench.conversation.messages[1].blocks == (Reasoning("Let me see."),)


@pytest.mark.parametrize("chance", [0.0, 0.999])
async def test_each_wait_is_longer_than_the_one_before_it_whatever_chance_says(
    chance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("agent_tui_core.agent.requesting.asyncio.sleep", wait)
    turns = iter([chance, 1 - chance] * 2)
    requesting = Requesting(Scripted([]), Recorder(), 4, None, lambda: next(turns))
    for attempt in range(4):
        assert await requesting.wait_after(ProviderUnreachable("gone"), attempt) == attempt + 1
    assert all(later > 1.1 * earlier for earlier, later in itertools.pairwise(waited))


async def test_a_refusal_that_cannot_change_is_not_tried_again() -> None:
    bench = Bench([BadRequest("context too long", status=400)], says("never"))
    await bench.run()
    assert len(bench.provider.requests) == 1


async def test_the_wait_a_server_asks_for_is_taken_unless_it_is_too_long() -> None:
    short = Bench([RateLimited("slow down", status=429, retry_after=0.01)], says("ok"))
    assert (await short.run()).end == "completed"
    [retrying] = short.journal.of(RequestRetrying)
    assert isinstance(retrying, RequestRetrying)
    assert retrying.delay == 0.01
    long = Bench([RateLimited("come back tomorrow", status=429, retry_after=9999)], says("never"))
    assert (await long.run()).end == "failed"


async def test_a_bug_ends_the_run_as_failed_keeps_the_text_and_is_raised() -> None:
    bench = Bench()
    bench.provider.answers = [[TextDelta("some"), _Bug()]]  # type: ignore[list-item]
    with pytest.raises(Exception, match=r".*"):
        await bench.run()
    ends = [body for body in bench.journal.of(RunEnded) if isinstance(body, RunEnded)]
    assert [end.end for end in ends] == ["failed"]
    assert bench.conversation.messages[1].text == "some"


class _Bug:
    """No event at all: the accumulator cannot take it."""


async def test_a_history_that_cannot_be_written_stops_the_run_before_it_acts() -> None:
    ran: list[int] = []
    bench = Bench(calls(call("t", {})), tools=(tool("t", lambda _i: ran.append(1)),))

    def refuse(bodies: Any) -> None:
        if any(isinstance(body, ToolStarted) for body in bodies):
            raise HistoryError("the disk is full")

    bench.journal.on_commit = refuse
    ended = await bench.run()
    assert (ended.end, ended.reason) == ("failed", "the disk is full")
    assert ran == []


# --- interrupts ---------------------------------------------------------------------------------------------


async def _interrupted(run: asyncio.Task[RunEnded]) -> RunEnded:
    run.cancel()
    return await run


async def test_an_interrupt_before_the_first_byte_returns_the_prompt() -> None:
    bench = Bench([asyncio.Event()])
    run = bench.start("p")
    await bench.provider.asked.wait()
    assert (await _interrupted(run)).end == "interrupted"
    assert bench.roles == []
    assert bench.provider.closed == 1
    assert bench.journal.of(PromptReturned) == [PromptReturned("p", "by you")]


async def test_an_interrupt_while_streaming_keeps_the_text_and_drops_the_unfinished_call() -> None:
    cut = ToolUseDelta(0, "c", "t", '{"a": 1}')
    bench = Bench([TextDelta("partial"), cut, asyncio.Event()], says("again"))
    run = bench.start()
    await bench.journal.until(ToolUseDelta)
    assert (await _interrupted(run)).end == "interrupted"
    kept = bench.conversation.messages[1]
    assert (kept.text, kept.stop_reason, kept.tool_uses) == ("partial", "interrupted", ())
    assert (await bench.run("go on")).end == "completed"


async def test_an_interrupt_while_a_person_is_asked_withdraws_the_question() -> None:
    desk = ApprovalDesk()
    bench = Bench(calls(call("t", {})), says("x"), tools=(tool("t", lambda _i: "ran"),), gate=person(desk))
    run = bench.start()
    await bench.journal.until(ApprovalRequested)
    request = desk.pending[0]
    assert (await _interrupted(run)).end == "interrupted"
    assert desk.pending == ()
    assert desk.answer(request.id, AllowOnce()) == 0
    assert bench.results == [ToolResult("c1", CANCELLED, is_error=True)]
    [settled] = bench.journal.of(ApprovalSettled)
    assert isinstance(settled, ApprovalSettled)
    assert settled.answer == "withdrawn"


async def test_an_interrupt_while_tools_run_keeps_the_results_that_are_there() -> None:
    async def hang(_input: dict[str, Any]) -> str:
        await asyncio.Event().wait()
        return ""

    bench = Bench(
        calls(call("add", {"a": 1, "b": 1}, id="a"), call("hang", {}, id="b", place=1)),
        tools=(ADD, tool("hang", hang, writes=False)),
    )
    run = bench.start()
    await bench.journal.until(ToolEnded)
    assert (await _interrupted(run)).end == "interrupted"
    assert [result.content for result in bench.results] == ["2", CANCELLED]
    assert len(bench.journal.of(ToolEnded)) == 2


async def test_an_interrupt_while_backing_off_ends_at_once() -> None:
    bench = Bench([RateLimited("wait", status=429, retry_after=60)])
    run = bench.start()
    await bench.journal.until(RequestRetrying)
    assert (await _interrupted(run)).end == "interrupted"


async def test_each_run_has_exactly_one_end() -> None:
    scripts: list[list[Answer]] = [
        [says("ok")],
        [[BadRequest("x", status=400)]],
        [[TextDelta("x"), StreamTruncated("y")]],
        [[AnswerEnded("end")]],
        [calls(call("add", {"a": 1, "b": 1})), says("ok")],
    ]
    for answers in scripts:
        bench = Bench(*answers, tools=(ADD,))
        await bench.run()
        assert len(bench.journal.of(RunEnded)) == 1


# --- hooks and rules in the loop ----------------------------------------------------------------------------


async def test_a_hooks_allow_never_beats_a_deny_rule() -> None:
    gate = person(ApprovalDesk(), Permissions(PermissionRules(deny=["t"])))
    hooks = Hooks().add_pre_tool_use(lambda _e: HookDecision.allow())
    bench = Bench(
        calls(call("t", {})), says("ok"), tools=(tool("t", lambda _i: "ran"),), hooks=hooks, gate=gate
    )
    await bench.run()
    assert bench.results[0].content.startswith("Denied: the rule t")


async def test_a_hooks_allow_spares_the_question_and_its_ask_forces_it() -> None:
    desk = ApprovalDesk()
    allows = Hooks().add_pre_tool_use(lambda _e: HookDecision.allow())
    bench = Bench(
        calls(call("t", {})),
        says("ok"),
        tools=(tool("t", lambda _i: "ran"),),
        hooks=allows,
        gate=person(desk),
    )
    await bench.run()
    assert bench.results[0].content == "ran"

    asks = Hooks().add_pre_tool_use(lambda _e: HookDecision.ask("it is Friday"))
    allowed = person(desk, Permissions(PermissionRules(allow=["t"])))
    asked = Bench(
        calls(call("t", {})), says("ok"), tools=(tool("t", lambda _i: "ran"),), hooks=asks, gate=allowed
    )
    run = asked.start()
    await asked.journal.until(ApprovalRequested)
    assert (desk.pending[0].reason, desk.pending[0].remember) == ("it is Friday", None)
    desk.answer(desk.pending[0].id, AllowOnce())
    await run


async def test_rules_judge_what_a_hook_rewrote_and_what_it_was() -> None:
    def rewrite(event: PreToolUseEvent) -> HookDecision:
        return HookDecision.modify_input({"command": "rm -rf x"})

    gate = person(ApprovalDesk(), Permissions(PermissionRules(allow=["Bash"], deny=["Bash(rm *)"])))
    bench = Bench(
        calls(call("Bash", {"command": "ls"})),
        says("ok"),
        tools=(tool("Bash", lambda _i: "ran"),),
        hooks=Hooks().add_pre_tool_use(rewrite),
        gate=gate,
    )
    await bench.run()
    assert bench.results[0].content.startswith("Denied")


async def test_hooks_see_the_real_history() -> None:
    seen: list[tuple[str, ...]] = []
    hooks = Hooks().add_pre_tool_use(lambda e: seen.append(tuple(m.role for m in e.history)))
    bench = Bench(calls(call("add", {"a": 1, "b": 1})), says("ok"), tools=(ADD,), hooks=hooks)
    await bench.run()
    assert seen == [("user", "assistant")]
