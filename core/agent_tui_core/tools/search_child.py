"""Owns the walk and the matching of Glob and Grep, as a program of its own that its parent can kill.

It imports three small modules of the package, follows no link and prints within bounds.
A model's regular expression and a foreign .gitignore can match for ever; only the end of a process ends that.
"""

from __future__ import annotations

import io
import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from agent_tui_core.gitignore import GitignorePattern

sys.path.append(os.path.realpath(f"{__file__}/../../.."))  # this file is started by its name

from agent_tui_core.gitignore import without_surrogates
from agent_tui_core.tools.globs import glob_regex
from agent_tui_core.tools.names_below import first_forbidden, forbidder, from_request

NEVER = frozenset({".git", ".hg", ".svn"})
SECRETS = re.compile(r"(.*/)?(\.env[^/]*|\.netrc|\.npmrc|\.pypirc|\.ssh/.*|\.aws/.*)", re.IGNORECASE)
"""Grep leaves these out unless `path` names them: a search of everything is no question about them."""
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MAX_DEPTH = 100
MAX_SEARCHED_BYTES = 5 * 2**20
MAX_NAMED_BYTES = 64 * 2**20
MAX_MATCHES = 1_000
MAX_FILES = 1_000
LINE_WIDTH = 300
MEMORY = 2 * 2**30


class Found(NamedTuple):
    """A file of the walk."""

    relative: str
    """Its path below the root, with slashes."""
    name: str
    folder: int
    """A descriptor of the folder it is in, open until the walk goes on."""


class Stopped(Exception):
    """The output is full or the time is over; says so in words."""


class Ignored:
    """What the .gitignore files between the workspace and a path say about that path."""

    def __init__(self, workspace: str, root: str) -> None:
        self._specs: dict[str, list[GitIgnoreSpec]] = {}
        if root != workspace and not root.startswith(workspace.rstrip("/") + "/"):
            return
        at = workspace
        self._load(joined(workspace, ".git/info/exclude"), below=workspace)
        for part in os.path.relpath(root, workspace).split("/"):
            if at != root:
                self._load(joined(at, ".gitignore"), below=at)
                at = joined(at, part)
        if self.hides(root, folder=True):
            self._specs.clear()  # who names an ignored folder wants to look into it

    def enter(self, folder: str, names: list[str]) -> None:
        """Read the rules of a folder that the walk comes to."""
        if ".gitignore" in names:
            self._load(joined(folder, ".gitignore"), below=folder)

    def hides(self, path: str, *, folder: bool) -> bool:
        """Whether the deepest rules that say anything about `path` say that it is ignored."""
        at = path
        while self._specs and len(at) > 1:
            at = at.rpartition("/")[0] or "/"
            for spec in reversed(self._specs.get(at, [])):
                relative = without_surrogates(os.path.relpath(path, at))
                verdict = spec.check_file(relative + ("/" if folder else "")).include
                if verdict is not None:
                    return verdict
        return False

    def _load(self, file: str, *, below: str) -> None:
        with suppress(OSError, ValueError):
            descriptor = os.open(file, READ)
            from pathspec import GitIgnoreSpec

            with os.fdopen(descriptor, errors="replace") as opened:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return
                spec = GitIgnoreSpec.from_lines(opened.read(256 * 1024).split("\n"))
            self._specs.setdefault(below, []).append(spec)


class Denied:
    """What rules keep from a search; what asks about the place that the call names was answered with it."""

    def __init__(self, patterns: list[tuple[str, str, bool]], named: str) -> None:
        self.met = 0
        self._specs: list[tuple[str, GitignorePattern]] = []
        for base, pattern, firm in patterns:
            from agent_tui_core.gitignore import GitignorePattern

            spec = GitignorePattern(pattern)
            if firm or not spec.matches(counted_from(base, named)):
                self._specs.append((base, spec))

    def hides(self, path: str) -> bool:
        """Whether a rule keeps this file from being shown; counts those."""
        hidden = any(spec.matches(counted_from(base, path)) for base, spec in self._specs)
        self.met += hidden
        return hidden

    def tell(self, out: Output) -> None:
        """Say how many there were."""
        if self.met:
            out.note(f"{self.met} files were left out: rules of the user keep them from being read")


