"""Owns the proof that an approval shows what will run; refuses a call of its own for any of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.events import ApprovalPreview
from agent_tui_core.tools.base import Tool, ToolContext
from agent_tui_core.tools.files import EDIT, WRITE
from agent_tui_core.tools.previews import preview_call, preview_changed


async def preview(tool: Tool, workspace: Path, **given: Any) -> ApprovalPreview:
    return await preview_call(tool, given, ToolContext(workspace))


async def test_a_preview_changes_nothing_and_shows_what_the_call_then_does(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    given = {"file_path": "a.txt", "old_string": "two", "new_string": "2"}
    shown = await preview(EDIT, tmp_path, **given)
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"
    assert (await EDIT.execute(given, ToolContext(tmp_path))).preview == shown


async def test_a_file_that_changed_while_the_question_was_open_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    context = ToolContext(tmp_path)
    for tool, given in (
        (EDIT, {"file_path": "a.txt", "old_string": "two", "new_string": "2"}),
        (WRITE, {"file_path": "a.txt", "content": "all new\n"}),
    ):
        (tmp_path / "a.txt").write_text("one\ntwo\n")
        shown = await preview_call(tool, given, context)
        assert not await preview_changed(tool, given, context, shown)
        (tmp_path / "a.txt").write_text("zero\none\ntwo\n")
        assert await preview_changed(tool, given, context, shown)
        (tmp_path / "a.txt").unlink()
        assert await preview_changed(tool, given, context, shown)


async def test_a_name_cannot_forge_lines_of_the_diff(tmp_path: Path) -> None:
    shown = await preview(WRITE, tmp_path, file_path="a\n+innocent\u202e.txt", content="x\n")
    assert shown.content.split("\n")[1].endswith("/a\\u{a}+innocent\\u{202e}.txt")


async def test_a_tool_without_a_preview_shows_its_input(tmp_path: Path) -> None:
    bare = Tool("T", "", {}, run=lambda given: given)
    shown = await preview_call(bare, {"é": [1]}, ToolContext(tmp_path))
    assert shown == ApprovalPreview("text", '{\n  "é": [\n    1\n  ]\n}')


async def test_a_preview_that_breaks_is_a_call_that_cannot_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_input: object, _context: object) -> ApprovalPreview:
        raise ZeroDivisionError("a mistake")

    tool = Tool("T", "", {}, run=lambda given: given, preview=broken)
    shown = ApprovalPreview("text", "")
    with pytest.raises(
        ToolError, match=r"what T would do cannot be shown, so .*: ZeroDivisionError: a mistake"
    ):
        await preview_call(tool, {}, ToolContext(tmp_path))
    assert await preview_changed(tool, {}, ToolContext(tmp_path), shown)
    assert "the preview of T broke" in caplog.text
