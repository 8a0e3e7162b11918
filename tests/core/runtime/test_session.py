from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from agent_tui_core.agent.approvals import AllowOnce, DenyCall
from agent_tui_core.agent.policy import Policy
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, plan
from agent_tui_core.errors import ConfigError
from agent_tui_core.runtime import connections
from agent_tui_core.runtime.entries import EndEntry, NoticeEntry, ProseEntry, ToolEntry, UserEntry
from agent_tui_core.runtime.session import open_session
from loopback import DONE, Answer, LoopbackServer, Request, finish, say, text
from sessions import Reader, answer_all, planned, settled, tool_answer, waiting


async def test_eight_agents_stream_at_once_and_stopping_one_closes_that_connection_alone(
    tmp_path: Path,
) -> None:
    release = asyncio.Event()

    def script(_request: Request) -> Answer:
        return Answer(text("Hel"), release, text("lo"), finish(), DONE)

    async with LoopbackServer(script) as server:
        async with open_session(planned(server.base_url, tmp_path, count=8)) as session:
            readers = [Reader(worker) for worker in session.workers]
            for worker in session.workers:
                worker.prompt("hi")
            async with asyncio.timeout(10):
                await server.until(lambda: server.open_now == 8)
            for reader in readers:
                await reader.until(lambda t: t.state == "streaming")
            assert session.running == 8
            assert session.workers[3].interrupt()
            async with asyncio.timeout(0.1):
                await session.workers[3].idle()
            async with asyncio.timeout(1):
                await server.until(lambda: server.open_now == 7)
            assert readers[3].read().state == "interrupted"
            assert session.running == 7
            release.set()
            await settled(session)
            states = [reader.read().state for reader in readers]
            assert states == ["idle"] * 3 + ["interrupted"] + ["idle"] * 4
            session.workers[3].prompt("again")
            await settled(session)
            assert readers[3].read().state == "idle"
    assert sum(stream.disconnected.is_set() for stream in server.streams) == 1