def counted_from(base: str, path: str) -> str:
    """Return a path as the pattern of a rule is held against it."""
    inside = path == base or path.startswith(base.rstrip("/") + "/")
    return os.path.relpath(path, base) if inside else path.lstrip("/")


def joined(folder: str, name: str) -> str:
    """Return the path of `name` in `folder`."""
    return f"{folder.rstrip('/')}/{name}"


def walk(root: str, workspace: str, until: float) -> Iterator[Found]:
    """Yield the files below `root` that no rule hides, folder by folder, by name."""
    ignored = Ignored(workspace, root)
    for folder, folders, names, descriptor in os.fwalk(root):
        if time.monotonic() > until:
            raise Stopped("time is over; name a smaller folder in `path`")
        ignored.enter(folder, names)
        deep = folder.count("/") - root.count("/") >= MAX_DEPTH
        folders[:] = sorted(
            name
            for name in folders
            if not deep and name not in NEVER and not ignored.hides(joined(folder, name), folder=True)
        )
        for name in sorted(names):
            path = joined(folder, name)
            if not ignored.hides(path, folder=False):
                yield Found(os.path.relpath(path, root), name, descriptor)


class Output:
    """What is printed, up to its limit."""

    def __init__(self, limit: int) -> None:
        self.room = limit

    def line(self, text: str) -> None:
        """Print a line; raises `Stopped` when there is no room for it."""
        self.room -= len(text) + 1
        if self.room < 0:
            raise Stopped("there is more than can be shown; ask for less")
        print(text)  # noqa: T201

    def note(self, text: str) -> None:
        """Print a remark that always fits."""
        print(f"[{text}]")  # noqa: T201


def glob(request: dict[str, Any], out: Output, until: float) -> None:
    """Print the files that match, newest first."""
    matches = glob_regex(request["pattern"], anywhere=False)
    found: list[tuple[int, str]] = []
    note = ""
    denied = Denied(request["denied"], request["root"])
    try:
        for file in walk(request["root"], request["workspace"], until):
            if matches.fullmatch(file.relative) and not denied.hides(joined(request["root"], file.relative)):
                with suppress(OSError):
                    state = os.stat(file.name, dir_fd=file.folder, follow_symlinks=False)
                    if stat.S_ISREG(state.st_mode):
                        found.append((-state.st_mtime_ns, file.relative))
    except Stopped as stopped:
        note = str(stopped)
    found.sort()
    for _age, relative in found[:MAX_FILES]:
        out.line(printable(request["prefix"] + relative))
    if len(found) > MAX_FILES:
        note = f"the newest {MAX_FILES:,} of {len(found):,} files are shown; ask for less"
    denied.tell(out)
    if note or not found:
        out.note(note or "no file matches; files that .gitignore names are left out")


def grep(request: dict[str, Any], out: Output, until: float) -> None:
    """Print the lines that match, file by file."""
    wanted = re.compile(request["pattern"], re.IGNORECASE if request["ignore_case"] else 0)
    files = large = matches = secrets = 0
    denied = Denied(request["denied"], joined(request["root"], request["only"]).rstrip("/"))
    for file in chosen(request, denied, until):
        if not request["only"] and SECRETS.fullmatch(file.relative):
            secrets += 1
            continue
        content = content_of(file, MAX_NAMED_BYTES if request["only"] else MAX_SEARCHED_BYTES)
        large += content is None
        if not content or b"\0" in content[:8192]:
            continue
        files += 1
        lines = content.decode(errors="replace").split("\n")
        if not lines[-1]:
            lines.pop()
        hits = [index for index, line in enumerate(lines) if wanted.search(line)]
        if hits:
            show(out, printable(request["prefix"] + file.relative), lines, hits, request["context"], wanted)
            sys.stdout.flush()
        matches += len(hits)
        if matches >= MAX_MATCHES:
            raise Stopped(f"stopped after {matches:,} matching lines; ask for less")
        if time.monotonic() > until:
            raise Stopped("time is over; name a smaller folder in `path`")
    denied.tell(out)
    if secrets:
        out.note(
            f"{secrets} files that may hold secrets (.env and the like) were left out; `path` can name one"
        )
    if large:
        out.note(f"{large} files were left out: they are too large or cannot be read")
    if not matches:
        out.note(f"no line matches, in {files:,} files; files that .gitignore names are left out")


