"""Owns what the live soak counts, and what it makes of it: samples, the slope with its noise, the verdict.

Refuses to wait and to start anything; only the counting looks at this process.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import sys
import threading
from asyncio import all_tasks
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

MOST_GROWTH: Final = 2.0
"""MB an hour that memory may grow."""
BLOCKS: Final = 12
"""Parts of the measured time: the slope is that of their means, since neighbouring samples are alike."""
_POOL: Final = "asyncio_"
"""Threads of the event loop's pool come as they are needed, up to a number, and stay."""
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Sample:
    """This process at one moment."""

    at: float
    """Seconds since the start."""
    rss_mb: float
    """Resident memory of its own: file pages that it maps do not count."""
    blocks: int
    """Python's own small objects."""
    fds: int
    tasks: int
    threads: int
    processes: int
    """All descendants."""


@dataclass(frozen=True, slots=True)
class Slope:
    """Growth by time, and how far it may be off."""

    per_hour: float
    error: float
    """Twice the standard error."""

    def __str__(self) -> str:
        if math.isinf(self.error):
            return "(too short to tell)"
        return f"{self.per_hour:+.2f} ± {self.error:.2f}"


def sample(at: float) -> Sample:
    """Look at this process; call it in the event loop's thread."""
    return Sample(
        at,
        resident_mb(),
        sys.getallocatedblocks(),
        len(os.listdir("/proc/self/fd")),
        len(all_tasks()),
        sum(not thread.name.startswith(_POOL) for thread in threading.enumerate()),
        len(descendants(os.getpid())),
    )


def resident_mb() -> float:
    """Resident memory of this process alone; file pages that it maps do not count."""
    _, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
    return (resident - shared) * _PAGE / 1e6


def trimmed_mb() -> float:
    """The same once malloc gave back what it keeps free: that part is no growth of ours."""
    with suppress(OSError, AttributeError):  # not every C library can
        ctypes.CDLL(None).malloc_trim(0)
    return resident_mb()


def descendants(root: int) -> set[int]:
    """The processes that come from this one, their children too."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    new = children.get(root, [])
    while new:
        found.update(new)
        new = [child for pid in new for child in children.get(pid, [])]
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path("/proc", name, "stat").read_text()
            except OSError:  # it ended
                continue
            yield int(name), int(stat.rpartition(")")[2].split()[1])


def census() -> Counter[str]:
    """How many objects there are of each type, after what is garbage went."""
    gc.collect()
    return Counter(_name(type(each)) for each in gc.get_objects())


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def grown(before: Mapping[str, int], after: Mapping[str, int], most: int = 15) -> dict[str, int]:
    """The types of which there are more, those with the most more first."""
    more = {name: count - before.get(name, 0) for name, count in after.items()}
    ordered = sorted(more.items(), key=lambda item: -item[1])
    return {name: count for name, count in ordered[:most] if count > 0}


def slope(times: Sequence[float], values: Sequence[float]) -> Slope:
    """The growth an hour of what was measured at these seconds, by least squares over means of blocks."""
    if len(times) < 3:
        return Slope(0.0, math.inf)
    count = min(BLOCKS, len(times))
    edges = [round(part * len(times) / count) for part in range(count + 1)]
    xs = [_mean(times[start:end]) / 3600 for start, end in pairwise(edges)]
    ys = [_mean(values[start:end]) for start, end in pairwise(edges)]
    middle, level = _mean(xs), _mean(ys)
    spread = sum((x - middle) ** 2 for x in xs)
    if not spread:
        return Slope(0.0, math.inf)
    rise = sum((x - middle) * (y - level) for x, y in zip(xs, ys, strict=True)) / spread
    off = sum((y - level - rise * (x - middle)) ** 2 for x, y in zip(xs, ys, strict=True))
    return Slope(rise, 2 * math.sqrt(off / max(1, count - 2) / spread))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def complaints(memory: Mapping[str, Slope], first: Sample | None, second: Sample | None) -> list[str]:
    """What did not hold; a kind of memory grows when even the least that the noise allows is too much."""
    wrong = [
        f"{kind} grew by {rate} MB/h, and {MOST_GROWTH:g} are allowed"
        for kind, rate in memory.items()
        if rate.per_hour - rate.error > MOST_GROWTH
    ]
    if first is None or second is None:
        return wrong
    for name in ("fds", "tasks", "threads", "processes"):
        before, after = getattr(first, name), getattr(second, name)
        if after > before:
            wrong.append(
                f"{after - before} {name} were gained ({before} at the first rest, {after} at the last)"
            )
    return wrong
