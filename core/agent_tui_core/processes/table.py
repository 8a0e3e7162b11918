"""Owns what the system's table of processes says: whose child, which group, what it runs.

Refuses to signal anything. Where there is no /proc it knows nothing, and says so by empty answers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_LOOKED_AT = 4_000
_COMMAND_SHOWN = 200
_DEAD = frozenset({"Z", "X"})


class _Row(NamedTuple):
    pid: int
    state: str
    parent: int
    group: int


def group_members(group: int) -> list[int] | None:
    """Return the living processes of a group; None when the table cannot be read, or is too long to be."""
    rows = _rows()
    if rows is None:
        return None
    return [row.pid for row in rows if row.group == group and row.state not in _DEAD]


def descendants(pid: int) -> list[int]:
    """Return the living children of a process, their children, and so on: the nearest first."""
    listed = _children_listed()
    rows = [] if listed else _rows() or []
    found: list[int] = []
    nearest = [pid]
    while nearest:
        if listed:
            nearest = [child for parent in nearest for child in _children(parent)]
        else:
            nearest = [row.pid for row in rows if row.parent in nearest and row.state not in _DEAD]
        found += nearest
    return found


def number_inside(pid: int) -> int:
    """Return the number that a process has in a sandbox of ours; 0 when it is in none, or gone."""
    with suppress(OSError, ValueError):
        for line in (_PROC / str(pid) / "status").read_text(errors="replace").splitlines():
            if line.startswith("NSpid:"):
                levels = line.split()[1:]  # ours, that of the sandbox, and those that were made in it
                return int(levels[1]) if len(levels) > 1 else 0
    return 0


def command_of(pid: int) -> str:
    """Return the command line of a process as far as one wants to see it; empty when it is gone."""
    with suppress(OSError):
        words = (_PROC / str(pid) / "cmdline").read_bytes()[:_COMMAND_SHOWN].split(b"\0")
        return b" ".join(words).decode(errors="replace").strip()
    return ""


@cache
def _children_listed() -> bool:
    """Whether this kernel lists the children of each thread."""
    return (_PROC / "thread-self" / "children").exists()


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in (_PROC / str(pid) / "task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                found += map(int, (thread / "children").read_text().split())
    except OSError:
        return []
    return [child for child in found if _state(child) not in _DEAD]


def _state(pid: int) -> str:
    row = _row(str(pid))
    return row.state if row else "X"


def _rows() -> list[_Row] | None:
    try:
        with os.scandir(_PROC) as entries:
            numbers = [entry.name for entry in entries if entry.name.isdecimal()]
    except OSError:
        return None
    return list(_readable(numbers)) if 0 < len(numbers) <= _LOOKED_AT else None


def _readable(numbers: list[str]) -> Iterator[_Row]:
    for number in numbers:
        if row := _row(number):
            yield row


def _row(number: str) -> _Row | None:
    with suppress(OSError, ValueError, IndexError):
        fields = (_PROC / number / "stat").read_bytes().rpartition(b")")[2].split()
        return _Row(int(number), fields[0].decode(), int(fields[1]), int(fields[2]))
    return None
