"""Layers of rules: where each is from, for whom it holds, and that no layer hides what another forbids."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui_core.agent.permissions import PROTECTED, PermissionRules, Permissions
from agent_tui_core.agent.rule_book import RuleBook
from agent_tui_core.agent.suggestions import remembering_problem
from agent_tui_core.blocks import JsonObject


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    (folder / "sub").mkdir(parents=True)
    return folder.resolve()


def bash(command: str) -> JsonObject:
    return {"command": command}


def test_deny_goes_before_ask_and_ask_before_allow_across_all_layers(workspace: Path) -> None:
    texts = {
        "deny": PermissionRules(deny=["Bash(make bad *)"], layer="deny"),
        "ask": PermissionRules(ask=["Bash(make odd *)"], layer="ask"),
        "allow": PermissionRules(allow=["Bash(make *)"], layer="allow"),
    }
    for order in (("deny", "ask", "allow"), ("allow", "ask", "deny"), ("ask", "deny", "allow")):
        layers = [texts[name] for name in order]
        permissions = Permissions(RuleBook(layers))
        for command, wanted in (("make bad x", "deny"), ("make odd x", "ask"), ("make x", "allow")):
            judged = permissions.judge("Bash", bash(command), cwd=workspace)
            assert (judged.behavior, judged.layer) == (wanted, wanted)
            assert f"({wanted})" in judged.reason


def test_a_line_is_allowed_by_the_layers_together_and_names_each(workspace: Path) -> None:
    layers = [
        PermissionRules(allow=["Bash(make *)"], layer="your settings"),
        PermissionRules(allow=["Bash(npm test)"], layer="remembered"),
    ]
    judged = Permissions(RuleBook(layers)).judge("Bash", bash("make x && npm test"), cwd=workspace)
    assert (judged.behavior, judged.layer) == ("allow", "your settings, remembered")


def test_a_rule_of_one_workspace_holds_there_alone(workspace: Path) -> None:
    layer = PermissionRules(allow=["Bash(make *)"], root=workspace)
    permissions = Permissions(RuleBook([layer]))
    assert permissions.judge("Bash", bash("make x"), cwd=workspace).behavior == "allow"
    assert permissions.judge("Bash", bash("make x"), cwd=workspace / "sub").behavior == "ask"
    assert permissions.judge("Bash", bash("make x"), cwd=workspace.parent).behavior == "ask"


def test_a_rule_of_a_project_holds_below_it_and_counts_files_from_its_root(workspace: Path) -> None:
    layer = PermissionRules(allow=["Edit(/src/**)"], deny=["Edit(/sub/a)"], root=workspace, below=True)
    permissions = Permissions(RuleBook([layer]))

    def said(name: str, cwd: Path) -> str:
        return permissions.judge("Write", {"file_path": name}, cwd=cwd).behavior

    assert said("src/a", workspace) == "allow"
    assert said("src/a", workspace / "sub") == "ask"
    assert said("a", workspace / "sub") == "deny"
    assert said("src/a", workspace.parent) == "ask"


def test_a_rule_of_one_agent_covers_only_its_calls(workspace: Path) -> None:
    book = RuleBook()
    ann, rob = (Permissions(book).of_agent("ask", each, f"name of {each}") for each in ("ann", "rob"))
    book.of_agent("ann").add_allow("Bash(make *)")
    assert ann.judge("Bash", bash("make x"), cwd=workspace).behavior == "allow"
    assert rob.judge("Bash", bash("make x"), cwd=workspace).behavior == "ask"
    by_name = PermissionRules(allow=["Bash(npm test)"], agent="name of rob")
    named = RuleBook([by_name])
    assert (
        Permissions(named, agent=["rob", "name of rob"]).judge("Bash", bash("npm test"), cwd=workspace).rule
    )
    assert not Permissions(named, agent=["ann"]).judge("Bash", bash("npm test"), cwd=workspace).rule


def test_a_rule_on_a_server_covers_its_tools_and_no_others(workspace: Path) -> None:
    for text in ("mcp__git", "mcp__git__*"):
        rules = Permissions(PermissionRules(deny=[text]), mode="auto")
        assert rules.judge("mcp__git__log", {}, cwd=workspace).behavior == "deny"
        for other in ("mcp__github__log", "mcp__gi", "mcp__git", "git"):
            assert rules.judge(other, {}, cwd=workspace).behavior == "ask", other


@pytest.mark.parametrize("tool", ["Edit", "Write"])
def test_a_bare_edit_rule_covers_every_tool_that_edits(workspace: Path, tool: str) -> None:
    rules = Permissions(PermissionRules(deny=["Edit"]), mode="auto")
    assert rules.judge(tool, {"file_path": "a"}, cwd=workspace).behavior == "deny"


def test_a_rule_that_nobody_trusted_does_not_turn_a_denial_into_a_question(workspace: Path) -> None:
    for trusted, wanted in ((True, "ask"), (False, "deny")):
        book = RuleBook()
        book.project = (PermissionRules(ask=["Bash(make *)"], layer="the project", trusted=trusted),)
        judged = Permissions(book, mode="plan").judge("Bash", bash("make x"), cwd=workspace)
        assert judged.behavior == wanted
        assert Permissions(book).judge("Bash", bash("make x"), cwd=workspace).rule == "Bash(make *)"


@pytest.mark.parametrize("mode", ["ask", "accept-edits", "auto"])
def test_a_file_that_runs_by_itself_is_not_written_without_a_question(workspace: Path, mode: str) -> None:
    script = workspace / "check.sh"
    script.write_text("true")
    (workspace / "link").symlink_to(script)
    book = RuleBook([PermissionRules(allow=["Edit", "Bash"])])
    book.files = frozenset({script})
    permissions = Permissions(book, mode=mode)  # type: ignore[arg-type]
    for tool, input_ in (
        ("Write", {"file_path": "check.sh"}),
        ("Edit", {"file_path": str(script)}),
        ("Write", {"file_path": "link"}),
        ("Bash", bash("echo x > check.sh")),
        ("Bash", bash("cp evil ./check.sh")),
        ("Bash", bash('python3 -c \'open("check.sh","w")\'')),
        ("Bash", bash("cd sub; cp evil ../check.sh")),
        ("Bash", bash("mv evil sub/../check.sh")),
    ):
        judged = permissions.judge(tool, input_, cwd=workspace)
        assert (judged.behavior, judged.rule) == ("ask", PROTECTED), (tool, input_)
    assert permissions.judge("Write", {"file_path": "other.sh"}, cwd=workspace).behavior == "allow"
    assert permissions.judge("Bash", bash("cat check.sh"), cwd=workspace).behavior == "allow"


def test_an_edited_rule_is_saved_only_if_it_covers_the_call_and_shows_whole(workspace: Path) -> None:
    permissions = Permissions()

    def problem(rule: str) -> str | None:
        return remembering_problem(
            rule, "Bash", bash("npm test -- -x"), cwd=workspace, permissions=permissions
        )

    assert problem("Bash(npm test *)") is None
    assert problem("Bash(npm test -- -x)") is None
    for rule, words in (
        ("Bash(npm run *)", "does not cover"),
        ("Read(src/**)", "does not cover"),
        ("Bash", "covers every command"),
        ("Bash(*)", "covers every command"),
        ("Bash(npm test *", "not a rule"),
        ("Bash(npm test *)\u200b", "invisible"),
        ("Bash(npm test *)\n", "invisible"),
        ("Bash(npm " + "x" * 500 + ")", "at most"),
    ):
        found = problem(rule)
        assert found is not None and words in found, rule


@pytest.mark.parametrize(
    "name",
    [
        ".agent-tui/settings.toml",
        ".agent-tui/hooks.json",
        ".mcp.json",
        ".claude/settings.json",
        ".cursor/mcp.json",
        ".gemini/settings.json",
        ".codex/config.toml",
        ".vscode/mcp.json",
        ".zed/settings.json",
        "opencode.json",
        ".git/hooks/pre-commit",
        ".husky/pre-push",
        ".pre-commit-config.yaml",
        ".env",
        ".env.local",
        ".envrc",
        ".bashrc",
        ".cshrc",
        ".zlogout",
        ".tmux.conf",
        ".config/agent-tui/rules.toml",
        ".config/nvim/init.lua",
        ".local/share/agent-tui/trust.json",
        "Library/Application Support/agent-tui/config.toml",
        "../ours/rules.toml",
        "sub/../../ours/trust.json",
    ],
)
@pytest.mark.parametrize("mode", ["ask", "accept-edits", "auto"])
def test_protected_names_are_asked_about_through_any_tool(workspace: Path, name: str, mode: str) -> None:
    book = RuleBook([PermissionRules(allow=["Bash", "Read", "Edit", "mcp__files", "deploy"])])
    book.folders = frozenset({workspace.parent / "ours"})
    permissions = Permissions(book, mode=mode)  # type: ignore[arg-type]
    permissions.unboxed = str
    for tool, input_ in (
        ("Read", {"file_path": name}),
        ("Write", {"file_path": name}),
        ("Edit", {"file_path": str(workspace / name)}),
        ("Grep", {"pattern": "x", "path": name}),
        ("Bash", bash(f"cp x '{name}'")),
        ("mcp__files__write", {"path": name, "content": "x"}),
        ("mcp__files__write", {"files": [{"where": str(workspace / name)}]}),
        ("deploy", {name: "x"}),
    ):
        judged = permissions.judge(tool, input_, cwd=workspace)
        assert (judged.behavior, judged.rule) == ("ask", PROTECTED), (tool, input_)
    assert permissions.judge("mcp__files__write", {"path": "src/a.py"}, cwd=workspace).behavior == "allow"
    assert permissions.judge("Write", {"file_path": "gitignore"}, cwd=workspace).behavior == "allow"
