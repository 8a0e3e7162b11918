"""Owns that one program at a time goes on with a session; refuses to guard the rows, which many may write.

The lock is the kernel's, on a file of its own: it ends with its program, however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import time
from pathlib import Path
from typing import Self

from agent_tui_core.errors import HistoryError
from agent_tui_core.history.files import FILE_MODE, FOLDER_MODE

FOLDER = "open-sessions"
"""Within the data folder: a file for each session that a program has open now."""

_FORKED = 1.0
"""Seconds that the lock of a dead program may last: a command that it was starting when it was killed has the
lock until it is on its own feet."""

log = logging.getLogger(__name__)


class HeldSession:
    """A session that no other program can take up until it is released."""

    def __init__(self, session_id: str, path: Path, descriptor: int | None) -> None:
        self.session_id = session_id
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def hold(cls, data_dir: Path, session_id: str) -> Self:
        """Take the session, or raise `HistoryError`, which names the process that has it.

        Where files cannot be locked nothing is held: that is no reason not to work.
        """
        path = data_dir / FOLDER / f"{''.join(filter(str.isalnum, session_id))}.lock"
        try:
            path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            return cls(session_id, path, _locked(path, session_id))
        except OSError as error:
            log.warning("the session %s is not guarded: %s", session_id, error)
            return cls(session_id, path, None)

    def release(self) -> None:
        """Let others have it; doing it again is harmless."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        with contextlib.suppress(OSError):
            self._path.unlink()
        os.close(descriptor)


def _locked(path: Path, session_id: str) -> int:
    until = time.monotonic() + _FORKED
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, str(os.getpid()).encode(), 0)
                return descriptor
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            if _lives(holder) or time.monotonic() > until:
                raise HistoryError(_refusal(session_id, holder)) from None
            time.sleep(0.01)
            continue
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # whoever had it released it meanwhile, and took the file away


def _lives(holder: str) -> bool:
    if holder.isdigit():
        with contextlib.suppress(PermissionError):
            try:
                os.kill(int(holder), 0)
            except (ProcessLookupError, OverflowError):
                return False
    return True


def _refusal(session_id: str, holder: str) -> str:
    who = f"process {holder}" if holder.isdigit() else "another program"
    return (
        f"the session {session_id[:12]} is open in {who}: quit it there first, or take up another session "
        "(`agent-tui sessions` lists them)"
    )
