"""Reads the words and operators of a command line.

It understands quotes, patterns of file names, braces, variables in words, `$( … )`, sums of numbers and
quoted here-documents. Whatever it isn't sure of raises `Unreadable`: that costs a question, never a command.
"""

from __future__ import annotations

import re
import string
import unicodedata
from typing import Final

from agent_tui_core.agent.shell_words import (
    Fill,
    HereDocument,
    Letters,
    Operator,
    Piece,
    Token,
    Unreadable,
    Word,
    alternatives,
    sum_of,
    words_of,
)

LONGEST: Final = 10_000
"""Characters of a line that is read."""
MOST_TOKENS: Final = 1_000
"""The second reader takes half a second for thousands of redirections, and every key would wait for it."""
TOO_LONG: Final = f"it has more than {LONGEST:,} characters"

_BARE: Final = frozenset(string.ascii_letters + string.digits + "_./:@%+,=^-~#")
_GLOBS: Final = frozenset("*?")
_ALONE: Final = frozenset({"[", "]", "!", "{", "}"})
"""Words of one letter that mean something, and must stand alone."""
_ESCAPABLE: Final = frozenset(string.punctuation + " ")
_OPERATOR: Final = re.compile(
    r"&>>|&>|&&|&|\|\||\|&|\||;;&?|;&|;|\n|<<<|<<-|<<|<\(|<>|<&|<|>>|>\||>\(|>&|>|\(|\)"
)
_REFUSED: Final = {
    "<<<": "a here-string",
    "<<-": "a here-document with tabs",
    "<(": "a process substitution",
    ">(": "a process substitution",
    "<>": "a file opened for reading and writing",
    "<&": "a copied descriptor",
    ";;": "a case",
    ";;&": "a case",
    ";&": "a case",
}
_BRACES: Final = re.compile(r"\{([A-Za-z0-9_./,:@%+=^#*?-]*)\}")
_EXPANDED_TILDE: Final = re.compile(r"[=:]~")
_VARIABLE: Final = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*|\?)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_CONTINUED: Final = re.compile(r"\\\n(?=[ \t]*[^ \t\n#])")
_NESTED: Final = 4
"""How deep commands may stand inside commands."""


def lex(line: str) -> tuple[Token, ...]:
    """Read a whole line; raises `Unreadable`, with the place, for everything that is not plainly a word."""
    check_characters(line)
    return _Line(line).tokens()


def check_characters(line: str) -> None:
    """Raise `Unreadable` for a line that is too long to be read or holds what no person sees."""
    if len(line) > LONGEST:
        raise Unreadable(TOO_LONG)
    for char in line:
        if char not in "\n\t" and unicodedata.category(char) in {"Cc", "Cs"}:
            raise Unreadable(f"it holds the control character U+{ord(char):04X}")


