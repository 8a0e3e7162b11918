"""Owns that one table of widths counts for all that is drawn; refuses Rich's own.

Rich takes its table by an environment variable, and it differs from what terminals draw: a spacing mark would
have no cell. Whoever counts cells, Textual included, asks Rich, and so the table of the core.
"""

from __future__ import annotations

import functools

import rich.cells
from rich._unicode_data import load
from rich.cells import CellTable

from agent_tui_core import cell_widths


@functools.cache
def _table() -> CellTable:
    ranges = [(first, last, 2) for first, last in cell_widths.wide()]
    ranges += [(first, last, 0) for first, last in cell_widths.empty()]
    return CellTable("17.0.0", sorted(ranges), load("17.0.0").narrow_to_wide)


def _load_cell_table(_unicode_version: str = "auto") -> CellTable:
    return _table()


def take_over() -> None:
    """Let Rich and Textual count by the table of the core from now on."""
    if vars(rich.cells)["load_cell_table"] is not _load_cell_table:
        vars(rich.cells)["load_cell_table"] = _load_cell_table
        rich.cells.get_character_cell_size.cache_clear()
        rich.cells.cached_cell_len.cache_clear()
