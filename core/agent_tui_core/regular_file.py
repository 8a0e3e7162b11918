"""Owns the opening of a file that a person or a folder named; refuses to wait for one.

A named pipe in the place of a settings file would hold the program up until somebody writes to it: for ever.
A device may answer without an end, and some do something when they are opened.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

_KINDS: Final = (
    (stat.S_ISFIFO, "it is a pipe, not a file"),
    (stat.S_ISSOCK, "it is a socket, not a file"),
    (stat.S_ISCHR, "it is a device, not a file"),
    (stat.S_ISBLK, "it is a device, not a file"),
)


def open_regular(file: Path) -> BinaryIO:
    """Open a file to read its bytes; links are followed. Raises OSError, also for what is no regular file.

    `/dev/null` counts as an empty file: so people say that there are no settings.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) and not _is_null(found):
            why = next((words for holds, words in _KINDS if holds(found.st_mode)), None)
            raise (
                OSError(errno.EINVAL, why, str(file))
                if why
                else IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
            )
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(file: Path) -> bytes:
    """All bytes of such a file; raises OSError."""
    with open_regular(file) as stream:
        return stream.read()


def _is_null(found: os.stat_result) -> bool:
    try:
        null = Path(os.devnull).stat()
    except OSError:
        return False
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == null.st_rdev
