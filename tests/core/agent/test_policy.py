"""What stands in for a person: a policy settles what rules leave open, and nothing else."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from agent_tui_core.agent.gate import AgentIdentity
from agent_tui_core.agent.judgement import Judgement
from agent_tui_core.agent.permissions import PermissionRules, Permissions
from agent_tui_core.agent.policy import TOOLS, Policy, PolicyGate, read_policy
from agent_tui_core.blocks import JsonObject
from agent_tui_core.errors import ConfigError
from agent_tui_core.tools.registry import ToolRegistry, builtin_tools


def settled(
    policy: Policy, folder: Path, tool: str, input: JsonObject, given: PermissionRules | None = None
) -> Judgement:
    permissions = Permissions(given or policy.rules())
    gate = PolicyGate(AgentIdentity("id", "ann", "m", folder), permissions, policy)
    return gate.settle(gate.judge(tool, input), tool, input)


def test_every_built_in_tool_can_be_named_in_a_rule() -> None:
    assert set(TOOLS) == set(ToolRegistry(builtin_tools()).names)


@pytest.mark.parametrize(
    ("said", "policy"),
    [
        ((), Policy()),
        (("all",), Policy("all")),
        (("deny", "deny"), Policy("deny")),
        (("Bash(git *)", "ask", "Edit"), Policy("ask", ("Bash(git *)", "Edit"))),
    ],
)
def test_a_policy_is_one_word_and_any_number_of_rules(said: tuple[str, ...], policy: Policy) -> None:
    assert read_policy(said) == policy


@pytest.mark.parametrize("said", [("All",), ("",), ("all", "deny"), ("Fetch",), ("Fetch(x)",), ("Bash(x",)])
def test_what_is_no_policy_is_refused_with_the_option(said: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="--approve"):
        read_policy(said)


@pytest.mark.parametrize("rest", ["deny", "all"])
def test_rules_speak_before_the_policy(rest: str, tmp_path: Path) -> None:
    policy = read_policy([rest])
    rules = PermissionRules(allow=["Bash(ls)"], deny=["Bash(rm *)"])
    assert settled(policy, tmp_path, "Bash", {"command": "ls"}, rules).by == "rule"
    denied = settled(policy, tmp_path, "Bash", {"command": "rm x"}, rules)
    assert (denied.behavior, denied.by) == ("deny", "rule")
    assert settled(policy, tmp_path, "Read", {"file_path": "a"}).behavior == "allow"


@pytest.mark.parametrize("said", [["all"], ["Edit", "Write", "all"]])
def test_what_is_always_asked_about_is_denied_whatever_the_policy(said: list[str], tmp_path: Path) -> None:
    policy = read_policy(said)
    for file in (".env", ".git/config"):
        judgement = settled(policy, tmp_path, "Write", {"file_path": file, "content": ""})
        assert (judgement.behavior, judgement.by) == ("deny", "policy")
        assert "--json --approve ask" in judgement.reason
    ask = PermissionRules(ask=["Bash(git push *)"])
    assert settled(policy, tmp_path, "Bash", {"command": "git push"}, ask).behavior == "deny"


@pytest.mark.parametrize(
    ("tool", "input"),
    [
        ("Bash", {"command": "echo done > made.txt"}),
        ("Bash", {"command": "ls -l && make test"}),
        ("Bash", {"command": "git push origin 'a b' && echo \"$HOME\" *"}),
        ("Write", {"file_path": "a b/[c]*.txt", "content": ""}),
        ("Edit", {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}),
        ("Read", {"file_path": "/etc/hostname"}),
        ("Grep", {"pattern": "x", "path": "/etc"}),
    ],
)
def test_the_rule_that_a_denial_names_allows_the_call(tool: str, input: JsonObject, tmp_path: Path) -> None:
    denied = settled(Policy(), tmp_path, tool, input)
    assert denied.behavior == "deny"
    said = shlex.split(denied.reason.partition("--approve ")[2])
    assert len(said) == 1
    allowed = settled(read_policy(said), tmp_path, tool, input)
    assert (allowed.behavior, allowed.by) == ("allow", "rule")


@pytest.mark.parametrize("command", ["rm x; mv a b", "rm \u202e x", "x" * 500])
def test_a_call_that_no_line_can_name_is_not_offered_as_a_rule(command: str, tmp_path: Path) -> None:
    reason = settled(Policy(), tmp_path, "Bash", {"command": command}).reason
    assert "--approve all" in reason
    assert "Bash(" not in reason


async def test_a_question_that_reaches_the_gate_after_all_is_denied_by_the_policy(tmp_path: Path) -> None:
    from agent_tui_core.agent.approvals import DenyCall
    from agent_tui_core.events import ApprovalPreview

    gate = PolicyGate(AgentIdentity("id", "ann", "m", tmp_path), Permissions(), Policy("all"))
    request = gate.question("Bash", {}, ApprovalPreview("text", ""), "a file changed", firm=True)
    assert await gate.ask(request, firm=True) == DenyCall(
        "a file changed, and nobody is there to ask", by="policy"
    )
