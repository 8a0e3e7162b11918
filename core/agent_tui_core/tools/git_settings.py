"""Owns what a repository's own settings would have git run while it only reads: a bounded look at them.

`.git/config` of a folder that was unpacked names an external diff, a filter, another folder's files, and the
first `git status` obeys. So git reads without a question only where none of that stands there. The look reads
`config`, follows no link, and finds a reason wherever git might read more than it understands.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from agent_tui_core.tools.names_below import index_entries

_LARGEST_CONFIG: Final = 2**18
_LARGEST_INDEX: Final = 32 * 2**20
_MOST_REPOSITORIES: Final = 20
_GITLINK: Final = b"\x00\x00\xe0\x00"
"""The mode of an entry of git's index that is another repository, 160000."""
_REPOSITORY: Final = 0o160000
_SECTION: Final = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*')
_SETTING: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?\Z")
_RUNS: Final = re.compile(
    r"diff\.external|diff\..+\.(?:command|textconv)|filter\..+\.(?:clean|smudge|process)"
    r"|gpg(?:\..+)?\.(?:program|defaultkeycommand)|core\.alternaterefscommand"
)
_READS_MORE: Final = re.compile(
    r"include(?:if\..+)?\.path|core\.worktree|core\.(?:attributes|excludes)file|blame\.ignorerevsfile"
    r"|diff\.orderfile|mailmap\.file"
)
_FETCHES: Final = re.compile(r"extensions\.partialclone|remote\..+\.(?:promisor|partialclonefilter)")
_LFS: Final = frozenset(
    {"git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs smudge --skip -- %f", "git-lfs filter-process"}
    | {"git-lfs filter-process --skip"}
)
"""What `git lfs install --local` writes."""
_HOOK: Final = "post-index-change"
"""The one hook that commands run which only look."""


class _Doubt(Exception):
    """Why git may not read here unasked."""


def git_doubt(root: Path) -> str:
    """Say why git would do more than read in the repository of this folder; empty when nothing says so."""
    try:
        left = [root]
        for number, work_tree in enumerate(left):
            if number == _MOST_REPOSITORIES:
                raise _Doubt("there are more repositories in this one than are looked at")
            left += _look_at(work_tree)
    except _Doubt as doubt:
        return str(doubt)
    except (OSError, ValueError) as error:
        return f"what its repository would have git run cannot be looked at: {error}"
    return ""


def settings_in(text: str) -> Iterator[tuple[str, str]]:
    """The names, in small letters but for what is quoted, and values in a file of git's settings.

    Raises ValueError for what git may read in another way.
    """
    section = ""
    for line in text.removeprefix("\ufeff").split("\n"):
        rest = line.removesuffix("\r").strip(" \t")
        if rest.endswith("\\") or "\r" in rest or "\0" in rest:
            raise ValueError("a line of .git/config goes on in the next, or holds controls")
        while found := _SECTION.match(rest):
            below = "" if found[2] is None else "." + re.sub(r"\\(.)", r"\1", found[2])
            section = found[1].lower() + below
            rest = rest[found.end() :]
        if not rest or rest[0] in "#;":
            continue
        found = _SETTING.match(rest)
        if found is None or not section:
            raise ValueError(f"a line of .git/config cannot be read: {rest[:60]!r}")
        yield f"{section}.{found[1].lower()}", (found[2] or "").strip()


# --- one repository -----------------------------------------------------------------------------------------


def _look_at(work_tree: Path) -> list[Path]:
    """Raise `_Doubt` where its settings say more than where things are; return the repositories in it."""
    git, common = _git_folders(work_tree)
    hooks = common / "hooks"
    for file in dict.fromkeys((common / "config", common / "config.worktree", git / "config.worktree")):
        for name, value in settings_in(_text(file)):
            if why := _why(name, value, work_tree, git):
                raise _Doubt(f"{why}, says {_shown(file, work_tree)} ({name})")
            if name == "core.hookspath":
                hooks = work_tree / Path(value.strip('"')).expanduser()
    if os.path.lexists(hooks / _HOOK) or os.path.lexists(common / "hooks" / _HOOK):
        raise _Doubt(f"git would run the hook {_HOOK}")
    return [work_tree / name for name in gitlinks(git) if os.path.lexists(work_tree / name / ".git")]


def _git_folders(work_tree: Path) -> tuple[Path, Path]:
    """The folder of a work tree's own state, and the one that it shares with others."""
    dot = work_tree / ".git"
    mode = dot.lstat().st_mode
    if stat.S_ISDIR(mode):
        if os.path.lexists(dot / "commondir"):
            raise _Doubt("its .git has git read another repository's settings (commondir)")
        return dot, dot
    if not stat.S_ISREG(mode):
        raise _Doubt("its .git is a link: git would read what it leads to")
    git = work_tree / _pointer(dot).removeprefix("gitdir:").strip()
    common = git / _pointer(git / "commondir") if os.path.lexists(git / "commondir") else git
    return git, common


def _why(name: str, value: str, work_tree: Path, git: Path) -> str:
    """What a setting makes git do; empty when it is nothing to ask about."""
    if _RUNS.fullmatch(name):
        return "" if value in _LFS else "git would run a program while it reads"
    if _FETCHES.fullmatch(name):
        return "git would fetch what is missing while it reads"
    if name == "core.worktree" and os.path.realpath(git / value) == os.path.realpath(work_tree):
        return ""
    if _READS_MORE.fullmatch(name):
        return "git would read files that nobody named"
    if name == "protocol.allow" or (name.startswith("protocol.") and "ext" in name):
        return "git would run programs in the place of a connection"
    return ""


def gitlinks(git: Path) -> list[str]:
    """The names of other repositories in git's index. Nearly always there is none, and no name is read.

    Raises OSError and ValueError.
    """
    for file in (git / "index", *git.glob("sharedindex.*")):
        with suppress(FileNotFoundError), _opened(file) as stream:
            data = stream.read(_LARGEST_INDEX + 1)
            if len(data) > _LARGEST_INDEX:
                raise ValueError("git tracks more files than are looked at")
            if _GITLINK in data:
                try:
                    return [name for name, kind in index_entries(data) if kind == _REPOSITORY]
                except (IndexError, struct.error) as error:
                    raise ValueError("git's index cannot be read") from error
    return []


def read_plain(file: Path) -> str:
    """The text of a small file that is one, and no link to one. Raises OSError and ValueError."""
    with _opened(file) as stream:
        data = stream.read(_LARGEST_CONFIG + 1)
    if len(data) > _LARGEST_CONFIG:
        raise ValueError(f"{file.name} is larger than is looked at")
    return data.decode("utf-8", "surrogateescape")


def _text(file: Path) -> str:
    try:
        return read_plain(file)
    except FileNotFoundError:
        return ""


def _pointer(file: Path) -> str:
    with _opened(file) as stream:
        return stream.read(4096).decode().rstrip("\n")


def _opened(file: Path) -> BinaryIO:
    """Open a file that is one, and no link to one."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError(f"{file.name} is no file")
    return os.fdopen(descriptor, "rb")


def _shown(file: Path, work_tree: Path) -> str:
    return str(file.relative_to(work_tree)) if file.is_relative_to(work_tree) else str(file)
