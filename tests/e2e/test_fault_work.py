"""Every fault behind a whole answer: tools, hooks, approvals, history, processes, on the dashboard."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from pathlib import Path

import pytest

from boxes import why_no_sandbox
from fault_dashboard import impatient, remembered, resumed, work_table
from fault_kinds import Layer
from fault_leftovers import nobody_lives_in
from fault_work import WORK_FAULTS
from sessions import settled


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient(monkeypatch)
    gc.collect()
    gc.freeze()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("layer", ["tools", "hooks", "approvals", "history", "process"])
async def test_a_call_that_goes_wrong_is_told_and_harms_nobody_else(
    tmp_path: Path, layer: Layer, record_property: Callable[[str, object], None]
) -> None:
    boxed = not why_no_sandbox()
    rows = [fault for fault in WORK_FAULTS if fault.layer == layer and (boxed or not fault.boxed)]
    tasks = asyncio.all_tasks()
    async with work_table(tmp_path) as (tried, place):
        await tried.meet_all(rows, lambda fault: tried.meet_work(fault, place))
        tried.session.workers[1].interrupt()
        await settled(tried.session)
        entries = [remembered(worker) for worker in tried.session.workers]
    record_property("faults", (layer, len(rows), len(tried.complaints)))
    assert not tried.complaints, "\n".join(tried.complaints)
    assert asyncio.all_tasks() - tasks == set()
    await nobody_lives_in(tmp_path)
    for name in ("ran", "secret.txt", ".git"):
        assert not (tmp_path / "workspace" / name).exists(), name
    assert await resumed(tmp_path) == entries
