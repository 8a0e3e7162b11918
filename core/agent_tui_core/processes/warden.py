"""Owns the shell that waits for a command inside its sandbox, and what it says of it; refuses to judge.

bubblewrap ends all of a sandbox with the program that it started. So that program is not the command but this
shell, which says how the command ended and stays, while something that the command started goes on.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

_SHELL = "/bin/sh"
_SCRIPT = """\
trap : TERM
"$@" </dev/null 2>&1
status=$?
if kill -s 0 -- -1 2>/dev/null; then
  trap '' TERM
  echo "left $status" >&2
  exec >/dev/null 2>&1
  read -r _
fi
exit "$status"
"""
_LEFT = re.compile(rb"^left (\d{1,3})$", re.MULTILINE)
_KEPT_BYTES = 4_000


def guarded(argv: Sequence[str]) -> list[str]:
    """Return what runs `argv`, waits for its end and, when something is left then, for the end of input."""
    return [_SHELL, "-c", _SCRIPT, "sh", *argv]


class Status:
    """What a warden wrote, or the sandbox that could not be made. All that is in there can write too."""

    def __init__(self, news: asyncio.Event) -> None:
        self.exit_code: int | None = None
        """Of a command that ended before what it started did; None until then."""
        self._news = news
        self._said = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._said += chunk[: max(0, _KEPT_BYTES - len(self._said))]
        if found := _LEFT.search(self._said):
            self.exit_code = int(found[1])
            self._news.set()

    @property
    def trouble(self) -> str:
        """Why there was no sandbox; empty when there was one."""
        lines = self._said.decode(errors="replace").splitlines()
        return next((line.removeprefix("bwrap: ") for line in lines if line.startswith("bwrap: ")), "")
