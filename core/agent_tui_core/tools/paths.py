"""Owns what a path means to a tool: where it really leads, and whether that lies in a folder.

Refuses to open anything, and refuses names that hide where they lead; `~` and variables are never expanded.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePath

from agent_tui_core.errors import ToolError
from agent_tui_core.text import visible_text

_ENTRIES_LOOKED_AT = 5_000
_LONGEST = 4_096
"""Characters; Linux takes no longer path, and each of its folders would be asked about, one by one."""


def resolved_path(raw: str, workspace: Path) -> Path:
    """Return the absolute path without links that `raw` leads to; what is not there yet is fine.

    Relative paths start at the workspace. Raises `ToolError` for a path that no system call could take.
    """
    if not raw:
        raise ToolError("the path is empty")
    if len(raw) > _LONGEST:
        raise ToolError(f"{visible_text(raw[:200])}… is no usable path: it has {len(raw):,} characters")
    if "\0" in raw:
        raise ToolError(f"{visible_text(raw[:200])} is no usable path: it holds a NUL")
    try:
        raw.encode()
        return Path(os.path.realpath(workspace / raw))
    except (OSError, ValueError) as error:
        raise ToolError(f"{visible_text(raw[:200])} is no usable path: {error}") from error


def inside(path: Path, folder: Path) -> bool:
    """Whether `path` is `folder` or lies in it, once all links of both are followed.

    Whole names are compared, so `/w` does not contain `/w-evil`; nothing has to exist.
    """
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def target_path(raw: str, workspace: Path) -> Path:
    """Return `resolved_path`, unless `raw` leaves the workspace in a way that its own text does not show.

    A place outside the workspace has to be named by an absolute path that neither climbs (`..`) nor passes
    through the workspace and out again by a link. Raises `ToolError` with the real place otherwise.
    """
    real = resolved_path(raw, workspace)
    if inside(real, workspace):
        return real
    given = PurePath(raw)
    outside = f"leads out of the workspace, to {real}; if you mean that place, name it by that absolute path"
    if not given.is_absolute() or ".." in given.parts:
        raise ToolError(f"{raw} {outside}")
    if any(inside(Path(parent), workspace) for parent in given.parents):
        raise ToolError(f"{raw} passes through a link that {outside}")
    return real


def shown_path(path: Path, workspace: Path) -> str:
    """Return a resolved path as results name it: relative to the workspace where it lies in it."""
    root = os.path.realpath(workspace)
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def one_line(path: str) -> str:
    """Return a path as one line in which nothing is hidden, for the head of a diff or a question."""
    return visible_text(path).replace("\n", "\\u{a}")


def missing(raw: str, path: Path) -> ToolError:
    """Return the error for a path that is not there; it names what is, where that looks alike."""
    from difflib import get_close_matches

    folder = path.parent
    if not folder.is_dir():
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        return ToolError(f"there is no {raw}: the folder {path.parent} does not exist (but {folder} does)")
    by_lower = {name.rstrip("/").lower(): name for name in _names(folder)}
    close = [by_lower[name] for name in get_close_matches(path.name.lower(), by_lower, n=3, cutoff=0.6)]
    hint = f"; similar names in that folder: {', '.join(close)}" if close else ""
    return ToolError(f"there is no {raw}{hint}")


def is_folder(raw: str, path: Path) -> ToolError:
    """Return the error for a folder where a file was meant; it lists some of what is in it."""
    names = sorted(_names(path))
    listing = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return ToolError(f"{raw} is a folder, not a file; it holds: {listing or '(nothing)'}")


def _names(folder: Path) -> list[str]:
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name + ("/" if entry.is_dir(follow_symlinks=False) else ""))
                if len(names) == _ENTRIES_LOOKED_AT:
                    break
    except OSError:
        return []
    return names
