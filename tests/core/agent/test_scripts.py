"""Which files a command runs or reads as a script, and whether a change of one is noticed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from agent_tui_core.agent.scripts import LARGEST, look_at_scripts, what_changed

RUN = [
    ("sh s.sh", "s.sh"),
    ("bash -eu -o pipefail ./s.sh arg", "s.sh"),
    ("./s.sh", "s.sh"),
    ("cd sub && sh t.sh", "sub/t.sh"),
    ("cd sub; cd deeper; ./t.sh", "sub/deeper/t.sh"),
    ("(cd sub && exec ./t.sh)", "sub/t.sh"),
    ("sh 'a b.sh'", "a b.sh"),
    ("timeout 5 ./s.sh", "s.sh"),
    ("env A=1 nice -n 5 ./s.sh", "s.sh"),
    ("A=1 B=2 ./s.sh", "s.sh"),
    ("true && false || ./s.sh &", "s.sh"),
    ("sudo -u me sh s.sh", "s.sh"),
    ("xargs -n1 ./s.sh < list", "s.sh"),
    ("find . -name x -exec ./s.sh {} +", "s.sh"),
    ("python x.py", "x.py"),
    ("python3.12 -W error -X dev x.py --flag", "x.py"),
    ("/usr/bin/env python3 x.py", "x.py"),
    ("python3 -m pkg.tool", "pkg/tool.py"),
    ("python3 -m pkg", "pkg/__main__.py"),
    ("uv run x.py", "x.py"),
    ("uv run --with a python x.py", "x.py"),
    ("python -c 'exec(open(\"x.py\").read())'", "x.py"),
    ("node x.js", "x.js"),
    ("node -r ./hook.js x.js", "hook.js"),
    ("node --require=./hook.js x.js", "hook.js"),
    ("deno run -A x.ts", "x.ts"),
    ("npx tsx x.ts", "x.ts"),
    ("go run x.go", "x.go"),
    ("perl -I lib x.pl", "x.pl"),
    (". ./env.sh", "env.sh"),
    ("source env.sh && make", "env.sh"),
    ("make", "Makefile"),
    ("make -j4 test", "makefile"),
    ("make -f other.mk all", "other.mk"),
    ("make -C sub", "sub/Makefile"),
    ("make --file=other.mk", "other.mk"),
    ("awk -f x.awk data", "x.awk"),
    ("sed -nf x.sed data; sed --file=x.sed data", "x.sed"),
    ("npm test", "package.json"),
    ("npm run build", "package.json"),
    ("npm --prefix sub run build", "sub/package.json"),
    ("npm run build", "build.js"),
    ("npm run build", "before.sh"),
    ("yarn build", "build.js"),
    ("pytest tests/test_x.py::test_one -q", "tests/test_x.py"),
    ("pytest", "conftest.py"),
    ("sh < s.sh", "s.sh"),
    ("cat s.sh | sh", "s.sh"),
    ("cat s.sh | bash -s -- arg", "s.sh"),
    ('eval "$(cat s.sh)"', "s.sh"),
    ("bash -c 'sh s.sh'", "s.sh"),
    ("bash -lc './s.sh && true'", "s.sh"),
    ("for f in s.sh x.sh; do sh $f; done", "s.sh"),
    ('f=s.sh; sh "$f"', "s.sh"),
    ("sh $PWD/s.sh", "s.sh"),
    ('sh "${PWD}"/s.sh', "s.sh"),
    ("sh *.sh", "s.sh"),
    ("if true; then sh s.sh; fi", "s.sh"),
    ("sh s.sh > out.log 2>&1", "s.sh"),
    ("bash --rcfile env.sh -i", "env.sh"),
    ("php -f x.php", "x.php"),
    ("sqlite3 a.db < x.sql", "x.sql"),
    ("psql -f x.sql", "x.sql"),
]
NOT_RUN = [
    "ls -l",
    "cat s.sh",
    "grep -n x s.sh",
    "git add s.sh",
    "wc -l s.sh data",
    "tail -n 3 out.log",
    "echo hi",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in {file for _, file in RUN} | {"out.log", "data", "list", "x.sh"}:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("first\n")
        if file.suffix == ".sh":
            file.chmod(0o755)
    package = '{"scripts": {"build": "node build.js", "prebuild": "sh before.sh", "test": "true"}}'
    (tmp_path / "package.json").write_text(package)
    return tmp_path


async def changed(command: str, workspace: Path, name: str) -> str | None:
    before = await look_at_scripts("Bash", {"command": command}, workspace)
    file = workspace / name
    said = file.stat() if file.exists() else None
    file.write_text("other\n" if said is None else file.read_text().swapcase())
    if said is not None:
        os.utime(file, ns=(said.st_atime_ns, said.st_mtime_ns))
    return what_changed(before, await look_at_scripts("Bash", {"command": command}, workspace), workspace)


@pytest.mark.parametrize(("command", "name"), RUN)
async def test_a_script_that_changes_is_noticed_though_size_and_time_stay(
    workspace: Path, command: str, name: str
) -> None:
    assert (await changed(command, workspace, name) or "").startswith(f"{name} changed")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("sh s.sh", "s.sh"),
        ("./s.sh", "s.sh"),
        ("timeout 5 sh s.sh", "s.sh"),
        ("cd sub && sh t.sh", "sub/t.sh"),
        ("make", "GNUmakefile"),
        ("make", "Makefile"),
        ("npm test", "package.json"),
        ("python3 -m pkg.tool", "pkg/tool.py"),
        ("python x.py", "sitecustomize.py"),
        ("pytest", "conftest.py"),
        (". ./env.sh", "env.sh"),
        ("sh *.sh", "s.sh"),
    ],
)
async def test_a_script_that_comes_while_the_question_is_open_is_noticed(
    workspace: Path, command: str, name: str
) -> None:
    (workspace / name).unlink(missing_ok=True)
    assert (await changed(command, workspace, name) or "").startswith(f"{name} is new")


@pytest.mark.parametrize("command", NOT_RUN)
async def test_a_file_that_is_only_read_may_change(workspace: Path, command: str) -> None:
    for name in ("s.sh", "data", "out.log"):
        assert await changed(command, workspace, name) is None


async def test_nothing_changed_is_no_reason(workspace: Path) -> None:
    for command, _ in RUN:
        before = await look_at_scripts("Bash", {"command": command}, workspace)
        assert (
            what_changed(before, await look_at_scripts("Bash", {"command": command}, workspace), workspace)
            is None
        )


async def test_other_tools_run_no_scripts(workspace: Path) -> None:
    assert await look_at_scripts("Read", {"file_path": "s.sh"}, workspace) == {}
    assert await look_at_scripts("Bash", {"command": 1}, workspace) == {}


async def test_pipes_devices_folders_and_links_hold_nobody_up(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe.sh")
    (workspace / "null.sh").symlink_to("/dev/zero")
    (workspace / "loop.sh").symlink_to("loop.sh")
    (workspace / "folder.sh").mkdir()
    (workspace / "out.sh").symlink_to("/etc/hostname")
    line = (
        "sh pipe.sh; sh null.sh; sh loop.sh; sh folder.sh; sh out.sh; sh ../../../etc; . /proc/self/environ"
    )
    began = time.monotonic()
    before = await look_at_scripts("Bash", {"command": line}, workspace)
    now = await look_at_scripts("Bash", {"command": line}, workspace)
    assert time.monotonic() - began < 1
    assert what_changed(before, now, workspace) is None
    (workspace / "pipe.sh").unlink()
    (workspace / "pipe.sh").write_text("echo")
    now = await look_at_scripts("Bash", {"command": line}, workspace)
    assert (what_changed(before, now, workspace) or "").startswith("pipe.sh changed")


async def test_a_link_that_leads_elsewhere_is_a_change(workspace: Path) -> None:
    (workspace / "other.sh").write_text("evil\n")
    (workspace / "link.sh").symlink_to("s.sh")
    before = await look_at_scripts("Bash", {"command": "sh link.sh"}, workspace)
    (workspace / "link.sh").unlink()
    (workspace / "link.sh").symlink_to("other.sh")
    now = await look_at_scripts("Bash", {"command": "sh link.sh"}, workspace)
    assert (what_changed(before, now, workspace) or "").startswith("link.sh changed")


async def test_a_large_script_is_compared_by_what_the_system_says_of_it(workspace: Path) -> None:
    large = workspace / "large.sh"
    with large.open("wb") as file:
        file.truncate(LARGEST + 1)
    began = time.monotonic()
    before = await look_at_scripts("Bash", {"command": "sh large.sh"}, workspace)
    assert time.monotonic() - began < 0.5
    said = large.stat()
    with large.open("r+b") as file:
        file.write(b"x")
    os.utime(large, ns=(said.st_atime_ns, said.st_mtime_ns))
    now = await look_at_scripts("Bash", {"command": "sh large.sh"}, workspace)
    assert (what_changed(before, now, workspace) or "").startswith("large.sh changed")


async def test_a_hostile_line_is_bounded(workspace: Path) -> None:
    for line in (
        "sh " + "a" * 99_000,
        "; ".join(f"cd d{at}; sh s{at}.sh" for at in range(3_000)),
        "sh " + "*/" * 300 + "*.sh",
        "eval " + "s.sh " * 20_000,
        "bash -c 'bash -c \"bash -c s.sh\"' " * 500,
        "sh \0s.sh",
    ):
        began = time.monotonic()
        found = await look_at_scripts("Bash", {"command": line}, workspace)
        assert time.monotonic() - began < 3
        assert len(found) <= 200


def test_what_changed_is_told_with_names_that_move_no_terminal_and_not_endlessly(tmp_path: Path) -> None:
    before = {str(tmp_path / f"s{at}\x1b[2J.sh"): "a" for at in range(9)}
    words = what_changed(before, dict.fromkeys(before, "b"), tmp_path)
    assert words is not None
    assert "\x1b" not in words
    assert "and 6 more" in words
    assert "could not be looked at in time" in (what_changed(before, {"": "not looked at"}, tmp_path) or "")
