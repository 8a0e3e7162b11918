"""Owns the word that somebody waits: a key was read from the terminal, and the screen does not show it yet.

Refuses to know which key, but for the difference between text and all others. The thread that reads says when
one comes; frames and paintings, which the person does not wait for, look here and stand back.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from textual.events import Key

PATIENCE: Final = 0.03
"""Seconds that others stand back at most; some keys change nothing that can be seen."""


_MODIFIERS: Final = frozenset({"alt", "ctrl", "super", "hyper", "meta"})


def is_text(key: Key) -> bool:
    """Whether this key writes a character. With alt or ctrl it does not, whatever character it bears."""
    return key.is_printable and _MODIFIERS.isdisjoint(key.key.split("+")[:-1])


class Keyboard:
    """One for a program."""

    def __init__(self) -> None:
        self._came = float("-inf")

    def came(self) -> None:
        """A key was read, by whichever thread."""
        self._came = time.monotonic()

    def answered(self) -> None:
        """What it did is on the screen."""
        self._came = float("-inf")

    def waits(self) -> bool:
        """Whether a key came that is not answered."""
        return time.monotonic() - self._came < PATIENCE
