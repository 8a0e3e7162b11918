"""Owns the verdict on a command line by its parts: which of them nothing allows yet, where the line has gone.

Refuses to know rules: it is told what allows a part, and what the rules on files say of a path.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import field, replace
from itertools import islice
from pathlib import Path
from typing import Final, Literal, TypeAlias

from agent_tui_core.agent.effects import Effects
from agent_tui_core.agent.judgement import Judgement
from agent_tui_core.agent.readonly import reading
from agent_tui_core.agent.readonly_programs import Reading
from agent_tui_core.agent.shell_dangers import danger
from agent_tui_core.agent.shell_effects import effects
from agent_tui_core.agent.shell_parse import Part
from agent_tui_core.agent.shell_rules import could_become_an_option, has_star
from agent_tui_core.agent.shell_words import Word
from agent_tui_core.records import dataclass
from agent_tui_core.tools.git_settings import git_doubt
from agent_tui_core.tools.names_below import Below
from agent_tui_core.tools.paths import inside

READS_ONLY: Final = "built in: reads only"
"""Stands where a rule would."""

_MOST_FOLDERS: Final = 8
_MOST_FILES: Final = 500
_TAKEN_APART: Final = re.compile(r"[\s*?\[\\]")
_DEVICES: Final = ("/dev/", "/proc/", "/sys/")

_TOO_MANY: Final = Path("/dev/too-many-files")
_AN_OPTION: Final = Path("/dev/an-option")
_TAKEN: Final = Path("/dev/taken-apart")
_STRANGE: Final = {
    str(_TOO_MANY): "that is too many files",
    str(_AN_OPTION): "a file's name begins with - and would be an option",
    str(_TAKEN): "a file's name would be taken apart",
}
"""Stand where a path would, for what is no path."""

FileTool: TypeAlias = Literal["Read", "Write"]
AllowsPart: TypeAlias = Callable[[Part, bool], str | None]
"""The rule that allows a part, which may be alone in its line."""
JudgesFile: TypeAlias = Callable[[FileTool, Path], Judgement]
LooksBelow: TypeAlias = Callable[[Below], str]
"""Says why a read of whole folders has to be asked about; empty when it meets nothing that is kept."""


@dataclass(frozen=True, slots=True)
class OpenPart:
    """Something in a line that nothing allows yet."""

    tool: Literal["Bash", "Read", "Write"]
    text: str
    """The words of the command, or the path."""
    part: str
    """The part of the line that it stands in."""
    judgement: Judgement


@dataclass(slots=True)
class LineJudge:
    """Judges the parts of one line, in order."""

    cwd: Path
    allows: AllowsPart
    judges_file: JudgesFile
    looks_below: LooksBelow
    builtin: bool
    """Whether what only reads is allowed without a rule."""
    rules: list[str] = field(default_factory=list)
    """What allowed the parts."""
    _folders: list[Path] = field(default_factory=list)

    def judge(self, parts: tuple[Part, ...]) -> tuple[OpenPart, ...]:
        """What in this line is open; empty when all of it is allowed."""
        self._folders = [self.cwd.resolve()]
        found: dict[tuple[str, str], OpenPart] = {}
        for part in parts:
            for each in (*self._command(part, alone=len(parts) == 1), *self._redirections(part)):
                found.setdefault((each.tool, each.text), each)
        return tuple(found.values())

    def _command(self, part: Part, *, alone: bool) -> Iterator[OpenPart]:
        words = " ".join(word.raw for word in part.command)

        def is_open(reason: str) -> OpenPart:
            return OpenPart("Bash", words, part.text, Judgement("ask", reason, part=part.text))

        program = part.argv[0]
        if len(self._folders) > 1 and (strange := self._means_something_else(program)):
            yield is_open(strange)
            return
        rule = self.allows(part, alone)
        if program in {"cd", "pushd", "popd"}:
            yield from self._cd(part, rule, is_open)
        elif rule is not None:
            self.rules.append(rule)
            if has_star(rule):
                yield from self._effects(part, is_open)
        else:
            read = reading(part) if self.builtin else None
            if read is None:
                found = danger(part.argv)
                more = f": {found.reason}" if found else ""
                yield is_open(f"no rule allows {program}{more}")
            elif program == "git" and not all(
                _is_in_repository(folder, self.cwd) for folder in self._folders
            ):
                yield is_open("git reads without a question only in a workspace that has its own .git")
            elif program == "git" and (strange := git_doubt(self.cwd.resolve())):
                yield is_open(strange)
            else:
                self.rules.append(READS_ONLY)
                yield from self._files_read(part, self._with_folders(part, read))

    def _effects(self, part: Part, is_open: Callable[[str], OpenPart]) -> Iterator[OpenPart]:
        """What a rule with a star does not cover: names that nobody knows, protected ones, other folders."""
        found = effects(part)
        if found.unknown:
            yield is_open(f"{found.unknown}, and a rule with * covers only what is known")
            return
        for folder in self._folders:
            for name in found.remotes:
                if (folder / name).exists():
                    yield is_open(f"git would obey the repository at {name}: its hooks run")
            for name in found.files:
                if not is_regular(folder / name):
                    yield is_open(
                        f"nobody knows which files {name} brings, and a rule with * covers only known ones"
                    )
            written = (
                *(path for name in (*found.files, *found.writes) for path in self._named(part, name, folder)),
                *self._copies(part, found, folder),
            )
            read = (path for name in found.reads for path in self._named(part, name, folder))
            tools: tuple[tuple[FileTool, Iterable[Path]], ...] = (("Write", written), ("Read", read))
            for tool, paths in tools:
                for path in paths:
                    if why := self._forbids(tool, path):
                        yield is_open(why)

    def _named(self, part: Part, name: str, folder: Path) -> Iterator[Path]:
        word = next((each for each in part.command if each.text == name), None)
        return self._paths(word, name, folder)

    def _copies(self, part: Part, found: Effects, folder: Path) -> Iterator[Path]:
        """The files that come into being where these names are copied to."""
        if found.into is None:
            return
        for target in self._named(part, found.into, folder):
            yield target
            if target.is_dir():
                for name in found.sources:
                    for path in self._named(part, name, folder):
                        yield target / os.path.normpath(path).rpartition("/")[2]

    def _forbids(self, tool: FileTool, path: Path) -> str:
        """Why a rule with a star for a command does not cover this file."""
        if str(path) in {"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"}:
            return ""
        judgement = self.judges_file(tool, path)
        if judgement.behavior == "allow":
            return ""
        if judgement.behavior == "deny" or judgement.rule is not None:
            return judgement.reason
        if inside(path.resolve(), self.cwd):
            return ""
        return f"{path} is outside the workspace, and a rule with * covers only what is in it"

    def _with_folders(self, part: Part, read: Reading) -> Reading:
        """What it reads; without being told, `diff` reads all of a folder."""
        if part.argv[0] != "diff" or read.below:
            return read
        if not any(path.is_dir() for name in read.files for path in self._places(part, name)):
            return read
        return replace(read, below=tuple(Below(name, links=True) for name in read.files))

    def _files_read(self, part: Part, read: Reading) -> Iterator[OpenPart]:
        """Hold each file against the rules; the same letters, quoted and not, may be two of them."""
        for value in read.values:
            for folder in self._folders:
                if is_regular(folder / value):
                    yield from self._file("Read", None, value, part)
        for below in read.below:
            for place in islice(self._places(part, below.folder), _MOST_FILES):
                if why := self.looks_below(below._replace(folder=str(place))):
                    judgement = Judgement("ask", why, part=part.text)
                    yield OpenPart("Bash", " ".join(word.raw for word in part.command), part.text, judgement)
        files = read.files
        names = dict.fromkeys(files if len(self._folders) == 1 else (".", *files))
        if len(names) * len(self._folders) > _MOST_FILES:
            yield OpenPart(
                "Bash", part.text, part.text, Judgement("ask", "it names too many files", part=part.text)
            )
            return
        for name in names:
            words: list[Word | None] = [word for word in part.command if word.text == name]
            for word in words or [None]:
                yield from self._file("Read", word, name, part)

    def _means_something_else(self, program: str) -> str | None:
        """After a `cd` a relative program is another file, and git may find another repository."""
        if "/" in program and not program.startswith("/"):
            return f"after cd, {program} is another file"
        if program == "git" and any(_looks_like_bare(folder, self.cwd) for folder in self._folders):
            return "git would obey the folder it was led to"
        return None

    def _cd(self, part: Part, rule: str | None, is_open: Callable[[str], OpenPart]) -> Iterator[OpenPart]:
        operands = part.command[1:]
        usable = len(operands) == 1 and not operands[0].stars and not operands[0].text.startswith("-")
        if part.argv[0] != "cd" or not usable or len(self._folders) >= _MOST_FOLDERS:
            yield is_open(f"nobody knows where {part.argv[0]} leads to here")
            return
        targets = [Path(os.path.normpath(folder / _place(operands[0]))) for folder in self._folders]
        if rule is None:
            if not self.builtin:
                yield is_open("no rule allows cd")
            for target in targets:
                judgement = self.judges_file("Read", target)
                if judgement.behavior != "allow":
                    yield is_open(f"it leads to {target}: {judgement.reason}")
        self.rules.append(rule or READS_ONLY)
        self._folders = list(dict.fromkeys([*self._folders, *targets]))

    def _redirections(self, part: Part) -> Iterator[OpenPart]:
        for word in part.writes:
            yield from self._file("Write", word, word.text, part)
        for word in part.reads:
            if word.text != "/dev/null":
                yield from self._file("Read", word, word.text, part)

    def _file(self, tool: FileTool, word: Word | None, name: str, part: Part) -> Iterator[OpenPart]:
        for folder in self._folders:
            for path in self._paths(word, name, folder):
                if strange := _STRANGE.get(str(path)):
                    judgement = Judgement("ask", strange)
                elif str(path).startswith(_DEVICES):
                    judgement = Judgement("ask", f"{path} is a device")
                else:
                    judgement = self.judges_file(tool, path)
                if judgement.behavior != "allow":
                    reason = f"it {'writes to' if tool == 'Write' else 'reads'} {name}: {judgement.reason}"
                    shown = Judgement(judgement.behavior, reason, judgement.rule, part=part.text)
                    yield OpenPart(tool, str(path), part.text, shown)
                elif judgement.rule and tool == "Write":
                    self.rules.append(judgement.rule)

    def _places(self, part: Part, name: str) -> Iterator[Path]:
        """Where a word of the command leads to."""
        words: list[Word | None] = [word for word in part.command if word.text == name]
        for word in words or [None]:
            for folder in self._folders:
                yield from self._paths(word, name, folder)

    def _paths(self, word: Word | None, name: str, folder: Path) -> Iterator[Path]:
        if word is None or not word.stars:
            yield folder / (_place(word) if word else name)
            return
        leads = could_become_an_option(word)
        literal = "".join(
            char if at in word.stars else glob.escape(char) for at, char in enumerate(_place(word))
        )
        matches = list(islice(glob.iglob(literal, root_dir=folder), _MOST_FILES + 1))  # noqa: PTH207 - as bash expands it
        if len(matches) > _MOST_FILES:
            yield _TOO_MANY
        for match in matches or [word.text]:
            if leads and match.startswith("-"):
                yield _AN_OPTION
            if word.split and matches and _TAKEN_APART.search(match):
                yield _TAKEN
            yield folder / match


def _place(word: Word) -> str:
    return str(Path.home()) + word.text[1:] if word.tilde else word.text


def _is_in_repository(folder: Path, cwd: Path) -> bool:
    """Whether git finds the workspace's own `.git` first. Our environment forbids it to take a bare one."""
    root = cwd.resolve()
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            return place == root
        if place == root:
            return False
    return False


def _looks_like_bare(folder: Path, cwd: Path) -> bool:
    """Whether git would take the folder, or one between it and the workspace, for a repository by itself."""
    root = cwd.resolve()
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            return False
        if (place / "HEAD").exists() and (place / "objects").exists():
            return True
        if place == root:
            return False
    return False


def is_regular(path: Path) -> bool:
    """Whether there is a file; what cannot be looked at is none."""
    with suppress(OSError, ValueError):
        return stat.S_ISREG(path.stat().st_mode)
    return False
