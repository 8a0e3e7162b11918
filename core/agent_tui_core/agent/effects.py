"""What a command writes and reads, as values, and its words taken apart into operands and options."""

from __future__ import annotations

from dataclasses import field
from typing import Final

from agent_tui_core.records import dataclass


@dataclass(frozen=True, slots=True)
class Effects:
    """Names as they stand in the line."""

    writes: tuple[str, ...] = ()
    into: str | None = None
    """A folder, or a file if there is one source alone, that gets the last names of `sources`."""
    sources: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Written, and no folders: what would come below a folder nobody knows."""
    reads: tuple[str, ...] = ()
    remotes: tuple[str, ...] = ()
    """Repositories where these names are folders: their hooks would run."""
    unknown: str = ""
    """Why nobody knows what it writes or reads."""


NOTHING: Final = Effects()


@dataclass(frozen=True, slots=True)
class GivenWords:
    """The words of a command by what they are."""

    operands: list[str] = field(default_factory=list)
    values: list[tuple[str, str]] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)
    """Options without a value, one letter each."""

    def has(self, *names: str) -> bool:
        return any(
            each in names
            or (each.startswith("--") and len(each) > 3 and any(n.startswith(each) for n in names))
            for each in (*self.alone, *(name for name, _ in self.values))
        )

    def of(self, *names: str) -> tuple[str, ...]:
        return tuple(value for name, value in self.values if name in names)


def given_words(words: tuple[str, ...], letters: str = "", long: tuple[str, ...] = ()) -> GivenWords:
    """`letters` and `long` take values; a long one may be abbreviated."""
    found = GivenWords()
    rest = iter(words)
    for word in rest:
        if word == "--":
            found.operands.extend(rest)
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            full = next((each for each in long if len(name) > 2 and each.startswith(name)), None)
            if full is not None:
                found.values.append((full, value if equals else next(rest, "")))
            else:
                found.alone.append(name)
        elif word.startswith("-") and len(word) > 1:
            for at, letter in enumerate(word[1:], 2):
                if letter in letters:
                    found.values.append((f"-{letter}", word[at:] or next(rest, "")))
                    break
                found.alone.append(f"-{letter}")
        else:
            found.operands.append(word)
    return found
