"""MCP tools in a whole session: the real time and git servers, a scripted model, rules, a person."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.agent.approvals import AllowOnce, DenyCall
from agent_tui_core.agent.policy import read_policy
from agent_tui_core.errors import AgentTuiError
from agent_tui_core.runtime.session import Session, open_session
from loopback import Answer, LoopbackServer, Request, say
from mcp_servers import SCRIPT, group_lives, until
from sessions import Reader, answer_all, planned, settled, tool_answer, waiting


def configured(folder: Path, servers: dict[str, dict[str, Any]], rest: str = "") -> None:
    (folder / "config").mkdir(exist_ok=True)
    tables = [rest]
    for name, table in servers.items():
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in table.items())
        tables.append(f"[mcp.servers.{name}]\n{lines}\n")
    (folder / "config" / "config.toml").write_text("\n".join(tables))


def scripted_table(folder: Path, *modes: str) -> dict[str, Any]:
    (folder / "server").mkdir(exist_ok=True)
    return {"command": sys.executable, "args": ["-S", "-E", str(SCRIPT), str(folder / "server"), *modes]}


TIME = {"command": sys.executable, "args": ["-m", "mcp_server_time", "--local-timezone", "UTC"]}
GIT = {"command": sys.executable, "args": ["-m", "mcp_server_git", "--repository", "{workspace}"]}


def tool_names(request: Request) -> list[str]:
    return [tool["function"]["name"] for tool in request.json["tools"]]


def last_result(request: Request) -> str:
    content: str = request.json["messages"][-1]["content"]
    return content


async def prompt(session: Session, words: str = "go") -> None:
    session.workers[0].prompt(words)
    await settled(session)


def server_pids(session: Session) -> list[int]:
    """The processes of this program that lead a session of their own."""
    found = []
    for number in filter(str.isdecimal, os.listdir("/proc")):
        try:
            fields = Path("/proc", number, "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and int(fields[2]) == int(number):
            found.append(int(number))
    return found


async def test_the_real_servers_are_listed_called_killed_and_restarted(tmp_path: Path) -> None:
    configured(
        tmp_path, {"time": TIME, "git": GIT}, '[permissions]\nallow = ["mcp__time", "mcp__git__git_log"]\n'
    )
    answers = [
        tool_answer("mcp__time__get_current_time", {"timezone": "UTC"}),
        say("It is late."),
        tool_answer("mcp__git__git_log", {"repo_path": str(tmp_path / "workspace")}),
        say("One commit."),
        tool_answer("mcp__git__git_log", {"repo_path": str(tmp_path / "workspace")}),
        say("Still one."),
        tool_answer("mcp__git__git_reset", {"repo_path": str(tmp_path / "workspace")}),
        say("No."),
    ]
    async with LoopbackServer(answers) as model:
        plan = planned(model.base_url, tmp_path)
        git = ["git", "-C", str(plan.workspace), "-c", "user.name=Ann", "-c", "user.email=a@example.org"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "The first"], check=True)
        async with open_session(plan) as session:
            await prompt(session)
            assert {"Bash", "mcp__time__convert_time", "mcp__git__git_status"} <= set(
                tool_names(model.requests[0])
            )
            assert '"timezone": "UTC"' in last_result(model.requests[1])
            await prompt(session)
            assert "Message: The first" in last_result(model.requests[3])
            servers = {server.spec.name: server for server in session.equipment.servers.running}
            pids = server_pids(session)
            assert len(pids) == 2
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            await until(lambda: servers["git"].state == "stopped")
            await prompt(session)
            assert "Message: The first" in last_result(model.requests[5])
            session.workers[0].prompt("reset")
            assert await answer_all(session, DenyCall("no")) == ["mcp__git__git_reset"]
        assert server_pids(session) == []


@pytest.mark.parametrize("name", ["time", "git"])
async def test_a_real_server_killed_in_mid_call_is_told_and_started_again(tmp_path: Path, name: str) -> None:
    cases: dict[str, tuple[dict[str, Any], str, dict[str, object]]] = {
        "time": (TIME, "mcp__time__get_current_time", {"timezone": "UTC"}),
        "git": (GIT, "mcp__git__git_status", {"repo_path": str(tmp_path / "workspace")}),
    }
    table, tool, input_ = cases[name]
    configured(tmp_path, {name: table}, f'[permissions]\nallow = ["mcp__{name}"]\n')
    answers = [
        say("Ready."),
        tool_answer(tool, input_),
        say("It died."),
        tool_answer(tool, input_),
        say("Good"),
    ]
    async with LoopbackServer(answers) as model:
        plan = planned(model.base_url, tmp_path)
        subprocess.run(["git", "init", "-q", str(plan.workspace)], check=True)
        async with open_session(plan) as session:
            await prompt(session)
            (pid,) = server_pids(session)
            os.kill(pid, signal.SIGSTOP)
            reader = Reader(session.workers[0])
            session.workers[0].prompt("now")
            await reader.until(lambda seen: seen.state == "running")
            os.kill(pid, signal.SIGKILL)
            await settled(session)
            assert "ended during the call" in last_result(model.requests[2])
            await prompt(session)
            assert "ended" not in last_result(model.requests[4])
            assert [again for again in server_pids(session) if again != pid]
        assert server_pids(session) == []


async def test_no_server_starts_before_a_prompt_and_none_is_left_at_the_end(tmp_path: Path) -> None:
    configured(tmp_path, {"test": scripted_table(tmp_path)})
    async with LoopbackServer([say("Hello")]) as model:
        async with open_session(planned(model.base_url, tmp_path)) as session:
            await asyncio.sleep(0)
            assert not (tmp_path / "server" / "pids").exists()
            (row,) = session.equipment.servers.report().rows
            assert (row.title, row.state) == ("test", "not started")
            await prompt(session)
            (row,) = session.equipment.servers.report().rows
            assert (row.state, row.verb) == ("ready, 13 tools", "restart")
            pid = int((tmp_path / "server" / "pids").read_text())
        assert not group_lives(pid)


async def test_a_call_is_asked_about_and_progress_is_shown_in_its_card(tmp_path: Path) -> None:
    configured(tmp_path, {"test": scripted_table(tmp_path)})
    async with LoopbackServer([tool_answer("mcp__test__progress", {}), say("Done")]) as model:
        async with open_session(planned(model.base_url, tmp_path)) as session:
            worker = session.workers[0]
            reader = Reader(worker)
            worker.prompt("go")
            await waiting(session)
            (request,) = session.desk.pending
            assert (request.tool, request.remember) == ("mcp__test__progress", "mcp__test__progress")
            session.desk.answer(request.id, AllowOnce())
            transcript = await reader.until(lambda seen: "1 of 3" in str(seen.entries))
            assert "step 1" in str(transcript.entries)
            await settled(session)


async def test_a_server_killed_in_mid_call_is_an_error_for_the_model_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    configured(tmp_path, {"test": scripted_table(tmp_path)}, '[permissions]\nallow = ["mcp__test__*"]\n')
    answers = [tool_answer("mcp__test__die", {}), tool_answer("mcp__test__echo", {"text": "x"}), say("Good")]
    async with LoopbackServer(answers) as model:
        async with open_session(planned(model.base_url, tmp_path)) as session:
            await prompt(session)
            assert "ended during the call: it was ended by signal 9" in last_result(model.requests[1])
            assert last_result(model.requests[2]) == "echo: x"


async def test_after_the_tools_changed_allow_rules_hold_only_once_that_is_accepted(tmp_path: Path) -> None:
    configured(tmp_path, {"test": scripted_table(tmp_path)}, '[permissions]\nallow = ["mcp__test"]\n')
    echo = tool_answer("mcp__test__echo", {"text": "x"})
    answers = [tool_answer("mcp__test__grow", {}), say("1"), echo, say("2"), echo, say("3")]
    async with LoopbackServer(answers) as model:
        async with open_session(planned(model.base_url, tmp_path)) as session:
            worker = session.workers[0]
            reader = Reader(worker)
            await prompt(session)
            (server,) = session.equipment.servers.running
            await until(lambda: server.doubt)
            worker.prompt("again")
            await waiting(session)
            (request,) = session.desk.pending
            assert request.reason == "the tools of server test changed since you allowed them (new: grown)"
            assert request.remember is None
            session.desk.answer(request.id, DenyCall())
            await settled(session)
            assert "mcp__test__grown" in tool_names(model.requests[2])
            await reader.until(lambda seen: "Careful: the tools of server test changed" in str(seen.entries))
            (row,) = session.equipment.servers.report().rows
            assert (row.verb, row.bad) == ("accept", True)
            with pytest.raises(AgentTuiError, match="not as it was shown"):
                await session.equipment.servers.act(row.id.rpartition(" ")[0] + " another list")
            assert (
                await session.equipment.servers.act(row.id) == "Accepted: the tools of test as they are now"
            )
            await prompt(session)
            assert last_result(model.requests[5]) == "echo: x"


@pytest.mark.parametrize("rest", ["deny", "all"])
async def test_without_a_person_changed_tools_are_denied_whatever_the_policy(
    tmp_path: Path, rest: Any
) -> None:
    configured(tmp_path, {"test": scripted_table(tmp_path)})
    answers = [tool_answer("mcp__test__echo", {"text": "x"}), say("1")]
    for _round in ("known", "changed"):
        async with LoopbackServer(answers) as model:
            plan = planned(model.base_url, tmp_path)
            async with open_session(plan, policy=read_policy([rest, "mcp__test__*"])) as session:
                await prompt(session)
                result = last_result(model.requests[1])
        if _round == "known":
            assert result == "echo: x"
            (tmp_path / "server" / "tools.json").write_text(
                '[{"name": "new", "inputSchema": {"type": "object"}}]'
            )
    assert "the tools of server test changed since you allowed them" in result
    assert "nobody is there to ask" in result


async def test_a_deny_rule_on_a_server_goes_before_everything(tmp_path: Path) -> None:
    rules = '[permissions]\nallow = ["mcp__test__echo"]\ndeny = ["mcp__test"]\n'
    configured(tmp_path, {"test": scripted_table(tmp_path)}, rules)
    async with LoopbackServer([tool_answer("mcp__test__echo", {"text": "x"}), say("1")]) as model:
        async with open_session(planned(model.base_url, tmp_path)) as session:
            await prompt(session)
            assert "Denied: the rule mcp__test" in last_result(model.requests[1])


async def test_an_agent_has_only_the_servers_that_its_profile_names(tmp_path: Path) -> None:
    rest = '[agents.default]\n[agents.lone]\nmcp = []\n[agents.one]\nmcp = ["b"]\n'
    configured(tmp_path, {name: scripted_table(tmp_path) for name in ("a", "b")}, rest)

    def script(request: Request) -> Answer:
        return say("Hello")

    async with LoopbackServer(script) as model:
        async with open_session(planned(model.base_url, tmp_path)) as session:
            for profile, expected in (("lone", set()), ("one", {"b"}), ("default", {"a", "b"})):
                worker = await session.add_worker(profile)
                worker.prompt("go")
                await settled(session)
                names = [name for name in tool_names(model.requests[-1]) if name.startswith("mcp__")]
                assert {name.split("__")[1] for name in names} == expected
            assert len((tmp_path / "server" / "pids").read_text().split()) == 2, "agents share a server"


async def test_a_server_that_does_not_start_is_told_in_the_pane_and_stops_nothing(tmp_path: Path) -> None:
    configured(tmp_path, {"test": scripted_table(tmp_path, "dies")})
    async with LoopbackServer([say("Hello")]) as model:
        async with open_session(planned(model.base_url, tmp_path)) as session:
            worker = session.workers[0]
            reader = Reader(worker)
            await prompt(session)
            text = str(reader.read().entries)
            assert "The MCP server test did not start, so its tools are missing" in text
            assert "TOKEN is missing" in text
            assert "\\x1b" not in text


async def test_a_slow_start_is_told_and_an_interrupt_does_not_wait_for_it(tmp_path: Path) -> None:
    configured(tmp_path, {"test": scripted_table(tmp_path, "silent")})
    async with LoopbackServer([say("Hello")]) as model:
        async with open_session(planned(model.base_url, tmp_path)) as session:
            worker = session.workers[0]
            reader = Reader(worker)
            worker.prompt("go")
            await reader.until(lambda seen: "Starting MCP servers: test" in str(seen.entries))
            worker.interrupt()
            async with asyncio.timeout(1):
                await worker.idle()
            assert worker.state == "interrupted"
            assert model.requests == []


async def test_a_question_of_a_server_is_a_form_of_the_session(tmp_path: Path) -> None:
    rules = '[permissions]\nallow = ["mcp__test"]\n'
    configured(tmp_path, {"test": scripted_table(tmp_path, "elicit")}, rules)
    async with LoopbackServer([tool_answer("mcp__test__form", {}), say("1")]) as model:
        async with open_session(planned(model.base_url, tmp_path)) as session:
            worker = session.workers[0]
            forms = session.equipment.forms
            worker.prompt("go")
            await until(lambda: forms.pending)
            (form,) = forms.pending
            assert (form.kind, form.source, form.agent_id) == ("elicitation", "MCP server test", worker.id)
            assert forms.answer(form.id, {"name": "Ann"})
            await settled(session)
            assert json.loads(last_result(model.requests[1]))["content"] == {"name": "Ann"}


async def test_agents_of_two_workspaces_have_a_server_each_that_knows_only_its_own(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    configured(tmp_path, {"test": scripted_table(tmp_path)}, '[permissions]\nallow = ["mcp__test"]\n')
    roots = tool_answer("mcp__test__roots", {})
    async with LoopbackServer([roots, say("1"), roots, say("2")]) as model:
        plan = planned(model.base_url, tmp_path)
        far_away = replace(plan.profiles["default"], workspace=other)
        async with open_session(replace(plan, profiles={**plan.profiles, "far": far_away})) as session:
            await prompt(session)
            far = await session.add_worker("far")
            far.prompt("go")
            await settled(session)
            for request, folder in ((1, plan.workspace), (3, other)):
                roots_told = json.loads(last_result(model.requests[request]))["roots"]
                assert roots_told == [{"uri": folder.resolve().as_uri()}]
            rows = session.equipment.servers.report().rows
            assert [row.title for row in rows] == ["test", "test"]
            assert {row.detail.rpartition("for ")[2] for row in rows} == {str(plan.workspace), str(other)}


async def test_a_projects_servers_are_for_agents_in_its_folder(tmp_path: Path) -> None:
    from agent_tui_core.config.equipment import EquipmentSettings, McpServerSettings, McpSettings

    table = scripted_table(tmp_path)
    settings = McpSettings(
        servers={"theirs": McpServerSettings(command=table["command"], args=tuple(table["args"]))}
    )
    async with LoopbackServer([say("1"), say("2")]) as model:
        plan = planned(model.base_url, tmp_path)
        other = tmp_path / "other"
        other.mkdir()
        async with open_session(plan) as session:
            await session.equipment.use_project(EquipmentSettings(mcp=settings), None, plan.workspace)
            worker = session.workers[0]
            worker.prompt("go")
            await settled(session)
            assert "mcp__theirs__echo" in tool_names(model.requests[0])
            servers = session.equipment.servers
            assert servers._servers is not None
            assert servers._servers.for_agent(other, None).tools == ()
