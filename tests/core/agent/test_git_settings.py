"""What a folder's own `.git` would have git run while it only reads: it is asked about, and does run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_tui_core.agent.permissions import Permissions
from agent_tui_core.processes.environment import child_environment
from agent_tui_core.tools.git_settings import git_doubt, settings_in

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    made(folder)
    return folder


def made(folder: Path, file: str = "file.txt") -> None:
    folder.mkdir(exist_ok=True)
    (folder / file).write_text("one\n")
    for line in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"], ["tag", "v1"]):
        subprocess.run([*GIT, *line], cwd=folder, check=True, capture_output=True)


def behavior(command: str, folder: Path) -> str:
    return Permissions().judge("Bash", {"command": command}, cwd=folder).behavior


def run(command: str, folder: Path) -> None:
    subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=child_environment(os.environ),
        capture_output=True,
        timeout=20,
    )


@pytest.mark.parametrize(
    ("setting", "command"),
    [
        ("[diff]\n\texternal = {touch}", "git diff"),
        ("[DIFF] EXTERNAL = {touch} # usual", "git diff"),
        ('[diff "x"]\n\tcommand = {touch}', "git diff"),
        ('[diff "x"]\n\ttextconv = {touch}', "git show"),
        ('[diff "x"]\n\ttextconv = {touch}', "git log -p -1"),
        ('[diff "x"]\n\ttextconv = {touch}', "git blame file.txt"),
        ('[filter "x"]\n\tclean = "{touch}; cat"', "git status"),
        ('[filter "x"]\n\tclean = "{touch}; cat"', "git diff"),
        ('[filter "x"]\n\tprocess = {touch}', "git status"),
        ("[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {script}", "git log"),
        ("[include]\n\tpath = more", "git diff"),
        ('[includeIf "gitdir:**"]\n\tpath = more', "git diff"),
        ("[extensions]\n\tworktreeConfig = true", "git diff"),
    ],
)
def test_what_its_settings_would_run_is_asked_about(
    repository: Path, tmp_path: Path, setting: str, command: str
) -> None:
    pwned, script = tmp_path / "pwned", tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {pwned}\n")
    script.chmod(0o755)
    (repository / ".gitattributes").write_text("*.txt diff=x filter=x\n")
    (repository / "file.txt").write_text("two\n")
    if "showSignature" in setting:
        signed(repository)
    with (repository / ".git/config").open("a") as config:
        config.write("\n" + setting.format(touch=f"touch {pwned}", script=script) + "\n")
    for name in ("more", "config.worktree"):
        (repository / ".git" / name).write_text(f"[diff]\n\texternal = touch {pwned}\n")
    assert behavior(command, repository) == "ask"
    run(command, repository)
    assert pwned.exists(), "this is no attack"


def signed(repository: Path) -> None:
    """Give its last commit a signature, whatever it is worth."""
    commit = subprocess.run(
        ["git", "cat-file", "commit", "HEAD"], cwd=repository, check=True, capture_output=True
    ).stdout
    head, _, words = commit.partition(b"\n\n")
    seal = b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n"
    done = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=repository,
        input=head + seal + words,
        check=True,
        capture_output=True,
    )
    subprocess.run(["git", "reset", "-q", done.stdout.decode().strip()], cwd=repository, check=True)


def test_the_hook_after_the_index_was_refreshed_is_asked_about(repository: Path, tmp_path: Path) -> None:
    hook = repository / ".git/hooks/post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\n")
    hook.chmod(0o755)
    os.utime(repository / "file.txt", (1, 1))
    assert behavior("git describe --dirty", repository) == "ask"
    run("git describe --dirty", repository)
    assert (tmp_path / "pwned").exists()


def test_what_a_repository_in_the_repository_would_run_is_asked_about(
    repository: Path, tmp_path: Path
) -> None:
    made(repository / "sub", "inner.txt")
    subprocess.run([*GIT, "add", "sub"], cwd=repository, check=True, capture_output=True)
    subprocess.run([*GIT, "commit", "-qm", "second"], cwd=repository, check=True)
    subprocess.run(["git", "config", "diff.submodule", "diff"], cwd=repository, check=True)
    assert behavior("git diff", repository) == "allow"
    (repository / "sub/inner.txt").write_text("changed\n")
    with (repository / "sub/.git/config").open("a") as config:
        config.write(f"[diff]\n\texternal = touch {tmp_path}/pwned\n")
    assert behavior("git diff", repository) == "ask"
    run("git diff", repository)
    assert (tmp_path / "pwned").exists()


def test_a_git_folder_that_has_another_ones_settings_read_is_asked_about(
    repository: Path, tmp_path: Path
) -> None:
    other = repository / "docs/other"
    shutil.copytree(repository / ".git", other)
    with (other / "config").open("a") as config:
        config.write(f"[diff]\n\texternal = touch {tmp_path}/pwned\n")
    (repository / ".git/commondir").write_text("../docs/other\n")
    (repository / "file.txt").write_text("two\n")
    assert behavior("git diff", repository) == "ask"
    run("git diff", repository)
    assert (tmp_path / "pwned").exists()


@pytest.mark.parametrize("kind", ["link", "file", "linked config", "pipe"])
def test_a_git_folder_that_lies_elsewhere_is_looked_at_there(
    repository: Path, tmp_path: Path, kind: str
) -> None:
    real = repository / "docs/real"
    real.parent.mkdir()
    (repository / ".git").rename(real)
    with (real / "config").open("a") as config:
        config.write("[diff]\n\texternal = evil\n")
    if kind == "link":
        (repository / ".git").symlink_to("docs/real")
    elif kind == "file":
        (repository / ".git").write_text("gitdir: docs/real\n")
    else:
        real.rename(repository / ".git")
        (repository / ".git/config").rename(repository / "c")
        if kind == "pipe":
            os.mkfifo(repository / ".git/config")
        else:
            (repository / ".git/config").symlink_to("../c")
    assert behavior("git diff", repository) == "ask"


@pytest.mark.parametrize(
    "setting",
    [
        "[core]\n\texcludesFile = /etc/shadow",
        "[core]\n\tworktree = ../../..",
        '[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\tpromisor = true',
        "[protocol]\n\tallow = always",
        "[core\nx = y",
        "[a]\nx = y \\\n[diff]\nexternal = z",
        "[a]\n x y = z",
    ],
)
def test_what_reads_more_or_cannot_be_read_is_asked_about(repository: Path, setting: str) -> None:
    with (repository / ".git/config").open("a") as config:
        config.write(setting + "\n")
    assert git_doubt(repository) != ""


@pytest.mark.parametrize(
    "setting",
    [
        '[remote "origin"]\n\turl = git@example.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*',
        '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n\tvscode-merge-base = origin/main',
        "[core]\n\thooksPath = .husky/_\n\tautocrlf = input ; why not",
        '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tprocess = git-lfs filter-process',
        "[user]\n\tname = Ann\n\tsigningkey = ABC\n[commit]\n\tgpgsign = true",
        "[alias]\n\tst = !evil",
        '[submodule "a"]\n\tactive = true\n\turl = ../a',
    ],
)
def test_usual_settings_are_no_reason_to_ask(repository: Path, setting: str) -> None:
    with (repository / ".git/config").open("a") as config:
        config.write(setting + "\n")
    assert git_doubt(repository) == ""
    for command in ("git status", "git diff", "git log --oneline -5"):
        assert behavior(command, repository) == "allow"


def test_a_work_tree_and_a_submodule_of_git_itself_are_no_reason_to_ask(repository: Path) -> None:
    made(repository.parent / "lib")
    subprocess.run([*GIT, "worktree", "add", "-q", "../second"], cwd=repository, check=True)
    add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "lib"]
    subprocess.run([*GIT, *add], cwd=repository, check=True)
    for folder in (repository, repository.parent / "second", repository / "lib"):
        assert git_doubt(folder) == ""


PIECES = (
    *("[diff]", '[diff "x"]', "[diff.x]", "[a][diff]", "external = v", "external", "command=v", "# c", "; c"),
    *(
        " \t",
        "x = a \\",
        'y = "a # b"',
        "[core] external = v # w",
        "external v",
        "=",
        "\ufeff[diff]",
        "z=1\r",
    ),
    *(
        '[in "a\\"b"]',
        "[diff] ; [core]",
        "textconv\t=\tv",
        "\\",
        '"',
        "a=\x0b",
        "\x0bexternal = v",
        "[ diff ]",
    ),
)
LINES = st.lists(st.sampled_from(PIECES), max_size=6)


@settings(max_examples=60, deadline=None)
@given(LINES)
@example(["[a]", "x = # \\", "[diff]", "external = v"])
@example(["\ufeff[diff]", "external=v"])
@example(['[in "a\\"b"]', "textconv\t=\tv"])
def test_no_setting_that_git_reads_is_overlooked(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    done = subprocess.run(
        ["git", "config", "--list", "--name-only", "-z", "-f", "-"], input=text.encode(), capture_output=True
    )
    theirs = {name for name in done.stdout.decode().split("\0") if name}
    try:
        ours = {name for name, _ in settings_in(text)}
    except ValueError:
        return
    if done.returncode == 0:
        assert theirs <= ours
