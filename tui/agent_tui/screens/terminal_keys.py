"""Owns what the bytes of a terminal mean where Textual reads them wrongly: alt with a key, esc, pastes.

Refuses to read and to wait. Textual's parser does the rest: mouse, function keys, reports.

Three faults of that parser are mended here. It looks for a longer sequence after `ESC 2` and types `^2` when
another sequence follows in the same reading. It takes `ESC` and a letter for alt with that letter although
they came one after the other. And it lets keys out of a paste that holds an ESC: such a paste could answer
a question.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.keys import KEY_NAME_REPLACEMENTS, _character_to_key

from agent_tui_core.records import dataclass

if TYPE_CHECKING:
    from textual.message import Message

ESCAPE: Final = "\x1b"
_PASTE_BEGINS: Final = "\x1b[200~"
_PASTE_ENDS: Final = "\x1b[201~"
UNFINISHED = 0.1
"""Seconds that the rest of an escape sequence may take; Textual's."""
_PRINTABLE: Final = string.digits + string.ascii_letters + string.punctuation + " "
_INTRODUCERS: Final = frozenset("[O]PX^_N\\")
"""After ESC these begin (or end) something longer: CSI, SS3, OSC, DCS, SOS, PM, APC, SS2, ST."""


class KeyParser:
    """What was typed, from pieces of any size. It has no clock: `now` is monotonic seconds."""

    def __init__(self, debug: bool = False) -> None:
        from textual._xterm_parser import XTermParser

        self._inner = XTermParser(debug)
        self._begun = ""
        """The beginning of what may become the mark that begins a paste."""
        self._begun_at = 0.0
        self._paste: str | None = None
        self._ends_in_escape = False

    @property
    def waits(self) -> bool:
        """Whether something is begun that time alone may complete: call `tick` soon."""
        return bool(self._begun) or self._inner._timeout_time is not None

    def feed(self, text: str, now: float) -> Iterator[Message]:
        """Take what was read at once; give the events that it completes."""
        if self._ends_in_escape and text and text[0] not in _INTRODUCERS:
            yield from self._flush()  # terminals write alt with a key in one piece: this was esc, then a key
        text, self._begun = self._begun + text, ""
        while text:
            if self._paste is None:
                plain, begins, text = text.partition(_PASTE_BEGINS)
                yield from self._feed_keys(plain, now, whole=bool(begins))
                if begins:
                    yield from self._flush()
                    self._paste = ""
            if self._paste is not None:
                searched = max(0, len(self._paste) - len(_PASTE_ENDS))
                self._paste += text
                if (end := self._paste.find(_PASTE_ENDS, searched)) < 0:
                    return
                pasted, text = self._paste[:end], self._paste[end + len(_PASTE_ENDS) :]
                self._paste = None
                yield events.Paste(pasted.replace("\x00", ""))

    def tick(self, now: float) -> Iterator[Message]:
        """Let time pass: an escape that nothing follows is the key, and a mark that stays cut is none."""
        if self._begun and now - self._begun_at >= UNFINISHED:
            begun, self._begun = self._begun, ""
            yield from self._inner.feed(begun)
            yield from self._flush()
        if self._inner._timeout_time is not None:
            yield from self._inner.tick()
        if self._inner._timeout_time is None:
            self._ends_in_escape = False

    def _feed_keys(self, text: str, now: float, *, whole: bool) -> Iterable[Message]:
        cut = 0 if whole else _length_of_beginning(text)
        if cut:
            text, self._begun, self._begun_at = text[:-cut], text[-cut:], now
        if text:
            self._ends_in_escape = text[-1] == ESCAPE
            yield from self._inner.feed(text)

    def _flush(self) -> Iterable[Message]:
        """Nothing more belongs to what was begun."""
        self._ends_in_escape = False
        if self._inner._timeout_time is not None:
            self._inner._timeout_time = 0.0
            yield from self._inner.tick()


def _length_of_beginning(text: str) -> int:
    """How much of the end of `text` may begin a paste's mark; ESC alone is left to Textual."""
    for length in range(min(len(_PASTE_BEGINS) - 1, len(text)), 1, -1):
        if text.endswith(_PASTE_BEGINS[:length]):
            return length
    return 0


def learn_alt_keys() -> None:
    """Have Textual know ESC and one character as a whole: alt with that key, which is no text.

    It would read `ESC 2` as a character that WezTerm on macOS would have typed, or wait for more.
    """
    if not isinstance(ANSI_SEQUENCES_KEYS, dict):  # pragma: no cover - a later Textual's business
        return
    known: dict[str, Any] = ANSI_SEQUENCES_KEYS
    for char in _PRINTABLE:
        if char not in _INTRODUCERS and not isinstance(known.get(ESCAPE + char), tuple):
            known[ESCAPE + char] = (_AltKey(_alt_name(char)),)
    known[f"{ESCAPE}\r"] = (_AltKey("alt+enter"),)


@dataclass(frozen=True, slots=True)
class _AltKey:
    """A key as Textual's table wants it."""

    value: str


def _alt_name(char: str) -> str:
    if char.isalnum():
        return f"alt+shift+{char.lower()}" if char.isupper() else f"alt+{char}"
    name = _character_to_key(char)
    return f"alt+{KEY_NAME_REPLACEMENTS.get(name, name)}"
