"""Takes apart what a program wrote to a terminal, and says what in it is not the dashboard's own.

A tokenizer after ECMA-48 as xterm reads it in UTF-8: C0, CSI, the five kinds of strings, two- and three-byte
escapes, C1 as characters, bytes that are no UTF-8. The grammar of what may be there stands in `trespasses`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["text", "control", "csi", "string", "escape", "c1", "broken"]

_TOKEN: Final = re.compile(
    rb"(?P<csi>\x1b\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e])"
    rb"|(?P<string>\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?)"
    rb"|(?P<escape>\x1b[\x20-\x2f]*[\x30-\x7e]?)"
    rb"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])"
    rb"|(?P<text>[^\x00-\x1f\x7f]+)"
)
_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MODES: Final = frozenset(
    {"1000", "1002", "1003", "1004", "1006", "1015", "1049", "2004", "2026", "2048", "25", "7"}
)
_SGR: Final = re.compile(r"(?:(?:0|1|2|3|4|7|9|39|49|[34]8;2;\d{1,3};\d{1,3};\d{1,3})(?:;|\Z))*\Z")
_MODE: Final = re.compile(r"\?(?P<modes>[\d;]+)[hl]\Z")
_ASKED: Final = re.compile(r"\?(?P<modes>\d+)\$p\Z")
_MOVE: Final = re.compile(r"(?P<row>\d+);(?P<column>\d+)H\Z")
_KEYBOARD: Final = re.compile(r"(?:>\d+|<)u\Z")
_TITLE: Final = re.compile(r"2;agent-tui — \d+ agents?(?:, \d+ waits? for you)?\Z")
_POINTER: Final = re.compile(r"22;[a-z-]+\Z")


@dataclass(frozen=True, slots=True)
class Token:
    """One thing that a terminal would take in."""

    kind: Kind
    said: str
    """The text, or the sequence without its introducer; bytes that are no UTF-8 as backslashes."""
    raw: bytes


def tokens(output: bytes) -> Iterator[Token]:
    """All of it; nothing is left out."""
    at = 0
    while at < len(output):
        found = _TOKEN.match(output, at)
        if found is None:  # pragma: no cover - the five alternatives cover every byte
            raise AssertionError(output[at : at + 20])
        kind, raw, at = found.lastgroup or "", found.group(), found.end()
        match kind:
            case "text":
                yield from _text(raw)
            case "csi":
                yield Token("csi", raw[2:].decode("ascii"), raw)
            case "string":
                said = raw[2:].removesuffix(b"\x1b\\").removesuffix(b"\x07")
                yield Token("string", f"{chr(raw[1])}{said.decode('utf-8', 'backslashreplace')}", raw)
            case "escape":
                yield Token("escape", raw[1:].decode("ascii"), raw)
            case _:
                yield Token("control", raw.decode("ascii"), raw)


def _text(raw: bytes) -> Iterator[Token]:
    """Text, with what is no UTF-8 and what is a C1 control taken out of it."""
    said = raw.decode("utf-8", "surrogateescape")
    for part in re.split(r"([\x80-\x9f]|[\udc80-\udcff]+)", said):
        if not part:
            continue
        data = part.encode("utf-8", "surrogateescape")
        if "\udc80" <= part[0] <= "\udcff":
            yield Token("broken", repr(data), data)
        elif "\x80" <= part[0] <= "\x9f":
            yield Token("c1", repr(part), data)
        else:
            yield Token("text", part, data)


def text_of(output: bytes) -> str:
    """What a reader would see, in the order in which it was written."""
    return "".join(token.said for token in tokens(output) if token.kind == "text")


def trespasses(output: bytes, *, rows: int, columns: int) -> list[Token]:
    """What is not among the sequences that the dashboard writes by itself."""
    listed = list(tokens(output))
    return [
        token
        for number, token in enumerate(listed)
        if not _is_ours(token, listed[number + 1 : number + 3], rows, columns)
    ]


def plain_trespasses(output: bytes) -> list[Token]:
    """The same for a command that only prints: text, line ends, and colours of its own."""
    return [
        token
        for token in tokens(output)
        if not (
            token.kind == "text"
            or (token.kind == "control" and token.said in "\r\n")
            or (token.kind == "csi" and re.fullmatch(r"(?:0|1|3[1-6])m", token.said))
        )
    ]


def _is_ours(token: Token, after: list[Token], rows: int, columns: int) -> bool:
    match token.kind:
        case "text":
            return not _TURNING.intersection(token.said)
        case "csi":
            return _is_our_csi(token.said, rows, columns)
        case "string":
            return token.said[0] == "]" and bool(
                _TITLE.match(token.said[1:]) or _POINTER.match(token.said[1:])
            )
        case "control":
            # Between the rows of a whole screen (the terminal's driver adds the return): a cursor movement
            # follows, so it moves nothing itself. A line end in a text is followed by a colour instead.
            doubled = token.said == "\r" and bool(after) and after[0].raw == b"\n"
            rest = after[1:] if doubled else after
            moves = bool(rest) and rest[0].kind == "csi" and rest[0].said.endswith("H")
            return moves and (token.said == "\n" or doubled)
        case _:
            return False


def _is_our_csi(said: str, rows: int, columns: int) -> bool:
    if said.endswith("m"):
        return bool(_SGR.match(said[:-1]))
    if moved := _MOVE.match(said):
        return 1 <= int(moved["row"]) <= rows and 1 <= int(moved["column"]) <= columns
    if modes := _MODE.match(said) or _ASKED.match(said):
        return _MODES.issuperset(modes["modes"].split(";"))
    return bool(_KEYBOARD.match(said)) or said in {"22;2t", "23;2t"}
