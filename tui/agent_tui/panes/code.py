"""Owns the drawing of code: its colours, its long lines, its label; refuses to colour what is still open."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from agent_tui.panes.lines import Line, Segment, chop, printable, shorten

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MARGIN: tuple[Segment, ...] = ((" ", "code margin"),)
_COLORED_LIMIT = 20_000
"""Characters of code that are coloured at once."""
_KEPT_LIMIT = 200
"""Characters of a line whose rows are kept."""
_COMMON = ("python", "bash", "json", "javascript", "diff", "toml")

_TOKEN_STYLES = (
    ("Token.Comment", "code-comment"),
    ("Token.Keyword.Type", "code-type"),
    ("Token.Keyword", "code-keyword"),
    ("Token.Literal.String", "code-string"),
    ("Token.Literal.Number", "code-number"),
    ("Token.Name.Function", "code-name"),
    ("Token.Name.Class", "code-type"),
    ("Token.Name.Builtin", "code-name"),
    ("Token.Name.Decorator", "code-type"),
    ("Token.Name.Exception", "code-type"),
    ("Token.Name.Namespace", "code-name"),
    ("Token.Name.Tag", "code-keyword"),
    ("Token.Name.Attribute", "code-type"),
    ("Token.Name.Variable", "code-name"),
    ("Token.Operator.Word", "code-keyword"),
    ("Token.Operator", "code-operator"),
    ("Token.Punctuation", "code-operator"),
    ("Token.Generic.Inserted", "code-added"),
    ("Token.Generic.Deleted", "code-removed"),
    ("Token.Generic.Heading", "code-type"),
    ("Token.Generic.Subheading", "code-name"),
)


def code_lines(
    source: str, language: str, width: int, *, colored: bool, starts: bool = True, label: bool = True
) -> list[Line]:
    """Draw a block of clean code: a label when it starts and its language is known, then its lines."""
    lines: list[Line] = []
    if starts and label and language:
        lines.append(Line((*MARGIN, (shorten(printable(language), max(1, width - 1)), "code-label")), "code"))
    lexer = _lexer(language) if colored and language and len(source) <= _COLORED_LIMIT else None
    if lexer is None:
        return lines + _uncolored(source, width)
    for segments in _styled_lines(source, lexer):
        lines += _row(segments, width)
    return lines


def _uncolored(source: str, width: int) -> list[Line]:
    """The rows of code without colours; of open code the last line grows, and those before it are kept."""
    *whole, last = source.split("\n")
    lines: list[Line] = []
    for line in whole:
        lines += _kept(line, width) if len(line) <= _KEPT_LIMIT else _row([(line, "code")], width)
    return lines + _row([(last, "code")], width)


@lru_cache(maxsize=1024)
def _kept(line: str, width: int) -> list[Line]:
    """The rows of a line that is drawn again in each frame."""
    return _row([(line, "code")], width)


def _row(segments: list[Segment], width: int) -> list[Line]:
    return chop(segments, width - 1, first=MARGIN, fill="code", mark="code mark")


def warm_up() -> None:
    """Import what colouring needs; for a thread after the first frame, so that no frame waits for it."""
    for language in _COMMON:
        _lexer(language)


def _styled_lines(source: str, lexer: Lexer) -> Iterable[list[Segment]]:
    row: list[Segment] = []
    for kind, text in lexer.get_tokens(source + "\n"):
        style = _token_style(str(kind))
        first, *others = text.split("\n")
        if first:
            row.append((first, style))
        for piece in others:
            yield row
            row = [(piece, style)] if piece else []
    if row:
        yield row


@lru_cache(maxsize=128)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language.lower(), stripnl=False, ensurenl=True)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _token_style(kind: str) -> str:
    return next((style for prefix, style in _TOKEN_STYLES if kind.startswith(prefix)), "code")
