"""Owns the proof of Read, Write and Edit on real files; refuses mocks of the disk."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.events import ApprovalPreview
from agent_tui_core.tools import disk, files
from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
from agent_tui_core.tools.files import EDIT, READ, WRITE
from agent_tui_core.tools.previews import preview_call

UNREADABLE = Path("/sys/class/net/lo/speed")
"""A regular file, by what the kernel says of it, whose reading fails."""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


async def call(tool: Tool, workspace: Path, **given: Any) -> ToolOutput:
    return await tool.execute(given, ToolContext(workspace))


async def refused(tool: Tool, workspace: Path, **given: Any) -> str:
    with pytest.raises(ToolError) as caught:
        await call(tool, workspace, **given)
    return str(caught.value)


async def preview(tool: Tool, workspace: Path, **given: Any) -> ApprovalPreview:
    return await preview_call(tool, given, ToolContext(workspace))


# --- Read ---------------------------------------------------------------------------------------------------


async def test_read_numbers_the_lines(workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo\u2028still two\nthree")
    assert (await call(READ, workspace, file_path="a.txt")).content == (
        "     1\tone\n     2\ttwo\u2028still two\n     3\tthree"
    )


async def test_read_starts_at_the_offset_and_says_how_to_go_on(workspace: Path) -> None:
    (workspace / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 11)))
    content = (await call(READ, workspace, file_path="a.txt", offset=3, limit=2)).content
    assert content == "     3\t3\n     4\t4\n[lines 3-4 of 10; go on with offset=5]"
    assert "has 10 lines" in await refused(READ, workspace, file_path="a.txt", offset=11)


async def test_read_bounds_lines_width_and_size(workspace: Path) -> None:
    (workspace / "wide.txt").write_text("x" * 5_000 + "\n")
    assert (await call(READ, workspace, file_path="wide.txt")).content.endswith("x [… 3,000 more]")
    (workspace / "long.txt").write_text("word\n" * 9_000)
    assert "[lines 1-2000 of 9,000;" in (await call(READ, workspace, file_path="long.txt")).content
    (workspace / "fat.txt").write_text(("y" * 1_000 + "\n") * 500)
    content = (await call(READ, workspace, file_path="fat.txt")).content
    assert len(content) < 31_000
    assert "of 500; go on with offset=" in content


async def test_read_refuses_what_is_no_text(workspace: Path) -> None:
    (workspace / "a.bin").write_bytes(b"\x7fELF\0\0")
    assert "binary" in await refused(READ, workspace, file_path="a.bin")
    os.mkfifo(workspace / "pipe")
    assert "no regular file" in await refused(READ, workspace, file_path="pipe")
    assert "no regular file" in await refused(READ, workspace, file_path="/dev/zero")


async def test_read_refuses_the_environment_of_a_process(workspace: Path) -> None:
    assert "describes a process" in await refused(READ, workspace, file_path=f"/proc/{os.getpid()}/environ")


async def test_read_refuses_a_file_that_is_too_large(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "MAX_FILE_BYTES", 10)
    (workspace / "a.txt").write_text("x" * 11)
    assert "too large (11 bytes" in await refused(READ, workspace, file_path="a.txt")


async def test_a_missing_file_names_what_looks_alike(workspace: Path) -> None:
    (workspace / "README.md").write_text("x")
    (workspace / "src").mkdir()
    assert "similar names in that folder: README.md" in await refused(READ, workspace, file_path="readme.txt")
    assert f"(but {workspace} does)" in await refused(READ, workspace, file_path="sub/deep/a.txt")
    assert "src is a folder, not a file" in await refused(READ, workspace, file_path="src")
    assert "README.md, src/" in await refused(READ, workspace, file_path=".")


async def test_an_empty_file_and_odd_bytes_can_be_read(workspace: Path) -> None:
    (workspace / "empty").touch()
    assert (await call(READ, workspace, file_path="empty")).content == "(the file is empty)"
    (workspace / "latin").write_bytes(b"\xef\xbb\xbfcaf\xe9\r\n")
    assert (await call(READ, workspace, file_path="latin")).content.startswith(
        "     1\tcaf\ufffd\n[the file is not"
    )


# --- Write --------------------------------------------------------------------------------------------------


async def test_write_makes_a_file_and_its_folders(workspace: Path) -> None:
    before = os.umask(0o027)
    try:
        done = await call(WRITE, workspace, file_path="a/b/new.txt", content="hi\n")
    finally:
        os.umask(before)
    assert (workspace / "a/b/new.txt").read_text() == "hi\n"
    assert stat.S_IMODE((workspace / "a/b/new.txt").stat().st_mode) == 0o640
    assert done.content == "created a/b/new.txt: 1 lines"
    assert done.preview is not None
    assert done.preview.content.startswith("--- /dev/null\n+++ ")
    assert [name.name for name in (workspace / "a/b").iterdir()] == ["new.txt"]


async def test_write_keeps_mode_line_ends_and_bom(workspace: Path) -> None:
    file = workspace / "run.bat"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    file.chmod(0o754)
    await call(WRITE, workspace, file_path="run.bat", content="one\nthree\n")
    assert file.read_bytes() == b"\xef\xbb\xbfone\r\nthree\r\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o754


async def test_a_write_replaces_the_file_in_one_step(workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text("old")
    with file.open() as still_open:
        await call(WRITE, workspace, file_path="a.txt", content="new")
        assert still_open.read() == "old"
    assert file.read_text() == "new"


async def test_a_write_that_changes_nothing_touches_nothing(workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text("same\n")
    before = file.stat()
    await call(WRITE, workspace, file_path="a.txt", content="same\n")
    assert file.stat() == before
    assert "nothing changes" in (await preview(WRITE, workspace, file_path="a.txt", content="same\n")).content


async def test_text_that_cannot_be_written_leaves_the_file_alone(workspace: Path) -> None:
    (workspace / "a.txt").write_text("old")
    assert "surrogate" in await refused(WRITE, workspace, file_path="a.txt", content="\ud800")
    assert "is a folder" in await refused(WRITE, workspace, file_path=".", content="x")
    assert "a part of this path is a file" in await refused(
        WRITE, workspace, file_path="a.txt/b", content="x"
    )
    assert (workspace / "a.txt").read_text() == "old"


async def test_a_link_out_of_the_workspace_is_not_written_through(workspace: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    (workspace / "link.txt").symlink_to(victim)
    (workspace / "away").symlink_to(tmp_path)
    (workspace / "dangling").symlink_to(tmp_path / "made.txt")
    for raw in ("link.txt", "away/victim.txt", "dangling", "../victim.txt", str(workspace / "link.txt")):
        said = await refused(WRITE, workspace, file_path=raw, content="bad")
        assert "leads out of the workspace" in said, raw
        with pytest.raises(ToolError):
            await preview(WRITE, workspace, file_path=raw, content="bad")
        with pytest.raises(ToolError):
            await call(READ, workspace, file_path=raw)
    assert victim.read_text() == "mine"
    assert not (tmp_path / "made.txt").exists()


async def test_climbing_inside_an_absolute_path_is_refused(workspace: Path, tmp_path: Path) -> None:
    raw = f"{workspace}/../victim.txt"
    assert "leads out" in await refused(WRITE, workspace, file_path=raw, content="bad")
    assert not (tmp_path / "victim.txt").exists()


async def test_a_plain_absolute_path_outside_is_possible_and_shown(workspace: Path, tmp_path: Path) -> None:
    raw = str(tmp_path / "outside.txt")
    shown = await preview(WRITE, workspace, file_path=raw, content="x\n")
    assert shown.path == os.path.realpath(raw)
    assert (await call(WRITE, workspace, file_path=raw, content="x\n")).content.startswith(f"created {raw}")


async def test_a_link_inside_the_workspace_is_followed_and_stays_a_link(workspace: Path) -> None:
    (workspace / "real.txt").write_text("old\n")
    (workspace / "link.txt").symlink_to("real.txt")
    shown = await preview(WRITE, workspace, file_path="link.txt", content="new\n")
    assert shown.path == str(workspace / "real.txt")
    await call(WRITE, workspace, file_path="link.txt", content="new\n")
    assert (workspace / "real.txt").read_text() == "new\n"
    assert (workspace / "link.txt").is_symlink()


@pytest.mark.skipif(not UNREADABLE.is_file(), reason="no file that opens and cannot be read")
async def test_a_file_that_opens_and_cannot_be_read_is_said_in_words(workspace: Path) -> None:
    given = {"file_path": str(UNREADABLE), "old_string": "a", "new_string": "b"}
    assert "Invalid argument" in await refused(READ, workspace, file_path=str(UNREADABLE))
    with pytest.raises(ToolError, match="speed: Invalid argument"):
        await preview(EDIT, workspace, **given)


def test_a_folder_that_becomes_a_link_after_it_was_judged_is_refused(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (workspace / "folder").symlink_to(tmp_path / "elsewhere")
    judged_before = workspace / "folder" / "a.txt"
    with pytest.raises(ToolError, match="has just become a link"):
        disk.replace_file("folder/a.txt", judged_before, b"bad", before=None)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_that_changed_since_it_was_read_is_not_overwritten(workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text("one")
    _content, state = disk.read_file("a.txt", file)
    file.write_text("somebody else's")
    with pytest.raises(ToolError, match="changed by something else"):
        disk.replace_file("a.txt", file, b"two", before=state)
    with pytest.raises(ToolError, match="changed by something else"):
        disk.replace_file("a.txt", file, b"two", before=None)
    assert file.read_text() == "somebody else's"
    assert list(workspace.iterdir()) == [file]


async def test_a_cancelled_write_does_not_happen_later(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(*given: Any, **more: Any) -> None:
        loop.call_soon_threadsafe(reached.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(10)
        try:
            disk.replace_file(*given, **more)
        finally:
            loop.call_soon_threadsafe(ended.set)

    monkeypatch.setattr(files, "replace_file", slow)
    task = asyncio.create_task(call(WRITE, workspace, file_path="a.txt", content="late"))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    await ended.wait()
    assert list(workspace.iterdir()) == []


# --- Edit ---------------------------------------------------------------------------------------------------


async def test_an_edit_replaces_the_one_place(workspace: Path) -> None:
    (workspace / "a.py").write_text("def a():\n    return 1\n\ndef b():\n    return 2\n")
    done = await call(EDIT, workspace, file_path="a.py", old_string="return 2", new_string="return 3")
    assert (workspace / "a.py").read_text().endswith("return 3\n")
    assert done.content == "edited a.py at line 5"
    assert done.preview == ApprovalPreview(
        "diff",
        f"--- {workspace}/a.py\n+++ {workspace}/a.py\n@@ -2,4 +2,4 @@\n     return 1\n \n def b():\n"
        "-    return 2\n+    return 3",
        f"{workspace}/a.py",
    )


async def test_an_edit_that_fits_nowhere_shows_the_nearest_lines(workspace: Path) -> None:
    (workspace / "a.py").write_text("import os\n\ndef compute(value):\n\treturn value * 2\n")
    said = await refused(EDIT, workspace, file_path="a.py", old_string="def compute(valeu):", new_string="x")
    assert "     3\tdef compute(value):" in said
    said = await refused(EDIT, workspace, file_path="a.py", old_string="    return value * 2", new_string="x")
    assert "differs only in spaces" in said
    assert "     4\t\treturn value * 2" in said
    said = await refused(EDIT, workspace, file_path="a.py", old_string="     1\timport os", new_string="x")
    assert "line numbers" in said


async def test_an_edit_that_fits_twice_says_where(workspace: Path) -> None:
    (workspace / "a.txt").write_text("x = 1\ny\nx = 1\n")
    said = await refused(EDIT, workspace, file_path="a.txt", old_string="x = 1", new_string="x = 2")
    assert "stands 2 times in a.txt (lines 1, 3)" in said
    await call(EDIT, workspace, file_path="a.txt", old_string="x = 1", new_string="x = 2", replace_all=True)
    assert (workspace / "a.txt").read_text() == "x = 2\ny\nx = 2\n"


async def test_overlapping_places_are_not_one_place(workspace: Path) -> None:
    (workspace / "a.txt").write_text("aaa")
    assert "2 times" in await refused(EDIT, workspace, file_path="a.txt", old_string="aa", new_string="b")


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nB\nb", b"a\r\nB\r\nb\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "a\r\nb", "a\nB", b"a\r\nB\r\nc\r\n"),
        (b"a\nb\n", "a\r\nb", "x\r\ny", b"x\ny\n"),
        (b"a\r\nb\nc\nd\n", "a\nb", "x\ny", b"x\r\ny\nc\nd\n"),
        (b"a\r\nb\nc\nd\n", "c\nd", "x\ny", b"a\r\nb\nx\ny\n"),
        (b"\xef\xbb\xbfa\nb\n", "a", "c", b"\xef\xbb\xbfc\nb\n"),
        ("é\u2028ü\n".encode(), "ü", "ö", "é\u2028ö\n".encode()),
        (b"no end", "end", "END", b"no END"),
    ],
)
async def test_an_edit_keeps_the_form_of_the_file(
    workspace: Path, before: bytes, old: str, new: str, after: bytes
) -> None:
    (workspace / "f").write_bytes(before)
    await call(EDIT, workspace, file_path="f", old_string=old, new_string=new)
    assert (workspace / "f").read_bytes() == after


@pytest.mark.parametrize(
    ("content", "called"),
    [
        ("Größe\n".encode("utf-16"), "UTF-16 text"),
        ("Größe\n".encode("utf-16-be"), "a binary file"),
        ("Größe\n".encode("latin-1"), "not UTF-8"),
        (b"\x89PNG\r\n\x1a\n\0\0", "a binary file"),
    ],
)
async def test_no_tool_changes_the_encoding_of_a_file(workspace: Path, content: bytes, called: str) -> None:
    (workspace / "f").write_bytes(content)
    assert called in await refused(EDIT, workspace, file_path="f", old_string="e", new_string="a")
    assert called in await refused(WRITE, workspace, file_path="f", content="new")
    assert (workspace / "f").read_bytes() == content
    if called == "not UTF-8":
        assert (await call(READ, workspace, file_path="f")).content.endswith("change it with Bash]")
    else:
        assert called in await refused(READ, workspace, file_path="f")


async def test_an_edit_refuses_what_it_would_damage(workspace: Path) -> None:
    (workspace / "latin").write_bytes(b"caf\xe9 one")
    assert "not UTF-8" in await refused(
        EDIT, workspace, file_path="latin", old_string="one", new_string="two"
    )
    (workspace / "bin").write_bytes(b"a\0b")
    assert "binary" in await refused(EDIT, workspace, file_path="bin", old_string="a", new_string="b")
    (workspace / "t").write_text("a")
    assert "the same" in await refused(EDIT, workspace, file_path="t", old_string="a", new_string="a")
    assert "use Write" in await refused(EDIT, workspace, file_path="t", old_string="", new_string="a")
    assert "there is no gone" in await refused(
        EDIT, workspace, file_path="gone", old_string="b", new_string="a"
    )
