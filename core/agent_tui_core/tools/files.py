"""Owns the tools Read, Write and Edit; refuses to follow links out of the workspace and to judge a path."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_tui_core.blocks import JsonObject
from agent_tui_core.errors import ToolError
from agent_tui_core.events import ApprovalPreview
from agent_tui_core.processes.output import OUTPUT_LIMIT
from agent_tui_core.records import dataclass
from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
from agent_tui_core.tools.diffs import cut_preview, diff_preview
from agent_tui_core.tools.disk import MAX_FILE_BYTES, read_file, read_if_there, replace_file
from agent_tui_core.tools.edits import Edited, TextForm, decode, encode, form_of, no_text, replaced
from agent_tui_core.tools.paths import one_line, shown_path, target_path

DEFAULT_LINES = 2_000
LINE_WIDTH = 2_000

_PATH = "The file: relative to the workspace, or absolute. `~` and variables are not expanded."


@dataclass(frozen=True, slots=True)
class _Change:
    """A change that is worked out and not yet made."""

    path: Path
    before: bytes | None
    after: bytes
    state: os.stat_result | None
    said: str

    @property
    def preview(self) -> ApprovalPreview:
        return diff_preview(self.before, self.after, str(self.path))


# --- Read ---------------------------------------------------------------------------------------------------


async def _read(input: dict[str, Any], context: ToolContext) -> ToolOutput:
    raw = input["file_path"]
    return await asyncio.to_thread(_numbered, raw, context.workspace, input.get("offset"), input.get("limit"))


def _numbered(raw: str, workspace: Path, offset: int | None, limit: int | None) -> ToolOutput:
    content, _state = read_file(raw, target_path(raw, workspace))
    problem = no_text(content)
    if problem.startswith(("a binary", "UTF-16")):
        raise ToolError(f"{raw} is {problem}; look at it with Bash")
    if not content:
        return ToolOutput("(the file is empty)")
    lines = content.decode("utf-8-sig", errors="replace").split("\n")
    if not lines[-1]:
        lines.pop()
    first = offset or 1
    if first > len(lines):
        raise ToolError(f"offset {first} is past the end: {raw} has {len(lines):,} lines")
    last = min(len(lines), first - 1 + (limit or DEFAULT_LINES))
    shown: list[str] = []
    size = 0
    for number in range(first, last + 1):
        line = f"{number:>6}\t{_fitted(lines[number - 1].removesuffix(chr(13)))}"
        size += len(line) + 1
        if size > OUTPUT_LIMIT:
            break
        shown.append(line)
    end = first + len(shown) - 1
    if end < len(lines):
        shown.append(f"[lines {first}-{end} of {len(lines):,}; go on with offset={end + 1}]")
    if problem:
        shown.append(f"[the file is {problem}: what cannot be read is shown as \ufffd; change it with Bash]")
    return ToolOutput("\n".join(shown))


def _fitted(line: str) -> str:
    return line if len(line) <= LINE_WIDTH else f"{line[:LINE_WIDTH]} [… {len(line) - LINE_WIDTH:,} more]"


async def _read_preview(input: JsonObject, context: ToolContext) -> ApprovalPreview:
    path = target_path(str(input["file_path"]), context.workspace)
    return ApprovalPreview("text", f"Read {one_line(str(path))}", str(path))


# --- Write --------------------------------------------------------------------------------------------------


async def _write(input: dict[str, Any], context: ToolContext) -> ToolOutput:
    return await _make(lambda: _written(input, context.workspace), input["file_path"])


async def _write_preview(input: JsonObject, context: ToolContext) -> ApprovalPreview:
    return await asyncio.to_thread(lambda: _written(input, context.workspace).preview)


def _written(input: JsonObject, workspace: Path) -> _Change:
    raw = str(input["file_path"])
    path = target_path(raw, workspace)
    found = read_if_there(raw, path)
    before, state = found or (None, None)
    if before is not None and (problem := no_text(before)):
        raise ToolError(f"{raw} is {problem}, and Write only makes UTF-8 text; move it away with Bash first")
    # What was there is replaced, but a file with CR LF line ends or a BOM stays one.
    form = form_of(before) if before is not None else TextForm()
    after = _bounded(encode(str(input["content"]), form))
    count = after.count(b"\n") + (not after.endswith(b"\n") and bool(after))
    kept = " (CR LF line ends kept)" if form.crlf else ""
    done = "created" if before is None else "replaced"
    return _Change(path, before, after, state, f"{done} {shown_path(path, workspace)}: {count} lines{kept}")


# --- Edit ---------------------------------------------------------------------------------------------------


async def _edit(input: dict[str, Any], context: ToolContext) -> ToolOutput:
    return await _make(lambda: _edited(input, context.workspace), input["file_path"])


async def _edit_preview(input: JsonObject, context: ToolContext) -> ApprovalPreview:
    return await asyncio.to_thread(lambda: _edited(input, context.workspace).preview)


def _edited(input: JsonObject, workspace: Path) -> _Change:
    raw = str(input["file_path"])
    path = target_path(raw, workspace)
    before, state = read_file(raw, path)
    text, form = decode(raw, before)
    old, new = str(input["old_string"]), str(input["new_string"])
    edited = replaced(raw, text, old, new, every=bool(input.get("replace_all")))
    after = _bounded(encode(edited.text, form))
    return _Change(path, before, after, state, f"edited {shown_path(path, workspace)} {_where(edited)}")


def _where(edited: Edited) -> str:
    lines = ", ".join(str(line) for line in edited.lines)
    return f"at line {lines}" if len(edited.lines) == 1 else f"at lines {lines}"


# --- both ---------------------------------------------------------------------------------------------------


async def _make(work_out: Callable[[], _Change], raw: str) -> ToolOutput:
    """Work a change out and make it, in a thread; a cancellation that comes in time prevents it."""
    abandoned = threading.Event()

    def make() -> ToolOutput:
        change = work_out()
        if change.before != change.after:
            replace_file(raw, change.path, change.after, before=change.state, abandoned=abandoned)
        return ToolOutput(change.said, preview=cut_preview(change.preview))

    try:
        return await asyncio.to_thread(make)
    except asyncio.CancelledError:
        abandoned.set()
        raise


def _bounded(content: bytes) -> bytes:
    if len(content) > MAX_FILE_BYTES:
        raise ToolError(f"{len(content):,} bytes are too many; the limit for a file is {MAX_FILE_BYTES:,}")
    return content


READ = Tool(
    name="Read",
    description=(
        "Read a text file. Lines come numbered from 1, as `number<TAB>line`; the numbers are not part of the "
        f"file. Without offset and limit it gives the first {DEFAULT_LINES} lines, fewer when they are long, "
        "and says how to go on. Folders and binary files are refused; list folders with Glob."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": _PATH},
            "offset": {"type": "integer", "minimum": 1, "description": "The first line to read, from 1."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "description": f"How many lines to read; {DEFAULT_LINES} without it.",
            },
        },
        "required": ["file_path"],
        "additionalProperties": False,
    },
    run=_read,
    takes_context=True,
    writes=False,
    preview=_read_preview,
)
"""Reads a file."""

WRITE = Tool(
    name="Write",
    description=(
        "Make a file, or replace the whole content of one; missing folders are made. To change a part of a "
        "file use Edit. A person may be shown the difference before it is written."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": _PATH},
            "content": {"type": "string", "description": "The whole content of the file."},
        },
        "required": ["file_path", "content"],
        "additionalProperties": False,
    },
    run=_write,
    takes_context=True,
    preview=_write_preview,
)
"""Makes or replaces a file."""

EDIT = Tool(
    name="Edit",
    description=(
        "Replace a piece of text in a file. old_string has to stand in the file exactly once, character for "
        "character with its indentation: take enough lines around the place. Set replace_all to change every "
        "occurrence. Leave out the line numbers that Read shows. Line ends of the file are kept."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": _PATH},
            "old_string": {"type": "string", "description": "The text to replace, exactly as in the file."},
            "new_string": {"type": "string", "description": "The text to put there; empty to delete."},
            "replace_all": {
                "type": "boolean",
                "default": False,
                "description": "Replace every occurrence instead of exactly one.",
            },
        },
        "required": ["file_path", "old_string", "new_string"],
        "additionalProperties": False,
    },
    run=_edit,
    takes_context=True,
    preview=_edit_preview,
)
"""Replaces a piece of a file."""
