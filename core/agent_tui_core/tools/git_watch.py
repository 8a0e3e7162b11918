"""Owns a look at what a command left in `.git` for the person's next git to run, and sets such files aside.

A sandbox cannot keep all of it: git writes its own files beside `commondir`, and what is not there cannot be
a mount. Refuses to look at what git runs only when it is told to, and to follow links.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line
from agent_tui_core.tools.git_settings import gitlinks, read_plain, settings_in

_MOST: Final = 2_000
"""Names that are looked at in the folders of other repositories."""
_RUNS: Final = re.compile(
    r"diff\.external|diff\..+\.(?:command|textconv)|filter\..+\.(?:clean|smudge|process)|merge\..+\.driver"
    r"|gpg(?:\..+)?\.(?:program|defaultkeycommand)|(?:diff|merge)tool\..+\.cmd|trailer\..+\.(?:command|cmd)"
    r"|core\.(?:fsmonitor|hookspath|sshcommand|pager|editor|askpass|gitproxy|alternaterefscommand)"
    r"|sequence\.editor|pager\..+|credential\.(?:.+\.)?helper|alias\..+|include(?:if\..+)?\.path|protocol\..+"
    r"|remote\..+\.(?:uploadpack|receivepack|vcs)|submodule\..+\.update|interactive\.difffilter|guitool\..+"
    r"|uploadpack\.packobjectshook|url\..+|init\.templatedir|sendemail\..+|tar\..+\.command|browser\..+"
)
_TODO: Final = re.compile(r"^\s*(?:exec|x)\s+(.+)$", re.MULTILINE)
_ASIDE: Final = ".set-aside-by-agent-tui"
_KEPT_ALREADY: Final = ("config", "hooks")
"""In the workspace's own `.git` no sandboxed command writes these: who changed them was somebody else."""


@dataclass(frozen=True, slots=True)
class _Fact:
    """Something that makes a person's git run a program."""

    file: str
    """Below the workspace."""
    words: str
    digest: str = ""


class GitWatch:
    """What was there before a command."""

    def __init__(self, workspace: Path) -> None:
        """Look; reads files, so in a thread."""
        self._workspace = workspace
        self._had = os.path.lexists(workspace / ".git")
        self._before = frozenset(_facts(workspace))

    def news(self, *, boxed: bool) -> tuple[str, ...]:
        """What is new, in words for the person. What only a sandboxed command can have made is set aside."""
        found: dict[str, str] = {}
        for fact in _facts(self._workspace):
            if fact not in self._before:
                found.setdefault(fact.file, fact.words)
        return tuple(self._told(file, words, boxed=boxed) for file, words in found.items())

    def _told(self, file: str, words: str, *, boxed: bool) -> str:
        shown = safe_line(file)
        kept = self._had and Path(file).parts[:2] in {(".git", name) for name in _KEPT_ALREADY}
        moved = boxed and not kept and not file.endswith("todo") and _set_aside(self._workspace, file)
        rest = f" It was renamed to {shown}{_ASIDE}…" if moved else " Look at it before you run git here."
        return f"After this command {shown} {words}.{rest}"


def _facts(workspace: Path) -> Iterator[_Fact]:
    with suppress(OSError, ValueError):
        yield from _facts_of(workspace, "")


def _facts_of(workspace: Path, below: str, depth: int = 0) -> Iterator[_Fact]:
    """What a repository and those in it have git run."""
    dot = workspace / below / ".git"
    name = f"{below}.git"
    mode = dot.lstat().st_mode
    if not stat.S_ISDIR(mode):
        where = str(dot.readlink()) if stat.S_ISLNK(mode) else read_plain(dot)
        place = dot.parent / where.removeprefix("gitdir:").strip()
        if below and stat.S_ISREG(mode) and _is_known(workspace, place):
            return
        yield _Fact(name, f"says that git's files lie elsewhere: {safe_line(where)[:200]}", where)
        return
    yield from _facts_in(workspace, name)
    modules = 0
    for folder, folders, _ in os.walk(workspace / name / "modules"):
        modules += len(folders) + 1
        if modules > _MOST:
            yield _Fact(f"{name}/modules", "holds more than is looked at")
            break
        if "objects" in folders:
            yield from _facts_in(workspace, str(Path(folder).relative_to(workspace)))
            folders[:] = [each for each in folders if each == "modules"]
    if depth > 3:
        return
    for link in gitlinks(workspace / name)[:_MOST]:
        with suppress(OSError, ValueError):
            yield from _facts_of(workspace, f"{below}{link}/", depth + 1)


def _is_known(workspace: Path, git: Path) -> bool:
    """Whether git's files of a submodule or a work tree lie where they are looked at anyhow."""
    real, top = Path(os.path.realpath(git)), Path(os.path.realpath(workspace / ".git"))
    return real.parent == top / "worktrees" or real.is_relative_to(top / "modules")


def _facts_in(workspace: Path, git: str) -> Iterator[_Fact]:
    """What one folder of git's own says."""
    folder = workspace / git
    other = folder / "commondir"
    if os.path.lexists(other):
        yield _Fact(f"{git}/commondir", "has git obey another repository's settings", _digest(other))
    trees = (f"worktrees/{each}/config.worktree" for each in _names(folder / "worktrees"))
    for config in ("config", "config.worktree", *trees):
        yield from _settings(folder / config, f"{git}/{config}")
    for hook in _names(folder / "hooks"):
        if not hook.endswith(".sample") and _ASIDE not in hook:
            digest = _digest(folder / "hooks" / hook)
            yield _Fact(f"{git}/hooks/{hook}", "is a hook that git would run", digest)
    for todo in ("rebase-merge/git-rebase-todo", "sequencer/todo"):
        with suppress(OSError, ValueError):
            for line in _TODO.findall(read_plain(folder / todo)):
                yield _Fact(f"{git}/{todo}", f"would run: {safe_line(line)[:200]}", line)


def _settings(file: Path, shown: str) -> Iterator[_Fact]:
    if not os.path.lexists(file):
        return
    try:
        for name, value in settings_in(read_plain(file)):
            if _RUNS.fullmatch(name) and (not name.startswith("alias.") or value.strip('"').startswith("!")):
                yield _Fact(shown, f"has git run a program ({safe_line(name)})", f"{name}={value}")
    except (OSError, ValueError):
        yield _Fact(shown, "cannot be read, but git may", _digest(file))


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:_MOST]  # noqa: PTH208 - names are what is wanted
    except OSError:
        return []


def _digest(file: Path) -> str:
    try:
        return hashlib.sha256(read_plain(file).encode("utf-8", "surrogateescape")).hexdigest()
    except (OSError, ValueError):
        try:
            found = file.lstat()
        except OSError:
            return ""
        return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"


def _set_aside(workspace: Path, file: str) -> bool:
    """Rename a file, with no link followed on the way to it."""
    *folders, name = Path(file).parts
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        place = os.open(workspace, flags)
    except OSError:
        return False
    try:
        for each in folders:
            deeper = os.open(each, flags, dir_fd=place)
            os.close(place)
            place = deeper
        os.rename(name, f"{name}{_ASIDE}-{secrets.token_hex(3)}", src_dir_fd=place, dst_dir_fd=place)
    except OSError:
        return False
    finally:
        os.close(place)
    return True
