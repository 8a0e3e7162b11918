"""Owns when a line removes a root, the home, the workspace or what holds them: that is always asked about.

Refuses to be exact: it reads the line widely, as deny rules do.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import Final

from agent_tui_core.agent.removers import removed
from agent_tui_core.agent.shell_rules import candidates

_GLOB: Final = re.compile(r"[*?\[{]")
_ALL_OF_IT: Final = re.compile(r"(?:[.*?]|\[[^\]]*\])+\Z")
_MOST_FOLDERS: Final = 16
_MOST_PLACES: Final = 2_000


def removes_too_much(line: str, cwd: Path) -> str | None:
    """The command in a line that removes a root, the home, the workspace or what holds them."""
    commands = [text.split() for text in candidates(line)]
    removing = [(words, targets) for words in commands if words and (targets := removed(words)) is not None]
    if not removing:
        return None
    folders, precious = _folders(commands, cwd), _Precious(cwd)
    judged: set[str] = set()
    for words, targets in removing:
        fresh = set(targets) - judged
        judged |= fresh
        if not targets or len(judged) * len(folders) > _MOST_PLACES:
            return " ".join(words)[:200]
        if any(precious.holds(word, folder) for word in fresh for folder in folders):
            return " ".join(words)[:200]
    return None


def _folders(commands: list[list[str]], cwd: Path) -> list[Path]:
    """Where the line may be when it removes something."""
    folders = {cwd: None}
    for words in commands:
        if len(folders) > _MOST_PLACES:
            break
        if words and words[0] in {"cd", "pushd"}:
            target = expanded(next((word for word in words[1:] if not word.startswith("-")), "~"))
            for folder in list(islice(folders, _MOST_FOLDERS)):
                folders[Path(os.path.normpath(folder / target))] = None
    return list(folders)


class _Precious:
    """A root, the home, the workspace, and the folders that hold one of them."""

    def __init__(self, cwd: Path) -> None:
        own = {cwd.resolve(), Path.home()}
        self._all = {path for place in own for path in (place, *place.parents)}
        self._above = self._all - own

    def holds(self, word: str, folder: Path) -> bool:
        """Say whether a word names one of them, or may, for who is in this folder."""
        text = expanded(word)
        precious = self._all
        if "$" in text or "`" in text:
            return True
        if text.startswith("~"):  # of another user, or where the line has been
            return True
        head, _, last = text.rstrip("/").rpartition("/")
        whole = False
        while _ALL_OF_IT.match(last) and "*" in last:  # `*/*` is all but a few files
            text, whole = head or ("/" if text.startswith("/") else "."), True
            head, _, last = text.rstrip("/").rpartition("/")
        if whole and not _GLOB.search(text):
            pass
        elif found := _GLOB.search(text):
            before = text[: found.start()]
            if (
                "/" not in text[found.start() :]
            ):  # some names in a folder: what is precious may be one of them
                precious = self._above
            text = before.rpartition("/")[0] or ("/" if text.startswith("/") else ".")
        written = os.path.normpath(folder / text)
        return Path(written) in precious or Path(os.path.realpath(written)) in precious


def expanded(word: str) -> str:
    """A word with the home and the folder of the line in the place of their names."""
    home = str(Path.home())
    text = re.sub(r"\$(?:HOME\b|\{HOME\})", home, word)
    text = re.sub(r"\$(?:PWD\b|\{PWD\})", ".", text)
    return home + text[1:] if text == "~" or text.startswith("~/") else text
