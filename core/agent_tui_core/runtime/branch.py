"""Owns the name of a folder's git branch; refuses to run git: a repository may make git run programs."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_LONGEST = 1_000


def current_branch(folder: Path) -> str | None:
    """Return the branch checked out in or above `folder`, a short hash when it is none; None outside git."""
    for place in (folder, *folder.parents):
        head = _read(place / ".git" / "HEAD") or _worktree_head(place)
        if head is not None:
            named = head.strip()
            return named.removeprefix("ref: refs/heads/") if named.startswith("ref:") else named[:8]
    return None


def _worktree_head(place: Path) -> str | None:
    link = _read(place / ".git")
    if link is None or not link.startswith("gitdir:"):
        return None
    return _read(place / link.removeprefix("gitdir:").strip() / "HEAD")


def _read(path: Path) -> str | None:
    """The beginning of a regular file; a pipe in its place would make us wait for ever."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(descriptor, encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except (OSError, ValueError):
        return None
