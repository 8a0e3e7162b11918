"""Looks at names below folders in a child process, and keeps for a while what it found.

Rules are judged at once, in the event loop, where nobody may wait for a folder of a network. So a judgement
says what it wants to know, a child looks, and the next judgement knows.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from agent_tui_core.errors import ToolError
from agent_tui_core.processes.runner import run_process
from agent_tui_core.tools.names_below import SECONDS, Looked, to_request

_CHILD: Final = Path(__file__).with_name("search_child.py")
_KILLED_AFTER: Final = 2.0
_KEPT_SECONDS: Final = 30.0
_MOST: Final = 64
_NOT_LOOKED: Final = "nobody has looked at what is below {}"
_FAILED: Final = "what is below {} could not be looked at"


class NamesLooker:
    """What is known of the names below folders; as a `Look` it never waits."""

    def __init__(self) -> None:
        self._known: dict[Looked, tuple[str, float]] = {}
        self._wanted: dict[Looked, None] = {}

    def __call__(self, looked: Looked) -> str:
        """What was found lately; else a reason to ask, and somebody may look for the next time."""
        known = self._known.get(looked)
        if known is not None and time.monotonic() - known[1] < _KEPT_SECONDS:
            return known[0]
        self._wanted[looked] = None
        return _NOT_LOOKED.format(looked.below.folder)

    async def look_for(self, judge: Callable[[], object], cwd: Path) -> None:
        """Look at all that this judgement wants to know, anew."""
        self._known.clear()
        self._wanted.clear()
        judge()
        wanted = list(self._wanted)[:_MOST]
        if not wanted:
            return
        found = await _look(wanted, cwd)
        now = time.monotonic()
        self._known.update((looked, (why, now)) for looked, why in zip(wanted, found, strict=True))


async def _look(wanted: list[Looked], cwd: Path) -> list[str]:
    request = {
        "kind": "below",
        "seconds": SECONDS,
        "limit": 0,
        "reads": [to_request(each) for each in wanted],
    }
    failed = [_FAILED.format(each.below.folder) for each in wanted]
    try:
        done = await run_process(
            [sys.executable, "-I", "-W", "ignore", str(_CHILD)],
            cwd=cwd,
            timeout=SECONDS + _KILLED_AFTER,
            input=json.dumps(request).encode(),
            separate=True,
        )
        found = json.loads(done.text)
    except (ToolError, ValueError):
        return failed
    sound = isinstance(found, list) and len(found) == len(wanted)
    return [str(why) for why in found] if sound and done.exit_code == 0 else failed
