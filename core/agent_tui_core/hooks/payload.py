"""Owns what a command hook is told: who the agent is and the one JSON object on its standard input.

Refuses to run one and to read its answer. Keys and tool inputs are those of the public contract; what only we
know stands under `agent_tui`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from agent_tui_core.blocks import JsonObject
from agent_tui_core.hooks.contract import Point
from agent_tui_core.hooks.json_line import json_line
from agent_tui_core.hooks.points import PostToolUseEvent, PreToolUseEvent
from agent_tui_core.hooks.responses import tool_response
from agent_tui_core.records import dataclass

Level: TypeAlias = Literal["info", "warning", "error"]

_MODES: Final[Mapping[str, str]] = {
    "ask": "default",
    "accept-edits": "acceptEdits",
    "plan": "plan",
    "auto": "bypassPermissions",
}
"""Our modes by the names that hooks know."""
_PATHS: Final[Mapping[str, str]] = {
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "Glob": "path",
    "Grep": "path",
}
"""The key of a tool's input that is a path."""


@dataclass(frozen=True, slots=True)
class HookedAgent:
    """The agent that hooks hear about, and the way to whoever watches it."""

    id: str
    name: str
    model: str
    workspace: Path
    session_id: str = ""
    attended: bool = True
    """A person (or a program in their place) can be asked."""
    mode: Callable[[], str] = field(default=lambda: "ask")
    run_id: Callable[[], str | None] = field(default=lambda: None)
    tell: Callable[[Level, str], None] = field(default=lambda _level, _words: None)
    """Say something in the agent's pane; never waits."""


def payload(agent: HookedAgent, point: Point, transcript: Path | None, facts: Mapping[str, Any]) -> bytes:
    """The object as it goes to a hook's standard input."""
    told: dict[str, Any] = {
        "session_id": agent.session_id,
        "transcript_path": "" if transcript is None else str(transcript),
        "cwd": str(agent.workspace),
        "permission_mode": _MODES.get(agent.mode(), "default"),
        "hook_event_name": point,
        **facts,
        "agent_tui": {
            "agent_id": agent.id,
            "agent_name": agent.name,
            "model": agent.model,
            "run_id": agent.run_id(),
            "attended": agent.attended,
        },
    }
    return json_line(told)


def call_facts(agent: HookedAgent, event: PreToolUseEvent) -> dict[str, Any]:
    """What there is to know of a call before it runs."""
    return {
        "tool_name": event.tool_name,
        "tool_input": absolute_input(event.tool_name, event.tool_input, agent.workspace),
        "tool_use_id": event.tool_use_id,
    }


def result_facts(agent: HookedAgent, event: PostToolUseEvent) -> dict[str, Any]:
    """What there is to know of a call that has run; a failed one has `error` in place of `tool_response`."""
    input_ = absolute_input(event.tool_name, event.tool_input, agent.workspace)
    facts = {"tool_name": event.tool_name, "tool_input": input_, "tool_use_id": event.tool_use_id}
    if event.result.is_error:
        return {**facts, "error": event.result.content, "is_interrupt": False}
    return {**facts, "tool_response": tool_response(event.tool_name, input_, event.result)}


def absolute_input(tool: str, input: JsonObject, workspace: Path) -> JsonObject:
    """The input with the path of a file tool made absolute, `..` resolved; links are left as they are."""
    key = _PATHS.get(tool, "")
    said = input.get(key)
    if not isinstance(said, str) or not said:
        return input
    return {**input, key: os.path.normpath(workspace / said)}
