"""Owns the proof that a rule with a star covers no write of a protected name and none outside the workspace.

Each line is run, in a folder of its own, and has to do what it is asked about for.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agent_tui_core.agent.permissions import PermissionRules, Permissions
from agent_tui_core.agent.shell_dangers import danger

RULES = PermissionRules(
    allow=[
        *("Bash(git *)", "Bash(tar *)", "Bash(unzip *)", "Bash(cp *)", "Bash(mv *)", "Bash(patch *)"),
        *("Bash(git checkout *)", "Bash(git stash *)", "Bash(git restore *)", "Bash(xargs cp *)"),
        *("Bash(xxd *)", "Bash(split *)", "Bash(tee *)", "Bash(touch *)", "Bash(ln *)", "Bash(dd *)"),
        *("Bash(cpio *)", "Bash(install *)", "Bash(mkdir *)", "Bash(grep *)", "Bash(jq *)", "Bash(find *)"),
        *("Bash(sha256sum *)", "Bash(wc *)", "Bash(echo *)", "Bash(cat *)", "Bash(truncate *)"),
    ],
    deny=["Read(*.key)"],
)
GIT = (
    "git init -q .; git config user.name a; git config user.email a@b; echo evil > .envrc; echo a > f;"
    " mkdir sub; cp .envrc sub/.envrc; git add -A; git commit -qm a; git tag bad;"
    " git rm -qrf .envrc sub; echo b > f; git add -A; git commit -qm b; "
)
ARCHIVE = (
    "mkdir -p x/sub; echo evil > x/.envrc; cp x/.envrc x/sub;"
    " tar cf t.tar -C x .envrc sub; tar cf f.tar -C / etc/hostname;"
    " (cd x; python3 -m zipfile -c ../t.zip .envrc sub); "
)
BRINGS = [
    (GIT, "git checkout bad", ".envrc"),
    (GIT, "git checkout -q bad -- .", ".envrc"),
    (GIT, "git checkout bad -- sub", "sub/.envrc"),
    (GIT, "git checkout -b new bad", ".envrc"),
    (GIT, "git switch --detach bad", ".envrc"),
    (GIT, "git restore --source=bad .", ".envrc"),
    (GIT, "git restore -s bad sub", "sub/.envrc"),
    (GIT, "git reset --hard bad", ".envrc"),
    (GIT, "git reset --har bad", ".envrc"),
    (GIT, "git revert --no-edit HEAD", ".envrc"),
    (GIT, "git read-tree -u --reset bad", ".envrc"),
    (GIT + "echo evil > .envrc; git add -Af; git stash -q; ", "git stash pop", ".envrc"),
    (GIT + "echo evil > .envrc; git add -Af; git stash -q; ", "git stash apply", ".envrc"),
    (GIT + "git diff HEAD bad > p; ", "git apply p", ".envrc"),
    (GIT + "git format-patch -q --stdout bad..HEAD > p; ", "git am -q p; git apply -R p", ".envrc"),
    (GIT, "git worktree add ../out/tree bad", "../out/tree/.envrc"),
    (GIT, "git clone -q . ../out/copy", "../out/copy/f"),
    (GIT, "git init -q ../out/new", "../out/new/.git"),
    (GIT, "git bundle create ../out/b HEAD", "../out/b"),
    (ARCHIVE, "tar xf t.tar", ".envrc"),
    (ARCHIVE, "tar -xf t.tar sub", "sub/.envrc"),
    (ARCHIVE, "tar --extract --file t.tar", ".envrc"),
    (ARCHIVE, "tar --ext --file t.tar", ".envrc"),
    (ARCHIVE, "tar xf f.tar --one-top-level=../out/top", "../out/top/etc/hostname"),
    (ARCHIVE, "tar xCf ../out f.tar", "../out/etc/hostname"),
    (ARCHIVE, "tar xf f.tar --transform=s,.*,.envrc,", ".envrc"),
    (ARCHIVE, "tar tvf t.tar --index-file=../out/i", "../out/i"),
    (ARCHIVE, "tar cf ../out/t.tar x", "../out/t.tar"),
    (ARCHIVE, "tar -c -f../out/t.tar x", "../out/t.tar"),
    (ARCHIVE, "unzip -q t.zip", ".envrc"),
    (ARCHIVE, "unzip -q t.zip -d ../out", "../out/.envrc"),
    (ARCHIVE, "cp -r x/. .", ".envrc"),
    (ARCHIVE, "cp -a x y", "y/.envrc"),
    (ARCHIVE, "echo f.tar | xargs cp -t ../out", "../out/f.tar"),
    ("echo evil > a; mkdir -p y; ", "cp a ../out", "../out/a"),
    ("echo evil > a; ", "cp a ../out/b", "../out/b"),
    ("echo evil > a; ", "mv a ../out/", "../out/a"),
    ("echo evil > a; ", "mv -t ../out a", "../out/a"),
    ("echo evil > a; ", "install -m 755 a ../out/b", "../out/b"),
    ("echo evil > a; ", "ln -s $OLDPWD ../out/b; ln -s a ../out/b", "../out/b"),
    ("mkdir y; echo evil > y/opencode.json; ", "mv y/* .", "opencode.json"),
    ("printf -- '--- /dev/null\\n+++ b/.envrc\\n@@ -0,0 +1 @@\\n+evil\\n' > p; ", "patch -p1 -i p", ".envrc"),
    ("echo evil > a; ", "xxd a ../out/b", "../out/b"),
    ("echo 6576696c | xxd -r -p > a; ", "xxd a ../out/b", "../out/b"),
    ("echo evil > a; ", "split a ../out/b", "../out/baa"),
    ("echo evil > a; ", "split a .env.", ".env.aa"),
    ("", "echo evil | tee ../out/b", "../out/b"),
    ("", "touch ../out/b", "../out/b"),
    ("", "mkdir -p ../out/b/c", "../out/b/c"),
    ("", "truncate -s 3 ../out/b", "../out/b"),
    ("echo evil > a; ", "dd if=a of=../out/b", "../out/b"),
    ("ln -s ../out here; ", "touch here/b", "../out/b"),
]


def run(folder: Path, script: str) -> str:
    """Run it as the person who has this folder as home."""
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent), "OLDPWD": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout + done.stderr


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "w").mkdir()
    (tmp_path / "out").mkdir()
    return tmp_path / "w"


def judged(command: str, cwd: Path) -> str:
    return Permissions(RULES).judge("Bash", {"command": command}, cwd=cwd).behavior


@pytest.mark.parametrize(("setup", "command", "made"), BRINGS, ids=[each[1] for each in BRINGS])
def test_a_star_does_not_cover_what_writes_protected_names_or_outside(
    setup: str, command: str, made: str, workspace: Path
) -> None:
    run(workspace, setup)
    assert not os.path.lexists(workspace / made), "the setup makes it itself"
    assert judged(command, workspace) == "ask"
    said = run(workspace, command)
    assert os.path.lexists(workspace / made), said


READS = [
    ("git notes add -F ../out/secret && git notes show", ""),
    ("git commit --allow-empty -qF ../out/secret; git log", ""),
    ("git commit --allow-empty -q --file=../out/secret; git log", ""),
    ("git tag -F ../out/secret t; git tag -n9", ""),
    ("git blame --contents ../out/secret f", ""),
    ("grep -of ../out/secret f", "hidden"),
    ("grep -of../out/secret f", "hidden"),
    ("git grep -hof ../out/secret", "hidden"),
    ("jq -n --rawfile x ../out/secret '$x'", ""),
    ("jq -n --slurpfile x ../out/secret.json '$x'", ""),
    ("jq -n -f ../out/secret.jq", ""),
    ("find -files0-from ../out/names", ""),
    ("wc --files0-from=../out/names", ""),
    ("sha256sum -c ../out/sums", ""),
    ("sha256sum --check list", ""),
    ("grep -of secret.key f", "hidden"),
    ("grep -ofsecret.key f", "hidden"),
]


@pytest.mark.parametrize(("command", "_"), READS, ids=[each[0] for each in READS])
def test_a_star_does_not_cover_files_that_an_option_names_outside(
    command: str, _: str, workspace: Path
) -> None:
    run(workspace, GIT + "echo hidden > f; git add f; git commit -qm c; echo hidden > secret.key")
    out = workspace.parent / "out"
    for name in ("secret", "names", "sums"):
        (out / name).write_text(
            "hidden\n" if name == "secret" else "f\0" if name == "names" else "0" * 64 + "  hidden\n"
        )
    (out / "secret.json").write_text('"hidden"')
    (out / "secret.jq").write_text('"hidden"')
    (workspace / "list").write_text("0" * 64 + "  ../out/hidden\n")
    assert judged(command, workspace) in {"ask", "deny"}
    said = run(workspace, command)
    assert "hidden" in said or "f" in said.split(), said


@pytest.mark.parametrize(
    "command",
    [
        "git checkout -b new",
        "git switch -c new",
        "git checkout -- a.py",
        "git restore a.py",
        "git restore --staged .",
        "git stash list",
        "git reset HEAD a.py",
        "git commit -qm 'fix: F and more'",
        "git push origin HEAD:main",
        "git mv a.py b.py",
        "tar tf t.tar",
        "tar czf src.tgz src",
        "unzip -l t.zip",
        "cp a.py b.py",
        "cp a.py src/",
        "cp src/*.py .",
        "mv a.py src/b.py",
        "ln -s a.py b.py",
        "mkdir -p src/new",
        "touch src/__init__.py",
        "echo x | tee log",
        "grep -f words a.py",
        "jq --rawfile x a.py -n '$x'",
        "xxd a.py",
        "xxd a.py a.hex",
        "split -l 10 a.py part-",
        "dd if=a.py of=b.py",
        "find src -name '*.py'",
        "sha256sum a.py",
    ],
)
def test_a_star_covers_what_writes_known_names_in_the_workspace(command: str, workspace: Path) -> None:
    run(workspace, "git init -q .; mkdir src; touch a.py src/c.py words")
    assert judged(command, workspace) == "allow", Permissions(RULES).judge(
        "Bash", {"command": command}, cwd=workspace
    )


def test_the_exact_rule_still_covers_what_a_person_saw(workspace: Path) -> None:
    rules = PermissionRules(allow=["Bash(tar xf t.tar)", "Bash(git checkout main)", "Bash(timeout 5 make x)"])
    for command in ("tar xf t.tar", "git checkout main", "timeout 5 make x"):
        assert rules.judge("Bash", {"command": command}, cwd=workspace).behavior == "allow"


def test_a_rule_that_spells_a_wrapper_and_its_program_covers_that_program(workspace: Path) -> None:
    rules = PermissionRules(allow=["Bash(timeout 5 make *)", "Bash(nice npm *)", "Bash(flock f make *)"])
    for command in ("timeout 5 make x", "nice npm test", "flock f make x"):
        assert rules.judge("Bash", {"command": command}, cwd=workspace).behavior == "allow", command
    for command in ("timeout 6 make x", "timeout 5 touch x", "nice touch npm", "flock f touch x"):
        assert rules.judge("Bash", {"command": command}, cwd=workspace).behavior == "ask", command


@pytest.mark.parametrize(
    "line",
    [
        *("setarch x86_64 a", "ld.so a", "capsh -- -c a", "hyperfine a", "perf stat a", "valgrind a"),
        *(
            "cmake -E touch a",
            "sqlite3 a",
            "vimdiff a b",
            "run-parts a",
            "tmux new a",
            "screen a",
            "psql -c a",
        ),
        *(
            "docker exec a b",
            "docker run a",
            "docker -H a run b",
            "kubectl exec a -- b",
            "kubectl -n a exec b",
        ),
        *("podman run a", "hyperfine --shell none a", "watchexec a", "parallel a", "sem a", "rbenv exec a"),
        *(
            "bundle exec a",
            "conda run a",
            "nix-shell --run a",
            "gosu a b",
            "su-exec a b",
            "chronic a",
            "ifne a",
        ),
        *(
            "eatmydata a",
            "faketime x a",
            "cpulimit a",
            "dumb-init a",
            "tini a",
            "pkexec a",
            "sg a b",
            "xterm -e a",
        ),
        *(
            "gh alias set a b",
            "gtimeout 1 a",
            "genv a",
            "gcc-13 @a",
            "clang -fplugin=a b",
            "rustc -C linker=a b",
        ),
        *(
            "ld -plugin a b",
            "ar --plugin a b",
            "yarn workspace a b",
            "pnpm --filter a b",
            "gradle -I a",
            "lldb a",
        ),
        *(
            "terraform apply",
            "ansible all -a b",
            "m4 a",
            "dc a",
            "lftp -c a",
            "mysql -e a",
            "ldd a",
            "rr record a",
        ),
    ],
)
def test_programs_that_run_others_are_known(line: str) -> None:
    assert danger(tuple(line.split())) is not None
