"""The room where answers become rules, in a whole session: looks when it is asked to, adds after a yes."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui_core.config.profiles import Plan
from agent_tui_core.config.rules_file import read_rules, rules_file
from agent_tui_core.errors import AgentTuiError
from agent_tui_core.runtime.report import ReportRow
from agent_tui_core.runtime.session import Session, open_session
from answered_calls import NO, YES, answered
from loopback import LoopbackServer, say
from sessions import planned


async def history(folder: Path) -> None:
    await answered(
        folder,
        *[(f"frob run {name}", YES) for name in "abc"],
        *[("zip-it up", YES)] * 2,
        ("frob push x", NO),
    )


def rows(session: Session) -> list[ReportRow]:
    return list(session.equipment.learned.report().rows)


def kept(plan: Plan) -> list[tuple[str, Path | None]]:
    return [(each.rule, each.workspace) for each in read_rules(rules_file(plan.config_dir))]


async def test_rules_are_looked_for_and_taken_over_one_by_one(tmp_path: Path) -> None:
    await history(tmp_path)
    async with LoopbackServer(lambda _: say("Hello")) as server:
        plan = planned(server.base_url, tmp_path)
        async with open_session(plan) as session:
            room = session.equipment.learned
            assert room in session.equipment.reporters
            assert [row.id for row in rows(session)] == ["look"]
            assert "2 rules would have answered 5 of your 6 questions" in await room.act("look")
            assert [(row.title, row.state) for row in rows(session)[:2]] == [
                ("Bash(frob run *)", "3 questions"),
                ("Bash(zip-it up)", "2 questions"),
            ]
            assert "frob run a ×1" in rows(session)[0].detail
            assert kept(plan) == []
            assert await room.act("Bash(frob run *)") == "Remembered for this folder: Bash(frob run *)"
            assert kept(plan) == [("Bash(frob run *)", plan.workspace)]
            assert [(row.title, row.state, row.verb) for row in rows(session)[:2]] == [
                ("Bash(frob run *)", "remembered", ""),
                ("Bash(zip-it up)", "2 questions", "take over"),
            ]
            await room.act("look")
            assert [row.id for row in rows(session)] == ["Bash(zip-it up)", "look"]
            judged = session.permissions.judge("Bash", {"command": "frob run d"}, cwd=plan.workspace)
            assert judged.behavior == "allow"


@pytest.mark.parametrize("row", ["Bash(*)", "Bash(frob run *)", ""])
async def test_what_is_not_proposed_now_is_never_added(tmp_path: Path, row: str) -> None:
    await history(tmp_path)
    async with LoopbackServer(lambda _: say("Hello")) as server:
        plan = planned(server.base_url, tmp_path)
        async with open_session(plan) as session:
            with pytest.raises(AgentTuiError, match="not proposed"):
                await session.equipment.learned.act(row)
            assert kept(plan) == []


async def test_a_rule_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    await history(tmp_path)
    async with LoopbackServer(lambda _: say("Hello")) as server:
        plan = planned(server.base_url, tmp_path)
        async with open_session(plan) as session:
            await session.equipment.learned.act("look")
            plan.config_dir.write_text("no folder", encoding="utf-8")
            with pytest.raises(AgentTuiError):
                await session.equipment.learned.act("Bash(zip-it up)")


async def test_a_rule_says_what_it_would_have_changed(tmp_path: Path) -> None:
    await history(tmp_path)
    async with LoopbackServer(lambda _: say("Hello")) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            effect = session.equipment.learned.effect
            assert await effect("Bash(frob *)") == (
                "In the last 30 days it would have answered 4 of your 6 questions, 1 of which you denied."
            )
            assert await effect("Bash(frob *)", "deny") == (
                "In the last 30 days it would have denied 3 of the 5 calls that ran."
            )
            assert await effect("Bash(frob *)", folder=tmp_path) == ""


async def test_a_call_of_many_lines_is_told_on_one(tmp_path: Path) -> None:
    await answered(tmp_path, *[(f"frob run '{name}\n\nRules  1\n  Bash(*)'", YES) for name in "abc"])
    async with LoopbackServer(lambda _: say("Hello")) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            await session.equipment.learned.act("look")
            assert rows(session)[0].title == "Bash(frob run *)"
            assert "\n" not in rows(session)[0].detail
