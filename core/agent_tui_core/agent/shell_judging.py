"""Owns the verdict on a command line by its parts: which of them nothing allows yet, where the line has gone.

Refuses to know rules: it is told what allows a part, and what the rules on files say of a path.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator
from dataclasses import field
from itertools import islice
from pathlib import Path
from typing import Final, Literal, TypeAlias

from agent_tui_core.agent.judgement import Judgement
from agent_tui_core.agent.readonly import files_read
from agent_tui_core.agent.shell_dangers import danger
from agent_tui_core.agent.shell_lexer import Word
from agent_tui_core.agent.shell_parse import Part
from agent_tui_core.records import dataclass

READS_ONLY: Final = "built in: reads only"
"""Stands where a rule would."""

_MOST_FOLDERS: Final = 8
_MOST_FILES: Final = 500
_DEVICES: Final = ("/dev/", "/proc/", "/sys/")

FileTool: TypeAlias = Literal["Read", "Write"]
AllowsPart: TypeAlias = Callable[[Part, bool], str | None]
"""The rule that allows a part, which may be alone in its line."""
JudgesFile: TypeAlias = Callable[[FileTool, Path], Judgement]


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
        else:
            files = files_read(part) if self.builtin else None
            if files is None:
                found = danger(part.argv)
                more = f": {found.reason}" if found else ""
                yield is_open(f"no rule allows {program}{more}")
            elif program == "git" and not all((folder / ".git").exists() for folder in self._folders):
                # A folder without .git can become a bare repository, whose files say what git runs, by
                # calls that were judged together with this one.
                yield is_open("git reads without a question only in a folder that has its own .git")
            elif program == "diff" and any((at / name).is_dir() for at in self._folders for name in files):
                yield is_open("diff would read whole folders")
            else:
                self.rules.append(READS_ONLY)
                yield from self._files_read(part, files)

    def _files_read(self, part: Part, files: tuple[str, ...]) -> Iterator[OpenPart]:
        """Hold each file against the rules; the same letters, quoted and not, may be two of them."""
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
                if str(path).startswith(_DEVICES):
                    judgement = Judgement("ask", f"{path} is a device")
                else:
                    judgement = self.judges_file(tool, path)
                if judgement.behavior != "allow":
                    reason = f"it {'writes to' if tool == 'Write' else 'reads'} {name}: {judgement.reason}"
                    shown = Judgement(judgement.behavior, reason, judgement.rule, part=part.text)
                    yield OpenPart(tool, str(path), part.text, shown)
                elif judgement.rule and tool == "Write":
                    self.rules.append(judgement.rule)

    def _paths(self, word: Word | None, name: str, folder: Path) -> Iterator[Path]:
        if word is None or not word.stars:
            yield folder / (_place(word) if word else name)
            return
        literal = "".join(
            char if at in word.stars else glob.escape(char) for at, char in enumerate(_place(word))
        )
        matches = list(islice(glob.iglob(literal, root_dir=folder), _MOST_FILES + 1))  # noqa: PTH207 - as bash expands it
        if len(matches) > _MOST_FILES:
            yield Path("/dev/too-many-files")
        yield from (folder / match for match in matches or [word.text])


def _place(word: Word) -> str:
    return str(Path.home()) + word.text[1:] if word.tilde else word.text


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
