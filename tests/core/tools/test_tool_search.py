"""Owns the proof of Glob and Grep on real folders; refuses to run a search inside this process."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.agent.permissions import PermissionRules, Permissions
from agent_tui_core.errors import ToolError
from agent_tui_core.tools import search
from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
from agent_tui_core.tools.globs import glob_regex
from agent_tui_core.tools.previews import preview_call
from agent_tui_core.tools.search import GLOB, GREP


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    for name, content in {
        "README.md": "# Title\nhello world\n",
        "src/app.py": "import os\n\ndef hello():\n    return os.name\n",
        "src/deep/er/util.py": "def Hello_again():\n    pass\n",
        "src/data.bin": "hello\0\0",
        "build/out.py": "hello = 1\n",
        "src/generated/x.py": "hello = 2\n",
        "src/generated/keep.py": "hello = 3\n",
        ".git/config": "hello\n",
        ".gitignore": "/build/\n*.log\n",
        "src/.gitignore": "generated/*\n!generated/keep.py\n",
        "notes.log": "hello\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


async def call(tool: Tool, workspace: Path, **given: Any) -> ToolOutput:
    return await tool.execute(given, ToolContext(workspace))


async def lines(tool: Tool, workspace: Path, **given: Any) -> list[str]:
    done = await call(tool, workspace, **given)
    assert not done.is_error, done.content
    return sorted(done.content.splitlines())


async def test_glob_leaves_out_git_and_what_gitignore_names(workspace: Path) -> None:
    assert await lines(GLOB, workspace, pattern="**/*.py") == [
        "src/app.py",
        "src/deep/er/util.py",
        "src/generated/keep.py",
    ]
    assert await lines(GLOB, workspace, pattern="**") == [
        ".gitignore",
        "README.md",
        "src/.gitignore",
        "src/app.py",
        "src/data.bin",
        "src/deep/er/util.py",
        "src/generated/keep.py",
    ]


async def test_glob_gives_the_newest_first(workspace: Path) -> None:
    os.utime(workspace / "src/app.py", (1, 1))
    os.utime(workspace / "README.md", (2_000_000_000, 2_000_000_000))
    found = (await call(GLOB, workspace, pattern="**/*.{md,py}")).content.splitlines()
    assert (found[0], found[-1]) == ("README.md", "src/app.py")


async def test_glob_looks_below_its_path_and_into_an_ignored_folder_that_is_named(workspace: Path) -> None:
    assert await lines(GLOB, workspace, pattern="*.py", path="src") == ["src/app.py"]
    assert await lines(GLOB, workspace, pattern="*", path="build") == ["build/out.py"]
    assert await lines(GLOB, workspace, pattern="*.py", path="src/generated") == ["src/generated/keep.py"]


async def test_glob_takes_an_absolute_pattern_only_inside_the_workspace(workspace: Path) -> None:
    assert await lines(GLOB, workspace, pattern=f"{workspace}/src/*.py") == ["src/app.py"]
    for pattern in ("/etc/*", "../*", "src/../../*", f"{workspace}/../*"):
        with pytest.raises(ToolError):
            await call(GLOB, workspace, pattern=pattern)


async def test_searches_do_not_follow_links_out(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.py").write_text("hello secret\n")
    (workspace / "way").symlink_to(tmp_path / "secret")
    (workspace / "key.py").symlink_to(tmp_path / "secret" / "key.py")
    assert "key.py" not in " ".join(await lines(GLOB, workspace, pattern="**/*.py"))
    assert "secret" not in (await call(GREP, workspace, pattern="hello")).content
    for tool in (GLOB, GREP):
        with pytest.raises(ToolError, match="leads out of the workspace"):
            await call(tool, workspace, pattern="x", path="way")
    with pytest.raises(ToolError, match="leads out of the workspace"):
        await call(GREP, workspace, pattern="x", path="key.py")


async def test_nothing_found_is_said(workspace: Path) -> None:
    assert (await call(GLOB, workspace, pattern="*.rs")).content.startswith("[no file matches")
    assert (await call(GREP, workspace, pattern="zzz")).content.startswith("[no line matches, in 6 files")


async def test_a_missing_folder_is_a_tool_error(workspace: Path) -> None:
    with pytest.raises(ToolError, match="similar names in that folder: src/"):
        await call(GLOB, workspace, pattern="*", path="srx")
    with pytest.raises(ToolError, match="is a file"):
        await call(GLOB, workspace, pattern="*", path="README.md")


async def test_grep_names_file_and_line(workspace: Path) -> None:
    assert await lines(GREP, workspace, pattern="hello") == [
        "README.md:2:hello world",
        "src/app.py:3:def hello():",
        "src/generated/keep.py:1:hello = 3",
    ]


async def test_grep_takes_case_glob_path_and_context(workspace: Path) -> None:
    assert await lines(GREP, workspace, pattern="HELLO_", case_insensitive=True) == [
        "src/deep/er/util.py:1:def Hello_again():"
    ]
    assert await lines(GREP, workspace, pattern="hello", glob="*.md") == ["README.md:2:hello world"]
    assert await lines(GREP, workspace, pattern="hello", glob="src/*.py") == ["src/app.py:3:def hello():"]
    assert await lines(GREP, workspace, pattern="hello", path="notes.log") == ["notes.log:1:hello"]
    (workspace / "ten").write_text("".join(f"{n}\n" for n in range(1, 11)))
    found = (await call(GREP, workspace, pattern="^(2|3|9)$", path="ten", context=1)).content
    assert found.splitlines() == [
        *("ten-1-1", "ten:2:2", "ten:3:3", "ten-4-4", "--", "ten-8-8", "ten:9:9", "ten-10-10")
    ]


async def test_a_search_of_everything_does_not_read_secrets(workspace: Path) -> None:
    for name in (".env", "src/.env.local", ".ssh/id"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("TOKEN=hello-secret\n")
    content = (await call(GREP, workspace, pattern="hello")).content
    assert "hello-secret" not in content
    assert "[3 files that may hold secrets" in content
    assert await lines(GREP, workspace, pattern="hello", path=".env") == [".env:1:TOKEN=hello-secret"]


async def test_a_wide_line_is_shown_around_its_match(workspace: Path) -> None:
    (workspace / "wide.min").write_text("a" * 5_000 + "needle" + "b" * 5_000)
    found = (await call(GREP, workspace, pattern="needle", glob="wide.min")).content
    assert "needle" in found
    assert len(found) < 350


async def test_grep_is_bounded(workspace: Path) -> None:
    (workspace / "many").write_text("needle in the hay\n" * 5_000)
    content = (await call(GREP, workspace, pattern="needle")).content
    assert len(content) <= 30_100
    assert content.endswith("[there is more than can be shown; ask for less]")


async def test_a_broken_regular_expression_is_explained(workspace: Path) -> None:
    done = await call(GREP, workspace, pattern="a(b")
    assert done.is_error
    assert "not a Python regular expression: missing )" in done.content


async def test_a_regular_expression_that_never_ends_is_killed(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SEARCH_SECONDS", 1.0)
    monkeypatch.setattr(search, "_KILLED_AFTER", 0.5)
    (workspace / "bait").write_text("a" * 40 + "b\n")
    started = time.monotonic()
    done = await call(GREP, workspace, pattern="^(a+)+$")
    assert done.is_error
    assert "takes too long" in done.content
    assert time.monotonic() - started < 4


async def test_a_hostile_gitignore_cannot_freeze_the_program(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SEARCH_SECONDS", 1.0)
    monkeypatch.setattr(search, "_KILLED_AFTER", 0.5)
    (workspace / ".gitignore").write_text("*a" * 60 + "b\n")
    (workspace / ("a" * 250)).touch()
    (workspace / "caf\udce9").touch()
    started = time.monotonic()
    assert "src/app.py" in await lines(GLOB, workspace, pattern="**")
    assert time.monotonic() - started < 4


async def test_an_odd_gitignore_is_no_obstacle(workspace: Path) -> None:
    (workspace / ".gitignore").write_bytes(b"!\n[\n\xff\n***\\\n//\n!!x\n")
    assert "src/app.py" in await lines(GLOB, workspace, pattern="src/*.py")


async def test_a_file_name_takes_one_line(workspace: Path) -> None:
    (workspace / "a\nb\x1b[2J.py").write_text("hello\n")
    assert "a\\nb\\x1b[2J.py" in await lines(GLOB, workspace, pattern="*.py")


async def test_a_pipe_in_the_folder_is_not_opened(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    assert "README.md:2:hello world" in await lines(GREP, workspace, pattern="hello")


async def test_the_folder_searched_cannot_change_what_python_imports(workspace: Path) -> None:
    (workspace / "json.py").write_text("print('owned')\n")
    (workspace / "pathspec.py").write_text("print('owned')\n")
    assert "owned" not in (await call(GLOB, workspace, pattern="*.md")).content


async def test_the_preview_names_the_real_folder(workspace: Path) -> None:
    shown = await preview_call(GREP, {"pattern": "x", "path": "src/../src"}, ToolContext(workspace))
    assert shown.path == str(workspace / "src")
    assert '"pattern": "x"' in shown.content


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "x/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("x/**", "x/y/z", True),
        ("x/**", "x", False),
        ("x/**/z", "x/z", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab].c", "b.c", True),
        ("[!ab].c", "b.c", False),
        ("[!ab].c", "x.c", True),
        ("[[].c", "[.c", True),
        ("a[", "a[", True),
        ("{a,b/c}.{x,y}", "b/c.y", True),
        ("{a}", "{a}", True),
        ("a.c", "abc", False),
    ],
)
def test_globs(pattern: str, path: str, fits: bool) -> None:
    assert bool(glob_regex(pattern, anywhere=False).fullmatch(path)) is fits


def test_a_glob_without_a_slash_fits_in_any_folder_where_that_is_meant() -> None:
    assert glob_regex("*.py", anywhere=True).fullmatch("x/y/a.py")
    assert not glob_regex("x/*.py", anywhere=True).fullmatch("y/x/a.py")


def test_braces_do_not_explode() -> None:
    assert len(glob_regex("{a,b}" * 30, anywhere=False).pattern) < 100_000


async def denied_call(tool: Tool, workspace: Path, rules: PermissionRules, **given: Any) -> str:
    unreadable = partial(Permissions(rules).unreadable, cwd=workspace)
    return (await tool.execute(given, ToolContext(workspace, unreadable=unreadable))).content


async def test_what_a_rule_keeps_from_read_a_search_does_not_show(workspace: Path) -> None:
    rules = PermissionRules(deny=["Read(src/deep/**)"], ask=["Read(*.md)"])
    found = await denied_call(GREP, workspace, rules, pattern="(?i)hello")
    assert "util.py" not in found
    assert "README" not in found
    assert "src/app.py:3:" in found
    assert found.endswith("[2 files were left out: rules of the user keep them from being read]")
    for tool, given in ((GLOB, {"pattern": "**"}), (GLOB, {"pattern": "**/*.py", "path": "src/deep"})):
        assert "util.py" not in await denied_call(tool, workspace, rules, **given)
    assert "util.py" not in await denied_call(GREP, workspace, rules, pattern="ello", path="src/deep/er")


async def test_a_denied_file_cannot_be_asked_for_by_its_context_or_as_a_named_glob(workspace: Path) -> None:
    rules = PermissionRules(deny=["Read(/src/app.py)", "Grep(secret*)"])
    (workspace / "secret.txt").write_text("hello\n")
    for given in ({"glob": "app.py"}, {"context": 20}, {"path": "src", "glob": "*.py"}):
        assert "return os.name" not in await denied_call(GREP, workspace, rules, pattern="hello|o", **given)
    assert "secret" not in await denied_call(GREP, workspace, rules, pattern="hello")
    assert "secret.txt" in await denied_call(GLOB, workspace, rules, pattern="*")


async def test_a_file_that_the_call_names_was_judged_with_the_call(workspace: Path) -> None:
    rules = PermissionRules(ask=["Read(*.md)", "Read(/src/deep)"])
    assert "hello world" in await denied_call(GREP, workspace, rules, pattern="hello", path="README.md")
    assert "Hello_again" in await denied_call(GREP, workspace, rules, pattern="Hello", path="src/deep")


async def test_every_file_whose_name_begins_with_env_is_left_out_of_a_search(workspace: Path) -> None:
    for name in (".env", ".env.local", ".env-prod", ".envrc", "src/.env_old"):
        (workspace / name).write_text("TOKEN=hello\n")
    found = await lines(GREP, workspace, pattern="TOKEN")
    assert found[0].startswith("[5 files that may hold secrets")
