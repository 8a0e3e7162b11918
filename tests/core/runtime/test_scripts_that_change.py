"""A command whose script changes while its question is open: it does not run what nobody saw."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_tui_core.agent.approvals import AllowAlways, AllowEdited, AllowOnce, Answer
from agent_tui_core.blocks import JsonObject
from agent_tui_core.runtime.session import Session, open_session
from hooked import configure, decides, says, told, written
from loopback import LoopbackServer, say
from sessions import planned, settled, tool_answer, waiting

COMMAND = {"command": "sh s.sh"}
SEEN, EVIL = "echo seen >> ran.txt\n", "echo evil >> ran.txt\n"


def script(workspace: Path, text: str) -> None:
    workspace.mkdir(exist_ok=True)
    (workspace / "s.sh").write_text(text)


def ran(workspace: Path) -> list[str]:
    file = workspace / "ran.txt"
    return file.read_text().split() if file.exists() else []


async def asked_again(session: Session, first: str) -> str:
    """The reason of the question that comes after `first`."""
    changed = asyncio.Event()
    session.desk.watch(changed.set)
    async with asyncio.timeout(10):
        while True:
            changed.clear()
            if questions := [each for each in session.desk.pending if each.id != first]:
                return questions[0].reason
            await changed.wait()


@pytest.mark.parametrize(
    "answer",
    [
        AllowOnce(),
        AllowAlways("Bash(sh s.sh)"),
        AllowAlways("Bash(sh s.sh)", "agent"),
        AllowAlways("Bash(sh s.sh)", "project"),
        AllowEdited({"command": "sh s.sh --verbose"}),
    ],
)
async def test_it_is_asked_about_again_however_the_person_allows_it(tmp_path: Path, answer: Answer) -> None:
    script(tmp_path / "workspace", SEEN)
    answers = [tool_answer("Bash", dict(COMMAND)), say("Done.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        workspace = session.workers[0].workspace
        session.workers[0].prompt("go")
        await waiting(session)
        (request,) = session.desk.pending
        script(workspace, EVIL)
        session.desk.answer(request.id, answer)
        assert "s.sh changed while the question was open" in await asked_again(session, request.id)
        assert ran(workspace) == []
        session.desk.answer(session.desk.pending[0].id, AllowOnce())
        await settled(session)
        assert ran(workspace) == ["evil"], "this time it was there when it was asked about"


async def test_a_script_that_stays_is_asked_about_once(tmp_path: Path) -> None:
    script(tmp_path / "workspace", SEEN)
    answers = [tool_answer("Bash", dict(COMMAND)), say("Done.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        session.workers[0].prompt("go")
        await waiting(session)
        session.desk.answer(session.desk.pending[0].id, AllowOnce())
        await settled(session)
        assert ran(session.workers[0].workspace) == ["seen"]


async def test_a_rule_that_was_remembered_for_another_agents_call_does_not_cover_a_script_that_changed(
    tmp_path: Path,
) -> None:
    script(tmp_path / "workspace", SEEN)

    def model(request: object) -> object:
        said = str(request.json["messages"])  # type: ignore[attr-defined]
        return say("Done.") if "'role': 'tool'" in said else tool_answer("Bash", dict(COMMAND))

    async with LoopbackServer(model) as server:  # type: ignore[arg-type]
        async with open_session(planned(server.base_url, tmp_path, count=2)) as session:
            for worker in session.workers:
                worker.prompt("go")
            await waiting(session, 2)
            first, second = session.desk.pending
            script(session.workers[0].workspace, EVIL)
            assert session.desk.answer(first.id, AllowAlways("Bash(sh s.sh)")) == 2
            await waiting(session, 2)
            assert {each.agent_id for each in session.desk.pending} == {first.agent_id, second.agent_id}
            assert all("s.sh changed" in each.reason for each in session.desk.pending)
            assert ran(session.workers[0].workspace) == []
            for request in session.desk.pending:
                session.desk.answer(request.id, AllowOnce())
            await settled(session)


@pytest.mark.parametrize("point", ["PreToolUse", "PermissionRequest"])
async def test_a_hooks_yes_is_about_what_was_there_when_it_was_asked(tmp_path: Path, point: str) -> None:
    yes = (
        decides("allow")
        if point == "PreToolUse"
        else {"hookSpecificOutput": {"decision": {"behavior": "allow"}}}
    )
    slow = f"echo x >> heard; until [ -e go ]; do sleep 0.02; done; {says(yes)}"
    workspace = configure(tmp_path, {point: [{"command": slow}]})
    script(workspace, SEEN)
    answers = [tool_answer("Bash", dict(COMMAND)), say("Done.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        session.workers[0].prompt("go")
        await written(workspace / "heard")
        script(workspace, EVIL)
        (workspace / "go").touch()
        if point == "PreToolUse":
            await waiting(session)
            assert "s.sh changed" in session.desk.pending[0].reason
            assert ran(workspace) == []
            session.desk.answer(session.desk.pending[0].id, AllowOnce())
        await settled(session)
        assert ran(workspace) == ["evil"]
        assert (workspace / "heard").read_text().split() == ["x", "x"], "asked twice, the second time of this"
        assert "exit code" not in told(server)


async def test_an_edit_that_a_person_wrote_is_asked_about_again_when_its_file_changed_before_it_ran(
    tmp_path: Path,
) -> None:
    """The same kind: what an edited input would change is looked at again, too."""
    (tmp_path / "workspace").mkdir()
    given: JsonObject = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    (tmp_path / "workspace" / "a.txt").write_text("one\n")
    answers = [tool_answer("Edit", dict(given)), say("Done.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        session.workers[0].prompt("go")
        await waiting(session)
        (request,) = session.desk.pending
        session.desk.answer(request.id, AllowEdited({**given, "old_string": "not there"}))
        assert "the edited input cannot be used" in await asked_again(session, request.id)
        session.desk.answer(session.desk.pending[0].id, AllowEdited({**given, "new_string": "three"}))
        await settled(session)
        assert (session.workers[0].workspace / "a.txt").read_text() == "three\n"
