"""Owns whether a line names a program that a rule forbids, anywhere and in other forms than the rule's.

A rule on `kubectl delete` does not meet `kubectl -n prod delete`, one on `pip` not `pip3`, one on `rm` not a
copy of `/bin/rm`. Such a line is not denied, it is a question.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from agent_tui_core.records import dataclass

_QUOTES: Final = re.compile(r"[\"'\\]")
_BREAKS: Final = re.compile(r"[\s;&|<>(){}=,:`\"']+")
_VERSION: Final = re.compile(r"-?[0-9][0-9.]*\Z|@.*\Z|(?:-cli)?\.(?:exe|cmd|bat|js|cjs|mjs|py|sh)\Z")
_GLOB: Final = re.compile(r"[*?\[]")
_ENDS: Final = re.compile(r"[\s*?]")


@dataclass(frozen=True, slots=True)
class _Named:
    """The words of a line."""

    order: tuple[str, ...]
    every: frozenset[str]
    """Words, the names in paths, and both without a version."""
    globs: tuple[str, ...]


def forbidden_word(line: str, patterns: Iterable[str]) -> str | None:
    """The program that one of these patterns of rules forbids and that a word of the line may be."""
    named = _named(line)
    return next((program for pattern in patterns if (program := _meets(named, pattern))), None)


def _meets(named: _Named, pattern: str) -> str | None:
    words = _QUOTES.sub("", pattern).split()
    if not words:
        return None
    program = _ENDS.split(words[0])[0].rpartition("/")[2]
    if not program:
        return None
    open_ended = program != words[0].rpartition("/")[2]
    if not _has(named, program, open_ended=open_ended):
        return None
    subcommand = words[1] if len(words) > 1 else "*"
    if _GLOB.search(subcommand) or subcommand.startswith("-"):
        return program
    if subcommand in named.every or subcommand in {word.lower() for word in named.every}:
        return program
    return program if _abbreviated(named, program, subcommand) else None


def _has(named: _Named, program: str, *, open_ended: bool) -> bool:
    if {program, _without_version(program)} & named.every:
        return True
    if open_ended and any(word.startswith(program) for word in named.every):
        return True
    return any(fnmatch.fnmatchcase(program, glob) for glob in named.globs)


def _abbreviated(named: _Named, program: str, subcommand: str) -> bool:
    """Whether a word behind the program is the beginning of its subcommand."""
    plain = _without_version(program)
    at = next((at for at, word in enumerate(named.order) if _without_version(_last(word)) == plain), None)
    behind = named.order[at + 1 :] if at is not None else named.order
    return any(subcommand.startswith(word) for word in behind[:8] if word)


@lru_cache(maxsize=16)
def _named(line: str) -> _Named:
    joined = line.replace("\\\n", "")
    order = [word for word in _BREAKS.split(_QUOTES.sub("", joined)) if word]
    others = [word for word in _BREAKS.split(joined) if word]
    every: set[str] = set()
    for word in dict.fromkeys((*order, *others)):
        for name in (word, *word.split("/")):
            every.update((name, _without_version(name)))
    every.discard("")
    globs = []
    for word in dict.fromkeys(order):
        folder, _, last = word.rpartition("/")
        if _GLOB.search(last) and (re.search(r"[A-Za-z]", last) or folder.endswith("bin")):
            globs.append(last)
    return _Named(tuple(order), frozenset(every), tuple(globs if len(globs) < 500 else ["*"]))


def _last(word: str) -> str:
    return word.rpartition("/")[2]


def _without_version(name: str) -> str:
    """`pip3.11` is `pip`, `npm@latest` and `npm.cmd` are `npm`."""
    before = ""
    while before != name:
        before, name = name, _VERSION.sub("", name)
    return name or before
