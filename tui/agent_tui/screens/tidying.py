"""Owns when all garbage is collected: now and then, while nobody types; refuses to wake a program that rests.

Panes, screens and tasks that are gone are circles, which only a whole walk of the collector finds. It walks
by itself when enough new objects outlived the young ones, and what start-up froze makes that a long time.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from typing import Final

EVERY: Final = 20.0
"""Seconds between two walks while anything is drawn; one takes 10 to 50 ms."""
QUIET: Final = 1.0
"""Seconds since the last key."""


class Tidying:
    """Call `look` at the end of every frame."""

    def __init__(self, last_key_at: Callable[[], float], clock: Callable[[], float] = time.monotonic) -> None:
        self._last_key_at, self._clock = last_key_at, clock
        self._walked_at = clock()

    def look(self) -> None:
        """Have a walk, outside of this frame, if it is time for one."""
        now = self._clock()
        if now - self._walked_at < EVERY or now - self._last_key_at() < QUIET:
            return
        self._walked_at = now
        asyncio.get_running_loop().call_soon(gc.collect)
