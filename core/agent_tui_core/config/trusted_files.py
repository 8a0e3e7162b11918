"""Owns whether the files that a project's commands name are still those that the person trusted.

Refuses to run them and to say what becomes of a command whose files are not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agent_tui_core.config.named_files import TooMuch, named_files
from agent_tui_core.text import safe_line

_WRITES: Final = re.compile(r"[0-9&]*>{1,2}\|?\s*[^\s;&|<>()]+|\b(?:tee|touch|rm|mkdir)\b[^;&|\n]*")
"""What a command writes: that changes because it ran."""


class TrustedFiles:
    """The files of one project as they were when it was trusted."""

    def __init__(self, root: Path, digests: Mapping[str, str]) -> None:
        self._root = root
        self._digests = digests

    def doubt(self, command: str) -> str:
        """Why this command would not run what was trusted; empty when it would. Reads files: in a thread."""
        try:
            found = named_files(self._root, (_WRITES.sub(" ", command),))
        except TooMuch as error:
            return str(error)
        for name, digest in found.items():
            if self._digests.get(name) != digest:
                words = "is not what you trusted: look at it, and start again to be asked about it"
                return f"{safe_line(name)} {words}"
        return ""
