"""Lines that looked as if they only read, and read, wrote or ran what nobody named; each was done first."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agent_tui_core.agent.permissions import PermissionRules, Permissions

_GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
_SECRETS = "mkdir sub other; echo K=1 > sub/.env; echo z > other/z"
_PROGRAM = "mkdir cat; echo touch pwned > cat/evil; chmod +x cat/evil"
_SWAPPED = "mkdir d; echo a > d/outside; git add d; rm -r d; ln -s .. d"
_KEYS = "mkdir keys; echo a > keys/a; git add keys"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "f").write_text("hi\n")
    (tmp_path / "outside").write_text("what no agent may see\n")
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    subprocess.run(["git", "add", "f"], cwd=folder, check=True)
    subprocess.run([*_GIT, "commit", "-qm", "one"], cwd=folder, check=True)
    return folder


def _prepare(setup: str, workspace: Path) -> None:
    subprocess.run(["bash", "-ec", setup], cwd=workspace, check=True)


def _judged(line: str, workspace: Path, *deny: str) -> str:
    return (
        Permissions(PermissionRules(deny=list(deny))).judge("Bash", {"command": line}, cwd=workspace).behavior
    )


@pytest.mark.parametrize(
    ("setup", "line"),
    [
        # a star, a ~ or a link stands for the folder of which all is read
        (_SECRETS, "grep -r K su*"),
        (_SECRETS, "rg --hidden K su*"),
        (_SECRETS, "diff -N su* oth*"),
        ("ln -s ../outside f2; mkdir d; ln -s ../../outside d/f", "for i in f*; do cat f; cd d; done"),
        ("mkdir d; ln -s ../../outside d/f", "while true; do cat f; cd d; done"),
        # options that a program reads in its own way
        ("true", "xxd -ac f pwned"),
        ("true", "tree -Ho . pwned"),
        ("true", "tree -aLo 1 pwned"),
        # what find and xargs start
        (_PROGRAM, "find cat -exec {} {} \\;"),
        (_PROGRAM, "find cat -type f | xargs -I {} {} {}"),
        ("touch +", "find f -exec sort {} f + -group f -group \\;"),
        # names that xargs takes apart, or that a filter made
        ("mkdir 'x ..'; touch 'x ../outside'", "find 'x ../outside' -type f | xargs cat"),
        ("mkdir -p x/etc; touch x/etc/passwd", "find x -type f | tail -c 12 | xargs cat"),
        ("true", "find f | grep --with-filename --label='../outside ' f | xargs cat"),
        ("ln -s ../outside standard", "find . -name f | head -1v | xargs cat"),
        ("mkdir -- -o; touch ./-o/x; git add ./-o/x", "git ls-files | xargs sort"),
        ("ln -s ../outside u", "git ls-files -co | xargs cat"),
        ("mkdir i; ln -s ../../outside i/lf", "git ls-files --eol | xargs cat"),
        # git's index says what no longer is so
        ("rm f; ln -s ../outside f", "git ls-files | xargs cat"),
        (_SWAPPED, "git ls-files | xargs cat"),
        (_SWAPPED, "git grep see"),
        ("touch .env", "git grep --untracked K"),
        # tests that find makes too late, or does not make at all
        (f"{_SECRETS}; echo z > sub/b", "find sub -print -name b | xargs cat"),
        (f"{_SECRETS}; echo z > sub/b", "find sub -exec cat {} + -name b"),
        (f"{_SECRETS}; echo z > sub/b", "find sub -type f -print0 -name b | xargs -0 cat"),
        (_SECRETS, "find sub ! -path -name -print | xargs cat"),
        ("mkdir sub; ln -s ../../outside sub/b", "find sub ! -type f | xargs cat"),
        # rg that is given another descriptor than its input, or an empty one
        ("touch .env", "rg -. K 3< f"),
        ("touch .env", "rg -. K < /dev/null"),
        ("touch .env", "rg -. K 3<<'E'\nx\nE"),
        # a variable that an inner loop sets as well
        ("true", "for x in f; do for x in ../outside; do echo; done; cat $x; done"),
        ("true", 'for x in f; do echo "$(for x in ../outside; do :; done; cat $x)"; done'),
        # and the rest
        ("true", "jq -n '$ ENV.PATH'"),
        ("true", "awk -v f=pwned '{print /}/ > f}' f"),
        ("true", "awk -v f=pwned '{print /;/ > f}' f"),
        ("touch x:y", "tar tf x*"),
        ("true", "git log '--format=%+GK'"),
        ("touch .env; echo '!.env' > .ignore", "rg K"),
        ("mkdir sub; touch sub/.env; echo '!.e*' > .gitignore", "rg K sub"),
        ("mkdir sub; touch sub/.env; echo '!{.env,x}' > sub/.rgignore", "rg K"),
    ],
)
def test_a_line_that_does_more_than_it_says_is_asked_about(setup: str, line: str, workspace: Path) -> None:
    _prepare(setup, workspace)
    assert _judged(line, workspace) == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "git log -L1,1:keys/a",
        "git log -U1",
        "git log -W",
        "git log --binary",
        "git log --word-diff",
        "git log --color-words",
        "git reflog -U1",
        "git status -v",
        "git log --check",
        "git diff --cached --check",
        "git show --stat -p",
        "git diff --name-only -U3",
        "git cat-file -p HEAD",
        "git cat-file -p HEAD:keys/a",
        "git show --stat HEAD:keys/a",
    ],
)
def test_git_shows_no_file_unasked_that_a_rule_keeps_from_being_read(line: str, workspace: Path) -> None:
    assert _judged(line, workspace, "Read(keys/**)") == "allow" or "keys/a" in line
    _prepare(_KEYS, workspace)
    assert _judged(line, workspace, "Read(keys/**)") != "allow"


@pytest.mark.parametrize(
    "line",
    [
        "grep -r K oth*",
        "xxd -c 16 -l 64 f",
        "xxd -l64 f",
        "tree -a -L 2",
        "tree -aL 2",
        "find . -name f | sort -u | head -20 | xargs cat",
        "git ls-files -z | xargs -0 cat",
        "git ls-files --modified | grep -v x | xargs wc -l",
        "awk '/foo/ && $2 > 3 {print $1}' f",
        "rg K",
        "for x in f; do cat $x; done; for x in f; do cat $x; done",
        "cat f | rg -. K",
        "find other -type f -name '*.py' -exec cat {} +",
        "find other ! -path './x/*' -name z -print | xargs cat",
        "git show HEAD:f",
        "git log -p -3",
    ],
)
def test_what_only_reads_still_runs_without_a_question(line: str, workspace: Path) -> None:
    _prepare("mkdir other; echo z > other/z; echo '!.gitkeep' > .gitignore; touch .env", workspace)
    assert _judged(line, workspace) == "allow"
