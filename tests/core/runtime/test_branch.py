"""The branch of a folder is read, never asked of git, and nothing in its place makes us wait."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_tui_core.runtime.branch import current_branch


def test_the_branch_of_a_folder_above_is_named(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/feature/x\n")
    (tmp_path / "src").mkdir()
    assert current_branch(tmp_path / "src") == "feature/x"
    (tmp_path / ".git/HEAD").write_text("0123456789abcdef\n")
    assert current_branch(tmp_path) == "01234567"


def test_a_worktree_is_followed(tmp_path: Path) -> None:
    (tmp_path / "main/.git/worktrees/x").mkdir(parents=True)
    (tmp_path / "main/.git/worktrees/x/HEAD").write_text("ref: refs/heads/x\n")
    (tmp_path / "x").mkdir()
    (tmp_path / "x/.git").write_text(f"gitdir: {tmp_path}/main/.git/worktrees/x\n")
    assert current_branch(tmp_path / "x") == "x"


@pytest.mark.timeout(10)
@pytest.mark.parametrize("name", [".git", ".git/HEAD"])
def test_a_pipe_in_its_place_makes_nobody_wait(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    assert current_branch(tmp_path) is None
