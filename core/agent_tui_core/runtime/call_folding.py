"""Owns what one event makes of a tool call's entry; refuses to know the other entries."""

from __future__ import annotations

from typing import TypeAlias

from agent_tui_core.events import (
    ApprovalRequested,
    ApprovalSettled,
    ToolEnded,
    ToolJudged,
    ToolProgressed,
    ToolSpawned,
    ToolStarted,
)
from agent_tui_core.runtime.entries import ToolEntry

PROGRESS_KEPT = 8_000
"""Characters of a running tool's output that an entry keeps: the end of it."""

CallBody: TypeAlias = (
    ToolJudged | ApprovalRequested | ApprovalSettled | ToolStarted | ToolSpawned | ToolProgressed | ToolEnded
)


def fold_call(entry: ToolEntry, body: CallBody, at: float) -> None:
    """Change the entry by what happened to its call."""
    match body:
        case ToolJudged():
            entry.input, entry.decided_by = body.input, body.by
            entry.reason, entry.rule = body.reason, body.rule
            if body.allowed:
                entry.status = "judging"
        case ApprovalRequested(request=request):
            entry.status, entry.preview = "waiting", request.preview
        case ApprovalSettled():
            entry.status = "judging"
        case ToolStarted(input=input_, until=until):
            entry.input, entry.status, entry.started_at, entry.until = input_, "running", at, until
        case ToolSpawned(pid=pid):
            entry.pid = pid
        case ToolProgressed(output=output):
            entry.progress = (entry.progress + output)[-PROGRESS_KEPT:]
        case ToolEnded():
            entry.status, entry.result, entry.seconds = body.outcome, body.result, body.seconds
            entry.preview, entry.progress = body.preview or entry.preview, ""
