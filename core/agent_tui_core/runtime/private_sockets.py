"""Owns where the sockets of running programs are, and that nobody else can be at either end.

Refuses a folder or a peer of another user, and TCP.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

FOLDER_MODE: Final = 0o700
SOCKET_MODE: Final = 0o600
LONGEST_PATH: Final = 103
"""Bytes that the address of a unix socket can have on every system (Linux takes 107)."""
_LONGEST_NAME: Final = 26


def folders(data_dir: Path, environ: Mapping[str, str]) -> list[Path]:
    """Where sockets of programs with this data folder can be; the first that works is used."""
    whole = os.fsencode(data_dir)
    places = [data_dir / "run"]
    name = f"agent-tui-{os.getuid()}-{hashlib.sha256(whole).hexdigest()[:12]}"
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    parents = [Path(one) for one in (runtime, f"/run/user/{os.getuid()}", "/tmp")]  # noqa: S108 - checked
    places += [parent / name for parent in dict.fromkeys(parents) if parent.is_absolute() and parent.is_dir()]
    return [place for place in places if len(os.fsencode(place)) + 1 + _LONGEST_NAME <= LONGEST_PATH]


def make_private(folder: Path) -> None:
    """Create the folder for this user alone; raises OSError when it is, or could be, somebody else's."""
    with suppress(FileExistsError):
        folder.mkdir(FOLDER_MODE)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"{folder} is not a folder of yours")
    if stat.S_IMODE(found.st_mode) != FOLDER_MODE:
        folder.chmod(FOLDER_MODE)


def is_private(folder: Path) -> bool:
    """Whether the folder is there and nobody else can put a socket into it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def listening(folder: Path) -> tuple[socket.socket, Path]:
    """Listen in the folder under a name of this process's own; raises OSError.

    The socket has its name only when it listens, so that nobody takes it for one that was left behind.
    """
    make_private(folder)
    remove_stale(folder)
    path = folder / f"{os.getpid()}-{secrets.token_hex(3)}.sock"
    hidden = path.with_name(f".{path.name}")
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.bind(os.fsencode(hidden))
        hidden.chmod(SOCKET_MODE)
        server.listen(128)
        server.setblocking(False)
        hidden.rename(path)
    except BaseException:
        server.close()
        with suppress(OSError):
            hidden.unlink()
        raise
    return server, path


def leave(path: Path, data_dir: Path) -> None:
    """Remove a socket; a folder outside the data folder goes with the last one in it."""
    with suppress(OSError):
        path.unlink()
    if path.parent.parent != data_dir:
        with suppress(OSError):
            path.parent.rmdir()


def sockets_in(folder: Path) -> Iterator[Path]:
    """The sockets in the folder, if it is this user's."""
    if is_private(folder):
        with suppress(OSError):
            yield from sorted(folder.glob("[!.]*.sock"))


def remove_stale(folder: Path) -> None:
    """Remove the sockets that nobody listens to: their programs were killed."""
    for path in sockets_in(folder):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            try:
                probe.connect(os.fsencode(path))
            except ConnectionRefusedError:
                path.unlink(missing_ok=True)
            except OSError:
                continue


def peer_uid(connection: socket.socket) -> int | None:
    """The user at the other end; None where the system does not tell."""
    try:
        if (option := getattr(socket, "SO_PEERCRED", None)) is not None:
            said = connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i"))
            return int(struct.unpack("3i", said)[1])
        # macOS and the BSDs: LOCAL_PEERCRED of SOL_LOCAL gives a struct xucred: version, uid, groups.
        said = connection.getsockopt(0, 1, 76)
        return int(struct.unpack_from("II", said)[1])
    except (OSError, struct.error):
        return None
