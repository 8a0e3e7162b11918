"""Owns what one process of the suite does once; refuses fixtures, which stand beside their tests."""

from __future__ import annotations

import gc


def pytest_collection_finish() -> None:
    """Let no garbage collection walk 4,000 tests and their modules again: a fifth of the processor's time."""
    gc.collect()
    gc.freeze()
