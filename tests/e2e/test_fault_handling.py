"""Each fault is seen to fail when its handling is taken out: a table that never complains proves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fault_dashboard import impatient, table
from fault_mutations import NETWORK_MUTATIONS, Mutation
from fault_rows import FAULTS
from fault_stream_mutations import STREAM_MUTATIONS

MUTATIONS = (*NETWORK_MUTATIONS, *STREAM_MUTATIONS)


def test_every_fault_has_a_mutation() -> None:
    assert [fault.name for fault in FAULTS if not any(each.rows(fault) for each in MUTATIONS)] == []


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
async def test_a_fault_complains_when_its_handling_is_taken_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutation: Mutation
) -> None:
    impatient(monkeypatch)
    mutation.take_out(monkeypatch)
    silent = []
    for number, fault in enumerate(fault for fault in FAULTS if mutation.rows(fault)):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            async with table(folder, tls=fault.layer == "tls") as tried:
                tried.patience = 2.0
                await tried.meet(fault)
                complained = any(mutation.holds_up or ": lag: " not in each for each in tried.complaints)
        except (TimeoutError, AssertionError):
            complained = True
        if not complained:
            silent.append(fault.name)
    assert silent == []
