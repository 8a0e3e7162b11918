"""Owns what the programs of `awk` and `sed` do, read as text; refuses one that it does not understand."""

from __future__ import annotations

import re
from typing import Final

_AWK: Final = re.compile(
    r"system|getline|close|fflush|ENVIRON|PROCINFO|ARGV|ARGC|[@`]|\|\|\||(?<!\|)\|(?!\|)|\\\n"
)
_AWK_APART: Final = re.compile(r"/[^\n]*[{};\"][^\n]*/")
"""Between slashes, where it may be part of an expression and end nothing."""
_AWK_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_AWK_PRINTS: Final = re.compile(r"print|printf")
_SED_SCRIPT: Final = re.compile(
    r"(?:(?:\d+|\$|/[^/\\;{}\n]*/)(?:,(?:\d+|\+\d+|\$|/[^/\\;{}\n]*/))?!?)?"
    r"(?:[pdq=]|s(?P<by>[/|,#:])(?:(?!(?P=by))[^\\\n;]|\\[^\n])*(?P=by)(?:(?!(?P=by))[^\\\n;]|\\[^\n])*(?P=by)[gpI0-9]*)"
)
_SED_OPTIONS: Final = re.compile(
    r"-[nErsuz]+|--(?:quiet|silent|regexp-extended|separate|unbuffered|null-data|posix)\Z"
)


def awk_does_more(program: str) -> bool:
    """Whether an awk program may run a command, write, or read what it names itself.

    `>` compares, but behind `print` it writes. Where an expression may hold a quote, no string is certain.
    """
    if _AWK.search(program):
        return True
    if ">" not in program:
        return False
    if "#" in program or _AWK_APART.search(program) or ("/" in program and '"' in program):
        return True
    pieces = re.split(r"[{};]", _AWK_STRING.sub("", program))
    return any(">" in piece and _AWK_PRINTS.search(piece) for piece in pieces)


def awk_is_plain(argv: tuple[str, ...]) -> tuple[str, ...] | None:
    """The files that an `awk` reads when its program only prints; None otherwise."""
    rest = list(argv[1:])
    while rest and rest[0].startswith("-") and rest[0] != "-":
        option = rest.pop(0)
        if option in {"-F", "-v"}:
            if not rest:
                return None
            rest.pop(0)
        elif option == "--":
            break
        elif not re.match(r"-[Fv].", option):
            return None
    if not rest or awk_does_more(rest[0]) or any("=" in word for word in rest[1:]):
        return None
    return tuple(word for word in rest[1:] if word != "-")


def sed_is_plain(argv: tuple[str, ...]) -> tuple[str, ...] | None:
    """The files that a `sed` reads when its script only prints, deletes and replaces; None otherwise."""
    scripts: list[str] = []
    files: list[str] = []
    rest = iter(argv[1:])
    for word in rest:
        if word == "-e":
            scripts.append(next(rest, ""))
        elif word.startswith("-") and word != "-":
            if not _SED_OPTIONS.match(word):
                return None
        else:
            files.append(word)
    if not scripts:
        scripts, files = files[:1], files[1:]
    if not scripts or not all(
        _SED_SCRIPT.fullmatch(piece.strip()) for script in scripts for piece in script.split(";")
    ):
        return None
    return tuple(files)
