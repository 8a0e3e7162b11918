"""The files that a trusted project's commands run: no command changes them, and changed they do not run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui_core.config.project import read_project
from agent_tui_core.config.trusted_files import TrustedFiles
from agent_tui_core.runtime.session import Session, open_session
from boxes import needs_sandbox
from loopback import LoopbackServer, say
from sessions import Reader, answer_all, planned, tool_answer

GUARD = "#!/bin/sh\ncat >> heard.txt\nexit 0\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = (tmp_path / "workspace").resolve()
    hook = {"hooks": [{"type": "command", "command": "sh scripts/deep/guard.sh 2>/dev/null"}]}
    tool = '[tools.deploy]\ntype = "external"\ndescription = "d"\ncommand = ["sh", "scripts/deploy.sh"]\n'
    for name, text in {
        ".agent-tui/hooks.json": json.dumps({"hooks": {"PreToolUse": [hook]}}),
        ".agent-tui/settings.toml": tool,
        "scripts/deep/guard.sh": GUARD,
        "scripts/deploy.sh": "exit 3\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


async def trusted(session: Session) -> None:
    assert session.offer is not None
    await session.decide_project(True)


@needs_sandbox
async def test_no_command_in_the_mode_auto_changes_the_script_of_a_trusted_hook(
    tmp_path: Path, root: Path
) -> None:
    evil = "#!/bin/sh\n touch pwned\n"
    attacks = (
        "x=gua; echo evil > scripts/deep/${x}rd.sh",
        "x=gua; rm -f scripts/deep/${x}rd.sh",
        "d=scripts/deep; mv $d old",
        "d=scripts; mv $d old; mkdir -p $d/deep",
        "find scripts -type f | while read f; do echo evil > $f; done",
        "x=gua; ln -sf /tmp/evil scripts/deep/${x}rd.sh",
        "x=gua; mv /tmp/evil scripts/deep/${x}rd.sh",
        "d=.agent; mv ${d}-tui .a; mkdir ${d}-tui",
    )
    answers = [
        tool_answer("Bash", {"command": f"printf %s '{evil}' > /tmp/evil; {each}"}) for each in attacks
    ]
    async with LoopbackServer([*answers, say("done")]) as server:
        plan = planned(server.base_url, tmp_path)
        agents = tuple(replace(each, mode="auto") for each in plan.agents)
        profiles = {name: replace(each, mode="auto") for name, each in plan.profiles.items()}
        async with open_session(replace(plan, agents=agents, profiles=profiles)) as session:
            await trusted(session)
            session.workers[0].prompt("go")
            await answer_all(session)  # some of them are asked about: a yes does not help either
    assert (root / "scripts/deep/guard.sh").read_text() == GUARD
    assert (root / ".agent-tui/hooks.json").exists()
    results = [str(each.json["messages"][-1]["content"]) for each in server.requests[1:]]
    assert len(results) == len(attacks)
    assert all("Read-only" in each or "busy" in each for each in results), results


async def test_a_hook_whose_script_is_not_the_one_that_was_trusted_does_not_run(
    tmp_path: Path, root: Path
) -> None:
    answers = [
        tool_answer("Bash", {"command": "true"}, id="a"),
        tool_answer("Bash", {"command": "true"}),
        say("."),
    ]
    async with (
        LoopbackServer(answers) as server,
        open_session(planned(server.base_url, tmp_path)) as session,
    ):
        await trusted(session)
        reader = Reader(session.workers[0])
        session.workers[0].prompt("go")
        (root / "scripts/deep/guard.sh").write_text("touch pwned\n")
        assert await answer_all(session) == ["Bash", "Bash"]
        words = [each.text for each in reader.read().entries if hasattr(each, "text")]
    assert any("scripts/deep/guard.sh is not what you trusted" in each for each in words), words
    assert not list(tmp_path.rglob("pwned"))


async def test_a_tool_whose_program_changed_is_not_started(tmp_path: Path, root: Path) -> None:
    (root / ".agent-tui/hooks.json").unlink()
    async with LoopbackServer([tool_answer("deploy", {}), say("done")]) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            await trusted(session)
            (root / "scripts/deploy.sh").write_text("touch pwned\n")
            session.workers[0].prompt("go")
            await answer_all(session)
        result = str(server.requests[1].json["messages"][-1]["content"])
    assert "scripts/deploy.sh is not what you trusted" in result


def test_a_file_that_was_not_there_when_its_command_was_trusted_is_a_doubt(root: Path) -> None:
    from agent_tui_core.config.equipment import EquipmentSettings

    project = read_project(root, EquipmentSettings())
    assert project is not None
    files = TrustedFiles(root, project.digests)
    assert files.doubt("sh scripts/deep/guard.sh >> log") == ""
    (root / "log").write_text("the hook wrote this")
    assert files.doubt("sh scripts/deep/guard.sh >> log") == ""
    assert files.doubt("sh scripts/deep/guard.sh || ./other.sh") == ""
    (root / "other.sh").write_text("evil")
    assert "other.sh is not what you trusted" in files.doubt("sh scripts/deep/guard.sh || ./other.sh")
