"""Owns which words of a command name what it removes; refuses to know what is precious."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

_RECURSIVE: Final = re.compile(r"-(?!-)\w*[rR]|--r")
_FORBIDDEN: Final = re.compile(r"(?:.*/)?(?:rm|unlink|shred|trash(?:-put)?|srm|wipe|mv|truncate|rmdir)\Z")

Targets = list[str] | None
"""What is removed; None: nothing much. An empty list: what, nobody knows."""


def removed(words: list[str]) -> Targets:
    """What a command removes, with all that is in it."""
    check = _REMOVERS.get(words[0])
    return check(words[1:]) if check else None


def _operands(words: list[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]


def _rm(words: list[str]) -> Targets:
    return _operands(words) if any(_RECURSIVE.match(word) for word in words) else None


def _find(words: list[str]) -> Targets:
    at = next((at for at, word in enumerate(words) if word[:1] in {"-", "(", "!"}), len(words))
    tests = words[at:]
    if "-delete" not in tests and not any(_FORBIDDEN.match(word) for word in tests):
        return None
    return words[:at] or ["."]


def _fd(words: list[str]) -> Targets:
    return ["."] if any(_FORBIDDEN.match(word) for word in words) else None


def _git(words: list[str]) -> Targets:
    if words[:1] == ["clean"]:
        if any(word.startswith("--d") or re.match(r"-(?!-)\w*n", word) for word in words[1:]):
            return None
        return _operands(words[1:]) or ["."]
    if words[:1] == ["rm"] and "--cached" not in words:
        return _rm(words[1:])
    return None


def _cmake(words: list[str]) -> Targets:
    if words[:1] != ["-E"]:
        return None
    if words[1:2] == ["rm"]:
        return _rm(words[2:])
    return _operands(words[2:]) if words[1:2] in (["remove_directory"], ["rename"], ["remove"]) else None


def _rsync(words: list[str]) -> Targets:
    operands = _operands(words)
    if any(word.startswith("--remove-s") for word in words):
        return operands[:-1]
    return operands[-1:] if any(word.startswith("--del") for word in words) else None


def _mv(words: list[str]) -> Targets:
    operands = _operands(words)
    into = any(re.match(r"-(?!-)\w*t|--t", word) for word in words)
    return operands if into else operands[:-1] or None


def _when(*options: str) -> Callable[[list[str]], Targets]:
    def check(words: list[str]) -> Targets:
        given = any(word.startswith(option) for word in words for option in options)
        return _operands(words) if given else None

    return check


def _all_matches(words: list[str]) -> Targets:
    """Of what empties single files only a pattern can be the whole."""
    return [word for word in words if "*" in word or "?" in word] or None


def _zip(words: list[str]) -> Targets:
    return _operands(words)[1:] if any(re.match(r"-(?!-)\w*m|--mo", word) for word in words) else None


def _gio(words: list[str]) -> Targets:
    return _operands(words[1:]) if words[:1] in (["trash"], ["remove"]) else None


def _rclone(words: list[str]) -> Targets:
    return _operands(words[1:]) if words[:1] in (["purge"], ["delete"], ["sync"], ["move"]) else None


_REMOVERS: Final[Mapping[str, Callable[[list[str]], Targets]]] = {
    **dict.fromkeys(("rm", "grm", "srm", "wipe", "safe-rm", "rimraf.js"), _rm),
    **dict.fromkeys(("trash", "trash-put", "gvfs-trash", "rimraf", "del-cli", "rmtrash", "rip"), _operands),
    **dict.fromkeys(("find", "gfind"), _find),
    **dict.fromkeys(("fd", "fdfind"), _fd),
    "git": _git,
    "cmake": _cmake,
    "rsync": _rsync,
    **dict.fromkeys(("mv", "gmv"), _mv),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _when("--remove-f")),
    "zip": _zip,
    **dict.fromkeys(("7z", "7za"), _when("-sdel")),
    **dict.fromkeys(("shred", "truncate"), _all_matches),
    **dict.fromkeys(("gio", "kioclient", "gvfs"), _gio),
    "rclone": _rclone,
}
