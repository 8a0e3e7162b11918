"""Owns the telling of whoever watches something: all hear of a change, and none can harm it or the others."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, ParamSpec

log = logging.getLogger(__name__)

P = ParamSpec("P")


class Watchers(Generic[P]):
    """Callbacks in the order in which they came."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[P, object]] = []
        self._broken: set[int] = set()

    def add(self, callback: Callable[P, object]) -> None:
        """Tell it from now on."""
        self._callbacks.append(callback)

    def tell(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all of them. What one raises is logged, the first time, and changes nothing for the others."""
        for callback in self._callbacks:
            try:
                callback(*args, **kwargs)
            except Exception:
                if id(callback) not in self._broken:
                    self._broken.add(id(callback))
                    log.exception("a watcher broke; what it watches goes on: %r", callback)
