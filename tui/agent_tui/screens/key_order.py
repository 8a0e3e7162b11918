"""Owns that keys act in the order in which they were typed; refuses to know what they do.

The app does at once what a bound key is for, while letters wait in the queue of the prompt: read together,
`a`, `enter` and `alt+2` would choose another agent first, and send to that one.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from textual.app import App

_MOST_WAIT: Final = 0.25
"""Seconds that a key waits at most for those before it; who takes longer is stuck, and keys go past it."""


async def keys_before(app: App[None]) -> None:
    """Wait until the focused widget, and all that it is in, did what was typed until now."""
    focused = app.focused or app.screen
    with suppress(TimeoutError):
        async with asyncio.timeout(_MOST_WAIT):
            for node in focused.ancestors_with_self:
                done = asyncio.Event()
                if node is not app and node.call_later(done.set):
                    await done.wait()
