"""Owns which commands only read: for each program the options that neither write, connect nor run a program.

Refuses by default: an option that is not listed, an abbreviated one, a program named by a path. Whether the
files that it names may be read is left to the rules on files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from agent_tui_core.agent.readonly_options import MANY, operands_of, read_only
from agent_tui_core.agent.shell_dangers import danger, sed_is_plain
from agent_tui_core.agent.shell_parse import Part
from agent_tui_core.agent.shell_rules import could_become_an_option

_GIT_GLOBAL: Final = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})
_NO_SIGNATURES: Final = re.compile(r"%G|signature")
_LITERAL: Final = frozenset({"find", "sed", "gsed", "date", "command"})
"""Here another file name changes what a word means."""
_Reading: TypeAlias = Callable[[tuple[str, ...]], "tuple[str, ...] | None"]


def files_read(part: Part) -> tuple[str, ...] | None:
    """The files and folders that a read-only command names, a `*` in them unexpanded; None when it is none.

    `cd` is not among them: whoever reads a whole line has to follow it.
    """
    name, *rest = part.argv
    words = tuple(rest)
    if check := _SPECIAL.get(name):
        files = check(words)
    elif shape := read_only().programs.get(name):
        files = operands_of(shape, words)
        if shape.most < MANY and any(word.stars for word in part.command):
            return None
    else:
        return None
    if files is None or (name == "printf" and danger(part.argv)):
        return None
    for word in part.command:
        open_end = could_become_an_option(word) or word.tilde or word.text not in files
        if word.stars and (open_end or name in _LITERAL):
            return None
    return files


def _find(words: tuple[str, ...]) -> tuple[str, ...] | None:
    rest = list(words)
    files: list[str] = []
    find = read_only().find
    while rest and not rest[0].startswith("-") and rest[0] not in {"!", "(", ")", ","}:
        files.append(rest.pop(0))
    while rest:
        word = rest.pop(0)
        if word in find.valued and rest:
            rest.pop(0)
        elif word not in find.alone:
            return None
    return tuple(files) or (".",)


def _git(words: tuple[str, ...]) -> tuple[str, ...] | None:
    rest = list(words)
    while rest and rest[0] in _GIT_GLOBAL:
        rest.pop(0)
    if rest in (["--version"], ["version"]):
        return ()
    if not rest or any(_NO_SIGNATURES.search(word) for word in rest):
        return None
    for length in (2, 1):
        shape = read_only().git.get(" ".join(rest[:length]))
        if shape is not None and len(rest) >= length:
            return operands_of(shape, tuple(rest[length:]))
    return None


def _sed(words: tuple[str, ...]) -> tuple[str, ...] | None:
    return sed_is_plain(("sed", *words))


def _date(words: tuple[str, ...]) -> tuple[str, ...] | None:
    fits = all(word in {"-u", "-R", "-I", "--utc", "--iso-8601"} or word.startswith("+") for word in words)
    return () if fits else None


def _command(words: tuple[str, ...]) -> tuple[str, ...] | None:
    return () if words[:1] in {("-v",), ("-V",)} else None


_SPECIAL: Final[Mapping[str, _Reading]] = {
    "find": _find,
    "git": _git,
    "sed": _sed,
    "gsed": _sed,
    "date": _date,
    "command": _command,
}
