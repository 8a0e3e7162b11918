"""Owns which word of a command line names what runs by itself, where the command may write it.

To read such a name is no reason to ask: `cat AGENTS.md`, `.venv/bin/pytest`, `git add .github`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agent_tui_core.agent.effects import NOTHING
from agent_tui_core.agent.readonly import reading
from agent_tui_core.agent.shell_effects import effects
from agent_tui_core.agent.shell_parse import Part, parse
from agent_tui_core.agent.shell_words import Unreadable
from agent_tui_core.processes.kept_names import PROGRAMS_OF_THE_FOLDER, runs_by_itself

_BREAKS: Final = re.compile(r"[\s=:,;&|<>(){}`\"']+")
_MOST_WORDS: Final = 2_000


def written_name(line: str) -> str | None:
    """The first word of a line that a command may write and that runs without anybody starting it."""
    read = parse(line)
    if isinstance(read, Unreadable):
        words = dict.fromkeys(_BREAKS.split(line.replace("\\", ""))[:_MOST_WORDS])
        return next((word for word in words if _runs(word, named=True)), None)
    return next((word for part in read for word in _written(part)), None)


def _written(part: Part) -> Iterator[str]:
    yield from (word.text for word in part.writes if _runs(word.text))
    found = effects(part)
    names = (*found.writes, *found.files, *found.sources, *([found.into] if found.into else []))
    yield from (name for name in names if _runs(name))
    if found.into and any(_runs(f"{found.into}/{name.rpartition('/')[2]}") for name in found.sources):
        yield found.into
    nobody_knows = found is NOTHING or found.unknown
    if nobody_knows and part.argv[0] not in {"git", "cd"} and reading(part) is None:
        yield from (word for word in part.argv[1:] if _runs(word, named=True))


def _runs(word: str, *, named: bool = False) -> bool:
    """`named`: the line only names it, as it names a program of the folder that it starts."""
    if named and any(f"{folder}/" in f"{word}/" for folder in PROGRAMS_OF_THE_FOLDER):
        return False
    return runs_by_itself(word.removeprefix("./"))
