"""Owns what the hooks of a point amount to together, as values; refuses to come to one."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from agent_tui_core.blocks import JsonObject, ToolResult
from agent_tui_core.records import dataclass


@dataclass(frozen=True, slots=True)
class PromptVerdict:
    """What the UserPromptSubmit hooks made of a prompt."""

    prompt: str
    blocked: str | None = None
    """The reason why it is not sent."""
    context: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """What the PreToolUse hooks made of a call."""

    input: JsonObject
    behavior: Literal["none", "allow", "ask", "deny"] = "none"
    reason: str = ""
    context: tuple[str, ...] = ()
    stop: bool = False


@dataclass(frozen=True, slots=True)
class ResultVerdict:
    """What the PostToolUse hooks made of a result."""

    result: ToolResult
    stop: bool = False
    reason: str = ""
    """Why the agent stops; empty where nobody said."""
    question: str = ""
    """Why a person has to say whether the model may read the result; empty: it may."""


@dataclass(frozen=True, slots=True)
class PermissionVerdict:
    """What the PermissionRequest hooks say in a person's place."""

    behavior: Literal["none", "allow", "deny"] = "none"
    reason: str = ""
    input: JsonObject | None = None
    """The input that is allowed, when it is another one."""
    stop: bool = False


@dataclass(frozen=True, slots=True)
class StartVerdict:
    """What the SessionStart hooks say."""

    context: tuple[str, ...] = ()
    blocked: str | None = None
    """The reason why the agent does not begin."""


@dataclass(frozen=True, slots=True)
class StopVerdict:
    """What the Stop hooks say when an agent is done."""

    go_on: str | None = None
    """What it still has to do, in words for the model; None: it may rest."""
    stopped: str | None = None
    """Why it rests although another hook wants it to go on."""


def withhold(result: ToolResult, reason: str) -> ToolResult:
    """The result that a model reads in place of one that it may not read."""
    words = f"The tool has run, but its result is withheld: {reason}"
    return replace(result, content=words, is_error=True, images=())
