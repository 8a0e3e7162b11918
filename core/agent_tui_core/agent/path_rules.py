"""Owns what a rule on files covers and which names are protected; refuses to open a file."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from agent_tui_core.blocks import JsonObject
from agent_tui_core.gitignore import GitignorePattern
from agent_tui_core.processes.kept_names import runs_by_itself
from agent_tui_core.tools.paths import resolved_path

PATH_KEYS = {
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "Glob": "path",
    "Grep": "path",
}
"""The input key of each built-in tool that names what it touches."""

EDITORS = frozenset({"Write", "Edit"})
COVERED = {
    "Read": frozenset({"Read", "Glob", "Grep"}),
    "Edit": EDITORS,
}
"""What a rule on one tool covers beside it."""
_PROTECTED = re.compile(
    r"(\.git|\.gitconfig|\.gitmodules|\.git-credentials|\.husky|\.lefthook|\.pre-commit-config\.yaml"
    r"|\.env(\..+)?|\.envrc|\.direnvrc|\.pam_environment"
    r"|\.(bash|zsh|ksh|csh|tcsh)(rc|env|_profile|_login|_logout|_aliases)|\.z?profile|\.z?login|\.z?logout"
    r"|\.inputrc|\.xinitrc|\.xprofile|\.xsession(rc)?|\.tmux\.conf|\.screenrc"
    r"|\.mcp\.json|\.agent-tui|\.claude(\.json)?|\.cursor(rules)?|\.gemini|\.codex|\.qwen|\.kiro|\.windsurf"
    r"|\.roo|\.cline|\.continue|\.aider\.conf\.yml|opencode\.jsonc?"
    r"|\.vscode|\.idea|\.zed|\.fleet|\.devcontainer|\.g?vimrc|\.vim|\.nvimrc|\.exrc|\.emacs(\.d)?"
    r"|\.pythonrc(\.py)?|\.pdbrc|\.gdbinit|\.lldbinit"
    r"|\.ssh|\.gnupg|\.npmrc|\.pypirc|\.netrc)\Z",
    re.IGNORECASE,
)
SECRETS = re.compile(
    r"(\.git|\.git-credentials|\.env(?!\.(?:example|sample|template|dist|defaults)\Z)(\..+)?|\.envrc|\.pam_environment"
    r"|\.netrc|\.npmrc|\.pypirc|\.ssh|\.gnupg|\.aws|\.pgpass|\.my\.cnf|\.docker|\.kube|\.agent-tui"
    r"|id_(?:rsa|dsa|ecdsa|ed25519))\Z",
    re.IGNORECASE,
)
"""Names that a reader of whole folders may not come to unasked. The other names are protected from writes."""
_SETTINGS = {
    ".config": frozenset(
        {"agent-tui", "git", "fish", "nvim", "zed", "code", "direnv", "systemd", "autostart"}
    ),
    "application support": frozenset({"agent-tui", "git", "fish", "code", "zed"}),
    "share": frozenset({"agent-tui"}),
}
"""Folders of settings and data, and the programs whose part of them is protected."""
_EXAMPLES = (
    *(".git", ".env", ".env.local", ".envrc", ".bashrc", ".bash_profile", ".zshrc", ".zshenv", ".profile"),
    *(
        ".gitconfig",
        ".gitmodules",
        ".mcp.json",
        ".vscode",
        ".idea",
        ".agent-tui",
        ".claude",
        ".cursor",
        ".ssh",
    ),
    *(".npmrc", ".netrc", ".husky"),
)
_IGNORED = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\xad]")
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")
_ESCAPED = r"\\\1"


class PathRule:
    """The pattern of one `Read(…)` or `Edit(…)` rule: gitignore syntax, relative to the workspace.

    `~/…` counts from the home, `//…` from the root of the file system: only these allow what is outside the
    workspace. A `Read` rule covers Glob and Grep too, an `Edit` rule covers Write.
    """

    __slots__ = ("_base", "_gitignore", "pattern", "tools")

    def __init__(self, tool: str, pattern: str) -> None:
        self.tools = COVERED.get(tool, frozenset({tool}))
        self.pattern = pattern
        self._base: Path | None = None
        inner = pattern
        if pattern.startswith(("~/", "//")):
            self._base = Path.home() if pattern.startswith("~") else Path("/")
            inner = "/" + pattern[1:].lstrip("/")
        self._gitignore = GitignorePattern(inner)

    @classmethod
    def exactly(cls, tool: str, path: Path, cwd: Path) -> str:
        """The rule that covers this one file and no other."""
        relative = _SPECIAL.sub(_ESCAPED, path.relative_to(cwd.resolve()).as_posix())
        return f"{tool}(/{relative})"

    def covers(self, paths: Sequence[Path], cwd: Path, *, widely: bool) -> bool:
        """Say whether the pattern meets the call: as an allow rule its link *and* its target, else either."""
        if not paths:
            return False
        root = cwd.resolve()
        met = [self._meets(path, root, widely=widely) for path in paths]
        return any(met) if widely else all(met)

    def counted_from(self, root: Path) -> tuple[Path, str]:
        """The folder that the pattern counts from, and the pattern as gitignore has it."""
        return self._base or root, self._gitignore.pattern

    @classmethod
    def exactly_outside(cls, tool: str, path: Path) -> str:
        """The rule that covers this one file outside the workspace."""
        return f"{tool}(/{_SPECIAL.sub(_ESCAPED, path.as_posix())})"

    def _meets(self, path: Path, root: Path, *, widely: bool) -> bool:
        if self._base is not None:
            inside = path.is_relative_to(self._base)
            return inside and self._gitignore.matches(path.relative_to(self._base).as_posix())
        if path.is_relative_to(root):
            return self._gitignore.matches(path.relative_to(root).as_posix())
        return widely and self._gitignore.matches(path.as_posix().lstrip("/"))


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
        has_protected_name((path.relative_to(root) if path.is_relative_to(root) else path).parts)
        for path in paths
    )


def is_run_by_itself(paths: Sequence[Path], cwd: Path) -> bool:
    """Say whether a file runs, or steers what runs, by itself: to write it is asked about."""
    root = cwd.resolve()
    return any(
        runs_by_itself(_IGNORED.sub("", str(path.relative_to(root) if path.is_relative_to(root) else path)))
        for path in paths
    )


def has_protected_name(names: Sequence[str]) -> bool:
    """Say whether one of the names of a path is protected; what no file system shows does not hide it."""
    plain = [_IGNORED.sub("", name) for name in names]
    return any(_PROTECTED.match(name) for name in plain) or any(
        name.lower() in _SETTINGS.get(folder.lower(), ()) for folder, name in pairwise(plain)
    )


def could_be_protected(pattern: str) -> bool:
    """Say whether a pattern of one file name, with `*` and `?`, meets a protected name."""
    return pattern.startswith(".") and any(fnmatch.fnmatchcase(name, pattern) for name in _EXAMPLES)
