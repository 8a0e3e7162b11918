"""Owns how the files of a folder that nobody trusts are read: regular, bounded, never out of the folder.

Refuses to run anything, to wait on a pipe, and to follow a link that leads out.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

_CHUNK: Final = 2**16


class Unusable(Exception):
    """A file that is there and cannot be used; `str` says why."""


def read_inside(root: Path, name: str, most: int) -> bytes | None:
    """The bytes of a file below `root`, at most `most`; None when there is none. Raises `Unusable`."""
    with _opened(root, name) as stream:
        return None if stream is None else stream.read(most)


def digest_inside(root: Path, name: str, most: int) -> tuple[str, int] | None:
    """The SHA-256 and the size of a file below `root`; None when there is none.

    Raises `Unusable`, for one that is larger than `most`, too.
    """
    with _opened(root, name) as stream:
        if stream is None:
            return None
        import hashlib  # most folders bring nothing along

        found, size = hashlib.sha256(), 0
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise Unusable("is too large to be checked for changes")
            found.update(chunk)
        return found.hexdigest(), size


def place_inside(root: Path, name: str) -> Path | None:
    """Where a name leads, links resolved, as a path from `root`; None when that is out of it, or nowhere."""
    try:
        target = Path(os.path.realpath(root / name))
        relative = target.relative_to(root)
        return relative if stat.S_ISREG(target.lstat().st_mode) else None
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def _opened(root: Path, name: str) -> Iterator[BinaryIO | None]:
    try:
        descriptor = _open(root, name)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise Unusable(f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise Unusable("leads out of the folder") from error
    with os.fdopen(descriptor, "rb") as stream:
        yield stream


def _open(root: Path, name: str) -> int:
    """Resolve links first, then walk without following any: what was swapped meanwhile is not followed."""
    parts = Path(os.path.realpath(root / name)).relative_to(root).parts
    if not parts:
        raise Unusable("is no file")
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    folder = os.open(root, flags | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            deeper = os.open(part, flags | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = deeper
        descriptor = os.open(parts[-1], flags | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=folder)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unusable("is no regular file")
    return descriptor
