"""Owns what makes messages a conversation that a provider accepts (invariant 10); refuses to mend one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from agent_tui_core.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.messages import Message


def problem_in(messages: Sequence[Message]) -> str | None:
    """Say what is wrong with a history; None when it can be gone on with.

    The calls of the last message may wait for their results; all others have them, in call order.
    """
    open_calls: tuple[ToolUse, ...] = ()
    for number, message in enumerate(messages, 1):
        answered = message.role == "tool"
        if open_calls and not answered:
            ids = ", ".join(call.id for call in open_calls)
            return f"message {number} ({message.role}): the calls {ids} before it have no results"
        if answered and (wrong := _wrong_results(message, open_calls)):
            return f"message {number} (tool): {wrong}"
        if not answered and (wrong := _wrong_blocks(message)):
            return f"message {number} ({message.role}): {wrong}"
        open_calls = message.tool_uses
    return None


def _wrong_results(message: Message, calls: tuple[ToolUse, ...]) -> str | None:
    if any(not isinstance(block, ToolResult) for block in message.blocks):
        return "it should hold tool results alone"
    if not calls:
        return "there are no calls before it"
    given, wanted = [result.tool_use_id for result in message.tool_results], [call.id for call in calls]
    if given != wanted:
        return f"it answers {', '.join(given) or 'nothing'}, but the calls before it are {', '.join(wanted)}"
    return None


def _wrong_blocks(message: Message) -> str | None:
    match message.role:
        case "user":
            if any(not isinstance(block, Text | Image) for block in message.blocks):
                return "it should hold text and images alone"
            if not message.text.strip() and not any(isinstance(block, Image) for block in message.blocks):
                return "it is empty"
        case "assistant":
            if any(not isinstance(block, Text | Reasoning | ToolUse) for block in message.blocks):
                return "it should hold text, reasoning and tool uses alone"
            if not message.blocks:
                return "it is empty"
        case "tool":
            return None
        case _:
            assert_never(message.role)
    return None
