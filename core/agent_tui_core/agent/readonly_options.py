"""Owns how the options of one read-only command are read, and which of its words name files.

Refuses everything that is not listed: a new option of a program is a question until somebody looked at it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from agent_tui_core.records import dataclass

MANY: Final = 1_000
"""More operands than anybody counts."""

Operands: TypeAlias = Literal["files", "pattern", "text", "none"]
"""What stands behind the options: files; a pattern and then files; anything; nothing."""

Bundles: TypeAlias = Literal["all", "last", "none"]
"""Which short options may share a word: as getopt reads them; one with a value only at the end; none."""


@dataclass(frozen=True, slots=True)
class Command:
    """The options that a command may have and still only read."""

    letters: frozenset[str]
    """Short options without a value."""
    valued: frozenset[str]
    """Short options with a value that is no file."""
    names: frozenset[str]
    """Long options; one that ends in `=` has a value that is no file."""
    words: re.Pattern[str] | None = None
    """Further words that may stand anywhere."""
    operands: Operands = "files"
    most: int = MANY
    """How many operands there may be."""
    pattern_options: frozenset[str] = frozenset()
    """With one of these the first operand is a file too."""
    attached: frozenset[str] = frozenset()
    """Short options whose value can only touch them."""
    file_options: frozenset[str] = frozenset()
    """Options whose value is a file."""
    bundles: Bundles = "all"
    listing: frozenset[str] = frozenset()
    """Only with one of these there may be operands."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the words of a read-only command say."""

    files: tuple[str, ...]
    """Operands and values that name files."""
    given: tuple[tuple[str, str], ...]
    """Each option with its value, which is empty where it has none."""

    def has(self, *names: str) -> bool:
        """Whether one of these was given."""
        return any(name in names for name, _ in self.given)

    def values(self, *names: str) -> tuple[str, ...]:
        """The values of these."""
        return tuple(value for name, value in self.given if name in names)


@dataclass(frozen=True, slots=True)
class FindTests:
    """The words of `find` that only look."""

    alone: frozenset[str]
    valued: frozenset[str]


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """All that is known to only read."""

    programs: Mapping[str, Command]
    git: Mapping[str, Command]
    """By subcommand, of one word or two."""
    find: FindTests
    versions: frozenset[str]
    """Programs whose `--version` looks at nothing in the folder."""
    any_names: frozenset[str]
    """Programs that no file name can make do more, whatever option it looks like."""


@cache
def read_only() -> ReadOnly:
    """What `shell_data/readonly.toml` lists."""
    data = msgspec.convert(read_data("readonly"), _File)
    return ReadOnly(
        _commands(data.programs),
        _commands(data.git),
        FindTests(frozenset(data.find.alone.split()), frozenset(data.find.valued.split())),
        frozenset(data.versions.programs.split()),
        frozenset(data.any_names.programs.split()),
    )


def read_data(name: str) -> object:
    """One of the tables beside this module."""
    return tomllib.loads((Path(__file__).parent / "shell_data" / f"{name}.toml").read_text(encoding="utf-8"))


class _Listed(msgspec.Struct, forbid_unknown_fields=True):
    letters: str = ""
    valued: str = ""
    names: str = ""
    words: str = ""
    operands: Operands = "files"
    most: int = MANY
    pattern_options: str = ""
    attached: str = ""
    file_options: str = ""
    listing: str = ""
    bundles: Bundles = "all"
    like: str = msgspec.field(default="", name="as")


class _Find(msgspec.Struct, forbid_unknown_fields=True):
    alone: str
    valued: str


class _Programs(msgspec.Struct, forbid_unknown_fields=True):
    programs: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    programs: dict[str, _Listed]
    git: dict[str, _Listed]
    find: _Find
    versions: _Programs
    any_names: _Programs


def _commands(table: dict[str, _Listed]) -> Mapping[str, Command]:
    return {name: _command(table[listed.like] if listed.like else listed) for name, listed in table.items()}


def _command(listed: _Listed) -> Command:
    return Command(
        frozenset(listed.letters),
        frozenset(listed.valued),
        frozenset(listed.names.split()),
        re.compile(rf"(?:{listed.words})\Z") if listed.words else None,
        listed.operands,
        listed.most,
        frozenset(listed.pattern_options.split()),
        frozenset(listed.attached),
        frozenset(listed.file_options.split()),
        listed.bundles,
        frozenset(listed.listing.split()),
    )


def read_options(shape: Command, words: tuple[str, ...]) -> Options | None:
    """What these words say; None when one of them is not known to be harmless."""
    operands: list[str] = []
    given: list[tuple[str, str]] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            operands.extend(rest)
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        if shape.words is not None and shape.words.match(word):
            given.append((word, ""))
            continue
        found = _options(shape, word, rest)
        if found is None:
            return None
        given.extend(found)
    named = {name for name, _ in given}
    if len(operands) > shape.most or (shape.operands == "none" and operands):
        return None
    if shape.listing and operands and not named & shape.listing:
        return None
    if shape.operands == "text":
        operands = []
    if shape.operands == "pattern" and not named & shape.pattern_options:
        operands = operands[1:]
    files = [*operands, *(value for name, value in given if name in shape.file_options)]
    return Options(tuple(word for word in files if word != "-"), tuple(given))


def _options(shape: Command, word: str, rest: list[str]) -> list[tuple[str, str]] | None:
    """The options of one word, a value taken away from what follows; None where one is not listed."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        if name[2:] in shape.names and not equals:
            return [(name, "")]
        if f"{name[2:]}=" not in shape.names or not (equals or rest):
            return None
        return [(name, value if equals else rest.pop(0))]
    if not _may_be_bundled(shape, word):
        return None
    found: list[tuple[str, str]] = []
    for index, letter in enumerate(word[1:], 1):
        name, value = f"-{letter}", word[index + 1 :]
        if letter in shape.attached:
            return [*found, (name, value)]
        if letter in shape.valued:
            if not (value or rest):
                return None
            return [*found, (name, value or rest.pop(0))]
        if letter not in shape.letters:
            return None
        found.append((name, ""))
    return found


def _may_be_bundled(shape: Command, word: str) -> bool:
    """Whether a program that reads its options in a way of its own sees the same in this word."""
    if shape.bundles == "all":
        return True
    letters = word[1:]
    at = next((at for at, letter in enumerate(letters) if letter in shape.valued), len(letters) - 1)
    attached = letters[at + 1 :]
    return (shape.bundles == "last" or at == 0) and (not attached or attached.isdecimal())
