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


@cache
def read_only() -> ReadOnly:
    """What `shell_data/readonly.toml` lists."""
    data = msgspec.convert(read_data("readonly"), _File)
    return ReadOnly(
        _commands(data.programs),
        _commands(data.git),
        FindTests(frozenset(data.find.alone.split()), frozenset(data.find.valued.split())),
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
    like: str = msgspec.field(default="", name="as")


class _Find(msgspec.Struct, forbid_unknown_fields=True):
    alone: str
    valued: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    programs: dict[str, _Listed]
    git: dict[str, _Listed]
    find: _Find


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
    )


def operands_of(shape: Command, words: tuple[str, ...]) -> tuple[str, ...] | None:
    """The files that these words name; None when one of them is not known to be harmless."""
    found: list[str] = []
    given = False
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            found.extend(rest)
            break
        if not word.startswith("-") or word == "-":
            found.append(word)
            continue
        if shape.words is not None and shape.words.match(word):
            continue
        name = _option(shape, word, rest)
        if name is None:
            return None
        given = given or name in shape.pattern_options
    if len(found) > shape.most or (shape.operands == "none" and found):
        return None
    if shape.operands == "text":
        return ()
    if shape.operands == "pattern" and not given:
        found = found[1:]
    return tuple(word for word in found if word != "-")


def _option(shape: Command, word: str, rest: list[str]) -> str | None:
    """The name of a listed option, its value taken away from what follows; None for any other."""
    if word.startswith("--"):
        name, equals, _ = word.partition("=")
        if name[2:] in shape.names and not equals:
            return name
        if f"{name[2:]}=" not in shape.names:
            return None
        if not equals:
            if not rest:
                return None
            rest.pop(0)
        return name
    for index, letter in enumerate(word[1:], 1):
        if letter in shape.valued:
            if index == len(word) - 1:
                if not rest:
                    return None
                rest.pop(0)
            return f"-{letter}"
        if letter not in shape.letters:
            return None
    return f"-{word[1]}"
