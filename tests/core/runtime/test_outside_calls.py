from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_tui_core.runtime.session import Session, open_session
from agent_tui_core.runtime.worker import Worker
from loopback import LoopbackServer, say
from outside_sessions import (
    call_ids,
    calls_answer,
    ended,
    form_of,
    outside_plan,
    second_terminal,
    sockets,
    tools_of,
    waits,
)
from sessions import Reader, settled
from strict_validator import guarded

GO = calls_answer(("deploy", {"what": "v42"}))
DONE = say("It is deployed.")


@asynccontextmanager
async def deploying(
    folder: Path, *command: str, timeout: float = 60.0
) -> AsyncIterator[tuple[Session, Worker]]:
    """A session whose agent was told to deploy, and its agent; `command` is the program of the tool."""
    async with (
        LoopbackServer(guarded([GO, DONE])) as server,
        open_session(outside_plan(server.base_url, folder, *command, timeout=timeout)) as session,
    ):
        worker = session.workers[0]
        worker.prompt("deploy")
        yield session, worker


async def test_progress_from_outside_stands_in_the_card_and_the_call_waits_on(tmp_path: Path) -> None:
    async with deploying(tmp_path) as (session, worker):
        reader = Reader(worker)
        [call] = await waits(worker)
        code, out, _ = await second_terminal(tmp_path, call, "--progress", "3 of 5\x1b[2J machines")
        assert (code, out) == (0, "shown: deploy waits on\n")
        shown = json.dumps({"progress": "4 of 5 machines"}).encode()
        assert (await second_terminal(tmp_path, call, stdin=shown))[0] == 0
        transcript = await reader.until(lambda seen: "4 of 5" in tools_of(seen)[0].progress)
        [entry] = tools_of(transcript)
        assert "3 of 5" in entry.progress
        assert "\x1b" not in entry.progress
        assert entry.status == "running"
        for _ in range(3):
            told = await second_terminal(tmp_path, call, "--progress", "x" * 15_000)
            assert told[0] == 0
        assert told[1].startswith("not shown")
        assert (await second_terminal(tmp_path, call, "--result", "done"))[0] == 0
        await settled(session)
        late = await second_terminal(tmp_path, call, "--progress", "5 of 5")
        assert late[0] == 1
        assert "this call ended already" in late[2]


async def test_the_calls_that_wait_are_listed_whether_their_program_runs_or_not(tmp_path: Path) -> None:
    nobody = await second_terminal(tmp_path, "--list")
    assert nobody == (0, "", "No call waits.\n")
    async with deploying(tmp_path) as (session, worker):
        [call] = await waits(worker)
        code, out, _ = await second_terminal(tmp_path, "--list")
        first, second = out.splitlines()
        assert code == 0
        assert first.startswith(f"{call}  deploy  until 20")
        assert first.endswith(f"{worker.name}, session {session.id[:12]}")
        assert "v42" in second
    assert (await second_terminal(tmp_path, "--list"))[1].startswith(call)
    code, _, err = await second_terminal(tmp_path, call, "--progress", "x")
    assert code == 1
    assert "nothing was shown" in err
    assert (await second_terminal(tmp_path, call, "--result", "done"))[0] == 0
    assert await second_terminal(tmp_path, "--list") == nobody


async def test_a_second_terminal_answers_and_the_model_reads_it(tmp_path: Path) -> None:
    async with (
        LoopbackServer(guarded([GO, DONE])) as server,
        open_session(outside_plan(server.base_url, tmp_path)) as session,
    ):
        worker = session.workers[0]
        worker.prompt("deploy")
        [call] = await waits(worker)
        code, out, _ = await second_terminal(tmp_path, call, "--result", "deployed as v42")
        assert (code, out) == (0, "delivered: deploy has its result, and its agent goes on\n")
        await settled(session)
        [entry] = ended(worker)
        assert entry.status == "ok"
        assert server.requests[1].json["messages"][-1]["content"] == "deployed as v42"
        assert session.equipment.forms.pending == ()
        [socket] = sockets(tmp_path)
        assert stat.S_IMODE(socket.stat().st_mode) == 0o600
        assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
        again = await second_terminal(tmp_path, call, "--result", "twice")
        assert again[0] == 1
        assert "this call ended already: answered at" in again[2]
    assert sockets(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "stdin", "status", "content"),
    [
        (["--error", "the build is red"], None, "error", "the build is red"),
        (["--result-file", "-"], b"a\nb\n", "ok", "a\nb\n"),
        ([], b'{"result": {"kg": 3.2}}', "ok", '{"kg": 3.2}'),
        ([], b'{"error": "no scales"}', "error", "no scales"),
    ],
)
async def test_every_way_to_say_it(
    tmp_path: Path, arguments: list[str], stdin: bytes | None, status: str, content: str
) -> None:
    async with deploying(tmp_path) as (session, worker):
        [call] = await waits(worker)
        assert (await second_terminal(tmp_path, call, *arguments, stdin=stdin))[0] == 0
        await settled(session)
        [entry] = ended(worker)
        assert entry.status == status
        assert entry.result is not None
        assert entry.result.content == content


