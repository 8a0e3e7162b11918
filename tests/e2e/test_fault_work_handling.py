"""Each fault behind a whole answer is seen to fail when its handling is taken out."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from boxes import why_no_sandbox
from fault_dashboard import descendants, impatient, work_table
from fault_leftovers import kill, living_in, nobody_lives_in
from fault_work import WORK_FAULTS, WorkFault
from fault_work_mutations import MUTATIONS, Mutation

_PATIENCE: Final = 5.0
"""Seconds: more than a command takes that has to be killed, so that no row complains by itself."""


def test_every_fault_of_work_has_a_mutation() -> None:
    covered = {(fault.layer, fault.name) for mutation in MUTATIONS for fault in mutation.rows}
    assert [fault.name for fault in WORK_FAULTS if (fault.layer, fault.name) not in covered] == []


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
async def test_a_fault_complains_when_its_handling_is_taken_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutation: Mutation
) -> None:
    impatient(monkeypatch)
    mutation.take_out(monkeypatch)
    boxed = not why_no_sandbox()
    silent = []
    for number, fault in enumerate(each for each in mutation.rows if boxed or not each.boxed):
        folder = tmp_path / str(number)
        folder.mkdir()
        before = descendants()
        try:
            complained = await _complains(fault, folder, mutation.holds_up)
        finally:
            kill(descendants() - before | living_in(folder))
        if not complained:
            silent.append(fault.name)
    assert silent == []


async def _complains(fault: WorkFault, folder: Path, lag_counts: bool) -> bool:
    """Whether anything is wrong but what a busy machine can do by itself."""
    try:
        async with work_table(folder) as (tried, place):
            tried.patience = _PATIENCE
            await tried.meet_work(fault, place)
        await nobody_lives_in(folder)
    except (TimeoutError, AssertionError):
        return True
    return any(lag_counts or ": lag: " not in complaint for complaint in tried.complaints)
