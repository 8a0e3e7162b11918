"""Owns the proof that a repository stays usable and harmless in a sandbox; refuses to trust in options."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.processes.sandbox import SandboxRules
from boxes import Shell, folder_at_home, git, needs_sandbox

pytestmark = needs_sandbox


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    with folder_at_home() as folder:
        yield folder


@pytest.fixture
async def bash(workspace: Path) -> AsyncIterator[Shell]:
    shell = Shell(workspace)
    yield shell
    await shell.close()


async def test_a_link_of_the_repository_shows_nothing_that_is_hidden(
    workspace: Path, elsewhere: Path
) -> None:
    (elsewhere / "data" / "keys").mkdir(parents=True)
    (elsewhere / "data" / "keys" / "key").write_text("secret")
    for name in (".vscode", ".git", ".env.x"):
        (workspace / name).symlink_to(elsewhere / "data" / "keys")
    shell = Shell(workspace, rules=SandboxRules("auto", hidden=(elsewhere / "data",)))
    assert "secret" not in (await shell("cat .vscode/key .git/key .env.x/key")).content
    await shell.close()


async def test_git_commits_and_neither_hooks_nor_configuration_can_be_written(bash: Shell) -> None:
    git(bash.workspace, "init", "-q")
    config = (bash.workspace / ".git" / "config").read_text()
    shutil.rmtree(bash.workspace / ".git" / "hooks")
    identity = "git -c user.name=a -c user.email=a@b.c"
    await bash.output(
        f"echo 1 > f; git add f; {identity} commit -qm first; git checkout -qb more; git stash list"
    )
    assert "first" in git(bash.workspace, "log", "--oneline")
    for attack in (
        "echo x > .git/hooks/pre-commit",
        "git config core.fsmonitor ./evil",
        "echo '[core]' >> .git/config",
        "mv .git old && cp -r old .git && echo evil > .git/hooks/pre-commit",
        "rm -rf .git/hooks && mkdir .git/hooks && echo > .git/hooks/x",
        "mv .git/hooks .git/h && mkdir .git/hooks",
        "ln -sf /tmp/evil .git/config",
    ):
        assert (await bash(attack)).is_error, attack
    assert (bash.workspace / ".git" / "config").read_text() == config
    assert list((bash.workspace / ".git" / "hooks").iterdir()) == []
    assert "not git's config and hooks" in (await bash("git config a.b c")).content


async def test_a_commit_in_a_worktree_works_and_its_repository_is_as_safe(tmp_path: Path) -> None:
    main, tree = tmp_path / "main", tmp_path / "tree"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "zero")
    git(main, "worktree", "add", "-q", str(tree))
    shell = Shell(tree)
    await shell.output("echo 1 > f; git add f; git -c user.name=a -c user.email=a@b.c commit -qm inside")
    assert "inside" in git(tree, "log", "--oneline")
    for attack in (
        f"echo x > {main}/.git/hooks/pre-commit",
        "git config a.b c",
        "echo gitdir: /tmp/x > .git",
    ):
        assert (await shell(attack)).is_error, attack
    assert (await shell(f"echo x > {main}/file")).is_error or not (main / "file").exists()
    await shell.close()


async def test_a_git_file_that_names_a_foreign_folder_makes_nothing_writable(
    workspace: Path, elsewhere: Path
) -> None:
    victim = elsewhere / "victim"
    victim.mkdir()
    git(victim, "init", "-q")
    (victim / ".git" / "worktrees" / "x").mkdir(parents=True)
    (victim / ".git" / "worktrees" / "x" / "gitdir").write_text("/somewhere/else/.git\n")
    (workspace / ".git").write_text(f"gitdir: {victim}/.git/worktrees/x\n")
    shell = Shell(workspace)
    await shell(f"echo evil > {victim}/.git/evil")
    assert not (victim / ".git" / "evil").exists()
    await shell.close()


async def test_a_folder_that_becomes_a_link_while_the_sandbox_is_made_opens_nothing(
    workspace: Path, elsewhere: Path
) -> None:
    (elsewhere / "victim").mkdir()
    (elsewhere / "victim" / "config").write_text("secret")
    flip = (
        "while :; do mkdir -p .git/hooks; touch .git/config; rm -rf .git; "
        f"ln -s {elsewhere}/victim .git; rm .git; ln -s {os.path.relpath(elsewhere, workspace)}/victim .git; "
        "rm .git; done"
    )
    hidden = SandboxRules("auto", hidden=(elsewhere / "victim",))
    shell = Shell(workspace, rules=hidden)
    await shell.output(f"({flip}) >/dev/null 2>&1 &")
    for _ in range(15):
        try:
            said = (await shell("cat .git/config; echo evil > .git/evil; echo evil > .git/config")).content
        except ToolError as error:
            said = str(error)
        assert "secret" not in said
    await shell.close()
    assert [file.name for file in (elsewhere / "victim").iterdir()] == ["config"]
    assert (elsewhere / "victim" / "config").read_text() == "secret"


async def test_protected_names_that_exist_cannot_be_changed_nor_moved_away(bash: Shell) -> None:
    (bash.workspace / ".env").write_text("A=1")
    (bash.workspace / ".vscode").mkdir()
    (bash.workspace / ".vscode" / "tasks.json").write_text("{}")
    for attack in (
        "echo x > .env",
        "mv .env x",
        "rm -r .vscode",
        "echo x > .vscode/tasks.json",
        "mv .vscode v",
    ):
        assert (await bash(attack)).is_error, attack
    assert await bash.output("cat .env .vscode/tasks.json") == "A=1{}"
