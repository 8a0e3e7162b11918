"""Owns what is kept of an output of any length: its head, its tail, and a file with what lies between.

Refuses to grow: memory and file are bounded whatever comes in.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

OUTPUT_LIMIT = 30_000
"""Characters of one result that a model gets to read."""
FILE_LIMIT = 8 * 2**20
"""Bytes of one output that its file keeps."""
FILES_KEPT = 50
"""Files of this program that exist at once; older ones are deleted."""

_LINE_SLACK = 2_000

_making = threading.Lock()


class KeptOutput:
    """Bytes in, a bounded text out. Call `close` at the end; only then does `text` know the whole."""

    def __init__(self, limit: int = OUTPUT_LIMIT, file_limit: int = FILE_LIMIT) -> None:
        self.total = 0
        """Bytes that came in."""
        self.file: Path | None = None
        """Holds the output from its start, when it was too long to be kept."""
        self._limit = limit
        self._file_limit = file_limit
        self._keep = 4 * limit  # the bytes that `limit` characters can take
        self._head = bytearray()
        self._tail = bytearray()
        self._open: BinaryIO | None = None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; never fails, a full disk only loses the file."""
        if self.total <= self._limit < self.total + len(chunk):
            self._start_file()
        self._to_file(chunk)
        self.total += len(chunk)
        room = self._keep - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 2 * self._keep:
            del self._tail[: -self._keep]

    def close(self) -> None:
        """No more bytes come. The file is deleted when everything can be shown without it."""
        self._end_file()
        if self.file is not None and self._whole() is not None:
            with suppress(OSError):
                self.file.unlink()
            self.file = None

    def text(self) -> str:
        """Return the output: all of it, or head and tail with a line between that says what is missing."""
        whole = self._whole()
        if whole is not None:
            return whole
        half = self._limit // 2
        joined = self._head + self._tail
        # Surrogates stand for undecodable bytes one by one, so that what is cut can be counted in bytes.
        head = self._head.decode(errors="surrogateescape")[:half].encode(errors="surrogateescape")
        end = joined[-self._keep :].decode(errors="surrogateescape")[-half:]
        tail = end.encode(errors="surrogateescape")
        if (cut := head.rfind(b"\n") + 1) > max(0, len(head) - _LINE_SLACK):
            head = head[:cut]
        if (cut := tail.find(b"\n") + 1) <= _LINE_SLACK:
            tail = tail[cut:]
        missing = self.total - len(head) - len(tail)
        mark = f"\n[… {missing:,} bytes left out here{self._where()} …]\n"
        return head.decode(errors="replace") + mark + tail.decode(errors="replace")

    def _whole(self) -> str | None:
        if self.total > len(self._head) + len(self._tail):
            return None
        text = (self._head + self._tail).decode(errors="replace")
        return text if len(text) <= self._limit else None

    def _where(self) -> str:
        if self.file is None:
            return ""
        what = (
            "the whole output" if self.total <= self._file_limit else f"the first {self._file_limit:,} bytes"
        )
        return f"; {what} can be read in {self.file}"

    def _start_file(self) -> None:
        try:
            folder = _private_folder()
            _delete_oldest(folder)
            self.file = folder / f"output-{secrets.token_hex(6)}.txt"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._open = os.fdopen(os.open(self.file, flags, 0o600), "wb", buffering=0)
        except OSError:
            self.file = None
        self._to_file(bytes(self._head))

    def _to_file(self, chunk: bytes) -> None:
        if self._open is None:
            return
        try:
            room = self._file_limit - self._open.tell()
            self._open.write(chunk[:room])
        except OSError:
            room = 0
        if room <= len(chunk):
            self._end_file()

    def _end_file(self) -> None:
        if self._open is not None:
            with suppress(OSError):
                self._open.close()
            self._open = None


def private_folder(name: str) -> Path:
    """Return a folder of this program that nobody else can look into; it goes when the program ends."""
    with _making:  # threads may ask at the same time
        folder = _root() / name
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@cache
def _root() -> Path:
    folder = tempfile.mkdtemp(prefix="agent-tui-")  # 0700
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder).resolve()


def _private_folder() -> Path:
    return private_folder("outputs")


def _delete_oldest(folder: Path) -> None:
    kept = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    for file in kept[: max(0, len(kept) - FILES_KEPT + 1)]:
        file.unlink(missing_ok=True)
