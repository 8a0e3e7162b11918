"""Owns which project contents a person trusted: one private file of folders and hashes; refuses to ask.

A broken file is the same as none: nothing is trusted, and each project is asked about again.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from agent_tui_core.config.private_files import locked, replace_private
from agent_tui_core.config.project import Project
from agent_tui_core.errors import ConfigError
from agent_tui_core.regular_file import open_regular

log = logging.getLogger(__name__)

TRUST_FILE: Final = "trust.json"
_LARGEST: Final = 2**22


class TrustStore:
    """What was trusted, in one data folder. Every call reads the file: other programs write it, too."""

    def __init__(self, data_dir: Path) -> None:
        self.file = data_dir / TRUST_FILE

    def trusts(self, project: Project) -> bool:
        """Say whether this very content was trusted in this folder."""
        return self._read().get(str(project.root), {}).get("hash") == project.hash

    def knows(self, root: Path) -> bool:
        """Say whether some content was trusted in this folder."""
        return str(root) in self._read()

    def trust(self, project: Project) -> None:
        """Trust this content, and no longer what was there before. Raises `ConfigError`."""
        when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._change(str(project.root), {"hash": project.hash, "at": when})

    def forget(self, root: Path) -> bool:
        """Trust nothing in this folder; False when nothing was trusted. Raises `ConfigError`."""
        known = self.knows(root)
        if known:
            self._change(str(root), None)
        return known

    def _change(self, root: str, entry: dict[str, str] | None) -> None:
        try:
            with locked(self.file):
                projects = self._read()
                projects.pop(root, None)
                if entry is not None:
                    projects[root] = entry
                replace_private(self.file, json.dumps({"projects": projects}, indent=1) + "\n")
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", file=str(self.file)) from error

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            with open_regular(self.file) as stream:
                projects = json.loads(stream.read(_LARGEST))["projects"]
            return {
                str(root): {str(key): str(value) for key, value in entry.items()}
                for root, entry in projects.items()
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            log.warning("%s cannot be read, so no project is trusted: %s", self.file, error)
            return {}
