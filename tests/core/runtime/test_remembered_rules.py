"""What "always" does in a session: for whom a rule holds, how long, and what becomes of other questions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui_core.agent.approvals import AllowAlways, RuleScope
from agent_tui_core.config.equipment import EquipmentSettings, HookSettings, PermissionSettings
from agent_tui_core.config.profiles import Plan
from agent_tui_core.config.rules_file import RememberedRule, add_rule, read_rules, remove_rules, rules_file
from agent_tui_core.errors import AgentTuiError, ConfigError
from agent_tui_core.runtime.entries import NoticeEntry
from agent_tui_core.runtime.session import Session, open_session
from loopback import Answer, LoopbackServer, Request, say
from sessions import Reader, planned, settled, tool_answer, waiting

RULE = "Bash(touch *)"


def touches(request: Request) -> Answer:
    """Each prompt leads to one call, each result to an end."""
    if request.json["messages"][-1]["role"] == "tool":
        return say("Done.")
    return tool_answer("Bash", {"command": "touch made"})


def settings_say(plan: Plan, **lists: tuple[str, ...]) -> Plan:
    return replace(plan, equipment=EquipmentSettings(permissions=PermissionSettings(**lists)))


async def prompted(session: Session, *numbers: int) -> None:
    for number in numbers:
        session.workers[number].prompt("go")
    await waiting(session, len(numbers))


@pytest.mark.parametrize(("scope", "settled_now"), [("agent", 1), ("session", 2), ("project", 2)])
async def test_a_rule_settles_the_other_questions_that_it_covers_in_its_scope(
    tmp_path: Path, scope: RuleScope, settled_now: int
) -> None:
    async with LoopbackServer(touches) as server:
        async with open_session(planned(server.base_url, tmp_path, count=2)) as session:
            await prompted(session, 0, 1)
            first = session.desk.pending[0]
            assert session.desk.answer(first.id, AllowAlways(RULE, scope)) == settled_now
            assert len(session.desk.pending) == 2 - settled_now
            for request in session.desk.pending:
                assert request.agent_id != first.agent_id
                session.desk.answer(request.id, AllowAlways(RULE, "session"))
            await settled(session)


async def test_a_rule_for_the_workspace_is_there_in_the_next_session_and_nowhere_else(tmp_path: Path) -> None:
    async with LoopbackServer(touches) as server:
        plan = planned(server.base_url, tmp_path)
        async with open_session(plan) as session:
            await prompted(session, 0)
            session.desk.answer(session.desk.pending[0].id, AllowAlways(RULE, "project"))
            await settled(session)
        kept = read_rules(rules_file(plan.config_dir))
        assert [(rule.rule, rule.workspace) for rule in kept] == [(RULE, plan.workspace)]
        async with open_session(plan) as session:
            session.workers[0].prompt("go")
            await settled(session)
        (tmp_path / "other").mkdir()
        elsewhere = planned(server.base_url, tmp_path / "other")
        async with open_session(replace(elsewhere, config_dir=plan.config_dir)) as session:
            await prompted(session, 0)
            session.interrupt_all()
            await settled(session)


@pytest.mark.parametrize("scope", ["agent", "session"])
async def test_a_rule_for_the_session_is_gone_with_it(tmp_path: Path, scope: RuleScope) -> None:
    async with LoopbackServer(touches) as server:
        plan = planned(server.base_url, tmp_path)
        async with open_session(plan) as session:
            await prompted(session, 0)
            session.desk.answer(session.desk.pending[0].id, AllowAlways(RULE, scope))
            await settled(session)
            session.workers[0].prompt("again")
            await settled(session)
        assert not rules_file(plan.config_dir).exists()
        async with open_session(plan) as session:
            await prompted(session, 0)
            session.interrupt_all()
            await settled(session)


async def test_what_another_program_adds_or_removes_counts_at_the_next_call(tmp_path: Path) -> None:
    async with LoopbackServer(touches) as server:
        plan = planned(server.base_url, tmp_path)
        file = rules_file(plan.config_dir)
        async with open_session(plan) as session:
            add_rule(file, RememberedRule(RULE))
            session.workers[0].prompt("go")
            await settled(session)
            remove_rules(file, lambda rule: rule.rule == RULE)
            await prompted(session, 0)
            file.write_text("broken", encoding="utf-8")
            session.interrupt_all()
            await settled(session)
            await prompted(session, 0)
            session.interrupt_all()
            await settled(session)


async def test_a_rule_that_cannot_be_written_holds_until_the_end_and_that_is_told(tmp_path: Path) -> None:
    async with LoopbackServer(touches) as server:
        plan = planned(server.base_url, tmp_path)
        plan.config_dir.write_text("no folder", encoding="utf-8")
        async with open_session(plan) as session:
            reader = Reader(session.workers[0])
            await prompted(session, 0)
            session.desk.answer(session.desk.pending[0].id, AllowAlways(RULE, "project"))
            told = await reader.until(
                lambda t: any(isinstance(entry, NoticeEntry) for entry in t.entries) and t.state == "idle"
            )
            assert any(isinstance(e, NoticeEntry) and "holds until you quit" in e.text for e in told.entries)
            session.workers[0].prompt("again")
            await settled(session)


async def test_a_broken_file_of_rules_stops_the_start_and_says_which(tmp_path: Path) -> None:
    plan = planned("http://127.0.0.1:9/v1", tmp_path)
    plan.config_dir.mkdir()
    rules_file(plan.config_dir).write_text('[[rules]]\nrule = "Bash("\n', encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        async with open_session(plan):
            pass
    assert (caught.value.file, caught.value.key) == (str(rules_file(plan.config_dir)), "rules[1].rule")


async def test_the_settings_of_a_person_hold_and_a_denial_beats_what_is_remembered(tmp_path: Path) -> None:
    plan = settings_say(
        planned("http://127.0.0.1:9/v1", tmp_path), allow=("Bash(ls *)",), deny=("Bash(rm *)",)
    )
    add_rule(rules_file(plan.config_dir), RememberedRule("Bash(rm *)"))
    async with open_session(plan) as session:
        judge = session.permissions.judge
        allowed = judge("Bash", {"command": "ls -la /"}, cwd=plan.workspace)
        denied = judge("Bash", {"command": "rm x"}, cwd=plan.workspace)
        assert (allowed.behavior, denied.behavior) == ("allow", "deny")
        assert denied.reason == "the rule Bash(rm *) (your settings) says deny"


async def test_what_was_remembered_is_shown_and_can_be_forgotten(tmp_path: Path) -> None:
    plan = settings_say(planned("http://127.0.0.1:9/v1", tmp_path), deny=("Bash(rm *)",))
    file = rules_file(plan.config_dir)
    add_rule(file, RememberedRule(RULE, workspace=plan.workspace, agent="ann"))
    async with open_session(plan) as session:
        session.permissions.session.add_allow("Bash(make)")
        rules = session.equipment.rules
        rows = rules.report().rows
        assert [(row.title, row.state, row.detail, row.verb) for row in rows] == [
            (RULE, "allow", f"in {plan.workspace}, for ann", "forget"),
            ("Bash(rm *)", "deny", "your settings", ""),
            ("Bash(make)", "allow", "this session", "forget"),
        ]
        assert await rules.act(rows[2].id) == "Forgotten: Bash(make)"
        await rules.act(rows[0].id)
        with pytest.raises(AgentTuiError):
            await rules.act(rows[1].id)
        assert [row.title for row in rules.report().rows] == ["Bash(rm *)"]
    assert read_rules(file) == ()


async def test_an_edited_rule_is_checked_against_the_question(tmp_path: Path) -> None:
    async with LoopbackServer(touches) as server, open_session(planned(server.base_url, tmp_path)) as session:
        await prompted(session, 0)
        request = session.desk.pending[0]
        assert session.rule_problem(request, RULE) is None
        assert "does not cover" in (session.rule_problem(request, "Bash(make *)") or "")
        session.interrupt_all()
        await settled(session)


async def test_a_file_that_a_hook_of_yours_runs_and_our_own_folders_are_protected(tmp_path: Path) -> None:
    plan = planned("http://127.0.0.1:9/v1", tmp_path)
    (plan.workspace / "check.sh").write_text("true")
    hooks = EquipmentSettings(
        permissions=PermissionSettings(allow=("Edit",)),
        hooks={"PreToolUse": (HookSettings(command="./check.sh"),)},
    )
    async with open_session(replace(plan, equipment=hooks)) as session:
        for name, wanted in (
            ("check.sh", "ask"),
            (str(rules_file(plan.config_dir)), "ask"),
            (str(plan.data_dir / "trust.json"), "ask"),
            ("other.sh", "allow"),
        ):
            judged = session.permissions.judge("Write", {"file_path": name}, cwd=plan.workspace)
            assert judged.behavior == wanted, name
