"""The file of remembered rules: what goes in comes out, writers lose nothing, a broken file is told."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tui_core.config.rules_file import RememberedRule, add_rule, read_rules, remove_rules
from agent_tui_core.errors import ConfigError

HERE = RememberedRule("Bash(npm test)", workspace=Path("/w"))
_WRITER = """
import sys
from pathlib import Path
from agent_tui_core.config.rules_file import RememberedRule, add_rule
for number in range(20):
    add_rule(Path(sys.argv[1]), RememberedRule(f"Bash(make {sys.argv[2]}-{number})"))
"""


def test_a_rule_is_kept_with_its_scope_and_date_and_once(tmp_path: Path) -> None:
    file = tmp_path / "new" / "rules.toml"
    rules = (HERE, RememberedRule("Bash(rm *)", "deny"), RememberedRule("Edit", "ask", Path("/w"), "ann"))
    assert [add_rule(file, rule) for rule in rules] == [True] * 3
    assert add_rule(file, HERE) is False
    kept = read_rules(file)
    assert [rule.about for rule in kept] == [rule.about for rule in rules]
    assert all(rule.added.endswith("Z") for rule in kept)


def test_the_file_and_its_folder_are_private_whatever_the_umask(tmp_path: Path) -> None:
    file = tmp_path / "config" / "rules.toml"
    before = os.umask(0)
    try:
        add_rule(file, HERE)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {each.name for each in file.parent.iterdir()} == {"rules.toml", ".rules.toml.lock"}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.text(min_size=1, max_size=10))
def test_any_text_comes_back_as_it_was(tmp_path: Path, spec: str, agent: str) -> None:
    file = tmp_path / "rules.toml"
    file.unlink(missing_ok=True)
    rule = RememberedRule(f"Bash(x{spec})", "ask", Path("/w") / "ü\n\x7f", agent)
    try:
        add_rule(file, rule)
    except ConfigError:
        assert any("\ud800" <= char <= "\udfff" for char in agent)
        assert not file.exists()
        return
    tomllib.loads(file.read_text(encoding="utf-8"))
    assert [each.about for each in read_rules(file)] == [rule.about]


def test_programs_that_write_at_once_lose_no_rule(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(file), name], env={**os.environ, "PYTHONPATH": "core"}
        )
        for name in "abc"
    ]
    assert [writer.wait(timeout=50) for writer in writers] == [0, 0, 0]
    assert len(read_rules(file)) == 60


def test_a_rule_is_removed_and_the_others_stay(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    for rule in (HERE, RememberedRule("Bash(rm *)", "deny")):
        add_rule(file, rule)
    assert remove_rules(file, lambda rule: rule.rule == "Bash(npm test)") == 1
    assert remove_rules(file, lambda rule: rule.rule == "Bash(npm test)") == 0
    assert [rule.rule for rule in read_rules(file)] == ["Bash(rm *)"]


def test_a_link_to_a_file_elsewhere_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    file = tmp_path / "rules.toml"
    file.symlink_to(tmp_path / "dotfiles" / "rules.toml")
    add_rule(file, HERE)
    assert file.is_symlink()
    assert read_rules(tmp_path / "dotfiles" / "rules.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[rules]\n", "not valid TOML"),
        ("\xff", "not valid TOML"),
        ("x = 1", "[[rules]] only"),
        ("rules = 1", "[[rules]] only"),
        ("rules = [1]", "rules[1]: should be a table"),
        ('[[rules]]\nrule = "Bash(ls"', "rules[1].rule: this is not a rule"),
        ("[[rules]]\n", "rules[1].rule: this is not a rule"),
        ("[[rules]]\nrule = 3", "rules[1].rule: should be text"),
        ('[[rules]]\nrule = "Bash"\nfor = "x"', "rules[1].for: there is no such key"),
        ('[[rules]]\nrule = "Bash"\nbehavior = "maybe"', "rules[1].behavior: should be 'allow'"),
        ('[[rules]]\nrule = "Bash"\nworkspace = "w"', "rules[1].workspace: should be the whole path"),
    ],
)
def test_a_broken_file_is_told_and_never_overwritten(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_bytes(text.encode("latin-1"))
    for attempt in (lambda: read_rules(file), lambda: add_rule(file, HERE)):
        with pytest.raises(ConfigError) as caught:
            attempt()
        assert words in str(caught.value)
        assert str(file) in str(caught.value)
    assert file.read_bytes() == text.encode("latin-1")


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file")
    with pytest.raises(ConfigError, match="cannot be"):
        add_rule(tmp_path / "config" / "rules.toml", HERE)
