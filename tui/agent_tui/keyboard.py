"""Owns the word that somebody waits: a key was read from the terminal, and the screen does not show it yet.

Refuses to know which key. The thread that reads says when one comes; frames and paintings, which the person
does not wait for, look here and stand back.
"""

from __future__ import annotations

import time
from typing import Final

PATIENCE: Final = 0.03
"""Seconds that others stand back at most; some keys change nothing that can be seen."""


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
