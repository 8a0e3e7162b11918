"""Owns the file with what a program wrote lately, which others read while it is written; refuses to grow."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from agent_tui_core.processes.output import private_folder

RECENT_BYTES = 2 * 2**20
"""What the file holds at most; then it begins again with the last half of that."""
_MARK = b"[earlier output was dropped]\n"


class RecentOutput:
    """Bytes in, a bounded file out: the newest output always, the whole of it while it is short."""

    def __init__(self, limit: int = RECENT_BYTES) -> None:
        self.file: Path | None = None
        """None when it could not be made: then the output is dropped."""
        self._limit = limit
        self._descriptor: int | None = None
        with suppress(OSError):
            file = private_folder("background") / f"output-{secrets.token_hex(6)}.txt"
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(file, flags, 0o600)
            self.file = file

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; never fails, a full disk only loses them."""
        if self._descriptor is None:
            return
        chunk = chunk[-self._limit // 2 :]
        with suppress(OSError):
            if os.lseek(self._descriptor, 0, os.SEEK_END) + len(chunk) > self._limit:
                self._begin_again(self._descriptor)
            os.write(self._descriptor, chunk)

    def close(self) -> None:
        """No more bytes come; the file stays until `forget`."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def forget(self) -> None:
        """Delete the file."""
        self.close()
        if self.file is not None:
            with suppress(OSError):
                self.file.unlink()

    def _begin_again(self, descriptor: int) -> None:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        half = self._limit // 2 - len(_MARK)
        kept = os.pread(descriptor, half, max(0, size - half))
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, _MARK + kept[kept.find(b"\n") + 1 :])
