"""Owns random Markdown for property tests: markup, controls and wide characters in any order."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

_BLOCKS = (
    "# |## a\n|- |* x\n|1. |2) y\n|  - z\n|> |```|~~~py\n|```\n|---\n|***\n|\n|\n\n| |    |- [ ] t\n|<b>|\\"
)
_INLINE = "**b**|_i_|`c`|[l](u)|&#27;|&Tab;|&NewLine;|&#x202e;|![p](q)|<http://x.y>|~~s~~|word |[[[["
_FOREIGN = "\r\n|\r|\t|\x1b[31m|\x1b]0;t\x07|\x1b|\x00|\x85|\u2028|\u202e|漢字|👩\u200d👩\u200d👧|e\u0301"
_JOINERS = ("\ufe0f", "\u200d", "\u0300")
_TABLES = ("| a | b |\n", "|---|:-:|\n", "| a | b |\n|---|--:|\n| c | **d** |\n")

MARKUP = st.sampled_from(
    [*_BLOCKS.split("|"), *_INLINE.split("|"), *_FOREIGN.split("|"), *_JOINERS, *_TABLES]
)
TEXTS = st.one_of(st.lists(MARKUP, max_size=40).map("".join), st.text(max_size=200))
CUTS = st.lists(st.integers(0, 300), max_size=20)


def slices(text: str, cuts: list[int]) -> list[str]:
    """Cut a text into pieces."""
    points = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    return [text[start:end] for start, end in pairwise(points)]


def has_control(text: str) -> bool:
    """Whether a character in it could move the terminal, LF included."""
    return any(ord(char) < 32 or 127 <= ord(char) < 160 or 0xD800 <= ord(char) < 0xE000 for char in text)
