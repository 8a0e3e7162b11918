"""A session in a folder that brings things along: what holds before the person trusted it, and what after."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agent_tui_core.agent.permissions import Permissions
from agent_tui_core.config.models import Settings
from agent_tui_core.config.profiles import Flags, plan
from agent_tui_core.config.trust import TrustStore
from agent_tui_core.runtime.entries import NoticeEntry
from agent_tui_core.runtime.session import Session, open_session
from loopback import LoopbackServer, say
from sessions import Reader, planned, settled

SETTINGS = """
[permissions]
allow = ["Bash(make *)"]
ask = ["Bash(npm *)"]
deny = ["Bash(rm *)"]

[agents.writer]
system_prompt = "You write."
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / ".agent-tui").mkdir(parents=True)
    (folder / ".agent-tui/settings.toml").write_text(SETTINGS)
    (folder / "AGENTS.md").write_text("Use tabs.\n")
    return folder.resolve()


def said(session: Session, command: str, cwd: Path, mode: str = "ask") -> str:
    permissions: Permissions = session.permissions.in_mode(mode)  # type: ignore[arg-type]
    return permissions.judge("Bash", {"command": command}, cwd=cwd).behavior


def prompts(server: LoopbackServer) -> list[str]:
    return [stream.request.json["messages"][0]["content"] for stream in server.streams]


async def test_what_nobody_trusted_may_forbid_and_nothing_else(tmp_path: Path, root: Path) -> None:
    async with LoopbackServer([say("Hi.")] * 2) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            assert session.offer is not None
            assert said(session, "rm x", root) == "deny"
            assert said(session, "npm x", root) == "ask"
            assert said(session, "make x", root) == "ask"
            assert said(session, "npm x", root, "plan") == "deny"
            assert said(session, "rm x", tmp_path) == "ask"
            assert "writer" not in session.plan.profiles
            session.start("go")
            assert session.running == 0
            await session.decide_project(False)
            await settled(session)
            assert said(session, "rm x", root) == "deny"
            assert said(session, "make x", root) == "ask"
        assert "Use tabs." not in prompts(server)[0]
        async with open_session(planned(server.base_url, tmp_path)) as session:
            assert session.offer is not None


async def test_trust_applies_all_of_it_and_the_openings_wait_for_that(tmp_path: Path, root: Path) -> None:
    async with LoopbackServer([say("Hi.")] * 2) as server:
        plan = planned(server.base_url, tmp_path)
        async with open_session(plan) as session:
            session.start("go")
            await session.decide_project(True)
            await settled(session)
            assert said(session, "make x", root) == "allow"
            assert session.permissions.judge("Bash", {"command": "make x"}, cwd=root).layer == "the project"
            assert said(session, "make x", tmp_path) == "ask"
            writer = await session.add_worker("writer")
            writer.prompt("go")
            await settled(session)
            [row] = [row for row in session.equipment.project.report().rows if row.id == "root"]
            assert (row.title, row.state, row.verb) == (str(root), "trusted", "forget")
        assert [("Use tabs." in prompt) for prompt in prompts(server)] == [True, True]
        assert prompts(server)[1].startswith("You write.")
        assert stat.S_IMODE((plan.data_dir / "trust.json").stat().st_mode) == 0o600


async def test_the_next_start_does_not_ask_until_a_byte_changes(tmp_path: Path, root: Path) -> None:
    plan = planned("http://127.0.0.1:9/v1", tmp_path)
    async with open_session(plan) as session:
        await session.decide_project(True)
    async with open_session(plan) as session:
        assert session.offer is None
        assert said(session, "make x", root) == "allow"
        assert "writer" in session.plan.profiles
        await session.equipment.project.act("root")
    async with open_session(plan) as session:
        await session.decide_project(True)
    (root / "AGENTS.md").write_text("Use spaces.\n")
    async with open_session(plan) as session:
        assert session.offer is not None
        assert said(session, "make x", root) == "ask"


async def test_agents_elsewhere_and_the_demo_meet_none_of_it(tmp_path: Path, root: Path) -> None:
    async with open_session(planned("http://127.0.0.1:9/v1", tmp_path)) as session:
        await session.decide_project(True)
        assert session.equipment.project.context(root / "src")
        assert not session.equipment.project.context(tmp_path)
    environ = {"AGENT_TUI_DATA_DIR": str(tmp_path / "data"), "AGENT_TUI_CONFIG_DIR": str(tmp_path / "config")}
    async with open_session(plan(Settings(), Flags(demo=True, workspace=root), environ)) as session:
        assert session.offer is None
        assert session.equipment.project.found is None


async def test_what_is_broken_is_told_in_the_first_agents_pane_and_stops_nothing(
    tmp_path: Path, root: Path
) -> None:
    (root / "AGENTS.md").unlink()
    (root / ".agent-tui/settings.toml").write_text("[[")
    (root / ".agent-tui/hooks.json").write_text("{")
    async with open_session(planned("http://127.0.0.1:9/v1", tmp_path)) as session:
        assert session.offer is None
        transcript = Reader(session.workers[0]).read()
        [notice] = [entry for entry in transcript.entries if isinstance(entry, NoticeEntry)]
        assert ".agent-tui/settings.toml" in notice.text and "and 1 more" in notice.text
        assert sum(row.bad for row in session.equipment.project.report().rows) == 2


async def test_trust_that_cannot_be_recorded_holds_for_the_session_and_is_told(
    tmp_path: Path, root: Path
) -> None:
    plan = planned("http://127.0.0.1:9/v1", tmp_path)
    async with open_session(plan) as session:
        reader = Reader(session.workers[0])
        TrustStore(plan.data_dir).file.mkdir()
        await session.decide_project(True)
        assert said(session, "make x", root) == "allow"
        await reader.until(
            lambda t: any(isinstance(e, NoticeEntry) and "this session only" in e.text for e in t.entries)
        )
