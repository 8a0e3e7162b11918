"""One simple command of a line, and what becomes of it where a loop puts a value in place of its variable."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from agent_tui_core.agent.shell_words import Unreadable, Word
from agent_tui_core.records import dataclass

_PLAIN_VALUE: Final = re.compile(r"[^\s*?\[\]\\]*\Z")


@dataclass(frozen=True, slots=True)
class Part:
    """One simple command of a line."""

    text: str
    """As it stands in the line."""
    words: tuple[Word, ...]
    """All words, wrappers included, redirections left out."""
    wrapped: int
    """How many of the words are wrappers with their options."""
    writes: tuple[Word, ...] = ()
    reads: tuple[Word, ...] = ()
    document: bool = False
    """It reads a here-document."""
    source: Part | None = None
    """The command whose output it reads, where that is one simple command."""

    @property
    def command(self) -> tuple[Word, ...]:
        """The words without wrappers."""
        return self.words[self.wrapped :]

    @property
    def argv(self) -> tuple[str, ...]:
        """What the program is started with."""
        return tuple(word.text for word in self.command)

    @property
    def filled(self) -> bool:
        """Whether the shell puts something into one of its words that nobody knows yet."""
        return any(word.fills for word in (*self.words, *self.writes, *self.reads))


def bind(part: Part, name: str, value: Word) -> Part:
    """The command as it is when the variable has this value."""

    def bound(words: Sequence[Word]) -> tuple[Word, ...]:
        return tuple(_bind_word(word, name, value) for word in words)

    source = None if part.source is None else bind(part.source, name, value)
    return replace(
        part, words=bound(part.words), writes=bound(part.writes), reads=bound(part.reads), source=source
    )


def _bind_word(word: Word, name: str, value: Word) -> Word:
    if not any(fill.name == name for fill in word.fills):
        return word
    text, at, split = "", 0, word.split
    given = str(Path.home()) + value.text[1:] if value.tilde else value.text
    shift = len(given) - len(value.text)
    stars: list[int] = []
    fills = []
    for fill in word.fills:
        stars.extend(star - at + len(text) for star in word.stars if at <= star < fill.at)
        text += word.text[at : fill.at]
        at = fill.at
        if fill.name != name:
            fills.append(replace(fill, at=len(text)))
            continue
        if not fill.quoted:
            if value.stars:
                split = True
            elif not given or not _PLAIN_VALUE.match(given):
                raise Unreadable(f"${name} without quotes would be taken apart", word.raw)
        stars.extend(len(text) + star + shift for star in value.stars)
        text += given
    stars.extend(star - at + len(text) for star in word.stars if star >= at)
    text += word.text[at:]
    raw = text if stars else shlex.quote(text)
    return replace(word, text=text, raw=raw, stars=tuple(stars), fills=tuple(fills), split=split, tilde=False)
