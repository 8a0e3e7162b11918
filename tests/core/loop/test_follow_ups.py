"""After whatever happened to a run, the next request is one that OpenAI would accept."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agent_tui_core.agent.approvals import AllowEdited, AllowOnce, DenyCall
from agent_tui_core.agent.approvals import Answer as Verdict
from agent_tui_core.config.profiles import Plan
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.hooks.points import HookDecision, PreToolUseEvent, UserPromptSubmitEvent
from agent_tui_core.runtime.session import Session, open_session
from loopback import DONE, HANG, RESET, Answer, LoopbackServer, Step, chunk, finish, say, text, tool_call
from sessions import Reader, answer_all, planned, settled, tool_answer, waiting
from strict_validator import guarded

SLEEP = tool_answer("Bash", {"command": "sleep 60; touch slept"})
HALF_A_CALL = chunk(
    {
        "tool_calls": [
            {"index": 0, "id": "c", "type": "function", "function": {"name": "Bash", "arguments": '{"comm'}}
        ]
    }
)
Reached: TypeAlias = Callable[[LoopbackServer, Session, Reader], Awaitable[object]]


async def _connecting(_server: LoopbackServer, _session: Session, _reader: Reader) -> None:
    await asyncio.sleep(0)


async def _asked(server: LoopbackServer, _session: Session, _reader: Reader) -> None:
    async with asyncio.timeout(10):
        await server.until(lambda: len(server.requests) == 1)


async def _running(_server: LoopbackServer, session: Session, reader: Reader) -> None:
    await waiting(session)
    session.desk.answer(session.desk.pending[0].id, AllowOnce())
    await reader.until(lambda t: t.state == "running")


def _state(state: str) -> Reached:
    async def reached(_server: LoopbackServer, _session: Session, reader: Reader) -> None:
        await reader.until(lambda t: t.state == state)

    return reached


@pytest.mark.parametrize(
    ("first", "reached", "roles"),
    [
        pytest.param(Answer(HANG), _connecting, ["user"], id="connecting"),
        pytest.param(Answer(HANG), _asked, ["user"], id="silent"),
        pytest.param(
            Answer(text("Hel"), HANG), _state("streaming"), ["user", "assistant", "user"], id="text"
        ),
        pytest.param(Answer(HALF_A_CALL, HANG), _state("streaming"), ["user"], id="a call"),
        pytest.param(
            Answer(text("x"), HALF_A_CALL, HANG),
            _state("streaming"),
            ["user", "assistant", "user"],
            id="text and a call",
        ),
        pytest.param(SLEEP, _state("waiting"), ["user", "assistant", "tool", "user"], id="waiting"),
        pytest.param(SLEEP, _running, ["user", "assistant", "tool", "user"], id="running"),
        pytest.param(
            Answer(status=503, framing="none", headers={"Retry-After": "60"}),
            _state("retrying"),
            ["user"],
            id="backing off",
        ),
    ],
)
async def test_after_an_interrupt_the_next_prompt_is_accepted(
    tmp_path: Path, first: Answer, reached: Reached, roles: list[str]
) -> None:
    answers = [first, say("Going on.")]
    async with (
        LoopbackServer(guarded(lambda _request: answers.pop(0))) as server,
        open_session(planned(server.base_url, tmp_path)) as session,
    ):
        [worker] = session.workers
        reader = Reader(worker)
        worker.prompt("go")
        await reached(server, session, reader)
        assert worker.interrupt()
        async with asyncio.timeout(3):
            await worker.idle()
        assert reader.read().state == "interrupted"
        assert session.desk.pending == ()
        del answers[:-1]
        worker.prompt("go on")
        await settled(session)
        assert reader.read().state == "idle"
    assert _roles(server) == roles


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        (DenyCall("not here"), "Denied by the user: not here"),
        (AllowEdited({"command": "echo edited | tee e.txt"}), "edited\n"),
        (AllowEdited({"command": 5}), "edited"),
    ],
    ids=["deny", "edited", "edited badly, then well"],
)
async def test_after_an_answer_of_a_person_the_result_is_accepted(
    tmp_path: Path, verdict: Verdict, told: str
) -> None:
    answers = [tool_answer("Bash", {"command": "echo proposed > p.txt"}), say("Understood.")]
    async with (
        LoopbackServer(guarded(answers)) as server,
        open_session(planned(server.base_url, tmp_path)) as session,
    ):
        session.workers[0].prompt("go")
        await waiting(session)
        first = session.desk.pending[0].id
        session.desk.answer(first, verdict)
        if verdict == AllowEdited({"command": 5}):
            reader = Reader(session.workers[0])
            await reader.until(lambda t: any(asked != first for asked in t.waiting))
            session.desk.answer(
                session.desk.pending[0].id, AllowEdited({"command": "echo edited | tee e.txt"})
            )
        await settled(session)
    assert _messages(server)[-1]["content"].startswith(told)


async def test_deny_and_stop_leaves_every_call_answered(tmp_path: Path) -> None:
    calls = [tool_call(f"c{n}", "Bash", {"command": f"echo {n} > {n}.txt"}, index=n) for n in range(3)]
    answers = [Answer(*calls, finish("tool_calls"), DONE), say("I stop.")]
    async with (
        LoopbackServer(guarded(answers)) as server,
        open_session(planned(server.base_url, tmp_path)) as session,
    ):
        session.workers[0].prompt("go")
        await waiting(session, 3)
        session.desk.answer(session.desk.pending[1].id, DenyCall("enough", stop=True))
        await settled(session)
        session.workers[0].prompt("why?")
        await settled(session)
    assert _roles(server) == ["user", "assistant", "tool", "tool", "tool", "user"]


BROKEN: list[tuple[str, tuple[Step, ...]]] = [
    ("no JSON", (tool_call("c", "Bash", '{"command": "ec'), finish("tool_calls"), DONE)),
    ("no object", (tool_call("c", "Bash", "[1]"), finish("tool_calls"), DONE)),
    ("twice a key", (tool_call("c", "Bash", '{"command": "a", "command": "b"}'), finish("tool_calls"), DONE)),
    ("empty", (tool_call("c", "Bash", ""), finish("tool_calls"), DONE)),
    ("unknown tool", (tool_call("c", "no such tool!", {}), finish("tool_calls"), DONE)),
    ("same id twice", (
        tool_call("c", "Glob", {"pattern": "*"}),
        tool_call("c", "Glob", {"pattern": "*"}, index=1),
        finish("tool_calls"),
        DONE,
    )),
]  # fmt: skip


@pytest.mark.parametrize("steps", [steps for _, steps in BROKEN], ids=[name for name, _ in BROKEN])
async def test_a_call_that_cannot_run_is_answered_and_replayed_as_the_api_wants_it(
    tmp_path: Path, steps: tuple[Step, ...]
) -> None:
    async with (
        LoopbackServer(guarded([Answer(text("Let me. "), *steps), say("I see.")])) as server,
        open_session(planned(server.base_url, tmp_path)) as session,
    ):
        session.workers[0].prompt("go")
        assert await answer_all(session) == []
    assert len(server.requests) == 2
    assert {"user", "assistant", "tool"} == set(_roles(server))


@pytest.mark.parametrize(
    "steps",
    [
        (text("Half an ans"), finish("length"), DONE),
        (text("x"), tool_call("c", "Bash", {"command": "echo cut"}), finish("length"), DONE),
        (tool_call("c", "Bash", '{"command": "ec'), finish("content_filter"), DONE),
        (text("x"), tool_call("c", "Bash", {"command": "echo cut"}), RESET),
        (text("x"), HALF_A_CALL, RESET),
    ],
)
async def test_after_an_answer_that_was_cut_nothing_ran_and_the_next_prompt_is_accepted(
    tmp_path: Path, steps: tuple[Step, ...]
) -> None:
    async with (
        LoopbackServer(guarded([Answer(*steps), say("Again.")])) as server,
        open_session(planned(server.base_url, tmp_path)) as session,
    ):
        session.workers[0].prompt("go")
        assert await answer_all(session) == []
        session.workers[0].prompt("go on")
        await settled(session)
        assert session.workers[0].state == "idle"
    assert len(server.requests) == 2


async def test_at_the_iteration_limit_the_calls_are_answered_and_the_next_prompt_is_accepted(
    tmp_path: Path,
) -> None:
    answers = [tool_answer("Glob", {"pattern": "*"}, id=f"c{n}") for n in range(3)]
    async with LoopbackServer(guarded([*answers, say("Done.")])) as server:
        async with open_session(_limited(planned(server.base_url, tmp_path), 2)) as session:
            states = []
            for words in ("go", "go on"):
                session.workers[0].prompt(words)
                await settled(session)
                states.append(session.workers[0].state)
    assert states == ["limit", "idle"]
    assert _messages(server)[-2]["content"] == "not executed: limit"


async def test_hooks_that_block_deny_and_rewrite_leave_requests_that_are_accepted(tmp_path: Path) -> None:
    def prompts(event: UserPromptSubmitEvent) -> HookDecision | None:
        return HookDecision.deny("no secrets") if "secret" in event.prompt else None

    def calls(event: PreToolUseEvent) -> HookDecision | None:
        return HookDecision.deny("not on a Friday")

    hooks = Hooks().add_user_prompt_submit(prompts).add_pre_tool_use(calls)
    answers = [tool_answer("Bash", {"command": "echo no"}), say("Well.")]
    async with (
        LoopbackServer(guarded(answers)) as server,
        open_session(planned(server.base_url, tmp_path), hooks=hooks) as session,
    ):
        worker = session.workers[0]
        for words in ("the secret", "go"):
            worker.prompt(words)
            await settled(session)
    assert _roles(server) == ["user", "assistant", "tool"]
    assert "not on a Friday" in _messages(server)[-1]["content"]


async def test_a_queue_with_an_interrupt_in_it_is_sent_in_order(tmp_path: Path) -> None:
    answers = [Answer(text("one"), HANG), say("two"), say("three"), say("four")]
    async with (
        LoopbackServer(guarded(answers)) as server,
        open_session(planned(server.base_url, tmp_path)) as session,
    ):
        worker = session.workers[0]
        reader = Reader(worker)
        for words in ("a", "c", "d"):
            worker.prompt(words)
        await reader.until(lambda t: t.state == "streaming")
        worker.prompt_now("b")
        await reader.until(lambda t: t.state == "idle" and not t.queue)
    said = [message["content"] for message in _messages(server) if message["role"] == "user"]
    assert said == ["a", "b", "c", "d"]


@pytest.mark.parametrize("state", ["streaming", "waiting", "running"])
async def test_after_a_crash_the_resumed_agent_sends_what_is_accepted(tmp_path: Path, state: str) -> None:
    first = Answer(text("Hel"), HANG) if state == "streaming" else SLEEP
    copied = tmp_path / "copied"
    async with LoopbackServer(guarded([first, say("Going on."), say("And on."), say("Done.")])) as server:
        the_plan = planned(server.base_url, tmp_path)
        async with open_session(the_plan) as session:
            reader = Reader(session.workers[0])
            session.workers[0].prompt("go")
            if state == "running":
                await _running(server, session, reader)
            else:
                await reader.until(lambda t: t.state == state)
            shutil.copytree(the_plan.data_dir, copied)  # what a kill -9 would leave behind at this moment
        async with open_session(replace(the_plan, data_dir=copied), resume="") as again:
            for words in ("go on", "and on"):
                again.workers[0].prompt(words)
                await settled(again)
                assert again.workers[0].state == "idle"
    said = [message["content"] for message in _messages(server) if message["role"] == "user"]
    assert said == (["go on", "go", "and on"] if state == "streaming" else ["go", "go on", "and on"])


def _limited(plan: Plan, rounds: int) -> Plan:
    return replace(
        plan, agents=tuple(replace(profile, max_tool_iterations=rounds) for profile in plan.agents)
    )


def _messages(server: LoopbackServer) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = server.requests[-1].json["messages"]
    return messages


def _roles(server: LoopbackServer) -> list[str]:
    """The roles of the last request, without the system's."""
    return [message["role"] for message in _messages(server)][1:]
