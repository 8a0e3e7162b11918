"""Owns the proof of where a path leads; refuses to open one."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.tools.paths import inside, resolved_path, target_path


def test_containment_compares_whole_names(tmp_path: Path) -> None:
    work = tmp_path / "w"
    work.mkdir()
    assert inside(work, work)
    assert inside(work / "not" / "there", work)
    assert not inside(tmp_path / "w-evil", work)
    assert not inside(work / ".." / "w-evil", work)
    assert not inside(tmp_path, work)


def test_containment_follows_links_on_both_sides(tmp_path: Path) -> None:
    work, other = tmp_path / "w", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    (work / "out").symlink_to(other)
    (tmp_path / "alias").symlink_to(work)
    assert not inside(work / "out" / "x", work)
    assert inside(tmp_path / "alias" / "x", work)
    assert inside(work / "x", tmp_path / "alias")
    assert not inside(work / "out" / ".." / "w-evil", work)


def test_relative_paths_start_at_the_workspace_and_nothing_is_expanded(tmp_path: Path) -> None:
    assert resolved_path("a/../b", tmp_path) == tmp_path / "b"
    assert resolved_path("~/x", tmp_path) == tmp_path / "~" / "x"
    assert resolved_path("$HOME", tmp_path) == tmp_path / "$HOME"
    assert resolved_path("/etc/x", tmp_path) == Path("/etc/x")


@pytest.mark.parametrize("raw", ["", "a\0b", "\ud800", "x\udc80"])
def test_what_no_system_call_takes_is_a_tool_error(raw: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        resolved_path(raw, tmp_path)


def test_a_path_that_no_system_takes_is_not_walked(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="it has 400,000 characters") as refused:
        target_path("a/" * 200_000, tmp_path)
    assert len(str(refused.value)) < 300


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert inside(resolved_path("a/x", tmp_path), tmp_path)


def test_a_workspace_named_through_a_link_still_holds_its_links(tmp_path: Path) -> None:
    work = tmp_path / "w"
    work.mkdir()
    (work / "out").symlink_to(tmp_path)
    (tmp_path / "alias").symlink_to(work)
    with pytest.raises(ToolError, match="passes through a link"):
        target_path(str(tmp_path / "alias" / "out" / "x"), work)
    assert target_path(str(tmp_path / "x"), work) == tmp_path / "x"
