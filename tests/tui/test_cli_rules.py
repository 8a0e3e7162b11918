"""Owns what `agent-tui rules` tells and how it exits; refuses a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_tui.cli import run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person of whom nothing is kept, in an empty folder."""
    (tmp_path / "w").mkdir()
    monkeypatch.chdir(tmp_path / "w")
    monkeypatch.setenv("AGENT_TUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENT_TUI_DATA_DIR", str(tmp_path / "data"))
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    code = run(["rules", *args])
    output = capsys.readouterr()
    return code, output.out + output.err


def test_a_part_that_no_rule_allows_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = told(capsys, "test", "Bash", "echo a | sh", "-C", str(tmp_path))
    assert code == 1
    assert said.splitlines() == [
        "ask",
        "why:  no rule allows sh: sh runs another program",
        "part: sh",
        "rule: (none)",
        "always: (nothing can be remembered)",
    ]


def test_the_exit_code_is_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ("-C", str(tmp_path))
    assert told(capsys, "test", "Bash", "ls | head -3", *place)[0] == 0
    assert told(capsys, "test", "Bash", "make test", *place) == (
        1,
        "ask\nwhy:  no rule allows make\npart: make test\nrule: (none)\nalways: Bash(make test)\n",
    )
    assert told(capsys, "test", "Bash", "make x", "--allow", "Bash(make *)", *place)[0] == 0
    code, said = told(capsys, "test", "Bash", "ls && rm x", "--deny", "Bash(rm *)", *place)
    assert code == 2
    assert "part: rm x\nrule: Bash(rm *)" in said
    assert told(capsys, "test", "Write", "a.py", "--mode", "plan", *place)[0] == 2
    assert told(capsys, "test", "Write", "a.py", "--mode", "accept-edits", *place)[0] == 0
    assert told(capsys, "test", "Read", ".env", *place)[0] == 1


def test_what_cannot_be_read_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = told(capsys, "test", "Bash", "ls", "--deny", "Ba(sh")
    assert code == 2
    assert "not a rule" in said
    assert told(capsys, "test", "Bash", "ls", "-C", str(tmp_path / "none"))[0] == 2
    assert told(capsys, "test", "Bash")[0] == 2
    assert told(capsys)[0] == 2


def test_what_a_model_wrote_cannot_move_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = told(capsys, "test", "Bash", "echo \x1b[2J\u202e; sh")
    assert code == 1
    assert "\x1b" not in said
    assert "\u202e" not in said


# --- all layers ---------------------------------------------------------------------------------------------


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_every_layer_counts_and_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(home / "config/config.toml", '[permissions]\ndeny = ["Bash(make bad *)"]\n')
    write(
        home / "w/.agent-tui/settings.toml", '[permissions]\nallow = ["Bash(npm *)"]\nask = ["Bash(uv *)"]\n'
    )
    assert told(capsys, "add", "Bash(make *)")[0] == 0
    assert told(capsys, "test", "Bash", "make x") == (
        0,
        "allow\nwhy:  allowed by Bash(make *) (remembered)\nrule: Bash(make *)\nfrom: remembered\n",
    )
    assert "from: your settings" in told(capsys, "test", "Bash", "make bad x")[1]
    assert told(capsys, "test", "Bash", "npm test")[0] == 1
    assert "from: the project" in told(capsys, "test", "Bash", "uv x")[1]
    assert run(["trust", "--yes"]) == 0
    capsys.readouterr()
    assert told(capsys, "test", "Bash", "npm test")[0] == 0
    assert told(capsys, "test", "Bash", "npm test", "-C", str(home))[0] == 1
    assert told(capsys, "test", "Bash", "make x", "-C", str(home))[0] == 1