class _Line:
    """Reads tokens up to the end of the line, or to the `)` that ends a command inside a word."""

    def __init__(self, line: str, at: int = 0, depth: int = 0) -> None:
        self._line = line
        self.at = at
        self._depth = depth
        self._tokens: list[Token] = []
        self._open = 0
        self._ends: list[str] = []
        """The words that end the here-documents of this line."""

    def tokens(self) -> tuple[Token, ...]:
        line = self._line
        while self.at < len(line):
            if len(self._tokens) > MOST_TOKENS:
                raise Unreadable(f"it has more than {MOST_TOKENS:,} words and operators")
            char = line[self.at]
            if char in " \t":
                self.at += 1
            elif char == "#":
                self._comment()
            elif found := _OPERATOR.match(line, self.at):
                if found[0] == ")" and self._depth and not self._open:
                    return tuple(self._tokens)
                self._operator(found[0])
            elif char == "\\" and (found := self._continued()):
                self.at = found.end()
            else:
                self._word()
        if self._depth:
            raise Unreadable("a $( is not closed", line[-200:])
        if self._ends:
            raise Unreadable("a here-document has no end", line[-200:])
        return tuple(self._tokens)

    def _comment(self) -> None:
        if self._depth:
            raise Unreadable("it has a comment inside a command inside a word", excerpt(self._line, self.at))
        end = self._line.find("\n", self.at)
        self.at = len(self._line) if end < 0 else end

    def _continued(self) -> re.Match[str] | None:
        """A backslash at the end of a line that stands between words, and joins none."""
        before = self._line[self.at - 1 : self.at]
        return _CONTINUED.match(self._line, self.at) if before in {" ", "\t"} else None

    def _operator(self, text: str) -> None:
        if reason := _REFUSED.get(text):
            raise Unreadable(f"it has {reason}", excerpt(self._line, self.at))
        self._open += (text == "(") - (text == ")")
        self._tokens.append(Operator(text, self.at, self.at + len(text)))
        self.at += len(text)
        if text == "<<":
            self._here_document()
        elif text == "\n" and self._ends:
            self._body(self._ends.pop())

    def _here_document(self) -> None:
        """Read the word that ends it. Only one at a time, and none inside a word: readers differ there."""
        if self._ends or self._depth:
            raise Unreadable("it has a here-document among others", excerpt(self._line, self.at))
        found = re.compile(r"[ \t]*('[A-Za-z0-9_]+'|\"[A-Za-z0-9_]+\"|[A-Za-z0-9_]+)(?=[ \t\n;&|<>)])").match(
            self._line, self.at
        )
        if found is None:
            raise Unreadable(
                "a here-document ends at a word that is no plain name", self._line[self.at :][:80]
            )
        raw = found[1]
        self._tokens.append(Word(raw.strip("'\""), raw, found.start(1), found.end(1)))
        self._ends.append(raw)
        self.at = found.end()

    def _body(self, raw: str) -> None:
        end = raw.strip("'\"")
        lines = self._line[self.at :].split("\n")
        if end not in lines:
            raise Unreadable("a here-document has no end", self._line[-200:])
        count = lines.index(end)
        body = "".join(line + "\n" for line in lines[:count])
        if raw == end and any(char in body for char in "$`\\"):
            raise Unreadable("it has a here-document that the shell would expand", body[:200])
        self._tokens.append(HereDocument(self.at, self.at + len(body)))
        self.at += len(body) + len(end)

    def _word(self) -> None:
        reader = _Reader(self._line, self.at, self._depth)
        self._tokens.extend(reader.words())
        self.at = reader.at


