from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from agent_tui_core.agent.approvals import AllowOnce
from agent_tui_core.runtime.entries import ProseEntry, ToolEntry
from agent_tui_core.runtime.session import open_session
from agent_tui_core.runtime.transcript import Transcript
from development import DEVELOPMENT
from loopback import LoopbackServer, say
from sessions import planned, settled, tool_answer, waiting

CHILD = """
import asyncio, sys
from pathlib import Path
from agent_tui_core.agent.approvals import AllowOnce
from agent_tui_core.runtime.session import open_session
from sessions import planned, waiting

async def main(base_url, folder):
    async with open_session(planned(base_url, Path(folder))) as session:
        session.workers[0].prompt("go")
        await waiting(session)
        session.desk.answer(session.desk.pending[0].id, AllowOnce())
        while session.workers[0].state != "running":
            await asyncio.sleep(0.01)
        print("running", flush=True)
        await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_after_kill_9_everything_committed_is_there_and_the_open_call_reads_interrupted(
    tmp_path: Path,
) -> None:
    answers = [tool_answer("Bash", {"command": "sleep 60; touch slept"}), say("Going on.")]
    async with LoopbackServer(answers) as server:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            CHILD,
            server.base_url,
            str(tmp_path),
            stdout=asyncio.subprocess.PIPE,
            env=DEVELOPMENT
            | {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        )
        assert child.stdout is not None
        async with asyncio.timeout(20):
            assert await child.stdout.readline() == b"running\n"
        child.send_signal(signal.SIGKILL)
        await child.wait()

        async with open_session(planned(server.base_url, tmp_path), resume="") as session:
            worker = session.workers[0]
            transcript = Transcript()
            transcript.apply(worker.subscribe().take())
            [prose] = [entry for entry in transcript.entries if isinstance(entry, ProseEntry)]
            assert prose.text == "On it. "
            [call] = [entry for entry in transcript.entries if isinstance(entry, ToolEntry)]
            assert call.status == "cancelled"
            assert call.result is not None
            assert "interrupted" in call.result.content
            assert [message.role for message in worker.conversation.messages] == ["user", "assistant", "tool"]
            worker.prompt("go on")
            await settled(session)
        sent = server.requests[1].json["messages"]
        assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "user"]


async def test_an_approval_that_was_open_at_a_crash_is_not_run_on_resume(tmp_path: Path) -> None:
    async with LoopbackServer([tool_answer("Bash", {"command": "touch ran"})]) as server:
        the_plan = planned(server.base_url, tmp_path)
        async with open_session(the_plan) as session:
            session.workers[0].prompt("go")
            await waiting(session)
            stale = session.desk.pending[0].id
        async with open_session(the_plan, resume="") as again:
            assert again.desk.pending == ()
            assert again.desk.answer(stale, AllowOnce()) == 0
            assert not (again.workers[0].workspace / "ran").exists()
