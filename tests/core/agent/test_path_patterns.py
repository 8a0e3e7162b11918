"""Where patterns of files count from, what they reach, and how long they may take."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agent_tui_core.agent.permissions import PermissionRules, Permissions
from agent_tui_core.config.rule_text import read_rule
from agent_tui_core.gitignore import GitignorePattern


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "a.md").write_text("x")
    (folder / "w").mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def read(rules: PermissionRules, path: Path | str, cwd: Path) -> str:
    return Permissions(rules).judge("Read", {"file_path": str(path)}, cwd=cwd).behavior


def test_a_pattern_reaches_into_the_home_and_anywhere(home: Path) -> None:
    cwd, notes = home / "w", home / "notes" / "a.md"
    assert read(PermissionRules(), notes, cwd) == "ask"
    assert read(PermissionRules(allow=["Read(~/notes/**)"]), notes, cwd) == "allow"
    assert read(PermissionRules(allow=[f"Read(/{notes})"]), notes, cwd) == "allow"
    assert read(PermissionRules(allow=["Read(~/other/**)"]), notes, cwd) == "ask"
    assert read(PermissionRules(allow=["Read(notes/**)"]), notes, cwd) == "ask"
    assert read(PermissionRules(allow=["Read(~/notes/**)"]), "/etc/hostname", cwd) == "ask"
    assert read(PermissionRules(deny=["Read(~/notes/**)"]), notes, cwd) == "deny"
    assert read(PermissionRules(deny=["Read(//etc/**)"]), "/etc/hostname", cwd) == "deny"


def test_a_link_out_of_what_a_pattern_allows_is_not_allowed(home: Path) -> None:
    (home / "notes" / "link").symlink_to("/etc/hostname")
    assert read(PermissionRules(allow=["Read(~/notes/**)"]), home / "notes" / "link", home / "w") == "ask"


@pytest.mark.parametrize(
    ("tool", "rule"), [("Read", "Read"), ("Grep", "Read"), ("Write", "Edit"), ("Edit", "Edit(*)")]
)
def test_a_rule_without_a_pattern_allows_what_is_in_the_workspace(tool: str, rule: str, home: Path) -> None:
    key = "path" if tool == "Grep" else "file_path"
    rules = PermissionRules(allow=[rule])
    assert rules.judge(tool, {key: "a.py"}, cwd=home / "w").behavior == "allow"
    assert rules.judge(tool, {key: "/etc/passwd"}, cwd=home / "w").behavior == "ask"
    assert rules.judge(tool, {key: "../notes/a.md"}, cwd=home / "w").behavior == "ask"
    assert PermissionRules(deny=[rule]).judge(tool, {key: "/etc/passwd"}, cwd=home / "w").behavior == "deny"


@pytest.mark.parametrize("pattern", ["*a" * 14 + "b", "**/" * 30 + "x", "[!b]*" * 60 + "b", "a" * 1_900])
def test_a_pattern_with_many_stars_takes_no_time(pattern: str, home: Path) -> None:
    read_rule(f"Read({pattern})")
    rules = PermissionRules(deny=[f"Read({pattern})"])
    began = time.process_time()
    rules.judge("Read", {"file_path": "a" * 60}, cwd=home / "w")
    assert time.process_time() - began < 2


def test_a_name_that_is_no_utf8_is_held_against_patterns() -> None:
    assert GitignorePattern("*.pem").matches("a\udcff.pem")
    assert GitignorePattern("caf?.pem").matches("caf\udce9.pem")
    assert not GitignorePattern("*.pem").matches("a\udcff.pub")
