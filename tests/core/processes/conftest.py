"""Owns the places that tests of sandboxes need: a workspace, a folder outside of it, a shell within it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from boxes import Shell, folder_at_home


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    with folder_at_home() as folder:
        yield folder


@pytest.fixture
async def bash(workspace: Path) -> AsyncIterator[Shell]:
    shell = Shell(workspace)
    yield shell
    await shell.close()
