"""The tokens of a command line, and what a shell makes of the parts of one word.

A word is text that a program gets, with the places where a shell puts something in: the value of a variable,
or the output of a command. Braces and sums of numbers are worked out here, because they need no shell.
"""

from __future__ import annotations

import ast
import itertools
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from agent_tui_core.records import dataclass

MOST_ALTERNATIVES: Final = 64
"""Words that one word with braces may become."""
_LARGEST: Final = 2**31
_SUM: Final = re.compile(r"[0-9+\-*/%() ]{1,100}\Z")
_OCTAL: Final = re.compile(r"(?<![0-9])0[0-9]")
_NUMBERS: Final = re.compile(r"(-?[1-9]\d{0,8}|0)\.\.(-?[1-9]\d{0,8}|0)\Z")
_LETTERS: Final = re.compile(r"([a-z])\.\.([a-z])\Z|([A-Z])\.\.([A-Z])\Z")


class Unreadable(Exception):
    """The line may do more than its words say."""

    def __init__(self, reason: str, part: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.part = part


@dataclass(frozen=True, slots=True)
class Fill:
    """A place in a word where the shell puts something in."""

    kind: Literal["variable", "command"]
    at: int
    """Where in the word's text."""
    quoted: bool
    start: int
    end: int
    """Its span in the line."""
    name: str = ""
    """Of a variable."""
    tokens: tuple[Token, ...] = ()
    """Of a command."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word, as the program will get it unless it is a pattern of file names or has fills."""

    text: str
    raw: str
    start: int
    end: int
    stars: tuple[int, ...] = ()
    """Where `text` has an unquoted `*` or `?`."""
    tilde: bool = False
    """It begins with an unquoted `~`."""
    fills: tuple[Fill, ...] = ()
    braced: bool = False
    """It is one of the words that braces made."""
    split: bool = False
    """The names that its stars stand for are taken apart at blanks: it was a variable without quotes."""

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


@dataclass(frozen=True, slots=True)
class HereDocument:
    """The lines behind a command that it reads as its input, letter by letter."""

    start: int
    end: int


Token: TypeAlias = Word | Operator | HereDocument


@dataclass(frozen=True, slots=True)
class Letters:
    """A piece of a word."""

    text: str
    stars: tuple[int, ...] = ()


Piece: TypeAlias = Letters | Fill | tuple[Letters, ...]
"""Letters, what the shell puts in, or the alternatives of braces."""


def words_of(pieces: Sequence[Piece], raw: str, start: int, end: int) -> tuple[Word, ...]:
    """The words that these pieces become: one, or with braces several."""
    choices = [piece if isinstance(piece, tuple) else (piece,) for piece in pieces]
    braced = any(isinstance(piece, tuple) for piece in pieces)
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > MOST_ALTERNATIVES:
        raise Unreadable(f"its braces make more than {MOST_ALTERNATIVES} words", raw)
    return tuple(_word(chosen, raw, start, end, braced) for chosen in itertools.product(*choices))


def _word(pieces: Sequence[Letters | Fill], raw: str, start: int, end: int, braced: bool) -> Word:
    text = ""
    stars: list[int] = []
    fills: list[Fill] = []
    for piece in pieces:
        match piece:
            case Letters():
                stars.extend(len(text) + star for star in piece.stars)
                text += piece.text
            case Fill():
                fill = Fill(
                    piece.kind, len(text), piece.quoted, piece.start, piece.end, piece.name, piece.tokens
                )
                fills.append(fill)
    tilde = raw.startswith("~")
    if braced and not text:
        raise Unreadable("its braces make an empty word", raw)
    return Word(text, text if braced else raw, start, end, tuple(stars), tilde, tuple(fills), braced)


def alternatives(inner: str) -> tuple[Letters, ...] | None:
    """What stands between braces, taken apart; None where bash leaves the braces as they are."""
    if "," in inner:
        return tuple(_letters(each) for each in inner.split(","))
    if found := _NUMBERS.match(inner):
        first, last = int(found[1]), int(found[2])
    elif found := _LETTERS.match(inner):
        first, last = (ord(each) for each in found.groups() if each)
    elif ".." in inner:
        raise Unreadable("it has braces that count in a way of their own", f"{{{inner}}}")
    else:
        return None
    if abs(last - first) >= MOST_ALTERNATIVES:
        raise Unreadable(f"its braces make more than {MOST_ALTERNATIVES} words", f"{{{inner}}}")
    steps = range(first, last + 1) if first <= last else range(first, last - 1, -1)
    letters = found.re is _LETTERS
    return tuple(Letters(chr(each) if letters else str(each)) for each in steps)


def _letters(text: str) -> Letters:
    return Letters(text, tuple(at for at, char in enumerate(text) if char in "*?"))


_OPERATORS: Final[Mapping[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}


def sum_of(text: str) -> str:
    """The value of an expression of plain numbers, as bash would write it; raises `Unreadable`."""
    excerpt = f"$(({text}))"
    if not _SUM.match(text) or _OCTAL.search(text) or "**" in text or "//" in text:
        raise Unreadable("it calculates with more than numbers", excerpt)
    try:
        value = _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError) as error:
        raise Unreadable("it has a calculation that cannot be read", excerpt) from error
    return str(value)


def _value(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int() as value):
            result = value
        case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
            result = _OPERATORS[type(op)](_value(left), _value(right))
        case _:
            raise ValueError(ast.dump(node))
    # Below zero bash rounds the other way, and above it wraps.
    if not 0 <= result < _LARGEST:
        raise ValueError(str(result))
    return result
