"""Owns the commands of every day and the sensible rules that cover them; refuses to judge them."""

from __future__ import annotations

from pathlib import Path

from agent_tui_core.agent.permissions import PermissionRules

EVERYDAY_RULES = PermissionRules(
    allow=[
        "Bash(npm run *)",
        "Bash(npm test *)",
        "Bash(make *)",
        "Bash(pytest *)",
        "Bash(python -m pytest *)",
        "Bash(cargo test *)",
        "Bash(go test *)",
        "Bash(ruff check *)",
        "Bash(git add *)",
        "Bash(git commit *)",
        "Bash(git fetch *)",
        "Bash(mkdir *)",
        "Bash(grep *)",
        "Edit(/build/**)",
    ]
)
EVERYDAY = (
    "git status",
    "git status --short --branch",
    "git log --oneline -10",
    "git log --format='%h %an %s' --since=yesterday",
    "git diff",
    "git diff --stat HEAD~3 -- src",
    "git diff --cached",
    "git show HEAD:src/app.py",
    "git branch -a",
    "git blame -L 1,20 src/app.py",
    "git rev-parse --abbrev-ref HEAD",
    "git stash list",
    "git ls-files '*.py' | wc -l",
    "git --no-pager log -3 --graph --all",
    "git add src/app.py && git commit -m 'Fix the (rare) crash; see #12'",
    'git commit -m "It\'s done" -m "Nothing else & nothing more"',
    "git fetch origin && git log HEAD..origin/main",
    "ls",
    "ls -la src",
    "ls src/*.py",
    "cat src/app.py",
    "cat src/app.py | head -n 20",
    "head -50 README.md; tail -n 5 README.md",
    "cd src && ls -l && cat app.py",
    "wc -l src/*.py",
    "pwd",
    'echo "all good"',
    "printf '%s\\n' one two",
    "grep -rn 'def main(' src",
    "rg -n --glob '*.py' 'class \\w+' src | sort | uniq -c | sort -rn",
    "find . -name '*.py' -not -path './.git/*' -type f",
    "find src -maxdepth 2 \\( -name '*.py' -o -name '*.toml' \\) -print",
    "sed -n '10,20p' src/app.py",
    "test -f README.md && echo there || echo gone",
    "which python; command -v node",
    "sort README.md | uniq -c | head",
    "diff src/app.py src/lib.py",
    "stat -c %s README.md; file README.md; du -sh src",
    "npm run build",
    "npm run test -- --watch=false --reporter=dot",
    "npm test 2>&1 | tail -20",
    "timeout 60 make -j4 test > build/log.txt 2>&1",
    "time python -m pytest -x -q tests/test_app.py::test_one",
    "pytest -k 'a and not b' --maxfail=1 2>/dev/null",
    "cargo test --all-features -- --nocapture",
    "go test ./... -run TestOne -count=1",
    "ruff check src && git diff --name-only",
    "mkdir -p build/out && ls build",
    "# what is here?\nls -la\n\n# and how much\ndu -sh .",
    "date +%Y-%m-%d && uname -a && whoami",
    "nice -n 10 make test",
    "md5sum README.md | cut -d' ' -f1 | tr a-f A-F",
)


def layout(folder: Path) -> Path:
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "build").mkdir(exist_ok=True)
    (folder / ".git").mkdir(exist_ok=True)
    for name in ("README.md", "src/app.py", "src/lib.py"):
        (folder / name).write_text("x\n")
    return folder
