"""What a person's answers teach, from histories that whole sessions wrote: few rules, none against a "no"."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui_core.agent.approvals import Answer
from agent_tui_core.agent.learning import Lesson, learn_rules
from agent_tui_core.agent.permissions import Permissions
from agent_tui_core.agent.replay import Replay, effect_of
from agent_tui_core.agent.rule_layer import PermissionRules
from agent_tui_core.history.decisions import PastCall
from agent_tui_core.history.store import History
from agent_tui_core.runtime.session import HISTORY_FILE
from answered_calls import NO, YES, Said, answered, edit


async def past(folder: Path, *, asked: bool = True, since: float = 0.0, limit: int = 3000) -> list[PastCall]:
    history = await History.open(folder / "data" / HISTORY_FILE)
    try:
        workspace = str(folder / "workspace")
        return await history.past_calls(since, workspace=workspace, asked=asked, limit=limit)
    finally:
        await history.close()


async def lesson(folder: Path, *answers: tuple[Said, Answer], rules: PermissionRules | None = None) -> Lesson:
    await answered(folder, *answers)
    return learn_rules(await past(folder), Replay(Permissions(rules)))


def rules_of(found: Lesson) -> list[str]:
    return [rule.rule for rule in found.rules]


async def test_few_rules_answer_most_questions_and_contradict_no_denial(tmp_path: Path) -> None:
    found = await lesson(
        tmp_path,
        *[(f"frob run {name}", YES) for name in "abcd"],
        ("frob push x", NO),
        ("zip-it up", YES),
        ("zip-it up", YES),
        ("only-once x", YES),
    )
    assert rules_of(found) == ["Bash(frob run *)", "Bash(zip-it up)"]
    assert (found.questions, found.answered, found.denials, found.firm) == (8, 6, 1, 0)
    assert sorted(found.rules[0].calls) == [(f"frob run {name}", 1) for name in "abcd"]
    assert found.rules[1].calls == (("zip-it up", 2),)


async def test_a_denied_call_is_covered_by_no_rule_but_those_beside_it_are(tmp_path: Path) -> None:
    found = await lesson(
        tmp_path,
        *[(f"frob run {name}", YES) for name in "aabbc"],
        ("frob run --force", NO),
    )
    assert sorted(rules_of(found)) == ["Bash(frob run a)", "Bash(frob run b)"]


async def test_what_was_allowed_once_and_denied_once_is_left_to_the_person(tmp_path: Path) -> None:
    await answered(tmp_path, ("frob run a", YES), ("frob run b", YES))
    await answered(tmp_path, ("frob run a", YES), ("frob run b", NO))
    found = learn_rules(await past(tmp_path), Replay(Permissions()))
    assert rules_of(found) == ["Bash(frob run a)"]
    assert (found.questions, found.denials) == (4, 1)


async def test_a_call_that_was_changed_before_it_ran_counts_as_denied(tmp_path: Path) -> None:
    found = await lesson(
        tmp_path, *[(f"frob run {name}", YES) for name in "abc"], ("frob run all", edit("frob run one"))
    )
    assert rules_of(found) == []
    assert found.denials == 1


async def test_two_different_calls_are_too_few_for_a_wider_rule(tmp_path: Path) -> None:
    found = await lesson(tmp_path, ("frob run a", YES), ("frob run b", YES))
    assert rules_of(found) == []


@pytest.mark.parametrize(
    "command",
    [
        "rm {}",
        "rm -f {}",
        "cp {} there",
        "chmod +x {}",
        "git push origin {}",
        "git -C {} push",
        "python3 {}.py",
        "node {}.js",
        "sudo frob {}",
        "timeout 5 rm {}",
        "env frob {}",
        "xargs frob {}",
        "bash {}.sh",
        "kubectl delete {}",
        "npm exec {}",
        "uv run {}",
        "git bisect run {}",
        "find . -name {} -exec frob ;",
        "/usr/bin/rm {}",
    ],
)
async def test_no_rule_with_a_star_is_proposed_for_what_may_do_harm(command: str) -> None:
    found = learn_rules(_calls([(command.format(name), True) for name in "abcd"]), Replay(Permissions()))
    assert rules_of(found) == []


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("npm run {}", "npm run *"),
        ("npm run build -- --only {}", "npm run build -- *"),
        ("pytest tests/{}.py -q", "pytest *"),
        ("python -m pytest tests/{}.py", "python -m pytest *"),
        ("git add {}", "git add *"),
        ("git commit -m '{}'", "git commit -m *"),
        ("cargo test {}", "cargo test *"),
        ("docker build -t {} .", "docker build -t *"),
        ("ruff check {}.py", "ruff check *"),
        ("cd src && frob run {}", "frob run *"),
        ("frob run {} 2>&1 | tail -5", "frob run *"),
    ],
)
async def test_what_is_usual_makes_one_rule_that_says_what_is_done(command: str, rule: str) -> None:
    found = learn_rules(_calls([(command.format(name), True) for name in "abcd"]), Replay(Permissions()))
    assert rules_of(found) == [f"Bash({rule})"]
    assert found.answered == 4


async def test_what_is_always_asked_about_is_never_proposed(tmp_path: Path) -> None:
    ask = PermissionRules(ask=["Bash(frob run *)"])
    calls: list[tuple[Said, Answer]] = [
        *[("echo x > .env", YES)] * 3,
        *[("frob run a", YES)] * 3,
    ]
    found = await lesson(tmp_path, *calls, rules=ask)
    assert rules_of(found) == []
    assert (found.questions, found.firm) == (6, 6)


async def test_what_hides_something_is_never_proposed(tmp_path: Path) -> None:
    found = await lesson(tmp_path, *[("frob \u202egnp.exe", YES), ("frob \x1b[2Jx", YES)] * 3)
    assert rules_of(found) == []
    assert found.questions == 6


async def test_a_line_of_several_parts_needs_a_rule_for_each_of_them(tmp_path: Path) -> None:
    found = await lesson(tmp_path, *[(f"frob run {name} && zip-it up", YES) for name in "abc"])
    assert sorted(rules_of(found)) == ["Bash(frob run *)", "Bash(zip-it up)"]
    assert found.answered == 3


async def test_rules_that_are_harmless_alone_do_not_allow_a_denied_line_together(tmp_path: Path) -> None:
    found = await lesson(
        tmp_path,
        *[("frob it", YES)] * 3,
        *[("zip-it up", YES)] * 2,
        ("frob it && zip-it up", NO),
    )
    assert rules_of(found) == ["Bash(frob it)"]


async def test_what_a_rule_of_today_settles_is_not_asked_about_any_more(tmp_path: Path) -> None:
    allow = PermissionRules(allow=["Bash(frob run *)"])
    found = await lesson(tmp_path, *[(f"frob run {name}", YES) for name in "abc"], rules=allow)
    assert (found.answers, found.questions, rules_of(found)) == (3, 0, [])


async def test_edits_below_one_folder_make_one_rule_and_never_for_the_whole_workspace(tmp_path: Path) -> None:
    def write(name: str) -> tuple[str, dict[str, object]]:
        return "Write", {"file_path": name, "content": "x"}

    found = await lesson(
        tmp_path,
        *[(write(f"src/new/{name}.py"), YES) for name in "abc"],
        *[(write(f"{name}.txt"), YES) for name in "abc"],
        (write("src/other.py"), NO),
    )
    assert rules_of(found) == ["Edit(/src/new/**)"]


async def test_only_one_folder_and_the_newest_answers_of_a_time_count(tmp_path: Path) -> None:
    for name in "abc":
        await answered(tmp_path, (f"frob run {name}", YES))
    assert [call.input for call in await past(tmp_path, limit=2)] == [
        {"command": "frob run c"},
        {"command": "frob run b"},
    ]
    assert await past(tmp_path, since=time.time() + 60) == []
    (tmp_path / "workspace").rename(tmp_path / "elsewhere")
    history = await History.open(tmp_path / "data" / HISTORY_FILE)
    assert await history.past_calls(0, workspace=str(tmp_path / "elsewhere")) == []
    assert len(await history.past_calls(0)) == 3
    await history.close()


# --- what one more rule would have changed ------------------------------------------------------------------


async def test_a_rule_says_what_it_would_have_changed(tmp_path: Path) -> None:
    await answered(tmp_path, ("frob run a", YES), ("frob run b", NO), ("zip-it up", YES), ("echo hello", YES))
    replay, asked = Replay(Permissions()), await past(tmp_path)
    effect = effect_of("Bash(frob run *)", "allow", asked, replay)
    assert (effect.calls, effect.changed, effect.against) == (3, 2, 1)
    everything = await past(tmp_path, asked=False)
    effect = effect_of("Bash(frob *)", "deny", everything, replay)
    assert (effect.calls, effect.changed) == (3, 1)
    effect = effect_of("Bash(echo *)", "ask", everything, replay)
    assert (effect.changed, effect.unasked) == (1, 1)
    effect = effect_of("Bash(frob run *)", "allow", asked, replay, agent="nobody of this name")
    assert effect.calls == 0


# --- any answers --------------------------------------------------------------------------------------------

_WORDS = st.sampled_from(
    ["frob", "zip-it", "run", "push", "-q", "a", "b", "c.py", "'d e'", "*", "$HOME", "rm"]
)
_PART = st.lists(_WORDS, min_size=1, max_size=4).map(" ".join)
_LINE = st.lists(_PART, min_size=1, max_size=2).flatmap(
    lambda parts: st.sampled_from([" && ", " | ", "; "]).map(lambda between: between.join(parts))
)


def _calls(answers: list[tuple[str, bool]]) -> list[PastCall]:
    return [
        PastCall(
            "Bash", {"command": line}, {"command": line}, yes, "person", "", float(number), "ann", "/nowhere"
        )
        for number, (line, yes) in enumerate(answers)
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(_LINE, st.sampled_from([True, True, True, False])), max_size=25))
def test_whatever_was_answered_no_denial_runs_and_the_count_is_true(answers: list[tuple[str, bool]]) -> None:
    found = learn_rules(_calls(answers), Replay(Permissions()))
    denied = {line for line, yes in answers if not yes}

    def allows(rules: list[str], line: str) -> bool:
        permissions = Permissions(PermissionRules(allow=rules))
        return permissions.judge("Bash", {"command": line}, cwd=Path("/nowhere")).behavior == "allow"

    newly = [line for line, _ in answers if allows(rules_of(found), line) and not allows([], line)]
    assert denied.isdisjoint(newly)
    assert len(newly) == found.answered
