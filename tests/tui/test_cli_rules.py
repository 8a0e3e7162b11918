"""Owns what `agent-tui rules` tells and how it exits; refuses a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.cli import run


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