def test_list_says_where_each_rule_is_from_and_written(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "agent-tui rules add" in told(capsys, "list")[1]
    settings = write(home / "config/config.toml", '[permissions]\nallow = ["Bash(a)", "Bash(b)"]\n')
    project = write(home / "w/.agent-tui/settings.toml", '[permissions]\nallow = ["Bash(p)"]\n')
    told(capsys, "add", "Bash(rm *)", "--deny", "--everywhere")
    told(capsys, "add", "Bash(o)", "-C", str(home), "--agent", "ann")
    code, said = told(capsys, "list")
    assert code == 0
    assert said.index("Bash(rm *)") < said.index("Bash(a)")
    assert f"your settings · {settings}: permissions.allow[2]" in said
    assert f"the project, not trusted: not used · {project}: permissions.allow[1]" in said
    assert "remembered, everywhere (20" in said
    assert "Bash(o)" not in said
    assert f"remembered, in {home}, for ann" in told(capsys, "list", "--all")[1]


def test_a_rule_is_added_once_and_removed_where_it_was(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, "add", "Bash(make *)") == (0, f"Added: allow Bash(make *), in {home / 'w'}\n")
    assert told(capsys, "add", "Bash(make *)")[1].startswith("It is there already")
    told(capsys, "add", "Bash(make *)", "-C", str(home))
    assert told(capsys, "remove", "Bash(make *)") == (0, f"Removed: allow Bash(make *), in {home / 'w'}\n")
    code, said = told(capsys, "remove", "Bash(make *)")
    assert code == 1
    assert f"remembered, in {home}" in said
    assert told(capsys, "remove", "Bash(make *)", "-C", str(home))[0] == 0
    code, said = told(capsys, "remove", "Bash(make *)")
    assert (code, "there is no rule" in said) == (1, True)


def test_a_rule_in_a_persons_own_file_is_not_removed_but_found(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = write(home / "config/config.toml", '[permissions]\nallow = ["Bash(a)"]\n')
    before = settings.read_bytes()
    code, said = told(capsys, "remove", "Bash(a)")
    assert code == 1
    assert f"your settings: {settings}: permissions.allow[1]" in said
    assert "remove it there" in said
    assert settings.read_bytes() == before


@pytest.mark.parametrize("rule", ["Bash(", "bash", "Weather", "Bash(a\u200b)", "Bash(a\nb)"])
def test_what_is_no_rule_is_not_added(home: Path, capsys: pytest.CaptureFixture[str], rule: str) -> None:
    assert told(capsys, "add", rule)[0] == 2
    assert not (home / "config/rules.toml").exists()


def test_tools_of_servers_are_judged_by_name_and_by_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "test", "mcp__git__log")[0] == 1
    assert told(capsys, "test", "mcp__git__log", "{}", "--deny", "mcp__git")[0] == 2
    assert told(capsys, "add", "mcp__git__log")[0] == 0
    assert told(capsys, "test", "mcp__git__log")[0] == 0
    assert told(capsys, "test", "mcp__git__log", "nonsense")[0] == 2


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for args in (["--help"], ["test", "--help"], ["add", "--help"], ["remove", "--help"], ["list", "--help"]):
        code, said = told(capsys, *args)
        assert code == 0
        assert "agent-tui rules" in said


def batch(
    capsys: pytest.CaptureFixture[str], corpus: Path, text: str, *args: str
) -> tuple[int, list[dict[str, object]], str]:
    corpus.write_text(text, encoding="utf-8")
    code = run(["rules", "test", "--batch", str(corpus), *args])
    output = capsys.readouterr()
    return code, [json.loads(line) for line in output.out.splitlines()], output.err


def test_a_corpus_of_commands_gets_a_verdict_for_each_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (
        'ls | head\n{"command": "make a && ls", "expect": "ask"}\n\n{ ls; pwd; }\n'
        '{"tool": "Write", "input": {"file_path": "é"}}\n'
    )
    code, verdicts, said = batch(capsys, tmp_path / "corpus", lines, "--allow", "Bash(npm *)")
    assert code == 0
    assert [(each["line"], each["verdict"], each["part"], each["rule"]) for each in verdicts] == [
        ("ls | head", "allow", None, "built in: reads only"),
        ("make a && ls", "ask", "make a", None),
        ("{ ls; pwd; }", "allow", None, "built in: reads only"),
        ('{"file_path": "é"}', "ask", None, None),
    ]
    assert verdicts[1]["as_expected"] is True
    assert said == "4 judged: 2 allow, 2 ask, 0 deny\n"


def test_a_verdict_that_was_not_expected_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = '[{"command": "ls", "expect": "deny"},\n {"command": "rm x", "expect": "deny"}]'
    code, verdicts, said = batch(capsys, tmp_path / "corpus.json", listed, "--deny", "Bash(rm *)")
    assert (code, [each["as_expected"] for each in verdicts]) == (1, [False, True])
    assert said.endswith("; 1 not as expected\n")


def test_a_line_that_is_no_call_is_named_and_the_others_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, verdicts, said = batch(capsys, tmp_path / "c", '{"expect": "allow"}\n{"command": 3}\nls\n')
    assert (code, len(verdicts)) == (2, 1)
    assert "line 1: it says no command" in said
    assert "line 2: " in said


def test_a_batch_beside_a_call_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c").write_text("ls\n")
    assert told(capsys, "test", "Bash", "ls", "--batch", str(tmp_path / "c"))[0] == 2
    assert told(capsys, "test")[0] == 2
