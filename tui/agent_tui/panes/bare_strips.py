"""Owns what a row of the screen carries: nothing that it was not asked for; refuses to change what it shows.

Textual gives each strip seven caches when it is made, a kilobyte, and a screen that is painted whole makes
thousands of strips. Most are written once: here a cache is made by the first who looks into it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from textual.cache import FIFOCache
from textual.strip import Strip

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import MemberDescriptorType

    from rich.segment import Segment

_CARRIED: Final = {"_segments", "_cell_length", "_render_cache", "_link_ids", "_cell_count"}
"""What is no cache; strips of a Textual that has more are left as they are."""


class _Later:
    """Stands in the place of a slot."""

    __slots__ = ("_get", "_set", "_size")

    def __init__(self, slot: MemberDescriptorType, size: int) -> None:
        self._get, self._set, self._size = slot.__get__, slot.__set__, size

    def __get__(self, strip: Strip, owner: type[Strip] | None = None) -> FIFOCache[Any, Any]:
        try:
            cache: FIFOCache[Any, Any] = self._get(strip)
        except AttributeError:
            cache = FIFOCache(self._size)
            self._set(strip, cache)
        return cache

    def __set__(self, strip: Strip, cache: FIFOCache[Any, Any]) -> None:
        self._set(strip, cache)


def _begin(strip: Strip, segments: Iterable[Segment], cell_length: int | None = None) -> None:
    strip._segments = list(segments)
    strip._cell_length = cell_length
    strip._render_cache = strip._link_ids = strip._cell_count = None


@functools.cache
def bare_strips() -> bool:
    """Make strips bare from now on; False when this Textual makes them of other parts than these."""
    made = Strip([])
    parts = {name: getattr(made, name, None) for name in Strip.__slots__}
    sizes = {name: cache._maxsize for name, cache in parts.items() if isinstance(cache, FIFOCache)}
    if parts.keys() - sizes.keys() != _CARRIED:
        return False
    for name, size in sizes.items():
        setattr(Strip, name, _Later(Strip.__dict__[name], size))
    setattr(Strip, "__init__", _begin)  # noqa: B010
    return True
