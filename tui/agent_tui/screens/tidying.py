"""Owns when all garbage is collected: now and then, in a pause of typing; refuses to wake what rests.

Panes, screens and tasks that are gone are circles, which only a whole walk of the collector finds. It walks
by itself when enough new objects outlived the young ones, and what start-up froze makes that a long time.
What C then keeps free, between what is in use, goes back to the system: glibc alone only gives back its end.
Caches of rows, of Textual and of our own, are emptied before they are full of rows that nobody draws again.
And what is large never lies between: glibc would put it there once the first of its size was freed.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import ctypes

EVERY: Final = 20.0
"""Seconds between two walks while anything is drawn; one takes 10 to 50 ms."""
_LARGE: Final = 128 * 2**10
"""Bytes of memory that is asked of the system for itself; glibc begins with that, but moves on."""
_MOST_CACHED: Final = 256
"""Entries that a cache may have after a walk; some of Textual's are made for 16,384."""
_M_MMAP_THRESHOLD: Final = -3
"""From glibc's malloc.h."""
QUIET: Final = 0.3
"""Seconds since the last key."""
LATEST: Final = 90.0
"""Seconds after which somebody who never stops typing waits for it once."""


class Tidying:
    """Call `look` at the end of every frame."""

    def __init__(self, last_key_at: Callable[[], float], clock: Callable[[], float] = time.monotonic) -> None:
        self._last_key_at, self._clock = last_key_at, clock
        self._walked_at = clock()

    def look(self) -> None:
        """Have a walk, outside of this frame, if it is time for one."""
        now = self._clock()
        since = now - self._walked_at
        if since < EVERY or (since < LATEST and now - self._last_key_at() < QUIET):
            return
        self._walked_at = now
        asyncio.get_running_loop().call_soon(tidy)


def warm_up() -> None:
    """Look for caches, and tell malloc what is large; for a thread."""
    large_caches()
    if (libc := _glibc()) is not None:
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGE)


def tidy() -> None:
    """Empty what is remembered of rows that went, collect garbage, give back what is free."""
    for cache in large_caches():
        if cache.cache_info().currsize > _MOST_CACHED:
            cache.cache_clear()
    gc.collect()
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


@functools.cache
def large_caches() -> list[functools._lru_cache_wrapper[Any]]:
    """The caches of what is drawn, Textual's, Rich's and ours, that would hold more than is kept."""
    from rich.segment import Segment
    from textual import _segment_tools
    from textual.css.scalar import Scalar
    from textual.geometry import Region
    from textual.strip import Strip

    from agent_tui.panes import code

    owners = (Region, Strip, Segment, Scalar, _segment_tools, code)
    members = [getattr(each, "__func__", each) for owner in owners for each in vars(owner).values()]
    caches = [each for each in members if isinstance(each, functools._lru_cache_wrapper)]
    return [each for each in caches if (each.cache_parameters()["maxsize"] or 0) > _MOST_CACHED]


@functools.cache
def _glibc() -> ctypes.CDLL | None:
    """The C library if it is glibc; others have no such functions, or need none."""
    import ctypes

    try:
        libc = ctypes.CDLL(None)
        return libc if libc.malloc_trim and libc.mallopt else None
    except (OSError, AttributeError, TypeError):
        return None
