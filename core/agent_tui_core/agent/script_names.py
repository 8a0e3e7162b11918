"""Owns which files a command line would run or read as a script, as far as its words say; reads no file.

It errs by naming too many: a name too much costs a question where that file changed meanwhile, one too few
runs what nobody saw. What programs read is in `shell_data/scripts.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from itertools import islice
from typing import Final, Literal, TypeAlias

import msgspec

from agent_tui_core.agent.readonly_options import read_data
from agent_tui_core.agent.shell_parse import parse
from agent_tui_core.agent.shell_rules import candidates
from agent_tui_core.agent.shell_words import Unreadable
from agent_tui_core.records import dataclass

Likelihood: TypeAlias = Literal["certain", "executable", "file"]
"""It counts in any case; or only where it is an executable file, or any file, of the workspace."""

LONGEST: Final = 20_000
"""Characters of a line that are looked at."""
_MOST_WORDS: Final = 2_000
_MOST_NAMES: Final = 300
_MOST_FOLDERS: Final = 8
_VERSION: Final = re.compile(r"[\d.]+\Z")
_BREAKS: Final = re.compile(r"[\s;&|<>(){}`\"'=,:]+")
_FOLDER: Final = re.compile(r"\A(?:\$\{?\w+\}?|\$)/")
_MODULE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z")
_MOVES: Final = frozenset({"cd", "pushd"})
_MOVING_OPTIONS: Final = frozenset({"-C", "--directory", "--prefix", "--cwd", "--dir", "--project"})
_PACKAGE_RUNNERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_INLINE: Final = frozenset({"-c", "-e", "-p", "-E", "--eval", "--print", "--command", "-r"})
"""Options that bring the program along. In php `-r` is one; where it takes a file the table says so."""

_FROM_INPUT: Final = frozenset({"-", "-s"})


class _File(msgspec.Struct, forbid_unknown_fields=True):
    interpreters: str
    from_input: str
    subcommands: str
    take_many: str
    takes: dict[str, str]
    options: dict[str, str]
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Table:
    interpreters: frozenset[str]
    from_input: frozenset[str]
    subcommands: frozenset[str]
    take_many: frozenset[str]
    takes: Mapping[str, frozenset[str]]
    options: Mapping[str, frozenset[str]]
    files: Mapping[str, tuple[str, ...]]


@dataclass(slots=True)
class ScriptNames:
    """What a line names, bounded."""

    names: dict[str, Likelihood] = field(default_factory=dict)
    folders: dict[str, None] = field(default_factory=lambda: {"": None})
    """Where its programs may start, from the workspace; the workspace itself comes first."""
    package_scripts: dict[str, None] = field(default_factory=dict)
    """Those of a package.json that it runs."""

    def add(self, name: str, likelihood: Likelihood) -> None:
        """Take a name as it stands in the line."""
        plain = _FOLDER.sub("", name)
        if not plain or "\0" in plain or "$" in plain or "`" in plain or len(self.names) >= _MOST_NAMES:
            return
        if self.names.get(plain) != "certain":
            self.names[plain] = likelihood

    def move(self, folder: str) -> None:
        """A program may start there."""
        plain = _FOLDER.sub("", folder)
        if plain and "$" not in plain and "\0" not in plain:
            for start in list(self.folders):
                if len(self.folders) < _MOST_FOLDERS:
                    self.folders[f"{start}/{plain}" if start and not plain.startswith("/") else plain] = None


def script_names(line: str) -> ScriptNames:
    """What this line would run or read as a script."""
    found = ScriptNames()
    _collect(line[:LONGEST], found, depth=0)
    return found


@cache
def _table() -> _Table:
    data = msgspec.convert(read_data("scripts"), _File)

    def sets(said: Mapping[str, str]) -> dict[str, frozenset[str]]:
        return {name: frozenset(words.split()) for name, words in said.items()}

    return _Table(
        frozenset(data.interpreters.split()),
        frozenset(data.from_input.split()),
        frozenset(data.subcommands.split()),
        frozenset(data.take_many.split()),
        sets(data.takes),
        sets(data.options),
        {name: tuple(words.split()) for name, words in data.files.items()},
    )


def _collect(line: str, found: ScriptNames, depth: int) -> None:
    for words in _commands(line):
        if words[0] in _MOVES:
            found.move(next((word for word in words[1:] if not word.startswith("-")), ""))
        for at, word in enumerate(words):
            if word in _MOVING_OPTIONS and at + 1 < len(words):
                found.move(words[at + 1])
            if at == 0 or "/" in word:
                found.add(word, "certain" if at == 0 else "executable")
            _of_program(_program(word), words[at + 1 :], line, found, depth)


def _commands(line: str) -> Iterator[list[str]]:
    """Everything in a line that might be a command: as its parts where it can be read, and taken widely."""
    read = parse(line)
    left = _MOST_WORDS
    if not isinstance(read, Unreadable):
        for part in read:
            words = [word.text for word in part.words]
            yield from (words[:left], list(part.argv)[:left])
            left -= len(words)
    for text in candidates(line):
        words = text.split()[: max(left, 0)]
        left -= len(words)
        if words:
            yield words


def _program(word: str) -> str:
    """The name by which the table knows it: python3.12 is a python, and sqlite3 is sqlite3."""
    name = word.rpartition("/")[2]
    table = _table()
    known = name in table.files or name in table.from_input
    return name if known else _VERSION.sub("", name) or name


def _of_program(program: str, rest: Sequence[str], line: str, found: ScriptNames, depth: int) -> None:
    table = _table()
    for name in table.files.get(program, ()):
        found.add(name, "certain")
    if options := table.options.get(program):
        for name in _behind(options, rest):
            found.add(name, "certain")
    if program in _PACKAGE_RUNNERS:
        found.package_scripts |= dict.fromkeys(_package_scripts(rest))
    if program in table.take_many:
        for word in islice(rest, _MOST_NAMES):
            found.add(word.partition("::")[0], "file")
    if program in table.from_input:
        _named_in(line, found)
    elif program in table.interpreters:
        _of_interpreter(program, rest, line, found, depth)


def _behind(options: frozenset[str], words: Sequence[str]) -> Iterator[str]:
    """The values of these options: the next word, or attached."""
    for at, word in enumerate(words):
        if word in options:
            yield from words[at + 1 : at + 2]
            continue
        for option in options:
            if option.startswith("--") and word.startswith(f"{option}="):
                yield word.partition("=")[2]
            elif not option.startswith("--") and len(option) == 2 and word.startswith(option):
                yield word[2:].removeprefix("=")


def _package_scripts(words: Sequence[str]) -> Iterator[str]:
    """`npm run build` runs build, and what is named to go before and after it; so does `npm test`."""
    plain = [word for word in words if not word.startswith("-")]
    for name in islice((word for word in plain if word not in {"run", "run-script"}), 2):
        yield from (name, f"pre{name}", f"post{name}")


def _of_interpreter(program: str, rest: Sequence[str], line: str, found: ScriptNames, depth: int) -> None:
    """Its script is the first word that is no option; without one it reads what it is given."""
    table = _table()
    takes = table.takes.get(program, frozenset())
    words = iter(rest)
    for word in words:
        if word == "-m" and program in {"python", "pypy"}:
            _module(next(words, ""), found)
            return
        if word in takes:
            found.add(next(words, ""), "file")
        elif word in _INLINE or (word.startswith("-") and not word.startswith("--") and word.endswith("c")):
            code = next(words, "")
            _named_in(code, found)
            if depth < 2:
                _collect(code, found, depth + 1)
            return
        elif word in _FROM_INPUT or "$" in _FOLDER.sub("", word) or "`" in word:
            break
        elif word.startswith(("-", "+")):
            found.add(word.partition("=")[2], "file")
        elif word not in table.subcommands:
            found.add(word, "certain")
            return
    _named_in(line, found)  # what it runs comes from elsewhere: a pipe, a redirection, a variable


def _module(name: str, found: ScriptNames) -> None:
    if _MODULE.match(name):
        path = name.replace(".", "/")
        for file in (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py"):
            found.add(file, "certain")


def _named_in(text: str, found: ScriptNames) -> None:
    for word in islice(_BREAKS.split(text), _MOST_WORDS):
        found.add(word, "file")
