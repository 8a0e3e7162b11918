"""Says whether a reader of whole folders would come to a file that it may not show: a bounded walk of names.

`grep -r`, `find … -exec cat`, `git grep` read what nobody named. They run unasked only where this walk found
nothing that a rule or a protected name keeps from being read. It opens no file but git's index and the lists
of what `rg` shall ignore, follows no link to a folder, and stops after a number of names and seconds:
then the answer is that nobody knows.

The walk runs in the child of `search_child`, because a folder of a network can hang. So this module imports
nothing of the package.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

MOST_NAMES: Final = 50_000
SECONDS: Final = 1.0
_LARGEST_INDEX: Final = 32 * 2**20
_LARGEST_LIST: Final = 2**18
_IGNORE_LISTS: Final = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
_ODD: Final = re.compile(r"[\s'\"\\]")
_LINK: Final = "it may follow the link {}"


class Below(NamedTuple):
    """A read of all that is below a folder, and what of it is left out."""

    folder: str
    """Absolute."""
    only: tuple[str, ...] = ()
    """Patterns of file names, of which one must fit; none: all files."""
    but: tuple[str, ...] = ()
    """Patterns of file names that are left out."""
    but_folders: tuple[str, ...] = ()
    """Patterns of folder names that are left out; `./NAME` is one folder right below."""
    hidden: bool = True
    """Whether names that begin with a dot are read."""
    links: bool = False
    """Whether links are followed."""
    tracked: bool = False
    """Only files that git tracks."""
    odd_names: bool = True
    """Whether blanks, quotes and a dash in front of a name do no harm."""


Forbids = Callable[[str], str]
"""Says for an absolute path why it may not be read; empty: it may."""


class _Stop(Exception):
    """The walk is over; says why."""


class Kept(NamedTuple):
    """What a reader of whole folders may not come to."""

    workspace: str
    secrets: str
    """An expression for names below the workspace."""
    patterns: tuple[tuple[str, str, bool], ...] = ()
    """Patterns of rules, and where each counts from."""
    folders: tuple[str, ...] = ()


class Looked(NamedTuple):
    """A read, and what it may not meet."""

    below: Below
    kept: Kept


Look = Callable[[Looked], str]
"""Says why a read has to be asked about; empty: it met nothing."""


def look_here(looked: Looked) -> str:
    """Look in this process, for a fifth of a second at most."""
    return first_forbidden(looked.below, forbidder(looked.kept), seconds=0.2, most=20_000)


def forbidder(kept: Kept) -> Forbids:
    """Say of a path why it may not be read."""
    workspace, folders = kept.workspace, kept.folders
    names = re.compile(kept.secrets, re.IGNORECASE)
    specs = []
    if kept.patterns:
        from agent_tui_core.gitignore import GitignorePattern

        specs = [(base, GitignorePattern(text), text) for base, text, _ in kept.patterns]

    def forbids(path: str) -> str:
        below = os.path.relpath(path, workspace) if path.startswith(workspace.rstrip("/") + "/") else path
        if any(names.match(name) for name in below.split("/")):
            return "it may hold secrets"
        if any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders):
            return "agent-tui keeps its own files there"
        for base, spec, text in specs:
            inside = path.startswith(base.rstrip("/") + "/")
            if spec.matches(os.path.relpath(path, base) if inside else path.lstrip("/")):
                return f"the rule Read({text}) is about it"
        return ""

    return forbids


def first_forbidden(
    below: Below, forbids: Forbids, *, seconds: float = SECONDS, most: int = MOST_NAMES
) -> str:
    """Why this read has to be asked about; empty when it meets nothing that may not be read."""
    until = time.monotonic() + seconds
    walk = _Walk(below, until, most)
    try:
        for path in walk.tracked() if below.tracked else walk.files():
            if why := forbids(path):
                return f"it would read {os.path.relpath(path, below.folder)}: {why}"
    except _Stop as stop:
        return str(stop)
    except (OSError, ValueError, struct.error) as error:
        return f"what is below {below.folder} cannot be looked at: {error}"
    return ""


class _Revealed:
    """The hidden names that a repository's lists of ignored files tell `rg` to read all the same: `!.env`."""

    def __init__(self, folder: str) -> None:
        self._patterns: list[tuple[str, Callable[[str], bool]]] = []
        for parent in Path(folder).parents:
            self.read(str(parent))

    def read(self, folder: str) -> None:
        """Take in the lists of one folder."""
        for list_name in _IGNORE_LISTS:
            with suppress(OSError):
                descriptor = os.open(f"{folder}/{list_name}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                with os.fdopen(descriptor, "rb") as opened:
                    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                        continue
                    data = opened.read(_LARGEST_LIST + 1)
                if len(data) > _LARGEST_LIST:
                    raise _Stop(f"{folder}/{list_name} is larger than is looked at")
                for line in data.decode("utf-8-sig", "replace").splitlines():
                    if line.startswith("!"):
                        self._patterns.append((folder, _pattern(line[1:].strip())))

    def has(self, path: str) -> bool:
        """Whether one of them is about this path."""
        return any(
            matches(f"{relative}{end}")
            for base, matches in self._patterns
            for relative in [os.path.relpath(path, base)]
            for end in ("", "/")
        )


def _pattern(text: str) -> Callable[[str], bool]:
    """A pattern that programs could read in several ways is about everything."""
    from agent_tui_core.gitignore import GitignorePattern

    found = GitignorePattern(text)
    try:
        found.check()
    except ValueError:
        return lambda _: True
    return (lambda _: True) if set(text) & set("[{\\") else found.matches


class _Walk:
    def __init__(self, below: Below, until: float, most: int) -> None:
        self._below = below
        self._until = until
        self._left = most
        self._only = _matcher(below.only, re.IGNORECASE)  # rather too many files than too few
        self._but = _matcher(below.but)
        self._but_folders = _matcher(tuple(each for each in below.but_folders if not each.startswith("./")))
        self._but_at_top = frozenset(each[2:] for each in below.but_folders if each.startswith("./"))

    def files(self) -> Iterator[str]:
        """The files that would be read."""
        stack = [self._below.folder]
        revealed = None if self._below.hidden else _Revealed(self._below.folder)
        while stack:
            folder = stack.pop()
            if revealed is not None:
                revealed.read(folder)
            with (
                suppress(NotADirectoryError, FileNotFoundError, PermissionError),
                os.scandir(folder) as entries,
            ):
                for entry in entries:
                    self._count(entry.name, folder)
                    if revealed and entry.name.startswith(".") and not revealed.has(entry.path):
                        continue
                    if entry.is_symlink():
                        if self._below.links and not self._is_left_out(entry.name):
                            raise _Stop(_LINK.format(entry.name))
                    elif entry.is_dir(follow_symlinks=False):
                        top = folder == self._below.folder and entry.name in self._but_at_top
                        if not (top or self._but_folders(entry.name)):
                            stack.append(entry.path)
                    elif not self._is_left_out(entry.name):
                        yield entry.path

    def tracked(self) -> Iterator[str]:
        """The files that git's index lists."""
        root, git = _repository(self._below.folder)
        checked: dict[str, bool] = {"": False}
        for name, is_link in _index_names(git):
            parent, _, last = name.rpartition("/")
            self._count(name, self._below.folder)
            if _is_link_on_the_way(root, parent, checked) or (
                self._below.links and (is_link or Path(root, name).is_symlink())
            ):
                raise _Stop(_LINK.format(name))
            if not self._is_left_out(last):
                yield f"{root.rstrip('/')}/{name}"

    def _count(self, name: str, folder: str) -> None:
        self._left -= 1
        if self._left < 0:
            raise _Stop(f"there are more names below {self._below.folder} than are looked at")
        if time.monotonic() > self._until:
            raise _Stop(f"to look at the names below {self._below.folder} takes too long")
        if not self._below.odd_names and (
            _ODD.search(name) or (name.startswith("-") and folder == self._below.folder)
        ):
            raise _Stop(f"the name {name!r} would be taken apart, or for an option")

    def _is_left_out(self, name: str) -> bool:
        return bool(self._below.only and not self._only(name)) or self._but(name)


def _is_link_on_the_way(root: str, folder: str, checked: dict[str, bool]) -> bool:
    """Whether a folder below the root is no longer what git's index says: a link leads to other files."""
    if folder not in checked:
        parent = folder.rpartition("/")[0]
        checked[folder] = _is_link_on_the_way(root, parent, checked) or Path(root, folder).is_symlink()
    return checked[folder]


def _matcher(patterns: tuple[str, ...], flags: re.RegexFlag = re.NOFLAG) -> Callable[[str], bool]:
    if not patterns:
        return lambda _: False
    found = re.compile("|".join(f"(?:{fnmatch.translate(pattern)})" for pattern in patterns), flags)
    return lambda name: found.match(name) is not None


def _repository(folder: str) -> tuple[str, Path]:
    """The root of the work tree around a folder, and its git folder."""
    for root in (Path(folder), *Path(folder).parents):
        place = root / ".git"
        if place.is_dir():
            return str(root), place
        if place.is_file():
            with place.open(encoding="utf-8", errors="replace") as opened:
                pointer = opened.read(4096).strip()
            return str(root), root / pointer.removeprefix("gitdir: ")
    raise ValueError("there is no repository")


def _index_names(git: Path) -> Iterator[tuple[str, bool]]:
    """The names in git's index, and whether each is a link (gitformat-index(5), versions 2 to 4)."""
    place = git / "index"
    if not place.exists():
        return
    if place.stat().st_size > _LARGEST_INDEX:
        raise _Stop("git tracks more files than are looked at")
    with place.open("rb") as opened:
        data = opened.read(_LARGEST_INDEX)
    for name, kind in index_entries(data):
        yield name, kind == 0o120000


def index_entries(data: bytes) -> Iterator[tuple[str, int]]:
    """The names in an index, and the kind of each as the upper bits of a mode.

    Raises ValueError, IndexError and struct.error for what is none.
    """
    signature, version, count = struct.unpack(">4sII", data[:12])
    if signature != b"DIRC" or version not in {2, 3, 4}:
        raise ValueError("git's index is of an unknown kind")
    at, name = 12, b""
    for _ in range(count):
        flags = struct.unpack(">H", data[at + 60 : at + 62])[0]
        kind = struct.unpack(">I", data[at + 24 : at + 28])[0] & 0o170000
        start = at + (64 if version > 2 and flags & 0x4000 else 62)
        if version == 4:
            drop, start = _varint(data, start)
            end = data.index(b"\0", start)
            name = name[: len(name) - drop] + data[start:end]
            at = end + 1
        else:
            end = data.index(b"\0", start)
            name = data[start:end]
            at += (end - at + 8) // 8 * 8
        yield os.fsdecode(name), kind


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number as git's packs write offsets, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


def to_request(looked: Looked) -> list[Any]:
    """As the child gets it."""
    return [list(looked.below), list(looked.kept)]


def from_request(request: list[Any]) -> Looked:
    """What `to_request` made, out of JSON."""
    folder, only, but, but_folders, hidden, links, tracked, odd_names = request[0]
    workspace, secrets, patterns, folders = request[1]
    below = Below(folder, tuple(only), tuple(but), tuple(but_folders), hidden, links, tracked, odd_names)
    return Looked(
        below,
        Kept(workspace, secrets, tuple((base, text, firm) for base, text, firm in patterns), tuple(folders)),
    )
