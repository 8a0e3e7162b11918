"""Owns what is known of how hooks fare: runs, times, failures; refuses to judge them and to show them."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import field
from typing import Final

from agent_tui_core.hooks.command import HookRun
from agent_tui_core.records import dataclass

RUNS_KEPT: Final = 256
"""The times of so many runs make the percentiles."""


@dataclass(frozen=True, slots=True)
class HookHealth:
    """How one hook fared in this session so far."""

    runs: int = 0
    failures: int = 0
    last_at: float | None = None
    """Seconds since the epoch; None before its first run."""
    last_seconds: float = 0.0
    p50: float = 0.0
    p95: float = 0.0
    last_failure: str = ""
    """Why it broke last; foreign words."""
    last_failed_at: float | None = None
    failing: bool = False
    """The last run broke."""


@dataclass(slots=True)
class _Record:
    times: deque[float] = field(default_factory=lambda: deque(maxlen=RUNS_KEPT))
    runs: int = 0
    failures: int = 0
    last_at: float | None = None
    last_failure: str = ""
    last_failed_at: float | None = None
    failing: bool = False


class HealthBook:
    """The records of a session's hooks, by their ids."""

    def __init__(self) -> None:
        self._records: dict[str, _Record] = {}

    def add(self, run: HookRun) -> None:
        """Count a run that ended."""
        record = self._records.setdefault(run.hook.id, _Record())
        record.runs += 1
        record.last_at = time.time()
        record.times.append(run.seconds)
        record.failing = run.failure is not None
        if run.failure is not None:
            record.failures += 1
            record.last_failure, record.last_failed_at = run.failure, record.last_at

    def of(self, hook_id: str) -> HookHealth:
        """How this hook fared."""
        record = self._records.get(hook_id)
        if record is None:
            return HookHealth()
        times = sorted(record.times)
        return HookHealth(
            record.runs,
            record.failures,
            record.last_at,
            record.times[-1],
            percentile(times, 0.5),
            percentile(times, 0.95),
            record.last_failure,
            record.last_failed_at,
            record.failing,
        )


def percentile(ordered: list[float], share: float) -> float:
    """The value that this share of them does not exceed (nearest rank); 0 for none."""
    if not ordered:
        return 0.0
    return ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]
