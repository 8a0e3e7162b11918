from __future__ import annotations

import asyncio
import json
import signal
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui_core.config.profiles import Plan
from agent_tui_core.errors import AgentTuiError
from agent_tui_core.events import Body, MessageCommitted, RunEnded, RunStarted, ToolEnded
from agent_tui_core.history.store import History
from agent_tui_core.runtime import private_sockets
from agent_tui_core.runtime.delivery import Delivery, Result
from agent_tui_core.runtime.hand_over import hand_over
from agent_tui_core.runtime.session import open_session
from loopback import LoopbackServer, say
from outside_sessions import (
    calls_answer,
    ended,
    outside_plan,
    second_terminal,
    terminal_environment,
    tools_of,
    waits,
)
from sessions import Reader, settled
from strict_validator import guarded

GO = calls_answer(("deploy", {"what": "v42"}))
BOTH = calls_answer(("deploy", {"what": "v42"}), ("Bash", {"command": "sleep 60; touch slept"}))
DONE = say("It is deployed.")


async def left(plan: Plan) -> str:
    """Open a session, let its call wait, quit as a person does; the id of the call."""
    async with open_session(plan) as session:
        session.workers[0].prompt("deploy")
        [call] = await waits(session.workers[0])
        return call


async def happened(folder: Path) -> list[Body]:
    """What history has of the one agent."""
    history = await History.open(folder / "data" / "history.db")
    try:
        stored = await history.load()
    finally:
        await history.close()
    return [body for _, _, body in stored.conversations[0].bodies]


def count(bodies: list[Body], kind: type[Body]) -> int:
    return sum(isinstance(body, kind) for body in bodies)


async def test_a_waiting_call_survives_a_quit_and_its_run_goes_on_when_it_is_answered(tmp_path: Path) -> None:
    async with LoopbackServer(guarded([GO, DONE, say("More.")])) as server:
        plan = outside_plan(server.base_url, tmp_path)
        call = await left(plan)
        before = await happened(tmp_path)
        assert (count(before, ToolEnded), count(before, RunEnded)) == (0, 0)
        async with open_session(plan, resume="") as session:
            worker = session.workers[0]
            assert worker.busy
            assert await waits(worker) == [call]
            assert worker.state == "running"
            worker.prompt("and then?")
            assert [prompt.text for prompt in worker.queue] == ["and then?"]
            assert (await second_terminal(tmp_path, call, "--result", "deployed"))[0] == 0
            await Reader(worker).until(lambda seen: seen.state == "idle" and not seen.queue)
            [entry] = ended(worker)
            assert (entry.status, entry.result and entry.result.content) == ("ok", "deployed")
            assert entry.seconds > 0
        sent = server.requests[1].json["messages"]
        assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
        assert server.requests[2].json["messages"][-1]["content"] == "and then?"
        after = await happened(tmp_path)
        assert after[: len(before)] == before
        assert (count(after, RunStarted), count(after, RunEnded), count(after, ToolEnded)) == (2, 2, 1)
        [first, _] = [body for body in after if isinstance(body, RunEnded)]
        assert (first.end, first.iterations) == ("completed", 2)
        assert first.usage.input_tokens is not None
        assert first.usage.input_tokens > 10


