"""Owns how a small file for its owner's eyes is changed: one program at a time, in one step.

Refuses to know what is in it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


def replace_private(file: Path, text: str) -> None:
    """Write all of `text` or nothing, readable for the owner alone whatever the umask; raises OSError.

    A file that is a link is written where the link leads, as people keep their settings elsewhere.
    """
    target = Path(os.path.realpath(file))
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    data = text.encode("utf-8")
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Let one program at a time change the file; raises OSError.

    The lock is a file of its own beside it, because the file itself is replaced.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(file.with_name(f".{file.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
