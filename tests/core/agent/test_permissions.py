from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui_core.agent.permissions import PermissionRules, Permissions
from agent_tui_core.agent.rule import parse_rule
from agent_tui_core.agent.suggestions import suggest_rule


def judge(rules: PermissionRules, command: str) -> str:
    return rules.judge("Bash", {"command": command}, cwd=Path("/work")).behavior


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("git status", "allow"),
        ("git status --short", "allow"),
        ("git statusx", "ask"),
        ("git status && rm -rf x", "ask"),
        ("git status; rm -rf x", "ask"),
        ("git status\nrm -rf x", "ask"),
        ("git status | sh", "ask"),
        ("git status $(rm -rf x)", "ask"),
        ("git status `rm -rf x`", "ask"),
        ("git status > ~/.bashrc", "ask"),
        ("git status ${x@P}", "ask"),
        ("PAGER=x git status", "ask"),
        ("git status \\\nrm", "allow"),
        ("git status\\\nrm", "ask"),
        ("git status 'a b'", "allow"),
        ("git status\rrm -rf x", "ask"),
        ("git status\0", "ask"),
    ],
)
def test_a_prefix_rule_allows_plain_words_and_nothing_a_shell_could_expand(command: str, wanted: str) -> None:
    assert judge(PermissionRules(allow=["Bash(git status *)"]), command) == wanted


def test_an_exact_rule_allows_that_command_line_alone() -> None:
    rules = PermissionRules(allow=["Bash(make test && echo done)"])
    assert judge(rules, "make test && echo done") == "allow"
    assert judge(rules, "make test && echo done; rm x") == "ask"


def test_a_star_without_a_space_before_it_has_no_word_boundary() -> None:
    rules = PermissionRules(allow=["Bash(ls*)"])
    assert judge(rules, "lsof") == "allow"
    assert judge(PermissionRules(allow=["Bash(ls *)"]), "lsof") == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x",
        "true && rm -rf x",
        "true; FOO=1 rm -rf x",
        "timeout 5 rm -rf x",
        "echo $(rm -rf x)",
        "'rm' -rf x",
        "cat y | xargs rm -rf",
        "nohup rm -rf x &",
        "sudo rm -rf x",
    ],
)
def test_a_deny_rule_meets_any_part_of_a_line(command: str) -> None:
    rules = PermissionRules(allow=["Bash"], deny=["Bash(rm *)"])
    assert judge(rules, command) == "deny"
    assert judge(rules, "echo safe") == "allow"


def test_deny_beats_ask_beats_allow_wherever_the_rules_stand() -> None:
    rules = PermissionRules(allow=["Bash"], ask=["Bash(git push *)"], deny=["Bash(git push --force *)"])
    assert judge(rules, "git push") == "ask"
    assert judge(rules, "git push --force origin") == "deny"
    assert judge(rules, "git fetch") == "allow"


def test_what_no_rule_settles_is_asked_without_a_rule() -> None:
    judgement = PermissionRules().judge("Write", {"file_path": "a"}, cwd=Path("/work"))
    assert (judgement.behavior, judgement.rule) == ("ask", None)


@pytest.mark.parametrize("text", ["", "Bash(", "(x)", "Bash)x(", "my tool", "Weather(city)"])
def test_a_rule_that_cannot_be_read_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(ValueError, match=r"write|pattern"):
        parse_rule(text)


def test_reading_inside_the_workspace_is_allowed_and_outside_is_asked(tmp_path: Path) -> None:
    inside, outside = tmp_path / "w", tmp_path / "w-evil"
    inside.mkdir()
    outside.mkdir()
    permissions = Permissions()

    def behavior(tool: str, **input_: str) -> str:
        return permissions.judge(tool, dict(input_), cwd=inside).behavior

    assert behavior("Read", file_path="a.txt") == "allow"
    assert behavior("Read", file_path=str(inside / "a.txt")) == "allow"
    assert behavior("Glob", pattern="*") == "allow"
    assert behavior("Grep", pattern="x", path="src") == "allow"
    assert behavior("Read", file_path="../w-evil/a.txt") == "ask"
    assert behavior("Read", file_path=str(outside / "a.txt")) == "ask"
    assert behavior("Grep", pattern="x", path="..") == "ask"
    assert behavior("Write", file_path="a.txt") == "ask"
    assert behavior("Edit", file_path="a.txt") == "ask"
    assert behavior("Bash", command="make") == "ask"
    assert behavior("mcp__git__log") == "ask"


def test_a_link_out_of_the_workspace_is_asked_about(tmp_path: Path) -> None:
    inside, secret = tmp_path / "w", tmp_path / "secret"
    inside.mkdir()
    secret.write_text("x")
    (inside / "innocent").symlink_to(secret)
    assert Permissions().judge("Read", {"file_path": "innocent"}, cwd=inside).behavior == "ask"


def test_a_deny_rule_on_the_target_meets_a_link_to_it(tmp_path: Path) -> None:
    (tmp_path / "real.key").write_text("x")
    (tmp_path / "innocent").symlink_to(tmp_path / "real.key")
    rules = PermissionRules(allow=["Read"], deny=["Read(*.key)"])
    assert rules.judge("Read", {"file_path": "innocent"}, cwd=tmp_path).behavior == "deny"
    assert rules.judge("Read", {"file_path": "other"}, cwd=tmp_path).behavior == "allow"


@pytest.mark.parametrize(
    "name", [".env", ".env.local", ".git/config", "sub/.git/hooks/x", ".vscode/x", ".bashrc"]
)
def test_protected_names_are_asked_about_even_against_an_allow_rule(name: str, tmp_path: Path) -> None:
    permissions = Permissions(PermissionRules(allow=["Read", "Edit"]))
    assert permissions.judge("Read", {"file_path": name}, cwd=tmp_path).behavior == "ask"
    assert permissions.judge("Write", {"file_path": name}, cwd=tmp_path).behavior == "ask"


def test_always_saves_no_more_than_the_call_itself(tmp_path: Path) -> None:
    permissions = Permissions()
    rule = suggest_rule("Edit", {"file_path": "src/[a]*.py"}, cwd=tmp_path)
    assert rule is not None
    permissions.session.add_allow(rule)
    assert permissions.judge("Edit", {"file_path": "src/[a]*.py"}, cwd=tmp_path).behavior == "allow"
    assert permissions.judge("Write", {"file_path": "src/[a]*.py"}, cwd=tmp_path).behavior == "allow"
    assert permissions.judge("Edit", {"file_path": "src/ab.py"}, cwd=tmp_path).behavior == "ask"
    assert permissions.judge("Edit", {"file_path": "x/src/[a]*.py"}, cwd=tmp_path).behavior == "ask"


def test_a_remembered_command_with_a_star_covers_that_very_line(tmp_path: Path) -> None:
    rule = suggest_rule("Bash", {"command": "touch *.py"}, cwd=tmp_path)
    assert rule == "Bash(touch \\*.py)"
    rules = PermissionRules(allow=[rule])
    assert judge(rules, "touch *.py") == "allow"
    assert judge(rules, "touch x.py") == "ask"


@pytest.mark.parametrize(
    ("tool", "input_"),
    [
        ("Bash", {"command": "a\nb"}),
        ("Bash", {"command": "x" * 500}),
        ("Edit", {"file_path": "../out"}),
        ("Edit", {"file_path": ".env"}),
    ],
)
def test_what_could_cover_more_than_its_label_cannot_be_remembered(
    tool: str, input_: dict[str, str], tmp_path: Path
) -> None:
    assert suggest_rule(tool, input_, cwd=tmp_path) is None
