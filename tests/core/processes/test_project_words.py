"""Which words of a hook's command count from the project, and which must stay as they are."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from agent_tui_core.processes.project_words import from_project, script_from


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    for name in ("check.sh", "scripts/guard.py", "README.md", "src/main.py", "a b.sh", ".claude/hooks/x.sh"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(
    ("command", "becomes"),
    [
        ("./check.sh", "{check.sh}"),
        ("./check.sh --strict src/main.py", "{check.sh} --strict src/main.py"),
        ("scripts/guard.py|cat", "{scripts/guard.py}|cat"),
        ("python3 scripts/guard.py --x", "python3 {scripts/guard.py} --x"),
        ("python3 -u 'scripts/guard.py'", "python3 -u {scripts/guard.py}"),
        ("/usr/bin/bash .claude/hooks/x.sh", "/usr/bin/bash {.claude/hooks/x.sh}"),
        ("A=1 exec ./check.sh", "A=1 exec {check.sh}"),
        ('bash "a b.sh" && ./check.sh', "bash {a b.sh} && {check.sh}"),
        ("jq -r .x | { read f; ./check.sh; }", "jq -r .x | { read f; {check.sh}; }"),
        ("if ! ./check.sh; then cat README.md >&2; fi", "if ! {check.sh}; then cat {README.md} >&2; fi"),
        ("cat >> seen.txt 2>/dev/null", "cat >> {seen.txt} 2>/dev/null"),
        (
            "echo $$ > leader; sleep 1 & echo $! >'a child'",
            "echo $$ > {leader}; sleep 1 & echo $! >{a child}",
        ),
        ("[ -f stop ] && exit 2", "[ -f {stop} ] && exit 2"),
        ("[[ -f stop && src/x == y ]] || ./check.sh", "[[ -f {stop} && src/x == y ]] || {check.sh}"),
        ("cd scripts && ls", "cd {scripts} && ls"),
        ("grep -qi src/main.py README.md", "grep -qi src/main.py {README.md}"),
        ("sed -n 's/a/b/p' README.md", "sed -n 's/a/b/p' {README.md}"),
        ("touch a; cp README.md b", "touch {a}; cp {README.md} {b}"),
        (". ./check.sh", ". {check.sh}"),
        ("uv run scripts/guard.py", "uv run {scripts/guard.py}"),
        ("echo hi # ./check.sh\n./check.sh", "echo hi # ./check.sh\n{check.sh}"),
        ("./check.sh <<E\n./check.sh\nE", "{check.sh} <<E\n./check.sh\nE"),
    ],
)
def test_a_word_that_must_be_a_path_counts_from_the_project(
    project: Path, command: str, becomes: str
) -> None:
    for name in ("check.sh", "scripts/guard.py", "README.md", "a b.sh", ".claude/hooks/x.sh", "scripts"):
        becomes = becomes.replace(f"{{{name}}}", shlex.quote(str(project / name)))
    for name in ("seen.txt", "leader", "a child", "stop", "a", "b"):
        becomes = becomes.replace(f"{{{name}}}", shlex.quote(str(project / name)))
    assert from_project(command, project) == becomes


@pytest.mark.parametrize(
    "command",
    [
        "grep -q src/main.py",
        "grep -m 1 src/main.py README.md",
        "grep -e src/main.py README.md",
        "python3 -c \"import json, sys; open('x/y')\"",
        "bash -lc ./check.sh",
        "python3 -m scripts",
        'case "$f" in src/main.py) exit 2;; esac',
        'echo "$(./check.sh)"',
        '"$CLAUDE_PROJECT_DIR"/check.sh',
        "~/check.sh /bin/true",
        "git status --porcelain -- src/main.py",
        "sed -ne 's/a/b/p' README.md",
        "echo 'never closed ./check.sh",
        "echo ${x:-./check.sh} `./check.sh` 2>&1",
        "",
        "\\",
        "$(",
    ],
)
def test_every_other_word_stays_as_it_is(project: Path, command: str) -> None:
    assert from_project(command, project) == command


def test_a_tools_script_counts_from_where_its_settings_lie(project: Path) -> None:
    assert script_from(["python3", "scripts/guard.py", "README.md"], project) == [
        "python3",
        str(project / "scripts/guard.py"),
        "README.md",
    ]
    assert script_from(["notify", "README.md"], project) == ["notify", "README.md"]
    assert script_from([], project) == []