async def test_an_allowed_command_runs_in_the_workspace_and_its_result_reaches_the_server(
    tmp_path: Path,
) -> None:
    answers = [tool_answer("Bash", {"command": "pwd > here.txt; echo done"}), say("It is done.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        worker = session.workers[0]
        reader = Reader(worker)
        worker.prompt("go")
        await waiting(session)
        assert not (worker.workspace / "here.txt").exists()
        request = session.desk.pending[0]
        assert request.preview.content == "pwd > here.txt; echo done"
        assert session.desk.answer(request.id, AllowOnce()) == 1
        await settled(session)
        assert (worker.workspace / "here.txt").read_text().strip() == str(worker.workspace)
        follow_up = server.requests[1].json["messages"]
        assert [message["role"] for message in follow_up] == ["system", "user", "assistant", "tool"]
        assert follow_up[2]["tool_calls"][0]["id"] == follow_up[3]["tool_call_id"] == "call_1"
        assert "done" in follow_up[3]["content"]
        entries = reader.read().entries
        assert [type(entry) for entry in entries] == [UserEntry, ProseEntry, ToolEntry, ProseEntry]
        assert isinstance(entries[2], ToolEntry)
        assert (entries[2].status, entries[2].decided_by) == ("ok", "person")


async def test_a_denied_command_did_not_run_and_the_model_reads_the_reason(tmp_path: Path) -> None:
    answers = [tool_answer("Bash", {"command": "touch ran"}), say("Understood.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        session.workers[0].prompt("go")
        await waiting(session)
        session.desk.answer(session.desk.pending[0].id, DenyCall("not here"))
        await settled(session)
        assert not (session.workers[0].workspace / "ran").exists()
        assert server.requests[1].json["messages"][-1]["content"] == "Denied by the user: not here"


async def test_a_session_comes_back_with_everything_that_was_said(tmp_path: Path) -> None:
    answers = [tool_answer("Glob", {"pattern": "*"}), say("No files."), say("Second life.")]
    async with LoopbackServer(answers) as server:
        the_plan = planned(server.base_url, tmp_path)
        async with open_session(the_plan) as session:
            session.workers[0].prompt("look around")
            await settled(session)
            before = Reader(session.workers[0]).read()
        async with open_session(the_plan, resume="") as again:
            assert again.id == session.id
            after = Reader(again.workers[0]).read()
            assert [type(entry) for entry in after.entries] == [type(entry) for entry in before.entries]
            assert after.usage == before.usage
            again.workers[0].prompt("and now?")
            await settled(again)
    roles = [message["role"] for message in server.requests[2].json["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


async def test_an_error_of_one_agent_stands_in_its_pane_and_the_agent_stays_usable(tmp_path: Path) -> None:
    refused = Answer(
        b'{"error": {"message": "model overloaded, go away"}}', status=400, content_type="application/json"
    )
    async with (
        LoopbackServer([refused, say("better")]) as server,
        open_session(planned(server.base_url, tmp_path)) as session,
    ):
        worker = session.workers[0]
        reader = Reader(worker)
        worker.prompt("hello")
        await settled(session)
        failed = reader.read()
        assert failed.state == "failed"
        assert any(isinstance(e, EndEntry) and "go away" in e.reason for e in failed.entries)
        assert failed.returned is not None
        assert failed.returned.prompt == "hello"
        worker.prompt("again")
        await settled(session)
        assert reader.read().state == "idle"


async def test_the_demo_asks_allows_and_really_edits_the_sample_workspace(tmp_path: Path) -> None:
    environ = {"AGENT_TUI_DATA_DIR": str(tmp_path / "data"), "AGENT_TUI_CONFIG_DIR": str(tmp_path / "c")}
    the_plan = plan(load_settings(None, environ=environ), Flags(demo=True, workspace=tmp_path), environ)
    async with open_session(the_plan, demo_pace=0.0) as session:
        assert session.demo
        assert "demo" in session.greeting
        assert len(session.workers) == 4
        session.start()
        folder = session.workers[0].workspace
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        answered = await answer_all(session)
        assert {"Edit", "Bash"} <= set(answered)
        assert any(path.read_bytes() != content for path, content in before.items())
        assert [worker.state for worker in session.workers] == ["idle"] * 4


async def test_without_a_model_a_server_elsewhere_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    environ = {"AGENT_TUI_DATA_DIR": str(tmp_path / "data")}
    flags = Flags(base_url="https://models.invalid/v1", workspace=tmp_path)
    with pytest.raises(ConfigError, match="--model"):
        async with open_session(plan(load_settings(None, environ=environ), flags, environ)):
            pass


async def test_a_run_without_a_model_and_without_a_local_server_is_refused_with_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        nobody = ("nobody", f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        monkeypatch.setattr(connections, "LOCAL_SERVERS", (nobody,))
        environ = {"AGENT_TUI_DATA_DIR": str(tmp_path / "data")}
        the_plan = plan(load_settings(None, environ=environ), Flags(workspace=tmp_path), environ)
        with pytest.raises(ConfigError, match="no model is configured"):
            async with open_session(the_plan, policy=Policy()):
                pass


async def test_a_demo_workspace_that_is_gone_is_made_anew(tmp_path: Path) -> None:
    import shutil

    environ = {"AGENT_TUI_DATA_DIR": str(tmp_path / "data")}
    the_plan = plan(load_settings(None, environ=environ), Flags(demo=True, workspace=tmp_path), environ)
    async with open_session(the_plan) as session:
        shutil.rmtree(session.workers[0].workspace)
    async with open_session(the_plan, resume=session.id[:8]) as again:
        assert all(worker.workspace.is_dir() for worker in again.workers)
        entries = Reader(again.workers[0]).read().entries
        assert any(isinstance(entry, NoticeEntry) for entry in entries)


async def test_a_closed_agent_does_not_come_back_with_its_session(tmp_path: Path) -> None:
    async with LoopbackServer([say("one")]) as server:
        the_plan = planned(server.base_url, tmp_path, count=2)
        async with open_session(the_plan) as session:
            first, second = session.workers
            first.prompt("hi")
            await settled(session)
            await session.remove_worker(second.id)
            assert session.workers == (first,)
        async with open_session(the_plan, resume="") as again:
            assert [worker.id for worker in again.workers] == [first.id]
            added = await again.add_worker()
            assert added.name != first.name