async def test_calls_of_one_message_wait_side_by_side_and_results_come_in_call_order(tmp_path: Path) -> None:
    both = calls_answer(
        ("deploy", {"what": "a"}), ("Bash", {"command": "echo beside"}), ("deploy", {"what": "b"})
    )
    async with (
        LoopbackServer(guarded([both, DONE])) as server,
        open_session(outside_plan(server.base_url, tmp_path)) as session,
    ):
        worker = session.workers[0]
        worker.prompt("deploy")
        first, second = await waits(worker, 2)
        await Reader(worker).until(
            lambda seen: any((each.name, each.status) == ("Bash", "ok") for each in tools_of(seen))
        )
        session.equipment.outside.calls.deliver(second, "2")
        session.equipment.outside.calls.deliver(first, "1")
        await settled(session)
        sent = server.requests[1].json["messages"][-3:]
        assert [message["content"].strip() for message in sent] == ["1", "beside", "2"]


async def test_the_end_of_the_time_is_told_and_the_run_goes_on(tmp_path: Path) -> None:
    async with deploying(tmp_path, timeout=0.2) as (session, worker):
        [call] = await waits(worker)
        await settled(session)
        [entry] = ended(worker)
        assert entry.status == "timed_out"
        assert entry.result is not None
        assert entry.result.content.startswith("no result of deploy came from outside in time")
        assert worker.state == "idle"
        code, _, err = await second_terminal(tmp_path, call, "--result", "late")
        assert code == 1
        assert "this call ended already: timed out at" in err


async def test_cancelling_one_call_lets_its_agent_go_on(tmp_path: Path) -> None:
    async with deploying(tmp_path) as (session, worker):
        [call] = await waits(worker)
        outside = session.equipment.outside
        row = outside.report().rows[0]
        assert (row.id, row.title, row.state, row.verb) == (call, "deploy", "waiting", "cancel")
        assert worker.name in row.detail
        assert "goes on" in await outside.act(call)
        await settled(session)
        [entry] = ended(worker)
        assert entry.status == "cancelled"
        assert entry.result is not None
        assert entry.result.content == "a person cancelled this call before a result came"
        assert worker.state == "idle"


async def test_an_interrupt_ends_the_wait_and_a_late_answer_is_told_so(tmp_path: Path) -> None:
    async with (
        LoopbackServer([GO]) as server,
        open_session(outside_plan(server.base_url, tmp_path)) as session,
    ):
        worker = session.workers[0]
        worker.prompt("deploy")
        [call] = await waits(worker)
        assert worker.interrupt()
        await settled(session)
        [entry] = ended(worker)
        assert entry.status == "cancelled"
        assert worker.state == "interrupted"
        assert session.equipment.outside.calls.waiting == ()
        code, _, err = await second_terminal(tmp_path, call, "--result", "late")
        assert (code, "interrupted at" in err) == (1, True)


async def test_a_person_answers_in_the_place_of_somebody_else(tmp_path: Path) -> None:
    async with deploying(tmp_path) as (session, worker):
        forms = session.equipment.forms
        form_id = await form_of(session)
        form = forms.pending[0]
        assert (form.kind, form.source, form.urgent) == ("tool-result", "tool deploy", False)
        assert form.agent_id == worker.id
        assert forms.answer(form_id, None)
        again = await form_of(session)
        assert again != form_id
        assert forms.answer(again, {"result": "not today", "is_error": True})
        await settled(session)
        [entry] = ended(worker)
        assert entry.status == "error"
        assert entry.result is not None
        assert entry.result.content == "not today"
        assert forms.pending == ()


async def test_an_unknown_call_is_told_so(tmp_path: Path) -> None:
    code, _, err = await second_terminal(tmp_path, "0" * 32, "--result", "x")
    assert (code, "no call with this id is known" in err) == (1, True)


