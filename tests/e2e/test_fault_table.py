"""Every broken network of the table, through the whole program: HTTP, core, history and the dashboard."""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
from pathlib import Path

import pytest

from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, plan
from agent_tui_core.runtime.session import open_session
from fault_dashboard import impatient, remembered, table
from fault_kinds import SECRET, Layer
from fault_rows import FAULTS
from sessions import settled

MOST_MEMORY = 300 * 2**20
"""Bytes that the whole table may add to the largest size of this process."""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient(monkeypatch)
    gc.collect()
    gc.freeze()  # what other tests left behind is not walked on this test's time


@pytest.mark.timeout(120)
@pytest.mark.parametrize("layer", ["transport", "http", "stream"])
async def test_every_fault_ends_in_words_and_harms_nobody_else(tmp_path: Path, layer: Layer) -> None:
    rows = [fault for fault in FAULTS if fault.layer == layer]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tasks = asyncio.all_tasks()
    async with table(tmp_path) as tried:
        for fault in rows:
            await tried.meet(fault)
        tried.session.workers[1].interrupt()
        await settled(tried.session)
        entries = [remembered(worker) for worker in tried.session.workers]
    left = asyncio.all_tasks() - tasks
    sys.stdout.write(f"{layer}: {len(rows)} faults, {len(tried.complaints)} complaints\n")
    assert not tried.complaints, "\n".join(tried.complaints)
    assert left == set()
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < MOST_MEMORY
    assert not (tmp_path / "workspace" / "ran").exists(), "a call of a cut answer ran"
    assert await _resumed(tmp_path, entries)


async def _resumed(folder: Path, entries: list[list[str]]) -> bool:
    """History is exact: what comes back is what was there."""
    environ = {
        "AGENT_TUI_DATA_DIR": str(folder / "data"),
        "AGENT_TUI_CONFIG_DIR": str(folder / "config"),
        "FAULT_KEY": SECRET,
    }
    made = plan(load_settings(None, environ=environ), Flags(workspace=folder / "workspace"), environ)
    async with open_session(made, resume="") as session:
        back = [remembered(worker) for worker in session.workers]
    assert back == entries
    return True
