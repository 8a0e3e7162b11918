"""Owns which files of a workspace a command would run, as far as its words say; refuses to run it.

It errs by taking too many: a word that names a file counts, whatever the program makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from agent_tui_core.config.repository import Unusable, digest_inside, place_inside

MOST_FILES: Final = 200
MOST_BYTES: Final = 2**25
_MOST_WORDS: Final = 2_000
_BREAKS: Final = re.compile(r"[\s;&|<>(){}`\"'=,:]+")
_FOLDER: Final = re.compile(r"^(?:\$\{?\w+\}?|\$)/")
_MODULE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z")
_READ_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "npm": ("package.json",),
    "npx": ("package.json",),
    "pnpm": ("package.json",),
    "yarn": ("package.json",),
    "bun": ("package.json",),
    "node": ("package.json",),
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "uv": ("pyproject.toml", "uv.toml"),
    "poetry": ("pyproject.toml",),
    "pytest": ("conftest.py", "pytest.ini", "pyproject.toml"),
    "tox": ("tox.ini", "pyproject.toml"),
    "cargo": ("Cargo.toml", "build.rs", ".cargo/config.toml"),
    "go": ("go.mod",),
    "rake": ("Rakefile",),
    "docker": ("compose.yaml", "compose.yml", "docker-compose.yml", "Dockerfile"),
    "direnv": (".envrc",),
    "python": ("sitecustomize.py", "usercustomize.py"),
    "python3": ("sitecustomize.py", "usercustomize.py"),
}
"""What programs read in the folder where they start."""


class TooMuch(Exception):
    """The files that these commands name cannot all be checked; `str` says why."""


def named_files(root: Path, commands: Iterable[str]) -> dict[str, str]:
    """Each file in `root` that the commands name → its SHA-256. Raises `TooMuch`."""
    found: dict[str, str] = {}
    left = MOST_BYTES
    for name in _candidates(commands):
        place = place_inside(root, name)
        if place is None or str(place) in found:
            continue
        if len(found) == MOST_FILES:
            raise TooMuch(f"its commands name more than {MOST_FILES} files")
        try:
            digest = digest_inside(root, str(place), left)
        except Unusable as error:
            raise TooMuch(f"{place}, which a command names, {error}") from error
        if digest is not None:
            found[str(place)] = digest[0]
            left -= digest[1]
    return found


def _candidates(commands: Iterable[str]) -> Iterator[str]:
    words: dict[str, None] = {}
    for command in commands:
        for piece in (*_BREAKS.split(command), *_BREAKS.split(command.replace("\\", ""))):
            words[_FOLDER.sub("", piece)] = None
    if len(words) > _MOST_WORDS:
        raise TooMuch(f"its commands have more than {_MOST_WORDS} different words")
    for word in words:
        if not word or "\0" in word:
            continue
        yield word
        yield from _READ_BY.get(word.rpartition("/")[2], ())
        if _MODULE.match(word):
            path = word.replace(".", "/")
            yield from (f"{path}.py", f"{path}/__init__.py", f"{path}/__main__.py")
