"""Owns the three points where a hook may speak, and what it may say; refuses to run one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from agent_tui_core.blocks import JsonObject, ToolResult
from agent_tui_core.messages import Message
from agent_tui_core.records import dataclass


@dataclass(frozen=True, slots=True)
class UserPromptSubmitEvent:
    """A person (or a script) is about to send a prompt."""

    prompt: str
    history: tuple[Message, ...]
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class PreToolUseEvent:
    """A call is about to be judged."""

    tool_name: str
    tool_input: JsonObject
    """The input as the hooks before this one left it."""
    tool_use_id: str
    history: tuple[Message, ...]
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class PostToolUseEvent:
    """A call has run; the model has not seen the result yet."""

    tool_name: str
    tool_input: JsonObject
    tool_use_id: str
    result: ToolResult
    history: tuple[Message, ...]
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class HookDecision:
    """What a hook says. Make one with the class methods; returning None is no opinion.

    Which fields count depends on the point: `prompt` at UserPromptSubmit, `input` at PreToolUse, `result` at
    PostToolUse. Every point may add `context`, which the model reads.
    """

    behavior: Literal["none", "allow", "ask", "deny"] = "none"
    reason: str = ""
    prompt: str | None = None
    input: JsonObject | None = None
    result: str | None = None
    context: str | None = None
    stop: bool = False
    """End the run after this call."""

    @classmethod
    def continue_(cls) -> HookDecision:
        """No opinion: whoever comes next decides."""
        return cls()

    @classmethod
    def allow(cls, reason: str = "") -> HookDecision:
        """Run the call without a question, unless a rule or another hook asks or denies."""
        return cls("allow", reason)

    @classmethod
    def ask(cls, reason: str) -> HookDecision:
        """Ask a person, whatever the allow rules say."""
        return cls("ask", reason)

    @classmethod
    def deny(cls, reason: str, *, stop: bool = False) -> HookDecision:
        """Do not run the call, or do not send the prompt; the reason is told."""
        return cls("deny", reason, stop=stop)

    block = deny

    @classmethod
    def modify_prompt(cls, prompt: str, reason: str = "") -> HookDecision:
        """Send this prompt instead."""
        return cls(reason=reason, prompt=prompt)

    @classmethod
    def modify_input(cls, input: JsonObject, reason: str = "") -> HookDecision:
        """Judge and run this input instead; it replaces the whole input."""
        return cls(reason=reason, input=input)

    @classmethod
    def modify_result(cls, result: str, reason: str = "") -> HookDecision:
        """Give the model this result instead."""
        return cls(reason=reason, result=result)

    @classmethod
    def add_context(cls, context: str) -> HookDecision:
        """Tell the model something more."""
        return cls(context=context)


Answer: TypeAlias = HookDecision | Awaitable[HookDecision | None] | None
UserPromptSubmitHook: TypeAlias = Callable[[UserPromptSubmitEvent], Answer]
PreToolUseHook: TypeAlias = Callable[[PreToolUseEvent], Answer]
PostToolUseHook: TypeAlias = Callable[[PostToolUseEvent], Answer]
