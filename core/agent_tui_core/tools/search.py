"""Owns the tools Glob and Grep: what is searched, for how long, and what the model is told.

Refuses to match anything itself: the search runs in a child process, because a regular expression that
backtracks for ever cannot be stopped in a thread.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path, PurePath
from typing import Any

from agent_tui_core.blocks import JsonObject
from agent_tui_core.errors import ToolError
from agent_tui_core.events import ApprovalPreview
from agent_tui_core.processes.output import OUTPUT_LIMIT
from agent_tui_core.processes.runner import run_process
from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
from agent_tui_core.tools.paths import inside, missing, one_line, target_path

SEARCH_SECONDS = 20.0
"""After this a search stops by itself and gives what it has."""

_KILLED_AFTER = 5.0
_PATTERN_LIMIT = 10_000
_CHILD = Path(__file__).with_name("search_child.py")
_PATH = "The folder to search: relative to the workspace, or absolute; the workspace without it."


async def _glob(input: dict[str, Any], context: ToolContext) -> ToolOutput:
    raw, pattern = _pattern_below(input, context.workspace)
    request = _place(raw, context.workspace, files_too=False)
    request |= {"kind": "glob", "pattern": pattern, "denied": _denied("Glob", context)}
    return await _search(request, context)


def _denied(tool: str, context: ToolContext) -> list[tuple[str, str, bool]]:
    return [(os.path.realpath(base), pattern, firm) for base, pattern, firm in context.unreadable(tool)]


async def _grep(input: dict[str, Any], context: ToolContext) -> ToolOutput:
    request = _place(input.get("path") or ".", context.workspace, files_too=True)
    request |= {
        "denied": _denied("Grep", context),
        "kind": "grep",
        "pattern": input["pattern"],
        "glob": input.get("glob") or "",
        "ignore_case": bool(input.get("case_insensitive")),
        "context": min(input.get("context") or 0, 20),
    }
    return await _search(request, context)


async def _preview(input: JsonObject, context: ToolContext) -> ApprovalPreview:
    path = target_path(str(input.get("path") or "."), context.workspace)
    details = {key: value for key, value in input.items() if key != "path"}
    words = json.dumps(details, ensure_ascii=False, indent=2)
    return ApprovalPreview("text", f"Search in {one_line(str(path))}\n{words}", str(path))


def _pattern_below(input: dict[str, Any], workspace: Path) -> tuple[str, str]:
    """Return folder and relative pattern; an absolute pattern may only start inside the workspace."""
    pattern: str = input["pattern"]
    parts = PurePath(pattern).parts
    if ".." in parts:
        raise ToolError("a pattern cannot climb with `..`; put the folder into `path`")
    if not pattern.startswith("/"):
        return input.get("path") or ".", pattern
    fixed = 0
    while fixed < len(parts) - 1 and not set("*?[{") & set(parts[fixed]):
        fixed += 1
    folder = PurePath(*parts[:fixed])
    # What a rule is asked about is `path` alone, so a pattern must not reach out of the workspace.
    if input.get("path") or not inside(Path(folder), workspace):
        raise ToolError("the pattern is absolute; put the folder into `path` and a relative pattern here")
    return str(folder), str(PurePath(*parts[fixed:]))


def _place(raw: str, workspace: Path, *, files_too: bool) -> dict[str, Any]:
    path = target_path(raw, workspace)
    if not path.exists():
        raise missing(raw, path)
    if not path.is_dir() and not files_too:
        raise ToolError(f"{raw} is a file; `path` has to be a folder")
    root = path if path.is_dir() else path.parent
    base = Path(os.path.realpath(workspace))
    shown = str(root.relative_to(base)) if root.is_relative_to(base) else str(root)
    return {
        "root": str(root),
        "only": "" if path.is_dir() else path.name,
        "workspace": str(base),
        "prefix": "" if shown == "." else shown.rstrip("/") + "/",
        "limit": OUTPUT_LIMIT,
        "seconds": SEARCH_SECONDS,
    }


async def _search(request: dict[str, Any], context: ToolContext) -> ToolOutput:
    if not request["pattern"]:
        raise ToolError("the pattern is empty")
    if len(request["pattern"]) + len(request.get("glob", "")) > _PATTERN_LIMIT:
        raise ToolError(f"the pattern is longer than {_PATTERN_LIMIT:,} characters")
    # -I: neither the environment nor the folder that is searched can add to what Python imports.
    done = await run_process(
        [sys.executable, "-I", "-W", "ignore", str(_CHILD), json.dumps(request)],
        cwd=context.workspace,
        timeout=request["seconds"] + _KILLED_AFTER,
        limit=OUTPUT_LIMIT + 2_000,
    )
    text = done.text.rstrip("\n")
    if done.timed_out:
        slow = f"stopped after {done.seconds:.0f} s: the pattern takes too long (nested repeats?)"
        return ToolOutput(f"{slow}\n{text}".rstrip(), is_error=True)
    if done.exit_code == 2:
        return ToolOutput(text.strip("[]"), is_error=True)
    if done.exit_code != 0:
        raise ToolError(f"the search broke off (exit code {done.exit_code}): {text[-2_000:]}")
    return ToolOutput(text)


GLOB = Tool(
    name="Glob",
    description=(
        "Find files by name, newest first: `src/**/*.py`, `**/*.{md,txt}`. `**` spans folders, `*` does not. "
        "Files that .gitignore names, .git and links are left out."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "The glob pattern, relative to `path`."},
            "path": {"type": "string", "description": _PATH},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
    run=_glob,
    takes_context=True,
    writes=False,
    timeout=SEARCH_SECONDS + 30,
    preview=_preview,
)
"""Finds files by name."""

GREP = Tool(
    name="Grep",
    description=(
        "Search the lines of files with a regular expression (Python's syntax) and get them as "
        "`file:line number:line`. Files that .gitignore names, binary files, .git, .env files and links are "
        "left out; a file that `path` names itself is always searched."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "pattern": {
                "type": "string",
                "description": "The regular expression, matched line by line. Escape ( [ { . * + ? | \\.",
            },
            "path": {"type": "string", "description": _PATH.replace("The folder", "The folder or file")},
            "glob": {
                "type": "string",
                "description": "Only files with such a name: `*.py`, `src/**/*.{ts,js}`.",
            },
            "case_insensitive": {
                "type": "boolean",
                "default": False,
                "description": "Take upper and lower case as the same.",
            },
            "context": {
                "type": "integer",
                "minimum": 0,
                "maximum": 20,
                "description": "How many lines to show before and after each match; 0 without it.",
            },
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
    run=_grep,
    takes_context=True,
    writes=False,
    timeout=SEARCH_SECONDS + 30,
    preview=_preview,
)
"""Finds lines by a regular expression."""
