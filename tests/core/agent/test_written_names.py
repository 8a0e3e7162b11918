"""Names that run without anybody starting them: to write them is asked about, to read them is not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agent_tui_core.agent.permissions import PermissionRules, Permissions
from agent_tui_core.config.modes import Mode

NAMES = (
    *(".github/workflows/ci.yml", ".gitlab-ci.yml", ".hg/hgrc", ".jj/repo/config.toml", "lefthook.yml"),
    *(".mise.toml", ".yarnrc.yml", "my.code-workspace", ".dir-locals.el", ".Rprofile", ".mvn/jvm.config"),
    *(".cargo/config.toml", ".gitattributes", ".venv/bin/python", "node_modules/.bin/tsc", "AGENTS.md"),
    *("CLAUDE.md", "sub/AGENTS.md", "GEMINI.md", ".cursorrules", "Claude.md", "lib/site-packages/x.pth"),
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text\n")
    return tmp_path


def permissions(mode: Mode, *allow: str) -> Permissions:
    found = Permissions(PermissionRules(allow=list(allow)), mode=mode)
    found.unboxed = lambda: ""
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", ["accept-edits", "auto"])
def test_to_write_one_is_asked_about_by_every_way(workspace: Path, name: str, mode: Mode) -> None:
    judge = permissions(mode, "Bash(echo *)", "Bash(cp *)", "Edit").judge
    for tool, more in (("Write", {"content": "x"}), ("Edit", {"old_string": "text", "new_string": "x"})):
        assert judge(tool, {"file_path": name, **more}, cwd=workspace).behavior == "ask"
    for line in (f"echo x > '{name}'", f"cp my.txt '{name}'", f"echo x | tee -a '{name}'"):
        assert judge("Bash", {"command": line}, cwd=workspace).behavior == "ask", line


@pytest.mark.parametrize("name", [name for name in NAMES if name != ".cursorrules"])
@pytest.mark.parametrize("mode", ["ask", "auto"])
def test_to_read_one_is_not(workspace: Path, name: str, mode: Mode) -> None:
    judge = permissions(mode).judge
    assert judge("Read", {"file_path": name}, cwd=workspace).behavior == "allow"
    for line in (f"cat '{name}'", f"grep -n text '{name}'", f"wc -l < '{name}'"):
        assert judge("Bash", {"command": line}, cwd=workspace).behavior == "allow", line


@pytest.mark.parametrize(
    "line",
    [
        ".venv/bin/python -m pytest -q",
        "node_modules/.bin/tsc --noEmit",
        "git add AGENTS.md .github/workflows/ci.yml && git commit -m 'Change AGENTS.md'",
        "source .venv/bin/activate && pytest",
        "npm install && npm test",
    ],
)
def test_to_start_or_to_commit_one_in_the_mode_auto_is_not(workspace: Path, line: str) -> None:
    assert permissions("auto").judge("Bash", {"command": line}, cwd=workspace).behavior == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "sed -i s/a/b/ AGENTS.md",
        "python3 -c 'open(1)' > .github/workflows/new.yml",
        "mv my.txt .gitlab-ci.yml",
        "cp my.pth lib/",
        "mkdir -p .github/workflows",
        "x=1; echo $x > AGENTS.md",
        "for f in a; do cat $f > lefthook.yml; done",
    ],
)
def test_to_write_one_in_the_mode_auto_is(workspace: Path, line: str) -> None:
    assert permissions("auto").judge("Bash", {"command": line}, cwd=workspace).behavior == "ask"
