"""Owns reading and replacing one file by descriptor, without following a link in any part of its path.

Refuses what is no regular file, what is too large, and to judge whether a path may be touched at all.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agent_tui_core.errors import ToolError
from agent_tui_core.tools.paths import is_folder, missing

MAX_FILE_BYTES = 10 * 2**20
"""Larger files are left to commands."""

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a named pipe must not wait for its other end.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OURS_TO_REFUSE = Path("/proc")


def read_file(raw: str, path: Path) -> tuple[bytes, os.stat_result]:
    """Return the bytes of a regular file and what identifies its state; `path` is resolved already.

    Raises `ToolError` (naming `raw`) for anything else; `path` is followed without links, so that a folder
    that became a link after `path` was judged is refused.
    """
    # The environment of this very process, with the provider's key in it, can be read as a file there.
    if path.is_relative_to(_OURS_TO_REFUSE):
        raise ToolError(f"{raw} describes a process; the file tools do not open it")
    try:
        with _opened_folder(path.parent) as folder:
            descriptor = os.open(path.name or ".", _READ, dir_fd=folder)
    except OSError as error:
        raise _explained(raw, path, error) from error
    try:
        state = os.fstat(descriptor)
        if stat.S_ISDIR(state.st_mode):
            raise is_folder(raw, path)
        if not stat.S_ISREG(state.st_mode):
            raise ToolError(f"{raw} is no regular file (it is a pipe, a socket or a device)")
        if state.st_size > MAX_FILE_BYTES:
            raise ToolError(
                f"{raw} is too large ({state.st_size:,} bytes, the limit is {MAX_FILE_BYTES:,}); "
                "find the part you need with Grep, or use Bash"
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_FILE_BYTES), state
    except OSError as error:  # a disk that fails, and what only looks like a file, as in /sys
        raise _explained(raw, path, error) from error
    finally:
        os.close(descriptor)


def read_if_there(raw: str, path: Path) -> tuple[bytes, os.stat_result] | None:
    """Return `read_file`, or None when nothing stands at `path`."""
    return read_file(raw, path) if os.path.lexists(path) else None


def replace_file(
    raw: str,
    path: Path,
    content: bytes,
    *,
    before: os.stat_result | None,
    abandoned: threading.Event | None = None,
) -> None:
    """Put `content` at `path`, whole or not at all; mode and owner of what stood there are kept.

    `before` is the state that the content was computed from (None: nothing stood there); when the file is no
    longer in that state, or `abandoned` is set, nothing is written and `ToolError` is raised.
    """
    temporary = f".{path.name[:80]}.{secrets.token_hex(6)}.tmp"
    try:
        with _opened_folder(path.parent, create=before is None) as folder:
            if before is not None and not os.access(path.name, os.W_OK, dir_fd=folder):
                raise ToolError(f"{raw} is read-only")
            _write_new(folder, temporary, content, before)
            try:
                if abandoned is not None and abandoned.is_set():
                    raise ToolError("cancelled; nothing was written")
                if not _still(folder, path.name, before):
                    raise ToolError(f"{raw} was changed by something else meanwhile; read it again")
                os.rename(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            _flush_folder(folder)
    except OSError as error:
        raise _explained(raw, path, error) from error


@contextmanager
def _opened_folder(folder: Path, *, create: bool = False) -> Iterator[int]:
    descriptor = os.open(folder.anchor, _FOLDER)
    try:
        for part in folder.parts[1:]:
            deeper = _open_below(descriptor, part, create=create)
            os.close(descriptor)
            descriptor = deeper
        yield descriptor
    finally:
        os.close(descriptor)


def _open_below(folder: int, name: str, *, create: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _write_new(folder: int, name: str, content: bytes, before: os.stat_result | None) -> None:
    descriptor = os.open(name, _CREATE, 0o666 if before is None else 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if before is not None:
                if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                    with suppress(PermissionError):
                        os.fchown(descriptor, before.st_uid, before.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
            os.fsync(descriptor)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise


def _still(folder: int, name: str, before: os.stat_result | None) -> bool:
    try:
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return before is None
    return before is not None and _identity(now) == _identity(before)


def _identity(state: os.stat_result) -> tuple[int, ...]:
    return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


def _flush_folder(folder: int) -> None:
    with suppress(OSError):  # some file systems cannot; the rename itself is done
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _explained(raw: str, path: Path, error: OSError) -> ToolError:
    match error.errno:
        case errno.ENOENT:
            return missing(raw, path)
        case errno.ENOTDIR:
            return ToolError(f"{raw}: a part of this path is a file, or has just become a link")
        case errno.ELOOP:
            return ToolError(f"{raw}: a part of this path leads to itself, or has just become a link")
        case errno.EISDIR:
            return is_folder(raw, path)
        case _:
            return ToolError(f"{raw}: {error.strerror or error}")
