"""Owns what a `Bash(…)` rule covers; refuses to be clever: in doubt an allow rule covers nothing.

A pattern without `*` is one exact command line. A pattern with `*` allows only command lines made of plain
words, without anything that a shell could expand, redirect or chain. The same pattern denies widely: at the
start of any part of a line, past assignments and wrappers.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=^ -]+\Z")
_ASSIGNMENT = re.compile(r"(?:^|\s)[A-Za-z_][A-Za-z0-9_]*\+?=")
_PARTS = re.compile(r"&&|\|\||[;|&\n(){}`]|\$\(")
_LEADING = re.compile(
    r"(?:\s*(?:[A-Za-z_]\w*\+?=\S*|timeout(?:\s+-\S+)*\s+\S+|time|nice|nohup|stdbuf(?:\s+-\S+)*|command|builtin"
    r"|exec|sudo|env|xargs|then|do|else|!))*\s*"
)
_LONGEST = 10_000


class ShellRule:
    """The pattern of one `Bash(…)` rule. `\\*` is a literal star."""

    __slots__ = ("pattern",)

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern.strip()

    def allows(self, command: str) -> bool:
        """Say whether this rule, as an allow rule, covers the whole command line, beyond doubt."""
        line = command.strip(" \t\n")
        if len(line) > _LONGEST or "\0" in line or "\r" in line:
            return False
        if "*" not in self.pattern.replace("\\*", ""):
            return line == self.pattern.replace("\\*", "*")
        if not _PLAIN.match(line) or _ASSIGNMENT.search(line.split(" ", 1)[0]):
            return False
        return _regex(self.pattern).fullmatch(line) is not None

    def touches(self, command: str) -> bool:
        """Say whether this rule, as a deny or ask rule, is met by any part of the command line."""
        line = command.strip(" \t\n")
        regex = _regex(self.pattern)
        if regex.fullmatch(line):
            return True
        bare = re.sub(r"[\"'\\]", "", line)
        for part in (*_PARTS.split(line), *_PARTS.split(bare)):
            words = part.strip()
            if regex.fullmatch(words) or regex.fullmatch(words[_end_of_leading(words) :].strip()):
                return True
        return False


def escape_command(command: str) -> str:
    """The pattern that covers exactly this command line."""
    return command.strip(" \t\n").replace("*", "\\*")


def _end_of_leading(words: str) -> int:
    found = _LEADING.match(words)
    return found.end() if found else 0


@lru_cache(maxsize=1024)
def _regex(pattern: str) -> re.Pattern[str]:
    """`npm run *` is a prefix at a word boundary (and the bare command); `ls*` has no boundary."""
    body = "".join(
        ".*" if piece == "*" else re.escape(piece.replace("\\*", "*"))
        for piece in re.split(r"(?<!\\)(\*)", pattern)
    )
    if pattern.endswith(" *"):
        body = body.removesuffix(re.escape(" ") + ".*") + r"(?:\s.*)?"
    return re.compile(body, re.DOTALL)