async def test_the_one_of_two_programs_that_has_the_call_gets_the_answer(tmp_path: Path) -> None:
    async with LoopbackServer([GO, GO, DONE, DONE]) as server:
        plan = outside_plan(server.base_url, tmp_path)
        async with open_session(plan) as one, open_session(plan) as other:
            keys = []
            for session in (one, other):
                session.workers[0].prompt("deploy")
                keys += await waits(session.workers[0])
            assert len(sockets(tmp_path)) == 2
            for key, session in zip(reversed(keys), (other, one), strict=True):
                assert (await second_terminal(tmp_path, key, "--result", key))[0] == 0
                await settled(session)
                [entry] = ended(session.workers[0])
                assert entry.result is not None
                assert entry.result.content == key


# --- the program of a tool --------------------------------------------------------------------------

ANSWERING = """
import json, os, subprocess, sys
given = json.load(sys.stdin)
assert given == json.loads(os.environ["AGENT_TUI_INPUT"]), given
assert "SECRET_API_KEY" not in os.environ
said = {"result": [os.environ["AGENT_TUI_TOOL"], given, os.getcwd(), os.environ["CLAUDE_PROJECT_DIR"]]}
done = subprocess.run(
    [sys.executable, "-m", "agent_tui", "tool-result", os.environ["AGENT_TUI_CALL_ID"]],
    input=json.dumps(said).encode(), env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
)
assert done.returncode == 0
"""


def script(folder: Path, code: str) -> str:
    file = folder / "program.py"
    path = [str(part) for part in sys.path]
    file.write_text(f"import sys\nsys.path[:] = {path!r}\n{code}")
    return str(file)


async def test_a_program_is_told_of_the_call_and_answers_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "s")
    async with deploying(tmp_path, sys.executable, script(tmp_path, ANSWERING)) as (session, worker):
        await settled(session)
        [entry] = ended(worker)
        assert entry.result is not None
        called, given, folder, project = json.loads(entry.result.content)
        assert (called, given) == ("deploy", {"what": "v42"})
        assert project == os.path.realpath(tmp_path / "workspace")
        assert not Path(folder).is_relative_to(project)


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("sys.stderr.write('no such cluster\\n'); sys.exit(3)", "ended with exit code 3"),
        (
            "import os; sys.stderr.write('no such cluster\\n'); sys.stderr.flush(); os.kill(os.getpid(), 9)",
            "was ended by SIGKILL",
        ),
    ],
)
async def test_a_program_that_dies_fails_its_call_with_its_last_words(
    tmp_path: Path, code: str, how: str
) -> None:
    async with deploying(tmp_path, sys.executable, script(tmp_path, code)) as (session, worker):
        await settled(session)
        [entry] = ended(worker)
        assert entry.status == "error"
        assert entry.result is not None
        words = f"the program of deploy {how} before a result came. Its last output:\nno such cluster"
        assert entry.result.content == words
        assert worker.state == "idle"


async def test_a_program_that_ends_well_may_have_handed_the_work_over(tmp_path: Path) -> None:
    async with deploying(tmp_path, "true") as (session, worker):
        reader = Reader(worker)
        seen = await reader.until(
            lambda seen: any("its program ended" in each.progress for each in tools_of(seen))
        )
        [call] = call_ids(seen)
        assert (await second_terminal(tmp_path, call, "--result", "later"))[0] == 0
        await settled(session)
        [entry] = ended(worker)
        assert entry.status == "ok"


async def test_a_program_that_is_not_there_is_an_error_the_model_reads(tmp_path: Path) -> None:
    async with (
        LoopbackServer(guarded([GO, DONE])) as server,
        open_session(outside_plan(server.base_url, tmp_path, "./deploy.sh")) as session,
    ):
        worker = session.workers[0]
        worker.workspace.joinpath("deploy.sh").write_text("#!/bin/sh\necho from the workspace\n")
        worker.workspace.joinpath("deploy.sh").chmod(0o755)
        worker.prompt("deploy")
        await settled(session)
        [entry] = ended(worker)
        assert entry.status == "error"
        assert entry.result is not None
        assert f"there is no program {tmp_path}/config/deploy.sh" in entry.result.content


async def test_an_interrupt_ends_the_program_and_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import subprocess, os, time\n"
        "child = subprocess.Popen(['sleep', '300'])\n"
        f"open({str(pids)!r} + '.new', 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"os.rename({str(pids)!r} + '.new', {str(pids)!r})\n"
        "child.wait()\n"
    )
    async with (
        LoopbackServer([GO]) as server,
        open_session(
            outside_plan(server.base_url, tmp_path, sys.executable, script(tmp_path, code))
        ) as session,
    ):
        worker = session.workers[0]
        worker.prompt("deploy")
        await waits(worker)
        async with asyncio.timeout(10):
            while not pids.exists():  # a file of another process tells nobody
                await asyncio.sleep(0.01)
        worker.interrupt()
        await settled(session)
        assert not [pid for pid in pids.read_text().split() if is_alive(int(pid))]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False
