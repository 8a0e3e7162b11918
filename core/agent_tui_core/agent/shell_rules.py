"""Owns what a `Bash(…)` rule covers: narrowly where it allows, widely where it forbids; refuses to be clever.

A pattern without `*` is one exact command. A pattern with `*` allows a part of a line whose words are all
known, unless the part makes its program run another one (`shell_dangers`). The same pattern denies at the
start of anything that might be a command, past assignments, redirections and wrappers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from agent_tui_core.agent.shell_dangers import Danger, danger, table
from agent_tui_core.agent.shell_lexer import check_characters, lex
from agent_tui_core.agent.shell_parse import Part, parse
from agent_tui_core.agent.shell_words import Unreadable, Word
from agent_tui_core.records import dataclass

_BETWEEN: Final = "\x1f"
_PARTS: Final = re.compile(r"&&|\|\||[;|&\n(){}`]|\$\(")
_LEADING: Final = re.compile(
    r"(?:\s*(?:[A-Za-z_]\w*\+?=\S*|timeout(?:\s+-\S+)*\s+\S+|time(?:\s+-\S+)*|nice(?:\s+-\S+)*|nohup"
    r"|stdbuf(?:\s+-\S+)*|command(?:\s+-\S+)*|builtin|exec|sudo|env|xargs|coproc|[&\d]*[<>]+[&|]?\s*\S+"
    r"|if|elif|while|until|then|do|else|!)(?=\s))*\s*"
)
_GIT_OPTIONS: Final = re.compile(
    r"git(?:\s+(?:-[cC]\s+\S+|--(?:git-dir|work-tree|namespace)\s+\S+|-\S+))+\s+"
)
_ANSI_C: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_HEX: Final = "[0-9A-Fa-f]"
_ESCAPE: Final = re.compile(
    rf"\\(?:([0-7]{{1,3}})|x({_HEX}{{1,2}})|u({_HEX}{{1,4}})|U({_HEX}{{1,8}})|([abeEfnrtv]))"
)
_CONTROLS: Final = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))
_MOST_WORDS: Final = 200


class ShellRule:
    """The pattern of one `Bash(…)` rule. `\\*` is a literal star."""

    __slots__ = ("_exact", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern.strip()
        self._exact = None if has_star(self.pattern) else self.pattern.replace("\\*", "*")

    def is_line(self, line: str) -> bool:
        """Say whether this rule, as an allow rule, is this very line, letter by letter."""
        try:
            check_characters(line)
        except Unreadable:
            return False
        return self._exact is not None and line.strip(" \t\n") == self._exact

    def allows(self, part: Part, *, alone: bool) -> bool:
        """Say whether this rule, as an allow rule, covers one part of a line, beyond doubt.

        A rule with a star spells at least the program, also one behind a wrapper such as `timeout`. A
        dangerous command that is not `alone` may get its program from the rest of the line.
        """
        found = danger(part.argv)
        if self._exact is not None:
            certain = alone or found is None
            return certain and any(self._is_exactly(words) for words in (part.words, part.command))
        shape = _shape(self.pattern)
        if shape is None or any(could_become_an_option(word) for word in part.command):
            return False
        return any(
            shape.fixed >= _spelled(found, len(words) - len(part.command))
            for words in (part.words, part.command)
            if shape.matches(_BETWEEN.join(word.text for word in words))
        )

    def touched(self, command: str) -> str | None:
        """The part of the command line that meets this rule, as a deny or ask rule."""
        pieces, optional = _pieces(self.pattern)
        found = (each for each in candidates(command) if _matches(pieces, optional, " ", each))
        return min(found, key=len, default=None)

    def _is_exactly(self, words: tuple[Word, ...]) -> bool:
        if " ".join(word.raw for word in words) == self._exact:
            return True
        shape = _shape(self.pattern)
        if shape is None or any(word.stars or word.tilde for word in words):
            return False
        return shape.pieces == (_BETWEEN.join(word.text for word in words),)


def _spelled(found: Danger | None, wrappers: int) -> int:
    """How many words a rule with a star has to spell, of a command behind so many words of wrappers."""
    needed = found.spelled if found else 0
    return wrappers + max(needed, 1) if wrappers else needed


def escape_command(command: str) -> str:
    """The pattern that covers exactly this command line."""
    return command.strip(" \t\n").replace("*", "\\*")


def has_star(pattern: str) -> bool:
    """Say whether a pattern, or a rule, has a star that stands for anything."""
    return "*" in pattern.replace("\\*", "")


def could_become_an_option(word: Word) -> bool:
    """Say whether it is a pattern of file names whose first letter is open; `./*` and `src/*` are fine."""
    return bool(word.stars) and (word.stars[0] == 0 or word.text.startswith("-"))


@dataclass(frozen=True, slots=True)
class _Shape:
    """A pattern as words: literal pieces with anything between them."""

    pieces: tuple[str, ...]
    optional: bool
    fixed: int
    """How many words in front have no star."""

    def matches(self, text: str) -> bool:
        return _matches(self.pieces, self.optional, _BETWEEN, text)


@lru_cache(maxsize=1024)
def _shape(pattern: str) -> _Shape | None:
    """None for a pattern that has more in it than words."""
    try:
        words = [token for token in lex(pattern) if isinstance(token, Word)]
        if len(words) != len(lex(pattern)) or not words:
            return None
    except Unreadable:
        return None
    chars: list[str | None] = []
    for index, word in enumerate(words):
        stars = {at for at in word.stars if word.text[at] == "*"}
        chars.extend(_BETWEEN if index else "")
        chars.extend(None if at in stars else char for at, char in enumerate(word.text))
    optional = len(words) > 1 and words[-1].text == "*" and bool(words[-1].stars)
    pieces = [""]
    for char in chars[:-2] if optional else chars:
        if char is None:
            pieces.append("")
        else:
            pieces[-1] += char
    fixed = next((at for at, word in enumerate(words) if "*" in word.text and word.stars), len(words))
    return _Shape(tuple(pieces), optional, fixed)


@lru_cache(maxsize=1024)
def _pieces(pattern: str) -> tuple[tuple[str, ...], bool]:
    """`npm run *` is a prefix at a word boundary (and the bare command); `ls*` has no boundary."""
    optional = pattern.endswith(" *")
    body = pattern.removesuffix(" *") if optional else pattern
    pieces = re.split(r"(?<!\\)\*", body)
    return tuple(" ".join(piece.replace("\\*", "*").split(" ")) for piece in pieces), optional


def _matches(pieces: tuple[str, ...], optional: bool, between: str, text: str) -> bool:
    """Match literal pieces with anything between them, in linear time; `optional` words may follow."""
    if not text.startswith(pieces[0]):
        return False
    at = len(pieces[0])
    inner, last = (pieces[1:], None) if optional else (pieces[1:-1], pieces[-1])
    for piece in inner:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    if last is not None:
        return text == last if len(pieces) == 1 else len(text) - len(last) >= at and text.endswith(last)
    if at == len(text) or text[at] == between or (between == " " and text[at].isspace()):
        return True
    # The last piece was found too early: any later place with a boundary behind it will do.
    final = pieces[-1] + between
    return len(pieces) > 1 and (text.endswith(pieces[-1]) or text.find(final, at) >= 0)


# --- what a deny rule is held against -----------------------------------------------------------------------


@lru_cache(maxsize=16)
def candidates(command: str) -> tuple[str, ...]:
    """Everything in a line that might be a command, in several readings: rather too much than too little."""
    line = command.strip(" \t\n")
    found = dict.fromkeys([line])
    readings = dict.fromkeys(_readings(line))
    for part in dict.fromkeys(part.strip() for text in readings for part in _PARTS.split(text)):
        for words in _unwrapped(part):
            found[words] = None
    read = parse(line)
    for known in () if isinstance(read, Unreadable) else read:
        for words in _unwrapped(" ".join(known.argv)):
            found[words] = None
    return tuple(found)


def _readings(line: str) -> Iterator[str]:
    joined = line.replace("\\\n", "").replace("\r", "\n")
    yield line
    decoded = _ANSI_C.sub(_decoded, joined)
    bare = re.sub(r"\$?[\"']|\\", "", decoded)
    bare = re.sub(r"\$\{?IFS\}?", " ", bare)
    yield bare
    yield re.sub(r"[\"'\\]", "", line)
    if "{" in bare and "," in bare:
        yield re.sub(r"[{},]", " ", bare)
        yield re.sub(r"\{([^{},]*),[^{}]*\}", r"\1", bare)


def _decoded(found: re.Match[str]) -> str:
    return _ESCAPE.sub(_character, found[1])


def _character(escape: re.Match[str]) -> str:
    octal, *hexadecimals, letter = escape.groups()
    if letter:
        return _CONTROLS[letter]
    number = int(octal, 8) & 0xFF if octal else int(next(filter(None, hexadecimals)), 16)
    return chr(number) if number < 0x110000 else escape[0]


def _unwrapped(words: str) -> Iterator[str]:
    """The words as they stand, without what leads them, without the program's folder, and what it runs."""
    leading = _LEADING.match(words)
    behind = words[leading.end() if leading else 0 :].strip()
    for text in (words,) if behind == words else (words, behind):
        yield text
        split = text.split()[:_MOST_WORDS]
        if not split:
            continue
        program = split[0].rpartition("/")[2]
        yield " ".join([program, *split[1:]])
        if program == "git":
            yield _GIT_OPTIONS.sub("git ", " ".join(split))
        for start in _inner_starts(program, split):
            yield " ".join([split[start].rpartition("/")[2], *split[start + 1 :]])


def _inner_starts(program: str, words: list[str]) -> Iterator[int]:
    """Where in a wrapper's words the wrapped command may begin."""
    if marks := table().runs_after.get(program):
        yield from (at + 1 for at, word in enumerate(words[:-1]) if word in marks)
    if program not in table().runners:
        return
    spare = 1 if program in table().takes_a_word else 0
    for at, word in enumerate(words[1:], 1):
        yield at
        if (
            word.startswith(("-", "+"))
            or "=" in word
            or words[at - 1].startswith("-")
            or word[:1].isdecimal()
        ):
            continue
        if spare == 0:
            return
        spare -= 1
