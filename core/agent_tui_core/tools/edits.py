"""Owns what an edit makes of a text: line ends and BOM that stay, and the one place that `old_string` names.

Refuses to guess: what is not found exactly, or is found more than once, is an error that shows the way.
"""

from __future__ import annotations

import re

from agent_tui_core.errors import ToolError
from agent_tui_core.records import dataclass

_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_NEAR_LINES = 3
_SEARCHED_LINES = 5_000
_COUNTED = 1_000
_LINE_WIDTH = 200
_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TextForm:
    """How a file writes down its text."""

    bom: bool = False
    crlf: bool = False
    """Every line ends with CR LF; a file with both kinds is left as it is."""


@dataclass(frozen=True, slots=True)
class Edited:
    """What an edit made of a text."""

    text: str
    lines: tuple[int, ...]
    """Where the replaced places start, from 1."""


def decode(raw: str, content: bytes) -> tuple[str, TextForm]:
    """Return a file's text with LF line ends, and its form; raises `ToolError` when it is not UTF-8 text."""
    if problem := no_text(content):
        raise ToolError(f"{raw} is {problem}; change it with Bash")
    form = form_of(content)
    text = content.removeprefix(_BOM).decode()
    return (text.replace("\r\n", "\n") if form.crlf else text), form


def no_text(content: bytes) -> str:
    """Say what else than UTF-8 text this is; empty when it is that."""
    if content.startswith(_UTF_16):
        return "UTF-16 text"
    if b"\0" in content[:8192]:
        return f"a binary file ({len(content):,} bytes)"
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8 (byte {error.start:,})"
    return ""


def encode(text: str, form: TextForm) -> bytes:
    """Return the bytes of a text in a form; raises `ToolError` for what cannot be written down."""
    if form.crlf:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"the text holds half of a surrogate pair at character {error.start:,}") from error
    return _BOM + content if form.bom and not content.startswith(_BOM) else content


def form_of(content: bytes) -> TextForm:
    """Return the form that is kept when the content is replaced."""
    crlf = content.count(b"\r\n")
    return TextForm(content.startswith(_BOM), crlf > 0 and crlf == content.count(b"\n"))


def replaced(raw: str, text: str, old: str, new: str, *, every: bool) -> Edited:
    """Put `new` in the place of `old`, which stands in `text` exactly once unless `every` place is meant.

    Raises `ToolError` with what a model needs to try again.
    """
    if not old:
        raise ToolError("old_string is empty; use Write to make a file or to replace the whole of it")
    if old == new:
        raise ToolError("old_string and new_string are the same")
    for found, put in _spellings(text, old, new):
        places = _places(text, found)
        if len(places) > 1 and not every:
            raise ToolError(
                f"old_string stands {len(places):,} times in {raw} (lines {_listed(text, places)}); "
                "add lines around the one you mean, or set replace_all"
            )
        if places:
            return Edited(text.replace(found, put), tuple(_line_of(text, place) for place in places[:10]))
    raise ToolError(f"old_string is not in {raw}. {_nearest(text, old)}")


def _spellings(text: str, old: str, new: str) -> list[tuple[str, str]]:
    """The edit as given, then with the line ends that the text may have at that place."""
    lf = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"))
    if "\r\n" not in text:
        return [lf, (old, new)]
    return [(old, new), (lf[0].replace("\n", "\r\n"), lf[1].replace("\n", "\r\n")), lf]


def _places(text: str, old: str) -> list[int]:
    """Where `old` starts, overlapping ones too: "aa" in "aaa" is not one place."""
    places: list[int] = []
    at = text.find(old)
    while at >= 0 and len(places) < _COUNTED:
        places.append(at)
        at = text.find(old, at + 1)
    return places


def _listed(text: str, places: list[int]) -> str:
    lines = [str(_line_of(text, place)) for place in places[:5]]
    return ", ".join(lines) + (", …" if len(places) > len(lines) else "")


def _line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _nearest(text: str, old: str) -> str:
    if _NUMBERED.match(old) and _NUMBERED.sub("", old).strip() and _NUMBERED.sub("", old) in text:
        return "It starts with line numbers as Read shows them; leave those out."
    lines = text.split("\n")[:_SEARCHED_LINES]
    wanted = old.strip("\n").split("\n")
    first = _same_but_for_spaces(lines, wanted)
    if first is not None:
        shown = _numbered(lines, range(first, min(first + len(wanted), first + 20)))
        return f"This differs only in spaces, tabs or line ends:\n{shown}"
    near = _alike(lines, max(wanted, key=lambda line: len(line.strip())))
    if not near:
        return "No line of the file is like it; read the file again."
    return f"The lines nearest to it:\n{_numbered(lines, near)}"


def _same_but_for_spaces(lines: list[str], wanted: list[str]) -> int | None:
    plain = ["".join(line.split()) for line in lines]
    sought = ["".join(line.split()) for line in wanted]
    if not any(sought):
        return None
    for start in range(len(plain) - len(sought) + 1):
        if plain[start : start + len(sought)] == sought:
            return start
    return None


def _alike(lines: list[str], wanted: str) -> list[int]:
    from difflib import get_close_matches

    stripped = {line.strip()[:_LINE_WIDTH]: index for index, line in reversed(list(enumerate(lines)))}
    stripped.pop("", None)
    matches = get_close_matches(wanted.strip()[:_LINE_WIDTH], stripped, n=_NEAR_LINES, cutoff=0.5)
    return sorted(stripped[match] for match in matches)


def _numbered(lines: list[str], indexes: range | list[int]) -> str:
    return "\n".join(f"{index + 1:>6}\t{lines[index][:_LINE_WIDTH]}" for index in indexes)
