"""What a command in the sandbox leaves in `.git` for the person's next git: it does not run, and is told."""

from __future__ import annotations

import asyncio
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui_core.tools.shell import BASH
from boxes import Shell, git, needs_sandbox

pytestmark = needs_sandbox
EVIL = "printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = touch {pwned}; false\\n'"
IDENTITY = "git -c user.name=a -c user.email=a@b"


def made(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "file.txt").write_text("one\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    made(folder)
    made(tmp_path / "lib")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "lib")
    git(folder, "commit", "-qm", "lib")
    git(folder, "worktree", "add", "-q", "tree")
    return folder


def persons_git(folder: Path, *words: str) -> None:
    """As a person's shell runs it: with nothing of ours in the environment."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "EDITOR": "true"}
    subprocess.run(["git", *words], cwd=folder, env=environment, capture_output=True, timeout=30)


NEW = f"git init -q n; cd n; {IDENTITY} commit -q --allow-empty -m x"
DEEP = f"git init -q m; cd m; {IDENTITY} commit -q --allow-empty -m y; {EVIL} > .git/config; cd .."
ATTACKS = {
    "commondir": f"cp -r .git docs && {EVIL} > docs/config && echo ../docs > .git/commondir",
    "module": f"{EVIL} > .git/modules/lib/config",
    "module hook": "mkdir -p .git/modules/lib/hooks; ln -s /bin/touch .git/modules/lib/hooks/pre-commit",
    "module moved": f"mv .git/modules m && cp -r m .git/modules && {EVIL} >> .git/modules/lib/config",
    "worktree settings": f"{EVIL} > .git/worktrees/tree/config.worktree",
    "worktree of another": f"cp -r .git d; {EVIL} > d/config; echo $PWD/d > .git/worktrees/tree/commondir",
    "worktree moved": f"t=.git/worktrees; mv $t w; cp -r w $t; {EVIL} > $t/tree/config.worktree",
    "gitlink": f"{NEW}; {EVIL} > .git/config; cd ..; git add n",
    "gitlink in a gitlink": f"{NEW}; {DEEP}; git add m; {IDENTITY} commit -qm z; cd ..; git add n",
    "link": f"cp -r .git docs; {EVIL} > docs/config; mv .git old && ln -s docs .git",
    "attributes": "echo '* filter=x' > .git/info/attributes && exit 1",
}


@pytest.mark.parametrize("name", ATTACKS)
async def test_the_persons_next_git_runs_nothing_of_it(workspace: Path, tmp_path: Path, name: str) -> None:
    pwned, told = tmp_path / "pwned", list[str]()
    bash = Shell(workspace)
    context = replace(bash.context, warn=told.append)
    done = await BASH.execute({"command": ATTACKS[name].format(pwned=pwned)}, context)
    assert told or done.is_error, "nobody heard of it"
    for place in (workspace, workspace / "tree", workspace / "lib"):
        for line in (["status"], ["diff"], ["add", "."], ["commit", "-m", "mine"]):
            persons_git(place, *line)
    assert not pwned.exists()
    await bash.close()


async def test_a_repository_that_a_command_makes_runs_nothing_either(tmp_path: Path) -> None:
    workspace, told = tmp_path / "w", list[str]()
    workspace.mkdir()
    bash = Shell(workspace)
    line = f"git init -q; {EVIL} > .git/config; mkdir -p .git/hooks; cp /bin/true .git/hooks/pre-commit"
    await BASH.execute(
        {"command": line.format(pwned=tmp_path / "pwned")}, replace(bash.context, warn=told.append)
    )
    persons_git(workspace, "status")
    assert not (tmp_path / "pwned").exists()
    assert any(".git/config has git run a program" in words for words in told)
    assert any(".git/hooks/pre-commit" in words for words in told)
    assert not (workspace / ".git/hooks/pre-commit").exists()
    await bash.close()


async def test_a_command_that_is_interrupted_is_looked_at_too(workspace: Path) -> None:
    bash, told = Shell(workspace), list[str]()
    context = replace(bash.context, warn=told.append)
    line = f"{ATTACKS['commondir'].format(pwned='x')}; echo done; sleep 60"
    running = asyncio.create_task(BASH.execute({"command": line}, context))
    await bash.says("done")
    running.cancel()
    await asyncio.wait({running})
    assert any(".git/commondir has git obey" in words for words in told)
    assert not (workspace / ".git/commondir").exists()
    await bash.close()


async def test_what_a_rebase_would_run_is_told_and_left_alone(workspace: Path) -> None:
    bash, told = Shell(workspace), list[str]()
    line = "mkdir .git/rebase-merge; echo 'exec make evil' > .git/rebase-merge/git-rebase-todo"
    await BASH.execute({"command": line}, replace(bash.context, warn=told.append))
    assert [words for words in told if "git-rebase-todo would run: make evil" in words]
    assert (workspace / ".git/rebase-merge/git-rebase-todo").exists()
    await bash.close()


async def test_usual_work_with_git_says_nothing(workspace: Path) -> None:
    bash, told = Shell(workspace), list[str]()
    lines = (
        "echo two >> file.txt; git add -A; {0} commit -qm second; git status",
        "git checkout -qb more; {0} commit -q --allow-empty -m third; git checkout -q -; git merge -q more",
        "echo three >> file.txt; {0} stash -q; git stash pop; git reset -q --hard; git tag v1; git gc -q",
        "{0} rebase -q HEAD~1; git log --oneline; git branch -D more",
        "git init -q other; cd other; {0} commit -q --allow-empty -m x",
    )
    for line in lines:
        done = await BASH.execute({"command": line.format(IDENTITY)}, replace(bash.context, warn=told.append))
        assert not done.is_error, done.content
    assert told == []
    await bash.close()
