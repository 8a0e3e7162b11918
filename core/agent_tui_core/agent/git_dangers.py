"""Owns what makes a git command line run something else: configuration, hooks, transports, other folders.

It refuses every subcommand that it does not know: an alias of a repository may be called anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from agent_tui_core.records import dataclass

_TRANSPORT: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::|-?ext::")
_LOCAL: Final = re.compile(r"(?:--repo=|\+)?(?:\.{1,2}(?:/|\Z)|[/~]|file:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GitTable:
    """What is known of git's words."""

    global_options: frozenset[str]
    """Harmless options in front of the subcommand."""
    known: frozenset[str]
    """Subcommands that are no aliases."""
    names: tuple[str, ...]
    """Long options that run or write something."""
    harmless: frozenset[str]
    """Long options that only begin like those."""
    remote: frozenset[str]
    """Subcommands that talk to other repositories."""
    letters: Mapping[str, frozenset[str]]
    nested: Mapping[str, frozenset[str]]


def git_danger(argv: tuple[str, ...], table: GitTable) -> str | None:
    """Say why a git command may run another program; None when nothing speaks for it."""
    words = list(argv[1:])
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in {"--version", "--help"} and not words:
            return None
        if option not in table.global_options:
            return f"git {option} may change what git runs"
    if not words:
        return None
    name, *rest = words
    if name not in table.known:
        return f"git {name} may be an alias, or run a program"
    if any(word in table.nested.get(name, ()) for word in rest):
        return f"git {name} runs what the repository says"
    if reason := _of_another_repository(name, rest, table):
        return reason
    for word in rest:
        if word == "--":
            break
        if _is_bad(word, name, table):
            return f"git {name} {word} can run a program or write elsewhere"
        if "%G" in word:
            return "git would run gpg to check signatures"
    return None


def _of_another_repository(name: str, words: list[str], table: GitTable) -> str | None:
    if name in table.remote and any(_TRANSPORT.search(word) for word in words):
        return "git would run the program that is named before ::"
    if name in {"push", "remote"} and (place := next((word for word in words if _LOCAL.match(word)), None)):
        return f"git would obey the repository at {place}: its hooks run"
    return None


def _is_bad(word: str, command: str, table: GitTable) -> bool:
    if word.startswith("--"):
        option = word.partition("=")[0]
        name = option[2:]
        return (
            option not in table.harmless
            and len(name) > 0
            and any(bad.startswith(name) for bad in table.names)
        )
    return word.startswith("-") and bool(table.letters.get(command, frozenset()) & set(word[1:]))
