"""Owns the seam between foreign text and any screen: `safe_text` and `visible_text`; refuses markup."""

from __future__ import annotations

import re
import unicodedata

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
_DOUBTFUL = re.compile(r"[^\n -~]+")
_MOST_SPELT_OUT = 4_096
_LOOKS_LIKE_SPACE = frozenset("\u2800\u3164\uffa0\u115f\u1160")


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

    Controls (LF excepted), invisible, bidirectional, private-use and unassigned characters and spaces that
    are not U+0020 become visible escapes, so that what a person reads is what will run.
    """
    return _DOUBTFUL.sub(lambda found: found[0].translate(_SPELT_OUT), foreign)


class _SpeltOut(dict[int, str]):
    """What stands for a character, looked up once: a long text is read while somebody waits for a key."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _MOST_SPELT_OUT:
            self.clear()
        char = chr(code)
        self[code] = told = char if _is_plain(char) else f"\\u{{{code:x}}}"
        return told


_SPELT_OUT = _SpeltOut()


def _is_plain(char: str) -> bool:
    if " " <= char <= "~" or char == "\n":
        return True
    if char in _LOOKS_LIKE_SPACE or "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef":
        return False
    return unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}
