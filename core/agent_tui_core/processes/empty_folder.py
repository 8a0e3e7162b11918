"""Owns where programs of the person start: a folder with nothing in it that they could be made to load.

A program that starts in an agent's folder reads its configuration, its modules and its start files there.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from agent_tui_core.processes.output import private_folder

SAFE_START: Final = {"PYTHONSAFEPATH": "1"}
"""Set for such a program: Python takes no module from the folder of a script or from where it starts."""
_FOLDER_MODE: Final = 0o500
_current: list[Path] = []


def empty_folder(parent: Path | None = None) -> Path:
    """Return a folder that is empty and that nobody writes to by accident; another one when it is not.

    `parent` is where it lies when it has to outlive this program. Raises `OSError`.
    """
    if parent is not None:
        kept = parent / "empty"
        kept.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
        return kept if not kept.is_symlink() and _is_empty(kept) else empty_folder()
    if not _current or not _is_empty(_current[0]):
        made = private_folder("programs") / secrets.token_hex(6)
        made.mkdir(_FOLDER_MODE)
        _current[:] = [made]
    return _current[0]


def _is_empty(folder: Path) -> bool:
    try:
        return not any(folder.iterdir())
    except OSError:
        return False
