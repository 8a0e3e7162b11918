"""Owns the proof that a session's agents run their commands in the sandbox, and leave nothing behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui_core.config.equipment import SandboxSettings
from agent_tui_core.config.profiles import Plan
from agent_tui_core.runtime.session import open_session
from boxes import marked, needs_sandbox, new_mark, until
from loopback import LoopbackServer, say
from sessions import answer_all, planned, settled, tool_answer, waiting


def in_mode(plan: Plan, agent_mode: str = "ask", /, **sandbox: object) -> Plan:
    profiles = {name: replace(each, mode=agent_mode) for name, each in plan.profiles.items()}  # type: ignore[arg-type]
    agents = tuple(replace(each, mode=agent_mode) for each in plan.agents)  # type: ignore[arg-type]
    equipment = replace(plan.equipment, sandbox=SandboxSettings(**sandbox))  # type: ignore[arg-type]
    return replace(plan, profiles=profiles, agents=agents, equipment=equipment)


def tool_result(server: LoopbackServer, request: int = 1) -> str:
    return str(server.requests[request].json["messages"][-1]["content"])


@needs_sandbox
async def test_a_command_cannot_reach_the_programs_own_folders(tmp_path: Path) -> None:
    plan = planned("http://127.0.0.1:1", tmp_path)
    look = f"ls {plan.data_dir}; echo $AGENT_TUI_SANDBOX; cat /proc/1/comm"
    async with LoopbackServer([tool_answer("Bash", {"command": look}), say("done")]) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            assert session.equipment.sandbox.words == "sandbox not tried yet"
            assert await session.equipment.sandbox.look() == "sandbox on"
            session.workers[0].prompt("go")
            await answer_all(session)
    assert tool_result(server).split() == ["1", "bwrap"]


@needs_sandbox
async def test_the_mode_auto_runs_commands_unasked_inside_and_without_network(tmp_path: Path) -> None:
    command = "echo made > made; cat /proc/net/dev | tail -n +3 | cut -d: -f1"
    async with LoopbackServer([tool_answer("Bash", {"command": command}), say("done")]) as server:
        plan = in_mode(planned(server.base_url, tmp_path), "auto")
        async with open_session(plan) as session:
            session.workers[0].prompt("go")
            await settled(session)
            assert (session.workers[0].workspace / "made").exists()
    assert tool_result(server).split() == ["lo"]


async def test_without_a_sandbox_the_mode_auto_asks_and_the_question_says_why(tmp_path: Path) -> None:
    async with LoopbackServer([tool_answer("Bash", {"command": "make x"}), say("done")]) as server:
        plan = in_mode(planned(server.base_url, tmp_path), "auto", mode="off")
        async with open_session(plan) as session:
            session.workers[0].prompt("go")
            await waiting(session)
            assert session.desk.pending[0].reason.endswith(
                "the mode auto allows only in a sandbox: it is off"
            )
            session.workers[0].interrupt()
            await settled(session)
            (row,) = session.equipment.sandbox.report().rows
            assert (row.title, row.bad) == ("sandbox off: by your settings", False)


async def test_a_required_sandbox_that_is_missing_is_told_to_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_tui_core.processes.sandbox._PROGRAMS", ())
    monkeypatch.setenv("PATH", "/nowhere")
    async with LoopbackServer([tool_answer("Bash", {"command": "touch ran"}), say("done")]) as server:
        async with open_session(in_mode(planned(server.base_url, tmp_path), mode="required")) as session:
            session.workers[0].prompt("go")
            await answer_all(session)
            assert not (session.workers[0].workspace / "ran").exists()
            assert session.equipment.sandbox.report().rows[0].bad
    assert "Nothing was run. The person can install bubblewrap" in tool_result(server)


@pytest.mark.parametrize("how", ["removed", "closed"])
@pytest.mark.parametrize("mode", [pytest.param("auto", marks=needs_sandbox), "off"])
async def test_what_an_agent_left_running_ends_with_it(how: str, mode: str, tmp_path: Path) -> None:
    mark = new_mark()
    call = tool_answer("Bash", {"command": f"nohup sleep 1{mark} >/dev/null 2>&1 & echo ok"})
    async with LoopbackServer([call, say("done"), say("stopped")]) as server:
        async with open_session(in_mode(planned(server.base_url, tmp_path), mode=mode)) as session:
            worker = session.workers[0]
            worker.prompt("go")
            await answer_all(session)
            (left,) = session.equipment.left.running
            assert (left.agent_id, left.agent) == (worker.id, worker.name)
            assert marked(mark)
            if how == "removed":
                await session.remove_worker(worker.id)
                assert session.equipment.left.running == ()
                assert not marked(mark)
    await until(lambda: not marked(mark), seconds=1)
    assert "Left running in the background as bg1" in tool_result(server)
