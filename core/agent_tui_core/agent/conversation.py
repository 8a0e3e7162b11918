"""Owns one agent's messages: append-only, and always such that a provider accepts them; refuses to send them.

The invariant: the results of an assistant message's calls follow it at once, one for each call, in call
order. A user message is staged until something came of it: a failed request leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent_tui_core.blocks import ToolResult, ToolUse
from agent_tui_core.messages import Message

CANCELLED = "cancelled by the user"
"""What the model reads for a call that has no result because a person interrupted."""


class Conversation:
    """Whole messages, oldest first."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = list(messages)
        self.staged: Message | None = None
        """A user message that is part of the next request but not yet of the conversation."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is committed."""
        return tuple(self._messages)

    def append(self, message: Message) -> None:
        """Add a committed message; the staged one leaves the stage when it is the one."""
        if self.staged is not None and self.staged.id == message.id:
            self.staged = None
        self._messages.append(message)

    def clear(self) -> None:
        """Forget everything."""
        self._messages.clear()
        self.staged = None

    def unanswered(self) -> tuple[ToolUse, ...]:
        """The calls of the last assistant message when no results follow it."""
        if self._messages and self._messages[-1].role == "assistant":
            return self._messages[-1].tool_uses
        return ()

    def for_request(self) -> list[Message]:
        """The messages as a provider accepts them; results that are missing are filled in."""
        whole: list[Message] = []
        committed = self._messages if self.staged is None else [*self._messages, self.staged]
        for index, message in enumerate(committed):
            if message.role == "tool" or (message.role == "user" and not message.blocks):
                continue
            whole.append(message)
            if message.role == "assistant" and message.tool_uses:
                following = committed[index + 1] if index + 1 < len(committed) else None
                whole.append(_answered(message.tool_uses, following))
        return whole


def _answered(calls: tuple[ToolUse, ...], following: Message | None) -> Message:
    """The tool message after `calls`: the committed one when it is exact, else one that is."""
    given = following.tool_results if following is not None and following.role == "tool" else ()
    if following is not None and [r.tool_use_id for r in given] == [call.id for call in calls]:
        return following
    left = list(given)
    results = []
    for call in calls:
        match = next((result for result in left if result.tool_use_id == call.id), None)
        if match is not None:
            left.remove(match)
        results.append(match or ToolResult(call.id, CANCELLED, is_error=True))
    return Message("tool", tuple(results))
