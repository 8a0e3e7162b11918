"""Owns the question whose memory it is: Python's small objects, the C library's heap, SQLite, all else.

Refuses to judge and to free. The live soak asks at each rest: growth without an owner teaches nothing.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

_ARENAS: Final = re.compile(r"arenas allocated current\s*=\s*([\d,]+)")
_USED: Final = re.compile(r"bytes in allocated blocks\s*=\s*([\d,]+)")
_ARENA_MB: Final = (1 << 20) / 1e6
"""An arena of pymalloc, since Python 3.10."""


class _Malloc(ctypes.Structure):
    """`struct mallinfo2` of glibc 2.33, summed over all its arenas."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def owners_mb() -> dict[str, float]:
    """Megabytes by owner; what a platform cannot say is left out."""
    told: dict[str, float] = {}
    with suppress(OSError, AttributeError):
        told |= _small_objects()
    with suppress(OSError, AttributeError):
        told |= _heap()
    with suppress(OSError, AttributeError, ImportError):
        told["SQLite"] = _sqlite()
    with suppress(OSError):
        told |= _mapped()
    return told


def in_use_mb(owners: Mapping[str, float]) -> float:
    """What of it holds something: a peak does not raise this for good, and a leak cannot hide in it.

    0 where the platform cannot say.
    """
    return sum(owners.get(owner, 0.0) for owner in ("small objects", "heap, in use", "large blocks"))


def _small_objects() -> dict[str, float]:
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            sys._debugmallocstats()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        text = file.read().decode()
    arenas, used = (_number(pattern, text) for pattern in (_ARENAS, _USED))
    return {"arenas of small objects": arenas * _ARENA_MB, "small objects": used / 1e6}


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return int(found[1].replace(",", "")) if found else 0


def _heap() -> dict[str, float]:
    told = ctypes.CDLL(None).mallinfo2
    told.restype = _Malloc
    heap = told()
    return {"heap": heap.arena / 1e6, "heap, in use": heap.uordblks / 1e6, "large blocks": heap.hblkhd / 1e6}


def _sqlite() -> float:
    import _sqlite3

    used = ctypes.CDLL(_sqlite3.__file__).sqlite3_memory_used
    used.restype = ctypes.c_int64
    return int(used()) / 1e6


def _mapped() -> dict[str, float]:
    """Resident private pages by kind of mapping."""
    told = dict.fromkeys(("heap, resident", "anonymous, resident", "libraries, written"), 0.0)
    kind = ""
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            kind = _kind(words[5] if len(words) > 5 else "")
        elif words[0] == "Private_Dirty:":
            told[kind] += int(words[1]) * 1024 / 1e6
    return told


def _kind(name: str) -> str:
    if name.startswith("/"):
        return "libraries, written"
    return "heap, resident" if name == "[heap]" else "anonymous, resident"
