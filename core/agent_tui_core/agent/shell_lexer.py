"""Owns the words and operators of a command line that holds nothing a shell would expand or nest.

Refuses (raises `Unreadable`) whatever it is not sure of: that costs a question, never a command.
"""

from __future__ import annotations

import re
import string
import unicodedata
from typing import Final, TypeAlias

from agent_tui_core.records import dataclass

LONGEST: Final = 10_000
"""Characters of a line that is read."""
MOST_TOKENS: Final = 1_000
"""The second reader takes half a second for thousands of redirections, and every key would wait for it."""
TOO_LONG: Final = f"it has more than {LONGEST:,} characters"

_BARE: Final = frozenset(string.ascii_letters + string.digits + "_./:@%+,=^-~#")
_GLOBS: Final = frozenset("*?")
_ESCAPABLE: Final = frozenset(string.punctuation + " ")
_OPERATOR: Final = re.compile(r"&>>|&>|&&|&|\|\||\|&|\||;;&?|;&|;|\n|<<<|<<|<\(|<>|<&|<|>>|>\||>\(|>&|>")
_REFUSED: Final = {
    "<<<": "a here-string",
    "<<": "a here-document",
    "<(": "a process substitution",
    ">(": "a process substitution",
    "<>": "a file opened for reading and writing",
    "<&": "a copied descriptor",
    ";;": "a case",
    ";;&": "a case",
    ";&": "a case",
}
_AT_BRACES: Final = re.compile(r"(?<=@)\{[A-Za-z0-9_/-]*\}")
_EXPANDED_TILDE: Final = re.compile(r"[=:]~")


class Unreadable(Exception):
    """The line may do more than its words say."""

    def __init__(self, reason: str, part: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.part = part


@dataclass(frozen=True, slots=True)
class Word:
    """One word, as the program will get it unless it is a pattern of file names."""

    text: str
    raw: str
    start: int
    end: int
    stars: tuple[int, ...] = ()
    """Where `text` has an unquoted `*` or `?`."""
    tilde: bool = False
    """It begins with an unquoted `~`."""

    @property
    def plain(self) -> bool:
        """Nothing in it was quoted."""
        return self.raw == self.text


@dataclass(frozen=True, slots=True)
class Operator:
    """One control or redirection operator; a newline is one too."""

    text: str
    start: int
    end: int


Token: TypeAlias = Word | Operator


def lex(line: str) -> tuple[Token, ...]:
    """Read a whole line; raises `Unreadable`, with the place, for everything that is not plainly a word."""
    check_characters(line)
    tokens: list[Token] = []
    at = 0
    while at < len(line):
        if len(tokens) > MOST_TOKENS:
            raise Unreadable(f"it has more than {MOST_TOKENS:,} words and operators")
        char = line[at]
        if char in " \t":
            at += 1
        elif char == "#":
            end = line.find("\n", at)
            at = len(line) if end < 0 else end
        elif found := _OPERATOR.match(line, at):
            if reason := _REFUSED.get(found[0]):
                raise Unreadable(f"it has {reason}", _excerpt(line, at))
            tokens.append(Operator(found[0], at, found.end()))
            at = found.end()
        else:
            word = _Reader(line, at).word()
            tokens.append(word)
            at = word.end
    return tuple(tokens)


def check_characters(line: str) -> None:
    """Raise `Unreadable` for a line that is too long to be read or holds what no person sees."""
    if len(line) > LONGEST:
        raise Unreadable(TOO_LONG)
    for char in line:
        if char not in "\n\t" and unicodedata.category(char) in {"Cc", "Cs"}:
            raise Unreadable(f"it holds the control character U+{ord(char):04X}")


class _Reader:
    """Reads one word."""

    def __init__(self, line: str, start: int) -> None:
        self._line = line
        self._start = self._at = start
        self._text: list[str] = []
        self._stars: list[int] = []

    def word(self) -> Word:
        line = self._line
        while self._at < len(line):
            char = line[self._at]
            if char in " \t\n;&|<>":
                break
            self._take(char)
        raw = line[self._start : self._at]
        if _EXPANDED_TILDE.search(raw):
            raise Unreadable("a ~ after = or : may be expanded", raw)
        if raw.startswith("~") and raw != "~" and not raw.startswith("~/"):
            raise Unreadable("a ~ with a name behind it is expanded", raw)
        tilde = raw.startswith("~")
        return Word("".join(self._text), raw, self._start, self._at, tuple(self._stars), tilde)

    def _take(self, char: str) -> None:
        line, at = self._line, self._at
        if char == "'":
            end = line.find("'", at + 1)
            self._quoted(line[at + 1 : end], end)
        elif char == '"':
            self._double()
        elif char == "\\":
            self._escape()
        elif char in _BARE or char in _GLOBS:
            if char in _GLOBS:
                self._stars.append(len(self._text))
            self._text.append(char)
            self._at += 1
        elif char == "{" and (found := _AT_BRACES.match(line, at)):
            self._text.extend(found[0])
            self._at = found.end()
        else:
            raise Unreadable(_why_not(char), _excerpt(line, at))

    def _quoted(self, text: str, end: int) -> None:
        if end < 0:
            raise Unreadable("a quote is not closed", _excerpt(self._line, self._at))
        for char in text:
            if char not in "\n\t" and not char.isprintable():
                raise Unreadable(f"it holds the invisible character U+{ord(char):04X}")
        self._text.extend(text)
        self._at = end + 1

    def _double(self) -> None:
        line, at = self._line, self._at + 1
        text: list[str] = []
        while at < len(line) and line[at] != '"':
            char = line[at]
            if char in "$`":
                raise Unreadable(_why_not(char), _excerpt(line, at))
            if char == "\\":
                at += 1
                char = line[at : at + 1]
                if char == "\n":
                    raise Unreadable("a line is continued by \\", _excerpt(line, at - 1))
                if char not in {"$", "`", '"', "\\"}:
                    text.append("\\")
            text.append(char)
            at += 1
        self._quoted("".join(text), at if at < len(line) else -1)

    def _escape(self) -> None:
        char = self._line[self._at + 1 : self._at + 2]
        if char not in _ESCAPABLE and not (char.isascii() and char.isalnum()):
            raise Unreadable("a line is continued by \\", _excerpt(self._line, self._at))
        self._text.append(char)
        self._at += 2


_REASONS: Final[dict[str, str]] = {
    "$": "the shell would expand a $",
    "`": "it runs a command inside a command",
    "(": "it has a subshell, a function or an array",
    ")": "it has a subshell, a function or an array",
    "{": "it has a brace expansion or a group",
    "}": "it has a brace expansion or a group",
    "[": "it has an unquoted [",
    "]": "it has an unquoted ]",
    "!": "it has an unquoted !",
}


def _why_not(char: str) -> str:
    return _REASONS.get(char, f"it has the unquoted character U+{ord(char):04X}")


def _excerpt(line: str, at: int) -> str:
    """From the start of the surrounding command to its end, roughly: what a person looks for."""
    start = max(line.rfind(mark, 0, at) for mark in ";&|\n") + 1
    end = min((found for mark in ";&|\n" if (found := line.find(mark, at)) > at), default=len(line))
    return line[start:end].strip()[:200]
