"""Sessions with command hooks in their configuration: real model protocol, real tools, real scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_tui_core.agent.approvals import AllowOnce, DenyCall
from agent_tui_core.agent.policy import Policy
from agent_tui_core.config.equipment import EquipmentSettings
from agent_tui_core.errors import ConfigError
from agent_tui_core.runtime.entries import EndEntry
from agent_tui_core.runtime.session import open_session
from hooked import BASH, configure, decides, entry, notices, says, told, written
from loopback import LoopbackServer, say
from sessions import Reader, answer_all, planned, settled, tool_answer, waiting


async def test_a_hook_denies_a_call_and_the_model_reads_the_reason(tmp_path: Path) -> None:
    workspace = configure(
        tmp_path, {"PreToolUse": [{"matcher": "Bash", "command": says("", 2, "not today")}]}
    )
    answers = [tool_answer("Bash", BASH), say("Understood.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        reader = Reader(session.workers[0])
        session.workers[0].prompt("go")
        await settled(session)
        assert "not today" in told(server)
        assert (entry(reader.read()).status, entry(reader.read()).decided_by) == ("denied", "hook")
    assert not (workspace / "ran.txt").exists()


async def test_a_hook_in_the_settings_file_rewrites_and_adds_context_and_rules_judge_what_it_made(
    tmp_path: Path,
) -> None:
    line = says(decides("allow", updatedInput={"command": "echo other"}, additionalContext="mind the gap"))
    workspace = configure(
        tmp_path, {}, rules=f"[[hooks.PreToolUse]]\nmatcher = 'Bash'\ncommand = '''{line}'''\n"
    )
    answers = [tool_answer("Bash", BASH), say("Done.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        session.workers[0].prompt("go")
        await settled(session)
        assert told(server) == "other\n\nmind the gap"
    assert not (workspace / "ran.txt").exists()


@pytest.mark.parametrize(
    ("rules", "asked", "runs"),
    [
        ("", 0, True),
        ("ask = ['Bash(echo other)']", 1, True),
        ("deny = ['Bash(echo other)']", 0, False),
        ("ask = ['Bash(echo ran*)']", 1, True),
        ("deny = ['Bash(echo ran*)']", 0, False),
    ],
)
async def test_a_hooks_allow_never_beats_a_rule_on_the_original_or_on_what_it_rewrote(
    tmp_path: Path, rules: str, asked: int, runs: bool
) -> None:
    line = says(decides("allow", updatedInput={"command": "echo other"}))
    configure(tmp_path, {"PreToolUse": [{"command": line}]}, rules=f"[permissions]\n{rules}\n")
    answers = [tool_answer("Bash", BASH), say("Done.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        session.workers[0].prompt("go")
        assert len(await answer_all(session)) == asked
        assert (told(server) == "other") is runs


@pytest.mark.parametrize(
    ("settings", "asked", "ran"),
    [
        ("[agents.default]\nmode = 'plan'\n", 0, False),  # the mode comes after hooks, and denies
        ("[agents.default]\nmode = 'ask'\n", 0, True),
        ("", 0, True),
    ],
)
async def test_a_hooks_allow_never_beats_a_mode_that_denies(
    tmp_path: Path, settings: str, asked: int, ran: bool
) -> None:
    workspace = configure(tmp_path, {"PreToolUse": [{"command": says(decides("allow"))}]}, rules=settings)
    answers = [tool_answer("Bash", BASH), say("Done.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        session.workers[0].prompt("go")
        assert len(await answer_all(session)) == asked
    assert (workspace / "ran.txt").exists() is ran


@pytest.mark.parametrize("point", ["PreToolUse", "PostToolUse"])
async def test_a_hook_ends_the_run_with_its_reason(tmp_path: Path, point: str) -> None:
    line = says({"continue": False, "stopReason": "enough for today"})
    workspace = configure(tmp_path, {point: [{"command": line}]}, rules="[permissions]\nallow = ['Bash']\n")
    async with LoopbackServer([tool_answer("Bash", BASH)]) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            reader = Reader(session.workers[0])
            session.workers[0].prompt("go")
            await settled(session)
            end = reader.read().entries[-1]
            assert isinstance(end, EndEntry)
            assert (end.end, end.reason) == ("interrupted", "enough for today")
    assert (workspace / "ran.txt").exists() is (point == "PostToolUse")


async def test_a_broken_hook_asks_where_a_person_is_and_says_so_in_the_pane(tmp_path: Path) -> None:
    configure(
        tmp_path,
        {"PreToolUse": [{"command": "exit 1"}]},
        rules="[permissions]\nallow = ['Bash']\n",
    )
    answers = [tool_answer("Bash", BASH), say("Done.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        reader = Reader(session.workers[0])
        session.workers[0].prompt("go")
        await waiting(session)
        assert "broke: exit code 1" in session.desk.pending[0].reason
        assert any("broke: exit code 1" in words for words in notices(reader.read()))
        await answer_all(session)
        row = session.equipment.command_hooks.report().rows[0]
        assert (row.bad, "1 run, 1 broke" in row.state) == (True, True)


async def test_a_broken_hook_denies_where_nobody_is(tmp_path: Path) -> None:
    workspace = configure(tmp_path, {"PreToolUse": [{"command": "exit 1"}]})
    answers = [tool_answer("Bash", BASH), say("Done.")]
    async with LoopbackServer(answers) as server:
        plan = planned(server.base_url, tmp_path)
        async with open_session(plan, policy=Policy("all")) as session:
            reader = Reader(session.workers[0])
            session.workers[0].prompt("go")
            await settled(session)
            assert "broke: exit code 1" in told(server)
            assert any(words.endswith("So the call is denied.") for words in notices(reader.read()))
    assert not (workspace / "ran.txt").exists()


async def test_an_interrupt_during_a_hook_leaves_no_process_and_a_usable_agent(tmp_path: Path) -> None:
    workspace = configure(tmp_path, {"PreToolUse": [{"command": "sleep 60 & echo $! > child; wait"}]})
    answers = [tool_answer("Bash", BASH), say("Hello again.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        worker = session.workers[0]
        reader = Reader(worker)
        worker.prompt("go")
        child = Path("/proc", await written(workspace / "child"), "stat")
        assert worker.interrupt()
        await settled(session)
        assert (reader.read().state, entry(reader.read()).status) == ("interrupted", "cancelled")
        assert not child.exists() or b") Z" in child.read_bytes()
        worker.prompt("hello?")
        await settled(session)
        assert reader.read().state == "idle"


async def test_the_result_that_a_broken_hook_could_not_look_at_is_read_only_if_the_person_says_so(
    tmp_path: Path,
) -> None:
    hooks = {"PostToolUse": [{"command": "exit 1"}]}
    configure(tmp_path, hooks, rules="[permissions]\nallow = ['Bash']\n")
    script = [tool_answer("Bash", BASH), say("One."), tool_answer("Bash", BASH), say("Two.")]
    async with LoopbackServer(script) as server, open_session(planned(server.base_url, tmp_path)) as session:
        reader = Reader(session.workers[0])
        session.workers[0].prompt("go")
        await waiting(session)
        shown = session.desk.pending[0].preview.content
        assert shown.startswith("Bash has run; this is its result. Allow: the model reads it.")
        assert shown.endswith("\n\ndone")
        session.desk.answer(session.desk.pending[0].id, DenyCall("no"))
        await settled(session)
        assert "withheld" in told(server)
        session.workers[0].prompt("again")
        await waiting(session)
        session.desk.answer(session.desk.pending[0].id, AllowOnce())
        await settled(session)
        assert told(server) == "done"
        assert entry(reader.read()).status == "ok"


async def test_a_hooks_file_that_cannot_be_used_stops_the_start_and_names_the_place(tmp_path: Path) -> None:
    configure(tmp_path, {"PreToolUse": [{"matcher": "(", "command": "true"}]})
    with pytest.raises(ConfigError, match=r"hooks\.json: hooks\.PreToolUse\[1\]\.matcher: is no regular"):
        async with open_session(planned("http://127.0.0.1:1/v1", tmp_path)):
            pass


async def test_a_trusted_projects_hooks_meet_only_the_agents_that_work_in_it(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    raw = {"hooks": {"PreToolUse": [{"hooks": [{"command": "exit 2"}, {"type": "prompt"}]}]}}
    answers = [tool_answer("Bash", BASH), say("Done."), tool_answer("Bash", BASH), say("Done.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        equipment, reader = session.equipment, Reader(session.workers[0])
        await equipment.use_project(EquipmentSettings(), json.dumps(raw).encode(), tmp_path / "elsewhere")
        session.workers[0].prompt("go")
        assert await answer_all(session) == ["Bash"]
        await equipment.use_project(EquipmentSettings(), json.dumps(raw).encode(), workspace.resolve())
        session.workers[0].prompt("go")
        assert await answer_all(session) == []
        assert "Denied by a hook" in told(server)
        rows = equipment.command_hooks.report().rows
        assert "type 'prompt' do not run here" in rows[-1].detail
        assert any("type 'prompt' do not run here" in words for words in notices(reader.read()))


async def test_a_script_that_the_hooks_file_names_is_protected_as_one_of_the_settings_is(
    tmp_path: Path,
) -> None:
    plugin = tmp_path / "workspace" / "plugin"
    guard = {"command": "sh guard.sh; true"}
    other = {"command": 'sh "${CLAUDE_PLUGIN_ROOT}/of_plugin.sh"; true', "plugin_root": str(plugin)}
    workspace = configure(tmp_path, {"SessionStart": [guard, other]})
    plugin.mkdir(parents=True)
    for script in (workspace / "guard.sh", plugin / "of_plugin.sh", workspace / "other.sh"):
        script.write_text("true\n")
    async with LoopbackServer([]) as server, open_session(planned(server.base_url, tmp_path)) as session:
        permissions = session.equipment.rules.permissions.in_mode("accept-edits")
        said = [
            permissions.judge(
                "Write", {"file_path": name, "content": "exit 0"}, cwd=workspace.resolve()
            ).behavior
            for name in ("guard.sh", "plugin/of_plugin.sh", "other.sh")
        ]
    assert said == ["ask", "ask", "allow"]
