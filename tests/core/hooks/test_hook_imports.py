"""What lies in an agent's folder and would be loaded by a hook's interpreter: none of it runs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_tui_core.hooks.command import CommandHook
from agent_tui_core.hooks.points import PreToolUseEvent
from hooked import decides, hooked, says

CALL = PreToolUseEvent("Bash", {"command": "ls"}, "c1", ())
PYTHON = sys.executable
READS = "import json, sys; json.load(sys.stdin)"
ATTACKS: tuple[tuple[str, Mapping[str, str]], ...] = (
    (f"{PYTHON} -c '{READS}'", {"json.py": "open({pwned!r}, 'w')"}),
    (f"{PYTHON} -m json.tool", {"json/__init__.py": "", "json/tool.py": "open({pwned!r}, 'w')"}),
    (f"{PYTHON} scripts/guard.py", {"scripts/guard.py": READS, "scripts/json.py": "open({pwned!r}, 'w')"}),
    (f"{PYTHON} -", {"sitecustomize.py": "open({pwned!r}, 'w')"}),
    (f"env -S {PYTHON} -c 'import usercustomize'", {"usercustomize.py": "open({pwned!r}, 'w')"}),
    (
        "node -e 'require(\"yaml\")'",
        {"node_modules/yaml/index.js": "require('fs').writeFileSync({pwned!r}, '')"},
    ),
    ("node -e 1", {".noderc": "", "package.json": '{{"imports": {{}}}}'}),
    ("perl -I. -e 'use Guard'", {"Guard.pm": "open(F, '>', {pwned!r}); 1;"}),
    ("ruby -I . -e 'require \"guard\"'", {"guard.rb": "File.write({pwned!r}, '')"}),
    ("make", {"Makefile": "X := $(shell touch {pwned})\nall:\n"}),
    ("npx --offline --no guard", {"node_modules/.bin/guard": "#!/bin/sh\ntouch {pwned}\n"}),
    ("npm run --silent guard", {"package.json": '{{"scripts": {{"guard": "touch {pwned}"}}}}'}),
    ("git status", {".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[alias]\n\tx = y\n"}),
    ("guard", {"guard": "#!/bin/sh\ntouch {pwned}\n"}),
    ("gdb -batch", {".gdbinit": "shell touch {pwned}\n"}),
    ("vim -es -c 'set exrc' -c q", {".exrc": "!touch {pwned}\n"}),
)


def bring(folder: Path, files: Mapping[str, str], pwned: Path) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(pwned=str(pwned)))
        file.chmod(0o755)


@pytest.mark.parametrize(("command", "files"), ATTACKS)
async def test_a_hook_loads_nothing_from_the_folder_of_an_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, files: Mapping[str, str]
) -> None:
    if shutil.which(command.split()[0]) is None and command != "guard":
        pytest.skip(f"{command.split()[0]} is not installed")
    workspace, pwned = tmp_path / "workspace", tmp_path / "pwned"
    bring(workspace, files, pwned)
    monkeypatch.setenv(
        "PATH", f".::bin:{Path('/usr/bin')}:/bin:{Path(shutil.which('node') or '/bin/x').parent}"
    )
    monkeypatch.chdir(workspace)
    await hooked(workspace, CommandHook("PreToolUse", command, timeout=20)).hooks.on_call(CALL)
    assert not pwned.exists()


@pytest.mark.parametrize(
    "command",
    [
        "./check.sh",
        "sh check.sh",
        '"$CLAUDE_PROJECT_DIR"/check.sh',
        "cat | ./check.sh",
        "cd sub/.. && ./check.sh",
        'cd "$CLAUDE_PROJECT_DIR" && ./check.sh',
    ],
)
async def test_a_script_of_the_project_goes_on_working(tmp_path: Path, command: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "check.sh").write_text(f"#!/bin/sh\n{says(decides('deny', 'not today'))}\n")
    (tmp_path / "check.sh").chmod(0o755)
    ann = hooked(tmp_path, CommandHook("PreToolUse", command, root=tmp_path))
    verdict = await ann.hooks.on_call(CALL)
    assert (verdict.behavior, verdict.reason) == ("deny", "not today")
    assert ann.warnings == []


async def test_a_projects_script_is_that_of_its_root_where_an_agent_works_below(tmp_path: Path) -> None:
    # Trust is in check.sh of the root; one of the same name in a folder below is nobody's.
    below = tmp_path / "sub"
    bring(
        tmp_path,
        {"check.sh": "#!/bin/sh\nexit 0\n", "sub/check.sh": "#!/bin/sh\ntouch {pwned}\n"},
        tmp_path / "pwned",
    )
    for command in ("./check.sh", '"$CLAUDE_PROJECT_DIR"/check.sh'):
        ann = hooked(below, CommandHook("PreToolUse", command, root=tmp_path))
        assert (await ann.hooks.on_call(CALL)).behavior == "none"
    assert not (tmp_path / "pwned").exists()


async def test_what_a_hook_left_where_it_started_is_not_there_for_the_next(tmp_path: Path) -> None:
    pwned = tmp_path / "pwned"
    drops = CommandHook("PreToolUse", f"""chmod u+w .; echo 'open("{pwned}", "w")' > "$PWD"/json.py""")
    await hooked(tmp_path, drops).hooks.on_call(CALL)
    await hooked(tmp_path, CommandHook("PreToolUse", f"{PYTHON} -c '{READS}'")).hooks.on_call(CALL)
    assert not pwned.exists()