class _Reader:
    """Reads one word."""

    def __init__(self, line: str, start: int, depth: int) -> None:
        self._line = line
        self._start = self.at = start
        self._depth = depth
        self._pieces: list[Piece] = []
        self._text: list[str] = []
        self._stars: list[int] = []

    def words(self) -> tuple[Word, ...]:
        line = self._line
        while self.at < len(line) and line[self.at] not in " \t\n;&|<>()":
            self._take(line[self.at])
        self._end_of_letters()
        raw = line[self._start : self.at]
        if _EXPANDED_TILDE.search(raw):
            raise Unreadable("a ~ after = or : may be expanded", raw)
        if raw.startswith("~") and raw != "~" and not raw.startswith("~/"):
            raise Unreadable("a ~ with a name behind it is expanded", raw)
        if any(isinstance(piece, tuple) for piece in self._pieces) and set(raw) & set("'\"\\~$"):
            raise Unreadable("it has braces beside quotes", raw)
        return words_of(self._pieces, raw, self._start, self.at)

    def _end_of_letters(self) -> None:
        if self._text or not self._pieces:
            self._pieces.append(Letters("".join(self._text), tuple(self._stars)))
        self._text, self._stars = [], []

    def _take(self, char: str) -> None:
        line, at = self._line, self.at
        if char == "'":
            end = line.find("'", at + 1)
            self._quoted(line[at + 1 : end], end)
        elif char == '"':
            self._double()
        elif char == "\\":
            self._escape()
        elif char == "$":
            self._dollar(quoted=False)
        elif char in _BARE or char in _GLOBS or _is_letter(char):
            if char in _GLOBS:
                self._stars.append(len(self._text))
            self._text.append(char)
            self.at += 1
        elif char == "{" and (found := _BRACES.match(line, at)):
            self._brace(found)
        elif char in _ALONE and at == self._start and line[at + 1 : at + 2] in {"", *" \t\n;&|)"}:
            self._text.append(char)
            self.at += 1
        else:
            raise Unreadable(_why_not(char), excerpt(line, at))

    def _brace(self, found: re.Match[str]) -> None:
        self.at = found.end()
        choices = alternatives(found[1])
        if choices is None:
            self._stars.extend(len(self._text) + at for at, char in enumerate(found[0]) if char in _GLOBS)
            self._text.extend(found[0])
            return
        self._end_of_letters()
        self._pieces.append(choices)

    def _dollar(self, *, quoted: bool) -> None:
        """Take `$name`, `${name}`, `$((1 + 2))` or `$( … )`."""
        line, at = self._line, self.at
        if line.startswith("$((", at):
            end = line.find("))", at)
            if end < 0:
                raise Unreadable(_why_not("$"), excerpt(line, at))
            self._text.extend(sum_of(line[at + 3 : end]))
            self.at = end + 2
            return
        if line.startswith("$(", at):
            if self._depth >= _NESTED:
                raise Unreadable("it has commands inside commands inside commands", excerpt(line, at))
            inner = _Line(line, at + 2, self._depth + 1)
            tokens = inner.tokens()
            self._fill(Fill("command", 0, quoted, at, inner.at + 1, tokens=tokens))
        elif found := _VARIABLE.match(line, at):
            self._fill(Fill("variable", 0, quoted, at, found.end(), found[1] or found[2]))
        else:
            raise Unreadable(_why_not("$"), excerpt(line, at))

    def _fill(self, fill: Fill) -> None:
        self._end_of_letters()
        self._pieces.append(fill)
        self.at = fill.end

    def _quoted(self, text: str, end: int) -> None:
        if end < 0:
            raise Unreadable("a quote is not closed", excerpt(self._line, self.at))
        _check_visible(text)
        self._text.extend(text)
        self.at = end + 1

    def _double(self) -> None:
        line, opened = self._line, self.at
        self.at += 1
        while self.at < len(line) and line[self.at] != '"':
            char = line[self.at]
            if char == "`":
                raise Unreadable(_why_not(char), excerpt(line, self.at))
            if char == "$":
                self._dollar(quoted=True)
                continue
            if char == "\\":
                self.at += 1
                char = line[self.at : self.at + 1]
                if char == "\n":
                    raise Unreadable("a line is continued by \\", excerpt(line, self.at - 1))
                if char not in {"$", "`", '"', "\\"}:
                    self._text.append("\\")
            _check_visible(char)
            self._text.append(char)
            self.at += 1
        if self.at >= len(line):
            raise Unreadable("a quote is not closed", excerpt(line, opened))
        self.at += 1

    def _escape(self) -> None:
        char = self._line[self.at + 1 : self.at + 2]
        if char not in _ESCAPABLE and not (char.isascii() and char.isalnum()):
            raise Unreadable("a line is continued by \\", excerpt(self._line, self.at))
        self._text.append(char)
        self.at += 2


def _check_visible(text: str) -> None:
    for char in text:
        if char not in "\n\t" and not char.isprintable():
            raise Unreadable(f"it holds the invisible character U+{ord(char):04X}")


def _is_letter(char: str) -> bool:
    """A letter of any script. Some shells take the bytes 85 and A0 for blanks."""
    return (
        ord(char) > 127
        and unicodedata.category(char)[0] in "LMN"
        and char.isprintable()
        and not {0x85, 0xA0} & set(char.encode())
    )


_REASONS: Final[dict[str, str]] = {
    "$": "the shell would expand a $",
    "`": "it runs a command inside a command",
    "{": "it has a brace expansion or a group",
    "}": "it has a brace expansion or a group",
    "[": "it has an unquoted [",
    "]": "it has an unquoted ]",
    "!": "it has an unquoted !",
}


def _why_not(char: str) -> str:
    return _REASONS.get(char, f"it has the unquoted character U+{ord(char):04X}")


def excerpt(line: str, at: int) -> str:
    """From the start of the surrounding command to its end, roughly: what a person looks for."""
    start = max(line.rfind(mark, 0, at) for mark in ";&|\n") + 1
    end = min((found for mark in ";&|\n" if (found := line.find(mark, at)) > at), default=len(line))
    return line[start:end].strip()[:200]
