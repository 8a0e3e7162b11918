"""Owns what a rule on files covers and which names are protected; refuses to open a file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui_core.blocks import JsonObject
from agent_tui_core.tools.paths import resolved_path

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

PATH_KEYS = {
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "Glob": "path",
    "Grep": "path",
}
"""The input key of each built-in tool that names what it touches."""

_COVERED = {
    "Read": frozenset({"Read", "Glob", "Grep"}),
    "Edit": frozenset({"Edit", "Write"}),
}
_PROTECTED = re.compile(
    r"(\.git|\.env(\..+)?|\.envrc|\.(bash|zsh)(rc|env|_profile|_login|_logout)|\.profile|\.zprofile|\.zlogin"
    r"|\.gitconfig|\.gitmodules|\.mcp\.json|\.vscode|\.idea|\.agent-tui|\.claude|\.cursor|\.ssh|\.npmrc|\.netrc)\Z",
    re.IGNORECASE,
)
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")


class PathRule:
    """The pattern of one `Read(…)` or `Edit(…)` rule: gitignore syntax, relative to the workspace.

    A `Read` rule covers Glob and Grep too, an `Edit` rule covers Write.
    """

    __slots__ = ("_compiled", "pattern", "tools")

    def __init__(self, tool: str, pattern: str) -> None:
        self.tools = _COVERED.get(tool, frozenset({tool}))
        self.pattern = pattern
        self._compiled: GitIgnoreSpec | None = None

    @classmethod
    def exactly(cls, tool: str, path: Path, cwd: Path) -> str:
        """The rule that covers this one file and no other."""
        relative = _SPECIAL.sub(r"\\\1", path.relative_to(cwd.resolve()).as_posix())
        return f"{tool}(/{relative})"

    def covers(self, paths: Sequence[Path], cwd: Path, *, widely: bool) -> bool:
        """Say whether the pattern meets the call: as an allow rule its link *and* its target, else either."""
        if not paths:
            return False
        root = cwd.resolve()
        met = [self._meets(path, root, widely=widely) for path in paths]
        return any(met) if widely else all(met)

    def _meets(self, path: Path, root: Path, *, widely: bool) -> bool:
        if path.is_relative_to(root):
            return self._spec().match_file(path.relative_to(root).as_posix())
        return widely and self._spec().match_file(path.as_posix().lstrip("/"))

    def _spec(self) -> GitIgnoreSpec:
        if self._compiled is None:
            from pathspec import GitIgnoreSpec

            self._compiled = GitIgnoreSpec.from_lines([self.pattern.removeprefix("./") or "*"])
        return self._compiled


def call_paths(tool: str, input: JsonObject, cwd: Path) -> tuple[Path, ...]:
    """The file or folder that a call touches: as it was written, and with links resolved if that differs.

    The last one is what will be opened. Empty when the input names nothing.
    """
    raw = input.get(PATH_KEYS[tool])
    root = cwd.resolve()
    if not isinstance(raw, str) or not raw:
        return (root,) if PATH_KEYS[tool] == "path" and raw in {None, ""} else ()
    written = Path(os.path.normpath(root / raw))
    target = resolved_path(raw, root)
    return (target,) if written == target else (written, target)


def is_protected(paths: Sequence[Path], cwd: Path) -> bool:
    """Say whether a name on the way to the file is one that is always asked about, existing or not."""
    root = cwd.resolve()
    return any(
        _PROTECTED.match(name)
        for path in paths
        for name in (path.relative_to(root) if path.is_relative_to(root) else path).parts
    )
