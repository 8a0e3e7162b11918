"""Owns the history file as a file: who may read it, where a damaged one goes, what its failures are called.

Refuses to delete anything: what cannot be read is moved aside, and only when a person asked for it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
import threading
import time
from pathlib import Path

from agent_tui_core.errors import HistoryError

FOLDER_MODE = 0o700
FILE_MODE = 0o600
SIDE_FILES = ("", "-wal", "-shm")
"""What SQLite keeps of one database in WAL mode: these suffixes belong together."""
SMALLEST_DATABASE = 512
"""Bytes of the smallest page that SQLite can have."""

_CREATING = threading.Lock()
# Closing any descriptor of a file drops this process's locks on it, SQLite's too. So an existing database is
# never opened but by SQLite, and under this lock nobody can have opened the one that is being created.

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}
_FORBIDDEN = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_DISK = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_FORBIDDEN_ERRNO = {errno.EACCES, errno.EPERM, errno.EROFS}
_DISK_ERRNO = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


class HistoryDamaged(HistoryError):
    """The file is no database, or a broken one; `move_aside(error.path)` makes room for a new one."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


def make_private(path: Path) -> None:
    """Create the file and the missing folders above it for their owner alone, whatever the umask.

    Folders that exist keep their mode: they may be shared on purpose. Raises OSError, or HistoryDamaged for a
    file that is too short to be a database, which SQLite would take for a new one.
    """
    with _CREATING:
        if not path.exists():
            _create_folders(path.parent)
            _create_file(path)
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if 0 < found.st_size < SMALLEST_DATABASE:
        raise _damaged("file is not a database", path)
    for suffix in SIDE_FILES:
        _close_to_others(_beside(path, suffix))


def move_aside(path: Path) -> Path:
    """Rename the database and its side files so that the next open starts a new one; return the new place."""
    stem = f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    aside, count = path.with_name(stem), 1
    while aside.exists():
        count += 1
        aside = path.with_name(f"{stem}-{count}")
    for suffix in SIDE_FILES:
        with contextlib.suppress(FileNotFoundError):
            _beside(path, suffix).rename(_beside(aside, suffix))
    return aside


def explain(error: sqlite3.Error | OSError, path: Path) -> HistoryError:
    """Return the failure as a sentence that names the file and what a person can do about it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    number = error.errno if isinstance(error, OSError) else None
    why = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    if code in _BUSY:
        return HistoryError(
            f"{path}: the history is locked by another program ({why}). Close what has it open, such as a "
            "database viewer, and try again."
        )
    if code in _DAMAGED:
        return _damaged(why, path)
    if code in _FORBIDDEN or number in _FORBIDDEN_ERRNO:
        return HistoryError(
            f"{path}: the history cannot be written ({why}). Make its folder writable for you, or choose "
            "another one with --data-dir or AGENT_TUI_DATA_DIR."
        )
    if code in _DISK or number in _DISK_ERRNO:
        return HistoryError(
            f"{path}: the disk did not take the history ({why}). It may be full: free some space, or choose "
            "another place with --data-dir or AGENT_TUI_DATA_DIR."
        )
    return HistoryError(
        f"{path}: the history cannot be used ({why}). Check the path, or choose another one with --data-dir "
        "or AGENT_TUI_DATA_DIR."
    )


def _damaged(why: str, path: Path) -> HistoryDamaged:
    return HistoryDamaged(
        f"{path}: the history is damaged ({why}). Move it aside, together with its -wal and -shm files, and "
        "start again with a new one; nothing was deleted.",
        path,
    )


def _create_folders(folder: Path) -> None:
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):
            each.mkdir(FOLDER_MODE)
            each.chmod(FOLDER_MODE)


def _create_file(path: Path) -> None:
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))


def _close_to_others(path: Path) -> None:
    """Take the rights of group and others away; a file that is not ours keeps its mode."""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        if stat.S_IMODE(path.stat().st_mode) != FILE_MODE:
            path.chmod(FILE_MODE)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
