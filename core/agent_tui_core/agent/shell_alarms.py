"""Owns what is asked about in every mode, whatever is allowed: protected names, files of ours.

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
from agent_tui_core.agent.removals import expanded
from agent_tui_core.agent.shell_parse import parse
from agent_tui_core.agent.shell_words import Unreadable

_EXCLUDES: Final = re.compile(r"--exclude(-dir)?=|--ignore(-dir)?=|:\(?!?exclude|:!|!")
_BREAKS: Final = re.compile(r"[\s=:,;&|<>(){}`\"']+")
_PATH_TESTS: Final = frozenset({"-path", "-name", "-ipath", "-iname", "-wholename"})
_GLOB: Final = re.compile(r"[*?\[{]")
_LONGEST_PATH: Final = 4_096
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
        path = Path(os.path.normpath(cwd / expanded(word))) if word else cwd
        if word and any(path.is_relative_to(folder) for folder in folders):
            return word
    return None
