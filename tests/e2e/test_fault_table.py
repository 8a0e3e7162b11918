"""Every broken network of the table, through the whole program: HTTP, core, history and the dashboard."""

from __future__ import annotations

import asyncio
import gc
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from fault_dashboard import impatient, remembered, resumed, table
from fault_kinds import Layer
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
@pytest.mark.parametrize("layer", ["tls", "transport", "http", "stream"])
async def test_every_fault_ends_in_words_and_harms_nobody_else(
    tmp_path: Path, layer: Layer, record_property: Callable[[str, object], None]
) -> None:
    rows = [fault for fault in FAULTS if fault.layer == layer]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tasks = asyncio.all_tasks()
    async with table(tmp_path, tls=layer == "tls") as tried:
        await tried.meet_all(rows, tried.meet)
        tried.session.workers[1].interrupt()
        await settled(tried.session)
        entries = [remembered(worker) for worker in tried.session.workers]
    left = asyncio.all_tasks() - tasks
    record_property("faults", (layer, len(rows), len(tried.complaints)))
    assert not tried.complaints, "\n".join(tried.complaints)
    assert left == set()
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < MOST_MEMORY
    assert not (tmp_path / "workspace" / "ran").exists(), "a call of a cut answer ran"
    assert await resumed(tmp_path) == entries
