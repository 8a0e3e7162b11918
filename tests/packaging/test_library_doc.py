"""docs/library.md says what is so: each program runs as it stands, and each name in it can be imported."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

import agent_tui_core
from loopback import LoopbackServer, say

ROOT = Path(__file__).parents[2]
DOC = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", DOC, re.DOTALL)
SHOWN = (
    ("I am the demo model",),
    ("Text(text=", "completed ['user', 'assistant', 'user', 'assistant']"),
    ("ToolProgressed", "3.2"),
    ("ada completed", "bob completed", "42"),
    ("5 4",),
)
SERVED = (
    ("A model.",),
    ("Text(text='A model.')", "completed ['user', 'assistant', 'user', 'assistant']"),
    ("RunEnded", "A model."),
    ("ada completed", "bob completed", "A model."),
    ("5 4",),
)


async def shown(program: str, folder: Path, **more: str) -> str:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "ANTHROPIC_"))}
    own = {"PYTHONPATH": str(ROOT / "core"), "AGENT_TUI_CONFIG_DIR": str(folder), **more}
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-X", "dev", "-c", program),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=kept | own,
    )
    try:
        async with asyncio.timeout(60):
            out, err = await child.communicate()
    except TimeoutError:
        child.kill()
        await child.wait()
        raise
    complaints = [line for line in err.decode().splitlines() if not line.startswith("Executing <")]
    assert (child.returncode, complaints) == (0, []), err.decode()
    return out.decode()


@pytest.mark.parametrize(("program", "words"), zip(PROGRAMS, SHOWN, strict=True))
async def test_a_program_of_the_document_runs_without_a_server(
    program: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    said = await shown(program, tmp_path)
    for each in words:
        assert each in said


@pytest.mark.parametrize(("program", "words"), zip(PROGRAMS, SERVED, strict=True))
async def test_a_program_of_the_document_runs_with_a_server(
    program: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    async with LoopbackServer(lambda _request: say("A model.")) as server:
        said = await shown(program, tmp_path, OPENAI_BASE_URL=server.base_url, AGENT_TUI_MODEL="some/model")
    for each in words:
        assert each in said


def test_every_name_of_the_document_can_be_imported() -> None:
    names = set(re.findall(r"`([A-Z][a-z]+[A-Za-z]*)[`(]", DOC)) | set(
        re.findall(
            r"`((?:open_session|session_plan|read_policy|query|[a-z]+_(?:to|from)_json|estimate_tokens))", DOC
        )
    )
    assert len(names) > 30
    assert names - {"None"} - set(agent_tui_core.__all__) == set()


def test_the_readme_leads_to_the_document() -> None:
    assert "docs/library.md" in (ROOT / "README.md").read_text(encoding="utf-8")
