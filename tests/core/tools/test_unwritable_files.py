"""What the tools say of a file that may not be written, also where root runs the tests: then as nobody."""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - the interpreter may stand where nobody cannot read
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.tools.base import ToolContext
from agent_tui_core.tools.files import WRITE

NOBODY = 65534


@pytest.fixture
def workspace() -> Iterator[Path]:
    """A folder of a person who is not root, and who runs the test. Root may write everything."""
    with tempfile.TemporaryDirectory() as made:
        is_root = os.geteuid() == 0
        if is_root:
            os.chown(made, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, 0)
        try:
            yield Path(made).resolve()
        finally:
            if is_root:
                os.setresuid(0, 0, 0)


async def test_a_read_only_file_stays_as_it_is(workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text("old")
    file.chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        await WRITE.execute({"file_path": "a.txt", "content": "new"}, ToolContext(workspace))
    assert file.read_text() == "old"
    assert list(workspace.iterdir()) == [file]
