"""Owns which characters a person takes for others that a shell treats otherwise; refuses to change a text.

A letter counts only by its word: Russian is no danger, a Cyrillic а in a Latin word is. A word of nothing but
such letters is one too, since nobody can tell it from the Latin one.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

_LETTERS: Final = frozenset(
    "аАВЕеЅѕІіЇїЈјКкМНОоРрСсТУуХхһҺҮүԀԁԌԚԛԜԝѵѴӀӏӐӑӒӓӖӗӦӧЁё"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρυιϲϳϹͿ"  # Greek
    "օսոհցզՏՍՕԼՈւյ"  # Armenian
    "ɑɡɩſƽǀǁᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢꜱʀʙɢʜɪʟɴʏ"  # Latin
)
_SCRIPTS: Final = frozenset({"CHEROKEE", "LISU", "COPTIC", "DESERET", "OLD", "GOTHIC", "CARIAN", "LYCIAN"})
"""Scripts of which many letters are Latin ones to the eye, and in which nobody writes commands."""
_COMPATIBLE: Final = re.compile(r"<(?:font|wide|narrow)> [0-9A-F]+$")
_PUNCTUATION: Final = frozenset(
    "\u00b4\u02b9\u02ba\u02bb\u02bc\u02bd\u02c8\u02ca\u02cb\u02c6\u02dc\u02d0\u02d7\u037e\u0384\u0387"
    "\u0589\u058a\u05be\u05c0\u05c3\u05f3\u05f4\u066a\u066b\u066d\u06d4\u0701\u0702\u07f4\u07f5\u1361\u1806"
    "\u2010\u2011\u2012\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2024\u2027\u2032\u2033\u2035"
    "\u2036\u2039\u203a\u2041\u2043\u2044\u204e\u204f\u2052\u2053\u2212\u2215\u2216\u2217\u2223\u2236\u223c"
    "\u2264\u2758\u275b\u275c\u275d\u275e\u2768\u2769\u276e\u276f\u2770\u2771\u2774\u2775\u27cb\u27cd\u2997\u2998\u29f5\u29f8"
    "\u29f9\u2cba\u2f02\u2f03\u3003\u3014\u3015\u3033\u3035\ua4f8\ua4fa\ua4fb\ua4fe\ua4ff\ua60e\ua789\ua78c"
    "\uff04\uff06\uff0a\uff0d\uff0f\uff1c\uff1e\uff3c\uff40\uff5c\uff5e\u01c3\u1c80"
)
_WORD: Final = re.compile(r"\w+")
_DASHES: Final = "\u2013\u2014\u2015\u30fc\u4e00\u3161"
_OPTION: Final = re.compile(rf"(?:^|(?<=\s))[{_DASHES}]+(?=[A-Za-z{_DASHES}])")
"""A longer dash only where an option could begin."""


def lookalikes(text: str) -> Iterator[int]:
    """Where letters and digits stand that look like ASCII, in words that look like Latin ones."""
    for found in _WORD.finditer(text):
        word = found[0]
        if word.isascii():
            continue
        alike = [at for at, char in enumerate(word) if char > "~" and is_alike(char)]
        if alike and _could_be_latin(word):
            yield from (found.start() + at for at in alike)


def lookalike_signs(command: str) -> Iterator[int]:
    """Where punctuation stands that a person would take for a quote, a slash, a dash of the shell."""
    for at, char in enumerate(command):
        if char > "~" and char in _PUNCTUATION and not _is_apostrophe(command, at):
            yield at
    for found in _OPTION.finditer(command):
        yield from range(*found.span())


def _could_be_latin(word: str) -> bool:
    letters = [char for char in word if char > "~" and char.isalpha()]
    return (
        any("a" <= char <= "z" or "A" <= char <= "Z" for char in word)
        or any(script(char) == "LATIN" for char in letters)
        or all(is_alike(char) for char in letters)
    )


@functools.lru_cache(4_096)
def is_alike(char: str) -> bool:
    """Whether a letter or a digit looks like one of ASCII, in some word."""
    if char in _LETTERS or script(char) in _SCRIPTS:
        return True
    if unicodedata.category(char) == "Nd" or "\u2160" <= char <= "\u217f" or "\ufb00" <= char <= "\ufb06":
        return True
    return (
        bool(_COMPATIBLE.match(unicodedata.decomposition(char)))
        and unicodedata.normalize("NFKC", char).isascii()
    )


def _is_apostrophe(text: str, at: int) -> bool:
    around = text[at - 1 : at] + text[at + 1 : at + 2]
    return text[at] == "\u2019" and len(around) == 2 and around.isalpha()


@functools.lru_cache(4_096)
def script(char: str) -> str:
    """The script of a letter or a mark, as its name says; COMBINING for a mark of several."""
    return unicodedata.name(char, "").partition(" ")[0]
