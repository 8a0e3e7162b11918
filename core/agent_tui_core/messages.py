"""Owns whole messages and what a model is asked; refuses half a message: it is whole or absent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field
from typing import Final, Literal, TypeAlias

from agent_tui_core.blocks import ContentBlock, Image, JsonObject, Text, ToolResult, ToolUse
from agent_tui_core.records import dataclass

Role: TypeAlias = Literal["user", "assistant", "tool"]
StopReason: TypeAlias = Literal["end", "tool_use", "length", "content_filter", "interrupted", "error"]


_AT_ONCE: Final = 64
_spare: list[str] = []
"""Made many at a time: each call of the system for randomness costs as much as a hundred tokens."""
os.register_at_fork(after_in_child=_spare.clear)


def new_id() -> str:
    """A key of our own: unique, 32 hexadecimal digits."""
    while True:
        try:
            return _spare.pop()
        except IndexError:
            digits = os.urandom(16 * _AT_ONCE).hex()
            _spare.extend(digits[start : start + 32] for start in range(0, len(digits), 32))


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; None where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """The part of `input_tokens` that the provider read from its cache."""
    reasoning_tokens: int | None = None
    """The part of `output_tokens` that was reasoning."""

    def maximum(self, other: Usage) -> Usage:
        """The larger of each count: what several reports about *one* answer mean together."""
        return Usage(
            _max(self.input_tokens, other.input_tokens),
            _max(self.output_tokens, other.output_tokens),
            _max(self.cached_tokens, other.cached_tokens),
            _max(self.reasoning_tokens, other.reasoning_tokens),
        )

    def plus(self, other: Usage) -> Usage:
        """The sum of each count: what several answers cost together."""
        return Usage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.cached_tokens, other.cached_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
        )


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    `user` holds text and images; `assistant` holds text, reasoning and tool uses; `tool` holds the results
    of exactly the tool uses of the assistant message before it, in their order.
    """

    role: Role
    blocks: tuple[ContentBlock, ...]
    stop_reason: StopReason | None = None
    """Why an assistant message ended; None on the other roles."""
    usage: Usage | None = None
    id: str = field(default_factory=new_id)

    @property
    def text(self) -> str:
        """The words of the message, without reasoning, calls and results."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The calls in the message, in order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results in the message, in order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolResult))


@dataclass(frozen=True, slots=True)
class QueuedPrompt:
    """A prompt that waits until its agent can take it."""

    id: str
    """Stays the same for as long as it exists: once it is sent, its message has this id."""
    text: str
    kept: bool = False
    """History has it, as it is: it survives the end of the program."""
    held: bool = False
    """An earlier life of the program left it: it is not sent before the person goes on with the agent."""
    blocks: tuple[Text | Image, ...] = ()
    """The whole of it, where it has pictures; `text` are its words."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told of a tool."""

    name: str
    description: str
    input_schema: JsonObject
    """JSON Schema of the input, `type: object`."""


ThinkTags: TypeAlias = bool | Literal["open"]
"""Whether text that begins with `<think>` is reasoning up to `</think>`. "open": the model's template writes
the opening tag itself, so that the answer begins within."""

ReasoningEffort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: Final[tuple[ReasoningEffort, ...]] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


_NOTHING: JsonObject = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """How a model is asked; what is None or empty is left to the server. `wire/request_options` checks it."""

    temperature: float | None = None
    top_p: float | None = None
    stop: Sequence[str] = ()
    """Texts at which an answer ends, without them."""
    seed: int | None = None
    reasoning_effort: ReasoningEffort | None = None
    think_tags: ThinkTags | None = None
    """None takes what is said of the server."""
    extra_body: JsonObject = field(default_factory=lambda: _NOTHING)
    """Fields of the request that are ours to pass on and not to know."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """All that a provider needs to ask its model once."""

    model: str
    messages: Sequence[Message]
    system_prompt: str = ""
    tools: Sequence[ToolSpec] = ()
    max_tokens: int | None = None
    options: RequestOptions = field(default_factory=RequestOptions)


def _max(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b
