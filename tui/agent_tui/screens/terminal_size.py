"""Owns how large the terminal is, and that it may have no size at all; refuses to show a guess."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

FALLBACK: Final = (80, 24)
"""Columns and rows for which all is laid out while the terminal has no size."""
MOST: Final = (1000, 500)
"""A terminal may say anything, such as 65,535 rows: all of them would be drawn."""


def terminal_size(environ: Mapping[str, str] = os.environ) -> tuple[int, int] | None:
    """Columns and rows; None while the terminal has none.

    That is so where nobody looks: `docker exec -t`, `ssh -tt` in a job, CI. Some of them say a size later.
    `COLUMNS` and `LINES` count more, as they do everywhere.
    """
    columns, rows = (_positive(environ.get(name, "")) for name in ("COLUMNS", "LINES"))
    said_columns, said_rows = _said() if columns is None or rows is None else (0, 0)
    return bounded(columns or said_columns, rows or said_rows)


def bounded(columns: int, rows: int) -> tuple[int, int] | None:
    """A size that can be drawn; None when it is none."""
    if columns <= 0 or rows <= 0:
        return None
    return min(columns, MOST[0]), min(rows, MOST[1])


def _said() -> tuple[int, int]:
    for stream in (sys.__stdout__, sys.__stderr__, sys.__stdin__):
        try:
            if stream is not None:
                return os.get_terminal_size(stream.fileno())
        except (OSError, ValueError):
            continue
    return 0, 0


def _positive(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None