KILLED = """
import asyncio, sys
from dataclasses import replace
from pathlib import Path
from agent_tui_core.agent.approvals import AllowOnce
from agent_tui_core.runtime.session import open_session
from outside_sessions import outside_plan, waits
from sessions import Reader, waiting

async def main(base_url, folder):
    async with open_session(outside_plan(base_url, Path(folder))) as session:
        worker = session.workers[0]
        worker.prompt("deploy")
        await waiting(session)
        session.desk.answer(session.desk.pending[0].id, AllowOnce())
        [call] = await waits(worker)
        await Reader(worker).until(lambda seen: "Bash" in seen.detail and seen.state == "running")
        print(call, flush=True)
        await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_waiting_call_survives_kill_9_and_the_other_calls_are_interrupted(tmp_path: Path) -> None:
    async with LoopbackServer(guarded([BOTH, DONE])) as server:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            KILLED,
            server.base_url,
            str(tmp_path),
            stdout=asyncio.subprocess.PIPE,
            env=terminal_environment(tmp_path),
        )
        assert child.stdout is not None
        async with asyncio.timeout(20):
            call = (await child.stdout.readline()).decode().strip()
        child.send_signal(signal.SIGKILL)
        await child.wait()
        plan = outside_plan(server.base_url, tmp_path)
        for _ in range(2):  # and again: nothing that was taken up is lost by another end
            async with open_session(plan, resume="") as session:
                assert await waits(session.workers[0]) == [call]
        async with open_session(plan, resume="") as session:
            worker = session.workers[0]
            await waits(worker)
            assert (await second_terminal(tmp_path, call, "--error", "red"))[0] == 0
            await settled(session)
            deploy, bash = ended(worker)
            assert (deploy.status, bash.status) == ("error", "cancelled")
            assert bash.result is not None
            assert "interrupted" in bash.result.content
            assert worker.state == "idle"
        contents = [message["content"] for message in server.requests[1].json["messages"][-2:]]
        assert contents[0] == "red"
        assert "interrupted" in contents[1]
        after = await happened(tmp_path)
        assert (count(after, RunStarted), count(after, RunEnded), count(after, ToolEnded)) == (1, 1, 2)


async def test_an_answer_that_comes_while_nothing_runs_is_kept_for_the_session(tmp_path: Path) -> None:
    async with LoopbackServer(guarded([GO, DONE])) as server:
        plan = outside_plan(server.base_url, tmp_path)
        call = await left(plan)
        code, out, _ = await second_terminal(tmp_path, call, stdin=b'{"result": ["a", 1]}')
        assert code == 0
        assert out.startswith("kept: no agent-tui that waits for this call of deploy runs now")
        assert "agent-tui --resume" in out
        kept = tmp_path / "data" / "answers" / f"{call}.json"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
        again = await second_terminal(tmp_path, call, "--result", "second")
        assert (again[0], "has an answer already" in again[2]) == (1, True)
        async with open_session(plan, resume="") as session:
            await settled(session)
            [entry] = ended(session.workers[0])
            assert (entry.status, entry.result and entry.result.content) == ("ok", '["a", 1]')
        assert list(kept.parent.iterdir()) == []
        code, _, err = await second_terminal(tmp_path, call, "--result", "third")
        assert (code, "this call ended already: answered at" in err) == (1, True)


async def test_a_call_whose_time_ended_while_nothing_ran_asks_no_model(tmp_path: Path) -> None:
    async with LoopbackServer(guarded([GO])) as server:
        plan = outside_plan(server.base_url, tmp_path, timeout=1.0)
        call = await left(plan)
        async with asyncio.timeout(10):
            while True:  # its time ends by the clock on the wall, which wakes nobody
                code, _, err = await second_terminal(tmp_path, call, "--result", "late")
                if code == 1:
                    break
                (tmp_path / "data" / "answers" / f"{call}.json").unlink()
        assert "timed out at" in err
        async with open_session(plan, resume="") as session:
            worker = session.workers[0]
            assert not worker.busy
            [entry] = ended(worker)
            assert entry.status == "timed_out"
            assert entry.result is not None
            assert "when the program did not run" in entry.result.content
        assert len(server.requests) == 1
        after = await happened(tmp_path)
        assert (count(after, RunEnded), count(after, ToolEnded)) == (1, 1)


@pytest.mark.parametrize("begun", [False, True])
async def test_an_interrupt_after_a_restart_ends_the_run_and_the_agent_is_usable(
    tmp_path: Path, begun: bool
) -> None:
    async with LoopbackServer(guarded([GO, say("Fine.")])) as server:
        plan = outside_plan(server.base_url, tmp_path)
        call = await left(plan)
        async with open_session(plan, resume="") as session:
            worker = session.workers[0]
            if begun:
                await waits(worker)
            assert worker.interrupt()
            await settled(session)
            [entry] = ended(worker)
            assert (entry.status, worker.state) == ("cancelled", "interrupted")
            worker.prompt("go on")
            await settled(session)
            assert worker.state == "idle"
        after = await happened(tmp_path)
        assert (count(after, RunStarted), count(after, RunEnded), count(after, ToolEnded)) == (2, 2, 1)
        assert (await second_terminal(tmp_path, call, "--result", "late"))[0] == 1


async def test_closing_its_agent_ends_a_waiting_call_for_good(tmp_path: Path) -> None:
    async with LoopbackServer([GO]) as server:
        plan = outside_plan(server.base_url, tmp_path)
        async with open_session(plan) as session:
            worker = session.workers[0]
            worker.prompt("deploy")
            await waits(worker)
            await session.remove_worker(worker.id)
        after = await happened(tmp_path)
        assert (count(after, RunEnded), count(after, ToolEnded), count(after, MessageCommitted)) == (1, 1, 3)


async def test_the_program_of_a_call_outlives_the_dashboard_and_answers_later(tmp_path: Path) -> None:
    goes_on, code = tmp_path / "go", tmp_path / "program.py"
    code.write_text(
        f"import sys\nsys.path[:] = {sys.path!r}\n"
        "import os, time\n"
        f"while not os.path.exists({str(goes_on)!r}):\n    print('working', flush=True); time.sleep(0.01)\n"
        "for _ in range(2_000):\n    print('nobody reads ' * 10, flush=True)\n"
        "from agent_tui.cli import run\n"
        "sys.exit(run(['tool-result', os.environ['AGENT_TUI_CALL_ID'], '--result', 'later']))\n"
    )
    async with LoopbackServer(guarded([GO, DONE])) as server:
        plan = outside_plan(server.base_url, tmp_path, sys.executable, str(code))
        call = await left(plan)
        goes_on.touch()
        kept = tmp_path / "data" / "answers" / f"{call}.json"
        async with asyncio.timeout(20):
            while not kept.exists():  # a file of another process tells nobody
                await asyncio.sleep(0.01)
        assert json.loads(kept.read_bytes())["result"] == "later"
        async with open_session(plan, resume="") as session:
            await settled(session)
            [entry] = ended(session.workers[0])
            assert (entry.status, entry.result and entry.result.content) == ("ok", "later")


async def test_a_call_that_is_taken_up_starts_no_second_program(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    async with LoopbackServer(guarded([GO, DONE])) as server:
        plan = outside_plan(server.base_url, tmp_path, "sh", "-c", f"echo run >> {runs}")
        async with open_session(plan) as session:
            worker = session.workers[0]
            worker.prompt("deploy")
            await Reader(worker).until(
                lambda seen: any("its program ended" in each.progress for each in tools_of(seen))
            )
        async with open_session(plan, resume="") as session:
            [call] = await waits(session.workers[0])
            session.equipment.outside.calls.deliver(call, "ok")
            await settled(session)
        assert runs.read_text() == "run\n"


async def test_while_a_program_that_may_have_the_call_is_silent_nothing_is_kept(tmp_path: Path) -> None:
    async with LoopbackServer(guarded([GO])) as server:
        call = await left(outside_plan(server.base_url, tmp_path))
    data = tmp_path / "data"
    silent, path = private_sockets.listening(private_sockets.folders(data, {})[0])
    try:
        with pytest.raises(AgentTuiError, match=r"does not answer \(process \d+\).*Nothing was kept"):
            await asyncio.to_thread(hand_over, Delivery(call, Result("x")), data, {}, patience=0.2)
    finally:
        silent.close()
        private_sockets.leave(path, data)
    assert not (data / "answers").exists()


async def test_a_call_that_waits_for_nobody_outside_cannot_be_answered(tmp_path: Path) -> None:
    async with LoopbackServer([calls_answer(("Bash", {"command": "echo hi"})), DONE]) as server:
        async with open_session(outside_plan(server.base_url, tmp_path)) as session:
            worker = session.workers[0]
            worker.prompt("go")
            reader = Reader(worker)
            await reader.until(lambda seen: any(each.key for each in tools_of(seen)))
            [entry] = tools_of(reader.transcript)
            receipt = session.equipment.outside.calls.deliver(entry.key, "mine")
            assert receipt.state == "unknown"
            await settled(session)
    code, _, err = await second_terminal(tmp_path, entry.key, "--result", "x")
    assert (code, "this call ended already: answered" in err) == (1, True)


async def test_a_run_that_is_taken_up_has_the_rounds_left_that_it_had(tmp_path: Path) -> None:
    async with LoopbackServer(guarded([GO, calls_answer(("deploy", {"what": "v43"}))])) as server:
        plan = outside_plan(server.base_url, tmp_path)
        profiles = {name: replace(each, max_tool_iterations=1) for name, each in plan.profiles.items()}
        plan = replace(plan, agents=(replace(profiles["default"], name="ann"),), profiles=profiles)
        call = await left(plan)
        async with open_session(plan, resume="") as session:
            worker = session.workers[0]
            await waits(worker)
            session.equipment.outside.calls.deliver(call, "ok")
            await settled(session)
            assert [entry.status for entry in ended(worker)] == ["ok", "not_run"]
            assert worker.state == "limit"
