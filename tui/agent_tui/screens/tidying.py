"""Owns when all garbage is collected: now and then, while nobody types; refuses to wake a program that rests.

Panes, screens and tasks that are gone are circles, which only a whole walk of the collector finds. It walks
by itself when enough new objects outlived the young ones, and what start-up froze makes that a long time.
What C then keeps free, between what is in use, goes back to the system: glibc alone only gives back its end.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import time
from collections.abc import Callable
from typing import Any, Final

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
        asyncio.get_running_loop().call_soon(_tidy)


def warm_up() -> None:
    """Find out, in a thread, how this system takes memory back."""
    _giving_back()


def _tidy() -> None:
    gc.collect()
    give_back = _giving_back()
    if give_back is not None:
        give_back(0)


@functools.cache
def _giving_back() -> Any | None:
    """`malloc_trim` of glibc; other C libraries have none, or need none."""
    import ctypes

    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
