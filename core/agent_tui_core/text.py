"""Owns the seam between foreign text and any screen: `safe_text` and `visible_text`; refuses markup."""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import Final, Literal, TypeAlias

from agent_tui_core.cell_widths import is_certain
from agent_tui_core.lookalikes import is_alike, lookalike_signs, lookalikes, script

TAB_SIZE = 4

_NEEDS_CLEANING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-Z\\^-~]"
)
_LINE_END = re.compile(r"\r\n?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_WORD_WITH_DOUBT = re.compile(r"(?<![0-9A-Za-z_])[0-9A-Za-z_]*+[^\n -~](?:[0-9A-Za-z_]|[^\n -~])*+")
"""A word with what is not ASCII in it: whether a letter is what it seems depends on its neighbours."""
Kind: TypeAlias = Literal["letter", "alike", "mark", "sign", "doubtful"]
_PLAIN: Final[frozenset[Kind]] = frozenset({"letter", "sign"})
"""What is what it seems in any word; the other kinds depend on their neighbours, or are never plain."""
_MOST_KINDS = 4_096
_LONGEST_KEPT = 32
_MOST_MARKS = 2
"""On one letter: Vietnamese, Hebrew and Arabic need two."""
_BASES = frozenset({"LATIN", "GREEK", "CYRILLIC"})
"""The scripts whose letters take marks that belong to no script."""


def safe_text(foreign: str) -> str:
    """Return `foreign` with nothing left in it that could move the terminal; LF is kept.

    Whole escape sequences disappear, single control characters too; CRLF and CR become LF, tabs become
    spaces, lone surrogates (which no terminal can be sent) become U+FFFD.
    """
    if not _NEEDS_CLEANING.search(foreign):
        return foreign
    text = _LINE_END.sub("\n", _SEQUENCE.sub("", foreign)).expandtabs(TAB_SIZE)
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", text))


def safe_line(foreign: str) -> str:
    """Return `safe_text(foreign)` as one line, for titles, names and toasts."""
    return " ".join(safe_text(foreign).split())


def visible_text(foreign: str) -> str:
    """Return `foreign` for an approval: what could hide or look alike is spelt out as ``\\u{…}``.

    Plain is only what every terminal draws visibly and in the same cells. Controls (LF excepted), invisible,
    bidirectional, private-use and newer characters, spaces that are not U+0020, marks that repeat or stand
    without a letter of their script, and letters that look Latin in a Latin word become visible escapes, so
    that what a person reads is what will run.
    """
    if _is_plain(foreign):
        return foreign
    return _WORD_WITH_DOUBT.sub(_spelt_out_word, foreign)


def visible_command(foreign: str) -> str:
    """The same for what a shell would read: signs that look like its quotes, slashes and dashes as well."""
    if foreign.isascii():
        return visible_text(foreign)
    told = list(foreign)
    for at in set(lookalike_signs(foreign)):
        told[at] = escaped(foreign[at])
    return visible_text("".join(told))


def escaped(char: str) -> str:
    """One character as ASCII."""
    return f"\\u{{{ord(char):x}}}"


def _is_plain(text: str) -> bool:
    """Whether each character is what it seems wherever it stands."""
    return {_KINDS[ord(char)] for char in set(text)} <= _PLAIN


def _spelt_out_word(found: re.Match[str]) -> str:
    word = found[0]
    return _spelt_out_before(word) if len(word) <= _LONGEST_KEPT else _spelt_out(word)


def _spelt_out(word: str) -> str:
    if _is_plain(word):
        return word
    alike = frozenset(lookalikes(word))
    told: list[str] = []
    letter, marks = "", ""
    for at, char in enumerate(word):
        code = ord(char)
        kind = _KINDS[code]
        if (
            kind == "mark"
            and letter
            and len(marks) < _MOST_MARKS
            and char not in marks
            and _fits(char, letter)
        ):
            marks += char
        else:
            plain = kind != "doubtful" and kind != "mark" and at not in alike
            letter, marks = (char if plain and kind != "sign" else ""), ""
            if not plain:
                char = escaped(char)
        told.append(char)
    return "".join(told)


_spelt_out_before = functools.lru_cache(4_096)(_spelt_out)


def _fits(mark: str, letter: str) -> bool:
    of = script(mark)
    return script(letter) in _BASES if of == "COMBINING" else script(letter) == of


class _Kinds(dict[int, Kind]):
    """What a character is, looked up once: a long text is read while somebody waits for a key."""

    def __missing__(self, code: int) -> Kind:
        if len(self) >= _MOST_KINDS:
            self.clear()
        self[code] = kind = _kind(chr(code))
        return kind


_KINDS = _Kinds()


def _kind(char: str) -> Kind:
    if char == "\n":
        return "sign"
    if not is_certain(char):
        return "doubtful"
    category = unicodedata.category(char)
    if category[0] == "M":
        return "mark"
    if char > "~" and is_alike(char):
        return "alike"
    return "letter" if category[0] == "L" else "sign"
