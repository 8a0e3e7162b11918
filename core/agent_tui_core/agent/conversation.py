"""Owns one agent's messages: append-only, and always such that a provider accepts them; refuses to send them.

The invariant: the results of an assistant message's calls follow it at once, one for each call, in call
order. A user message is staged until something came of it: a failed request leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_tui_core.agent.context import counted, estimate
from agent_tui_core.blocks import ContentBlock, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.events import Compacted
from agent_tui_core.messages import Message
from agent_tui_core.records import dataclass

CANCELLED = "cancelled by the user"
"""What the model reads for a call that has no result because a person interrupted."""
PROGRAM_ENDED = "the program ended"
"""Why a run was interrupted that no person stopped."""
CUT_OFF = "interrupted: the program ended before this call had a result"
"""What the model reads for a call that has no result because the program ended."""
SUMMARY_HEAD = "Summary of this conversation so far, in the place of its first messages:\n\n"
LEFT_OUT_HEAD = "[Left out here, for want of room: the first {} messages of this conversation.]"
_PROMPT_KEPT = 1_000
"""Characters of a prompt that stay readable though its turn is left out."""


@dataclass(frozen=True, slots=True)
class ConversationSnapshot:
    """A conversation as it was at one moment."""

    messages: tuple[Message, ...]
    """All of it, oldest first."""
    compaction: Compacted | None
    """The summary that stands for the oldest messages in requests."""
    request: tuple[Message, ...]
    """What a request would have of it: summarised, and each call with its result."""
    tokens: int
    """Of that: as the provider counted, where it did, and a guess of the rest."""


class Conversation:
    """Whole messages, oldest first."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = list(messages)
        self._compactions: list[Compacted] = []
        self._counted_from = 0
        """Usage of messages before this index was counted over other requests than the next one."""
        self.staged: Message | None = None
        """A user message that is part of the next request but not yet of the conversation."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is committed."""
        return tuple(self._messages)

    @property
    def compaction(self) -> Compacted | None:
        """The summary that stands for the oldest messages in requests now."""
        return self._compactions[-1] if self._compactions else None

    def compact(self, compacted: Compacted) -> None:
        """Let a summary stand for everything up to a message, in requests."""
        self._compactions.append(compacted)
        self._counted_from = len(self._messages)

    def undo_compaction(self, compaction_id: str) -> bool:
        """Let the messages speak for themselves again; False when there is no such summary."""
        left = [compacted for compacted in self._compactions if compacted.id != compaction_id]
        undone = len(left) < len(self._compactions)
        self._compactions = left
        self._counted_from = len(self._messages)
        return undone

    def visible(self) -> list[Message]:
        """What a model is shown of the committed messages: the rest after a summary, which comes first."""
        compacted = self.compaction
        if compacted is None:
            return list(self._messages)
        covered = next((i for i, m in enumerate(self._messages) if m.id == compacted.covers), None)
        if covered is None:
            return list(self._messages)
        head = "" if compacted.left_out else SUMMARY_HEAD
        summary = Message("user", (Text(head + compacted.summary),), id=compacted.id)
        return [summary, *self._messages[covered + 1 :]]

    def size(self, overhead: int = 0) -> int:
        """The tokens of the next request's messages: counted by the provider, plus a guess of the rest.

        What no provider counted is guessed; `overhead` is what a request has besides its messages.
        """
        staged = [] if self.staged is None else [self.staged]
        for index in range(len(self._messages) - 1, self._counted_from - 1, -1):
            tokens = counted(self._messages[index].usage)
            if tokens is not None:
                return tokens + estimate([*self._messages[index + 1 :], *staged])
        return overhead + estimate([*self.visible(), *staged])

    def append(self, message: Message) -> None:
        """Add a committed message; the staged one leaves the stage when it is the one."""
        if self.staged is not None and self.staged.id == message.id:
            self.staged = None
        self._messages.append(message)

    def clear(self) -> None:
        """Forget everything."""
        self._messages.clear()
        self._compactions.clear()
        self._counted_from = 0
        self.staged = None

    def snapshot(self) -> ConversationSnapshot:
        """What it is now, as values of its own."""
        whole = tuple(map(_detached, self._messages))
        request = tuple(map(_detached, self.for_request()))
        return ConversationSnapshot(whole, self.compaction, request, self.size())

    def unanswered(self) -> tuple[ToolUse, ...]:
        """The calls of the last assistant message when no results follow it."""
        if self._messages and self._messages[-1].role == "assistant":
            return self._messages[-1].tool_uses
        return ()

    def for_request(self) -> list[Message]:
        """The messages as a provider accepts them; results that are missing are filled in."""
        whole: list[Message] = []
        committed = self.visible() if self.staged is None else [*self.visible(), self.staged]
        for index, message in enumerate(committed):
            if message.role == "tool" or (message.role == "user" and not message.blocks):
                continue
            whole.append(message)
            if message.role == "assistant" and message.tool_uses:
                following = committed[index + 1] if index + 1 < len(committed) else None
                whole.append(_answered(message.tool_uses, following))
        return whole


def left_out_words(earlier: Compacted | None, gone: Sequence[Message], prompt_stays: bool) -> str:
    """What the model reads in the place of messages that are left out without a summary of them.

    What stood for the messages before them stays, and the last prompt among them unless a later one does:
    without it the model would not know what it works on.
    """
    count = len(gone) + (earlier.left_out if earlier else 0)
    words = [LEFT_OUT_HEAD.format(count)]
    if earlier is not None and not earlier.left_out:
        words.insert(0, SUMMARY_HEAD + earlier.summary)
    prompt = next((m.text for m in reversed(gone) if m.role == "user" and m.text.strip()), "")
    if prompt and not prompt_stays:
        cut = " […]" if len(prompt) > _PROMPT_KEPT else ""
        words.append(f"The user's last words in them were:\n{prompt[:_PROMPT_KEPT]}{cut}")
    return "\n\n".join(words)


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


def _detached(message: Message) -> Message:
    """The same message, or an equal one where something in it could be changed."""
    if not any(isinstance(block, ToolUse | Reasoning) for block in message.blocks):
        return message
    return replace(message, blocks=tuple(map(_detached_block, message.blocks)))


def _detached_block(block: ContentBlock) -> ContentBlock:
    match block:
        case ToolUse(input=input_, opaque=opaque) if input_ or opaque:
            return replace(block, input=_copied(input_), opaque=_copied(opaque))
        case Reasoning(opaque=opaque) if opaque:
            return replace(block, opaque=_copied(opaque))
        case _:
            return block


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value
