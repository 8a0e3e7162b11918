"""Owns what the files that a command would run hold now, and what of it changed; refuses to run one.

A person who allows `sh s.sh` allows what `s.sh` held when they were asked. So it is looked at before the
question and again right before the start. Looking is bounded in files, bytes and time, waits on no pipe, and
is done in a thread.
"""

from __future__ import annotations

import asyncio
import glob
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from agent_tui_core.agent.script_names import Likelihood, ScriptNames, script_names
from agent_tui_core.blocks import JsonObject
from agent_tui_core.text import safe_line

Scripts: TypeAlias = Mapping[str, str]
"""Path → what was found there: a hash of the content, or of what the system says of the file."""

LARGEST: Final = 10_000_000
"""Bytes of a file whose content is compared; of a larger one only what the system says of it is."""
_ALTOGETHER: Final = 50_000_000
_MOST_FILES: Final = 200
_MOST_ENTRIES: Final = 500
"""Of a folder, to expand a pattern."""
_SECONDS: Final = 3.0
_CHUNK: Final = 2**18
_UNSEEN: Final = ""
"""The path that stands for what could not be looked at in time."""
_SYSTEM: Final = ("/proc", "/sys", "/dev")
_SHOWN: Final = 3


async def look_at_scripts(tool: str, input: JsonObject, workspace: Path) -> Scripts:
    """What the files hold that this call would run or read as a script; nothing for calls that run none."""
    command = input.get("command")
    if tool != "Bash" or not isinstance(command, str):
        return {}
    try:
        async with asyncio.timeout(_SECONDS + 1):
            return await asyncio.to_thread(_look, command, workspace)
    except TimeoutError:
        return {_UNSEEN: "not looked at"}


def what_changed(before: Scripts, now: Scripts, workspace: Path) -> str | None:
    """In words for a person; None: nothing did."""
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if not names:
        return None
    if _UNSEEN in names:
        return "the files that it runs could not be looked at in time, so one may have changed"
    told = [_told(name, before, workspace) for name in names[:_SHOWN]]
    more = len(names) - _SHOWN
    words = ", ".join(told) + (f" and {more} more" if more > 0 else "")
    return f"{words} while the question was open: it would not run what was there when you were asked"


def _told(path: str, before: Scripts, workspace: Path) -> str:
    how = "changed" if path in before else "is new"
    with suppress(ValueError):
        path = str(Path(path).relative_to(workspace))
    return f"{safe_line(path)} {how}"


def _look(command: str, workspace: Path) -> dict[str, str]:
    return _Look(Path(os.path.realpath(workspace))).at(script_names(command))


class _Look:
    """One look; ends in `TimeoutError` when it takes too long."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._until = time.monotonic() + _SECONDS
        self._left = _ALTOGETHER
        self._seen: dict[str, str] = {}

    def at(self, names: ScriptNames) -> dict[str, str]:
        folders = [self._workspace / folder for folder in names.folders]
        self._all(names, folders)
        if names.package_scripts:
            self._all(self._behind_packages(names, folders), folders)
        return self._seen

    def _all(self, names: ScriptNames, folders: list[Path]) -> None:
        for name, likelihood in names.names.items():
            for folder in folders:
                for place in _places(folder, name):
                    if len(self._seen) < _MOST_FILES:
                        self._file(place, likelihood)

    def _file(self, place: Path, likelihood: Likelihood) -> None:
        if time.monotonic() > self._until:
            raise TimeoutError
        key = os.path.normpath(place)
        if key in self._seen or key.startswith(_SYSTEM):
            return
        with suppress(OSError, ValueError):
            inside = Path(os.path.realpath(place)).is_relative_to(self._workspace)
            said = place.stat()
            if stat.S_ISDIR(said.st_mode) or (not inside and likelihood != "certain"):
                return
            if likelihood == "executable" and not said.st_mode & 0o111:
                return
            self._seen[key] = self._content(place, said, inside=inside)

    def _content(self, place: Path, said: os.stat_result, *, inside: bool) -> str:
        if not stat.S_ISREG(said.st_mode):
            return "no regular file"
        if inside and said.st_size <= min(LARGEST, self._left):
            descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
            with os.fdopen(descriptor, "rb") as stream:
                if stat.S_ISREG(os.fstat(descriptor).st_mode) and (digest := self._digest(stream.read)):
                    return digest
        # A program cannot choose the time of the last change of a file's state.
        return f"{said.st_dev}:{said.st_ino}:{said.st_size}:{said.st_ctime_ns}"

    def _digest(self, read: Callable[[int], bytes]) -> str | None:
        found, size = hashlib.sha256(), 0
        while chunk := read(_CHUNK):
            size += len(chunk)
            self._left -= len(chunk)
            if size > LARGEST:
                return None  # it grew while it was read
            if time.monotonic() > self._until:
                raise TimeoutError
            found.update(chunk)
        return found.hexdigest()

    def _behind_packages(self, names: ScriptNames, folders: list[Path]) -> ScriptNames:
        """What the scripts of a package.json run, for those that the line names."""
        found = ScriptNames()
        for folder in folders:
            for name, line in _package_scripts(folder / "package.json"):
                if name in names.package_scripts:
                    for script, likelihood in script_names(line).names.items():
                        found.add(script, likelihood)
        return found


def _places(folder: Path, name: str) -> Iterator[Path]:
    """Where a name of a line leads; a pattern in its last part is expanded."""
    text = os.path.expanduser(name) if name.startswith("~") else name  # noqa: PTH111 - Path raises for ~nobody
    yield folder / text
    head, _, last = text.rpartition("/")
    if glob.has_magic(last) and not glob.has_magic(head):
        with suppress(OSError, ValueError):
            pattern = f"{glob.escape(head)}/{last}" if head else last
            matches = glob.iglob(pattern, root_dir=folder)  # noqa: PTH207 - as a shell expands it
            yield from (folder / match for match in islice(matches, _MOST_ENTRIES))


def _package_scripts(file: Path) -> Iterator[tuple[str, str]]:
    with suppress(OSError, ValueError, RecursionError):
        said = file.stat()
        if stat.S_ISREG(said.st_mode) and said.st_size <= 2**20:
            table = json.loads(file.read_bytes())
            scripts = table.get("scripts") if isinstance(table, dict) else None
            for name, line in (scripts if isinstance(scripts, dict) else {}).items():
                if isinstance(line, str):
                    yield name, line
