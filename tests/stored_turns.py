"""Owns whole turns, as bodies, for tests that write history; refuses to open one."""

from __future__ import annotations

from agent_tui_core.blocks import Text, ToolResult, ToolUse
from agent_tui_core.events import (
    ApprovalPreview,
    Body,
    MessageCommitted,
    RunEnded,
    RunStarted,
    ToolEnded,
    ToolJudged,
    ToolProposed,
    ToolStarted,
)
from agent_tui_core.messages import Message, Usage, new_id


def said(words: str) -> list[Body]:
    """A run in which a person said something and the model said it back."""
    prompt = Message("user", (Text(words),))
    answer = Message("assistant", (Text(words),), "end", Usage(1, 2))
    return [
        RunStarted(prompt),
        MessageCommitted(prompt),
        MessageCommitted(answer),
        RunEnded("completed", "", 1, Usage(1, 2)),
    ]


def acted(command: str) -> list[Body]:
    """A run with one call that a person allowed, every durable body in it once at least."""
    prompt = Message("user", (Text(f"run {command}"),))
    call = ToolUse("call_1", "Bash", {"command": command})
    asked = Message("assistant", (Text("I will"), call), "tool_use", Usage(3, 4, 1, 2))
    key = new_id()
    result = ToolResult("call_1", "done\n")
    return [
        RunStarted(prompt),
        MessageCommitted(prompt),
        MessageCommitted(asked),
        ToolProposed(key, call, asked.id),
        ToolJudged(key, True, "person", "go on", "Bash(ls *)", {"command": command}, 1.5),
        ToolStarted(key, {"command": command}),
        ToolEnded(key, result, "ok", 0.25, ApprovalPreview("diff", "-a\n+b\n", "/w/file")),
        MessageCommitted(Message("tool", (result,))),
        RunEnded("interrupted", "Esc", 2, Usage(3, 4)),
    ]
