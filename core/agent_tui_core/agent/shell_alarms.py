"""Owns what is asked about in every mode, whatever is allowed: protected names, the end of a whole folder.

Refuses to be exact: it reads the line widely, as deny rules do.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from agent_tui_core.agent.path_rules import could_be_protected, has_protected_name
from agent_tui_core.agent.shell_parse import parse
from agent_tui_core.agent.shell_rules import candidates
from agent_tui_core.agent.shell_words import Unreadable

_EXCLUDES: Final = re.compile(r"--exclude(-dir)?=|--ignore(-dir)?=|:\(?!?exclude|:!|!")
_BREAKS: Final = re.compile(r"[\s=:,;&|<>(){}`\"']+")
_PATH_TESTS: Final = frozenset({"-path", "-name", "-ipath", "-iname", "-wholename"})
_GLOB: Final = re.compile(r"[*?\[{]")
_ALL_OF_IT: Final = re.compile(r"[.*?]+\Z")
_LONGEST_PATH: Final = 4_096
_MOST_FOLDERS: Final = 16
_MOST_PLACES: Final = 2_000


def protected_word(line: str) -> str | None:
    """The first word of a line that names something protected."""
    read = parse(line)
    if isinstance(read, Unreadable):
        words = _all_words(line)
        return next((word for word in words if _names_protected(word, globs=True)), None)
    for part in read:
        texts = [word.text for word in part.words]
        for index, word in enumerate((*part.words, *part.writes, *part.reads)):
            tested = texts[max(0, index - 2) : index] if index < len(texts) else []
            excluded = len(tested) == 2 and tested[0] in {"-not", "!"} and tested[1] in _PATH_TESTS
            if excluded or _EXCLUDES.match(word.text):
                continue
            pieces = [piece for each in (word.text, word.text[2:]) for piece in re.split(r"[=:,@]", each)]
            if any(_names_protected(piece, globs=bool(word.stars)) for piece in pieces):
                return word.text
    return None


def _all_words(line: str) -> dict[str, None]:
    """What stands between blanks, operators and quotes, and what is there without the quotes; each once."""
    plain = line.replace("\\\n", "").replace("\\", "")
    return dict.fromkeys((*_BREAKS.split(plain), *_BREAKS.split(re.sub(r"[\"']", "", plain))))


def _names_protected(word: str, *, globs: bool) -> bool:
    names = word.split("/")
    return has_protected_name(names) or (
        globs and any(_GLOB.search(name) and could_be_protected(name) for name in names)
    )


def protected_name_in(text: str) -> str | None:
    """The first word of any text, or all of it, that is a path to something protected."""
    words = dict.fromkeys((*_BREAKS.split(text), text))
    return next((word for word in words if _names_protected(word, globs=True)), None)


def texts_in(value: object) -> Iterator[str]:
    """The short texts in an input, wherever they stand: long ones and those of several lines are no paths."""
    match value:
        case str() if len(value) <= _LONGEST_PATH and "\n" not in value:
            yield value
        case dict():
            for name, each in value.items():
                yield from texts_in(name)
                yield from texts_in(each)
        case list() | tuple():
            for each in value:
                yield from texts_in(each)


def named_file(line: str, files: Collection[Path]) -> str | None:
    """The first word of a line whose last name is that of one of these files, or may become it."""
    names = {file.name for file in files}
    for word in _all_words(line):
        last = word.rstrip("/").rpartition("/")[2]
        if last in names or (_GLOB.search(last) and fnmatch.filter(names, last)):
            return word
    return None


def word_inside(line: str, folders: Collection[Path], cwd: Path) -> str | None:
    """The first word of a line that names one of these folders or something in it."""
    if not folders:
        return None
    for word in islice(_all_words(line), _MOST_PLACES):
        path = Path(os.path.normpath(cwd / _expanded(word))) if word else cwd
        if word and any(path.is_relative_to(folder) for folder in folders):
            return word
    return None


def removes_too_much(line: str, cwd: Path) -> str | None:
    """The command in a line that removes a root, the home, the workspace or what holds them."""
    commands = [text.split() for text in candidates(line)]
    removing = [words for words in commands if words and _removes(words)]
    if not removing:
        return None
    folders, precious = _folders(commands, cwd), _Precious(cwd)
    judged: set[str] = set()
    for words in removing:
        targets = [word for word in words[1:] if not word.startswith("-")]
        if words[0] == "find":
            targets = targets[:1]
        fresh = set(targets) - judged
        judged |= fresh
        if not targets or len(judged) * len(folders) > _MOST_PLACES:
            return " ".join(words)[:200]
        if any(precious.holds(word, folder) for word in fresh for folder in folders):
            return " ".join(words)[:200]
    return None


def _removes(words: list[str]) -> bool:
    if words[0] == "find":
        return "-delete" in words or "rm" in words
    options = [word for word in words[1:] if word.startswith("-")]
    return words[0] == "rm" and any(
        word.startswith("--r") or (not word.startswith("--") and set("rR") & set(word)) for word in options
    )


def _folders(commands: list[list[str]], cwd: Path) -> list[Path]:
    """Where the line may be when it removes something."""
    folders = {cwd: None}
    for words in commands:
        if len(folders) > _MOST_PLACES:
            break
        if words and words[0] in {"cd", "pushd"}:
            target = _expanded(next((word for word in words[1:] if not word.startswith("-")), "~"))
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
        text = _expanded(word)
        precious = self._all
        if "$" in text or "`" in text:
            return True
        head, _, last = text.rstrip("/").rpartition("/")
        if _ALL_OF_IT.match(last) and "*" in last:
            text = head or ("/" if text.startswith("/") else ".")
        elif found := _GLOB.search(text):
            before = text[: found.start()]
            if (
                "/" not in text[found.start() :]
            ):  # some names in a folder: what is precious may be one of them
                precious = self._above
            text = before.rpartition("/")[0] or ("/" if text.startswith("/") else ".")
        written = os.path.normpath(folder / text)
        return Path(written) in precious or Path(os.path.realpath(written)) in precious


def _expanded(word: str) -> str:
    home = str(Path.home())
    text = re.sub(r"\$(?:HOME\b|\{HOME\})", home, word)
    text = re.sub(r"\$(?:PWD\b|\{PWD\})", ".", text)
    return home + text[1:] if text == "~" or text.startswith("~/") else text
