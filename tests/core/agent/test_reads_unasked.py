"""What runs without a question because it only reads, and what looks like it and does not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agent_tui_core.agent.permissions import PermissionRules, Permissions
from agent_tui_core.tools.names_below import Below, Kept, Looked, first_forbidden, look_here
from agent_tui_core.tools.names_child import NamesLooker


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    for name in (
        "src/core/a.py",
        "src/util.py",
        "README.md",
        "package.json",
        "data.bin",
        "a.tar.gz",
        "table.csv",
    ):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("text\n")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "add", "."], check=True)
    return folder


def behavior(command: str, cwd: Path, permissions: Permissions | None = None) -> str:
    return (permissions or Permissions()).judge("Bash", {"command": command}, cwd=cwd).behavior


@pytest.mark.parametrize(
    "command",
    [
        'grep -rn "text" src | head -20',
        'grep -rn "text" --include="*.py" .',
        "grep -rn text . --exclude-dir=node_modules --exclude-dir=.git",
        "grep -f README.md src/util.py",
        "rg text",
        "rg --hidden -n text src",
        "rg -g '*.py' text",
        "git grep text",
        "git diff HEAD~1 -- src",
        "git log -p -3",
        "git branch --merged main",
        "git branch -a --contains HEAD",
        "git tag -l 'v*'",
        "git config --get user.name",
        "git config remote.origin.url",
        "git remote get-url origin",
        "find src -name '*.py' -exec grep -l text {} \\;",
        "find src -type f -exec wc -l {} +",
        "find src -type f -name '*.py' | xargs grep -n text",
        "find src -type f -name '*.py' | sort | head -5 | xargs wc -l",
        "find . -type f -not -path './.git/*' | xargs wc -l",
        "find src -type f -print0 | xargs -0 -n 1 head -2",
        "git ls-files | xargs wc -l",
        "find . -printf '%s %p\\n' | sort -rn | head",
        'for f in README.md src/util.py; do echo "== $f ($(wc -l < "$f"))"; done',
        'for f in src/*.py; do head -3 "$f"; done',
        "for f in *.md; do wc -l $f; done",
        'for d in src src/core; do for f in util a; do ls "$d/$f.py"; done; done',
        "if [ -d src ]; then ls src; elif ! test -e x; then echo no; else pwd; fi",
        "[ -f README.md ] && cat README.md || echo none",
        "while true; do ls; done",
        "{ ls; git status; } | head -3",
        "(cd src && git diff && ls)",
        "cat <<'EOF'\nhello $x `id`\nEOF",
        "cat <<EOF | wc -l\nhello\nEOF",
        "ls \\\n  -la \\\n  src",
        "ls src/{core,util.py} {1..3}",
        "ls *.md",
        'echo "$PWD" "${HOME}" $?',
        "echo $((1 + 2 * 3)) é漢 Ünï",
        'sed -n "$((2 * 5)),$((20))p" README.md',
        "awk '{s+=$1} END {print s}' table.csv",
        "awk -F, 'NR>=10 && NR<=30 {print $2}' table.csv | cut -c1-30",
        "cat package.json | jq '.dependencies'",
        "jq -r '.a[] | select(.b > 3)' package.json",
        "tree -L 2 src",
        "fd -e py text src",
        "xxd data.bin | head",
        "base64 -d data.bin",
        "tar tzf a.tar.gz | head",
        "node --version && python3 --version && gcc --version",
        "man grep | head -20",
        "printenv PATH",
        "paste README.md table.csv | expand | more",
        "sleep 1; date -d yesterday; seq 1 5 | shuf",
    ],
)
def test_what_only_reads_runs_without_a_question(command: str, workspace: Path) -> None:
    judged = Permissions().judge("Bash", {"command": command}, cwd=workspace)
    assert judged.behavior == "allow", judged.reason


@pytest.mark.parametrize(
    "command",
    [
        # what the shell puts in
        'echo "$(touch x)"',
        'echo "$(cat /etc/passwd)"',
        'cat "$(ls)"',
        "cat $(git ls-files)",
        'echo "$GITHUB_TOKEN"',
        'printf "$(cat README.md)"',
        'echo x > "$PWD/a"',
        "echo x > $(echo a)",
        'for f in a b; do rm "$f"; done',
        "for f in a b; do $f; done",
        "for PATH in /tmp; do ls; done",
        "for http_proxy in x; do ls; done",
        "for f in $(ls); do cat $f; done",
        'for f in a; do echo x > "$f"; done',
        'for f in *.md; do echo x > "$f"; done',
        "for f in 'a b'; do cat $f; done",
        "for f in /etc/passwd; do cat $f; done",
        'for f in README.md; do cat "$g"; done',
        "echo $((a[$(touch x)]))",
        "cat <<EOF\n$(touch x)\nEOF",
        "cat <<'EOF' > x\nhi\nEOF",
        "sh <<'EOF'\ntouch x\nEOF",
        "ls {a,b} > {c,d}",
        "{ls,-la}",
        "sort {-o,README.md} table.csv",
        "[ -v 'a[$(touch x)]' ]",
        "[[ a -eq b ]]",
        "while read -r f; do cat $f; done < README.md",
        "if touch x; then ls; fi",
        "ls; (touch x)",
        "f() { ls; }; f",
        "case x in x) ls;; esac",
        # programs that do more
        "awk 'BEGIN {print 1 > \"x\"}'",
        "awk '{print > $1}' table.csv",
        "awk 'BEGIN {system(\"id\")}'",
        "awk 'BEGIN {print ARGV[1]}' x",
        "awk '{print}' FS=x table.csv",
        'awk \'/"/ {print 1 > "x" "/"}\' table.csv',
        "jq -n env",
        "jq env env",
        "jq -n '$ENV.HOME'",
        "jq -f x package.json",
        "jq 'include \"x\"; .' package.json",
        "xxd README.md out",
        "xxd -r data.bin out",
        "tree -o x",
        "fd -x touch x",
        "fd -l",
        "tar xzf a.tar.gz",
        "tar tf host:a.tar",
        "tar tf a.tar.gz --to-command=sh",
        "sha256sum -c README.md",
        "shuf -o x README.md",
        "git branch new",
        "git branch -a new",
        "git branch -D main",
        "git tag new",
        "git config user.name x",
        "git config --list",
        "git config --get credential.helper",
        "cargo --version",
        "go --version",
        "yarn --version",
        "./node --version",
        "printenv",
        "env",
        "ps aux",
        "man ./x",
        # readers of what nobody named
        "grep -rn text .",
        "grep -rn text .. ",
        "grep -r text /etc",
        "grep -f /etc/passwd README.md",
        "rg --hidden text",
        "rg -uu text",
        "rg -L text",
        "find . -type f | xargs cat",
        "find . -name config -exec cat {} \\;",
        "find . -exec sh -c 'id' \\;",
        "find . -exec cat x{} \\;",
        "find . -execdir cat {} \\;",
        "find / -name x | xargs cat",
        "find src | xargs rm",
        "find src -print0 | xargs cat",
        "find src | xargs -0 cat",
        "find src | xargs -I {} sh -c 'cat {}'",
        "ls | xargs cat",
        "cat README.md | xargs cat",
        "echo /etc/passwd | xargs cat",
        "git ls-files -o | xargs cat",
        "find src -name '*.py' | grep -o 'x.*' | xargs cat",
        "od -w /etc/passwd",
        "git diff -U /etc/passwd README.md",
        "strings @opts",
    ],
)
def test_what_only_looks_like_reading_is_asked_about(command: str, workspace: Path) -> None:
    assert behavior(command, workspace) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "grep -rn K .",
        "grep -rn K . --include='.e*'",
        "rg -g '.e*' K",
        "rg --hidden K .",
        "find . -type f -exec grep K {} +",
        "diff -r . src",
    ],
)
def test_a_reader_of_whole_folders_is_asked_about_where_it_would_meet_a_secret(
    command: str, workspace: Path
) -> None:
    subprocess.run(["rm", "-rf", str(workspace / ".git")], check=True)
    subprocess.run(
        ["git", "init", "-q", "--separate-git-dir", str(workspace.parent / "g"), str(workspace)], check=True
    )
    (workspace / ".git").unlink()
    assert behavior(command, workspace) == "allow"
    (workspace / "src" / ".env").write_text("K=1")
    assert behavior(command, workspace) == "ask"


@pytest.mark.parametrize(
    "command", ["git diff", "git grep K", "git show HEAD", "git log -p", "git ls-files | xargs cat"]
)
def test_git_shows_nothing_unasked_where_a_secret_is_tracked(command: str, workspace: Path) -> None:
    assert behavior(command, workspace) == "allow"
    (workspace / ".env").write_text("K=1")
    assert behavior(command, workspace) == "allow"
    subprocess.run(["git", "-C", str(workspace), "add", "-f", ".env"], check=True)
    assert behavior(command, workspace) == "ask"


def test_git_lists_names_though_a_secret_is_tracked(workspace: Path) -> None:
    (workspace / ".env").write_text("K=1")
    subprocess.run(["git", "-C", str(workspace), "add", "-f", ".env"], check=True)
    assert behavior("git diff --stat && git log --oneline", workspace) == "allow"


@pytest.mark.parametrize("command", ["rg K", "grep -rn K src", "git grep K", "find src -type f | xargs cat"])
def test_a_deny_rule_holds_for_readers_of_whole_folders(command: str, workspace: Path) -> None:
    permissions = Permissions(PermissionRules(deny=["Read(*.pem)"]))
    assert behavior(command, workspace, permissions) == "allow"
    (workspace / "src" / "key.pem").write_text("K")
    subprocess.run(["git", "-C", str(workspace), "add", "."], check=True)
    assert behavior(command, workspace, permissions) == "ask"


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("src/x y.py", "find src -type f | xargs cat"),
        ("src/it's.py", "find src -type f | xargs cat"),
        ("-rf", "git ls-files | xargs cat"),
        ("-la.md", "ls *.md"),
        ("a b.md", "for f in *.md; do cat $f; done"),
    ],
)
def test_a_name_that_would_be_taken_apart_or_for_an_option_is_asked_about(
    name: str, command: str, workspace: Path
) -> None:
    assert behavior(command, workspace) == "allow"
    (workspace / name).write_text("x")
    subprocess.run(["git", "-C", str(workspace), "add", "--", name], check=True)
    assert behavior(command, workspace) == "ask"


@pytest.mark.parametrize(
    "command",
    ["find src | xargs cat", "find src -exec cat {} +", "git ls-files | xargs cat", "diff -r src src/core"],
)
def test_a_link_is_not_followed_unasked(command: str, workspace: Path) -> None:
    assert behavior(command, workspace) == "allow"
    (workspace / "src" / "core" / "link").symlink_to("/etc/passwd")
    subprocess.run(["git", "-C", str(workspace), "add", "."], check=True)
    assert behavior(command, workspace) == "ask"


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_the_index_of_git_is_read_as_git_reads_it(version: str, workspace: Path) -> None:
    for number in range(300):
        (workspace / "src" / f"file-{number}-{'x' * (number % 70)}.py").write_text("x")
    git = ["git", "-C", str(workspace)]
    subprocess.run([*git, "update-index", "--index-version", version], check=True)
    subprocess.run([*git, "add", "-N", "."], check=True)
    listed = subprocess.run([*git, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    seen: list[str] = []

    def note(path: str) -> str:
        seen.append(os.path.relpath(path, workspace))
        return ""

    assert first_forbidden(Below(str(workspace / "src"), tracked=True), note) == ""
    assert seen == listed.split("\0")[:-1]


def test_a_walk_ends_at_its_number_of_names_and_seconds(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / str(number)).touch()
    kept = Below(str(tmp_path))
    assert "more names" in first_forbidden(kept, lambda _: "", most=20)
    assert "too long" in first_forbidden(kept, lambda _: "", seconds=-1)


async def test_a_child_looks_and_a_judgement_never_waits(workspace: Path) -> None:
    looker = NamesLooker()
    clean = Looked(Below(str(workspace / "src")), Kept(str(workspace), r"\.env\Z"))
    secret = Looked(Below(str(workspace)), Kept(str(workspace), r"\.git\Z", (("/", "*.pem", True),)))
    assert "nobody has looked" in looker(clean)
    await looker.look_for(lambda: (looker(clean), looker(secret)), workspace)
    assert looker(clean) == "" == look_here(clean)
    assert looker(secret) == look_here(secret) != ""


async def test_an_index_that_cannot_be_read_is_a_reason_to_ask(workspace: Path) -> None:
    (workspace / ".git" / "index").write_bytes(b"DIRC\0\0\0\2\0\0\0\5broken")
    assert behavior("git grep x", workspace) == "ask"