def chosen(request: dict[str, Any], denied: Denied, until: float) -> Iterator[Found]:
    """Yield the one file that was named, or walk; only what has such a name, and nothing that is denied."""
    named = glob_regex(request["glob"], anywhere=True) if request["glob"] else None
    for file in [only(request)] if request["only"] else walk(request["root"], request["workspace"], until):
        if (not named or named.fullmatch(file.relative)) and not denied.hides(
            joined(request["root"], file.relative)
        ):
            yield file


def only(request: dict[str, Any]) -> Found:
    """Return the file that the call names."""
    descriptor = os.open(request["root"], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return Found(request["only"], request["only"], descriptor)


def content_of(file: Found, limit: int) -> bytes | None:
    """Return a file's bytes; None when they are too many or cannot be read, empty for what is no file."""
    try:
        state = os.stat(file.name, dir_fd=file.folder, follow_symlinks=False)
        if not stat.S_ISREG(state.st_mode):
            return b""
        with os.fdopen(os.open(file.name, READ, dir_fd=file.folder), "rb") as opened:
            content = opened.read(limit + 1)
    except OSError:
        return None
    return content if len(content) <= limit else None


def show(
    out: Output, name: str, lines: list[str], hits: list[int], context: int, wanted: re.Pattern[str]
) -> None:
    """Print the hits of one file as `name:number:line`, and the lines around them as `name-number-line`."""
    matching = set(hits)
    last = -1
    for hit in hits:
        start = max(last + 1, hit - context)
        if context and last >= 0 and start > last + 1:
            out.line("--")
        for index in range(start, min(len(lines), hit + context + 1)):
            sign = ":" if index in matching else "-"
            out.line(f"{name}{sign}{index + 1}{sign}{fitted(lines[index], wanted)}")
            last = index


def fitted(line: str, wanted: re.Pattern[str]) -> str:
    """Return a line no wider than shown, with its first match in it."""
    line = line.removesuffix("\r")
    if len(line) <= LINE_WIDTH:
        return line
    found = wanted.search(line)
    start = max(0, found.start() - LINE_WIDTH // 3) if found else 0
    end = start + LINE_WIDTH
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def printable(name: str) -> str:
    """Return a file name that takes exactly one line."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)


def below(request: dict[str, Any]) -> None:
    """Print, as a list, why each of these reads has to be asked about; the time is for all of them."""
    until = time.monotonic() + request["seconds"]
    found = []
    for each in request["reads"]:
        looked = from_request(each)
        left = max(0.0, until - time.monotonic())
        found.append(first_forbidden(looked.below, forbidder(looked.kept), seconds=left))
    print(json.dumps(found))  # noqa: T201


def limit_resources(seconds: float) -> None:
    """Let the kernel end this program should its parent be gone."""
    import resource

    cpu = int(seconds) + 10
    for kind, bound in ((resource.RLIMIT_CPU, cpu), (resource.RLIMIT_AS, MEMORY)):
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (bound, bound))


def main() -> int:
    """Do what the one argument, a JSON object, asks for; without it, what stdin says."""
    request: dict[str, Any] = json.loads(sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read())
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    limit_resources(request["seconds"])
    until = time.monotonic() + request["seconds"]
    if request["kind"] == "below":
        below(request)
        return 0
    out = Output(request["limit"])
    try:
        (glob if request["kind"] == "glob" else grep)(request, out, until)
    except Stopped as stopped:
        out.note(str(stopped))
    except (re.error, OverflowError, RecursionError) as error:
        out.note(f"the pattern is not a Python regular expression: {error}")
        return 2
    except MemoryError:
        out.note("the pattern or a file needs too much memory")
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
