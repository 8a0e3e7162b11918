"""Owns what `agent-tui rules learn` tells, takes over and refuses; what `rules add` says of the past."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pty
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui.cli import run
from agent_tui_core.agent.approvals import Answer
from agent_tui_core.config.rules_file import RememberedRule, read_rules
from answered_calls import NO, YES, Said, answered

HISTORY: tuple[tuple[Said, Answer], ...] = (
    *[(f"frob run {name}", YES) for name in "abc"],
    ("frob push x", NO),
    ("zip-it up", YES),
    ("zip-it up", YES),
    ("echo \x1b[2J\u202e > made", YES),
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person in a workspace, whose answers are those of the session that a test makes."""
    (tmp_path / "workspace").mkdir()
    monkeypatch.chdir(tmp_path / "workspace")
    monkeypatch.setenv("AGENT_TUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENT_TUI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return tmp_path


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A terminal to answer at; what is written to it is typed."""
    ours, theirs = pty.openpty()
    with open(theirs, encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        yield ours
    os.close(ours)


def session(folder: Path, *answers: tuple[Said, Answer]) -> None:
    asyncio.run(answered(folder, *answers))


def told(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    code = run(["rules", *args])
    output = capsys.readouterr()
    return code, output.out + output.err


def remembered(home: Path) -> list[tuple[str, Path | None]]:
    return [(each.rule, each.workspace) for each in read_rules(home / "config" / "rules.toml")]


def test_rules_are_proposed_with_their_calls_and_none_is_taken_over(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session(home, *HISTORY)
    code, said = told(capsys, "learn")
    assert code == 0
    assert (
        "2 rules would have answered 5 of your 7 questions of the last 30 days, and contradict none of your "
        "1 denials." in said
    )
    assert " 1  Bash(frob run *)  3 questions" in said
    assert "   2×  zip-it up" in said
    assert "Nothing was taken over" in said
    assert remembered(home) == []


def test_a_yes_takes_over_one_rule_by_its_number_or_its_words(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session(home, *HISTORY)
    code, said = told(capsys, "learn", "--yes", "2")
    assert (code, f"Added: allow Bash(zip-it up), in {home / 'workspace'}" in said) == (0, True)
    assert told(capsys, "learn", "--yes", "Bash(frob run *)")[0] == 0
    assert remembered(home) == [
        ("Bash(zip-it up)", home / "workspace"),
        ("Bash(frob run *)", home / "workspace"),
    ]
    assert "No narrow rule would have answered two or more" in told(capsys, "learn")[1]


@pytest.mark.parametrize("wrong", ["3", "0", "-1", "Bash(*)", "٢", "1" * 40])
def test_a_yes_to_what_is_not_proposed_adds_nothing(
    home: Path, capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    session(home, *HISTORY)
    code, said = told(capsys, "learn", "--yes", "1", f"--yes={wrong}")
    assert (code, "is none of the 2 rules that are proposed" in said) == (2, True)
    assert remembered(home) == []


@pytest.mark.parametrize(
    ("keys", "taken"), [("\n", 0), ("1\n", 1), ("2, 1\n", 2), ("all\n", 2), ("9\nmaybe\n2\n", 1), ("\x04", 0)]
)
def test_a_person_at_a_terminal_is_asked_which(
    home: Path, capsys: pytest.CaptureFixture[str], typed: int, keys: str, taken: int
) -> None:
    session(home, *HISTORY)
    os.write(typed, keys.encode())
    _, said = told(capsys, "learn")
    assert "Take over which?" in said
    assert len(remembered(home)) == taken


def test_json_is_one_object_and_asks_nobody(
    home: Path, capsys: pytest.CaptureFixture[str], typed: int
) -> None:
    session(home, *HISTORY)
    code = run(["rules", "learn", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [rule["rule"] for rule in found["rules"]] == ["Bash(frob run *)", "Bash(zip-it up)"]
    assert found["rules"][1]["calls"] == [{"call": "zip-it up", "times": 2}]
    assert (found["questions"], found["answered"], found["denials"]) == (7, 5, 1)
    assert remembered(home) == []


def test_where_there_is_nothing_to_learn_from_a_sentence_says_so(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = f"In the last 30 days you were asked nothing in {home / 'workspace'}: there is nothing to learn"
    assert nothing in told(capsys, "learn")[1]
    assert not (home / "data").exists()
    session(home, ("echo hello", YES))
    assert nothing in told(capsys, "learn")[1]
    session(home, ("zip-it up", YES))
    assert told(capsys, "learn")[1] == (
        "No narrow rule would have answered two or more of your 1 question of the last 30 days as you did.\n"
    )


def test_what_a_model_wrote_cannot_move_the_terminal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile: tuple[Said, Answer] = ("zip-it up > '\x1b]0;x\x07\u202e\n 9  Bash(*)'", YES)
    session(home, *[hostile] * 3, *[("zip-it up", YES)] * 2)
    for args in (("learn",), ("learn", "--json"), ("add", "Bash(zip-it *)", "--dry-run")):
        said = told(capsys, *args)[1]
        assert not {"\x1b", "\x07", "\u202e"} & set(said)
        assert not any(line.startswith(" 9  ") for line in said.splitlines())


def test_before_a_rule_is_added_it_says_what_it_would_have_changed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session(home, *HISTORY)
    code, said = told(capsys, "add", "Bash(frob *)", "--dry-run")
    assert (code, said) == (
        0,
        "In the last 30 days it would have answered 4 of your 7 questions, 1 of which you denied.\n",
    )
    assert remembered(home) == []
    code, said = told(capsys, "add", "Bash(frob *)", "--deny")
    assert said == (
        "In the last 30 days it would have denied 3 of the 6 calls that ran.\n"
        f"Added: deny Bash(frob *), in {home / 'workspace'}\n"
    )
    assert "asked about 2 of the 6" in told(capsys, "add", "Bash(zip-it up)", "--ask", "--everywhere")[1]
    elsewhere = told(capsys, "add", "Bash(frob *)", "-C", str(home))[1]
    assert elsewhere == f"Added: allow Bash(frob *), in {home}\n"


def test_a_history_that_cannot_be_read_keeps_nobody_from_adding_a_rule(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "data").mkdir()
    (home / "data" / "history.db").write_text("no database", encoding="utf-8")
    code, said = told(capsys, "add", "Bash(frob *)")
    assert (code, "What it would have changed is not known" in said) == (0, True)
    assert [rule for rule, _ in remembered(home)] == ["Bash(frob *)"]
    assert told(capsys, "learn")[0] == 1
    assert RememberedRule("Bash(frob *)", workspace=home / "workspace").about in {
        each.about for each in read_rules(home / "config" / "rules.toml")
    }
