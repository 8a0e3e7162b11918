"""Owns what all measurements share: alternating rounds, medians, tables, the machine in words.

Refuses wall time where processor time is meant: this machine, or yours, may have other things to do.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

QUICK = bool(os.environ.get("QUICK"))
ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Table:
    """One measurement as a person reads it."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """As Markdown."""
        rule = "|".join(["---", *["---:"] * (len(self.columns) - 1)])
        lines = [f"## {self.title}", "", f"| {' | '.join(self.columns)} |", f"|{rule}|"]
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        return "\n".join([*lines, "", *(f"{note}\n" for note in self.notes)])


def alternating(works: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Run all in turns, so that a busy moment meets each; return what each returned, round by round."""
    got: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            got[name].append(work())
    return got


def times(them: Sequence[float], us: Sequence[float]) -> float:
    """How many times ours theirs is: the median of the rounds, since a machine changes its pace between."""
    return statistics.median(theirs / ours for theirs, ours in zip(them, us, strict=True))


def processor_seconds(work: Callable[[], object]) -> float:
    """What the work costs, by the processor's clock."""
    began = time.process_time()
    work()
    return time.process_time() - began


def machine() -> str:
    """This machine without a name or a path."""
    model = ""
    with_names = Path("/proc/cpuinfo")
    if with_names.exists():
        named = [line for line in with_names.read_text().splitlines() if line.startswith("model name")]
        model = named[0].partition(":")[2].strip() if named else ""
    cores = os.cpu_count()
    load = f", load {os.getloadavg()[0]:.1f} when it began" if hasattr(os, "getloadavg") else ""
    python = f"Python {platform.python_version()}"
    return f"{platform.system()} on {cores} cores ({model or platform.machine()}), {python}{load}"
