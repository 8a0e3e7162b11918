"""Owns what a run asks with and what it has so far, as values; refuses to know their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from agent_tui_core.agent.context import CHARACTERS_PER_TOKEN
from agent_tui_core.agent.round import Round
from agent_tui_core.events import RunEnded
from agent_tui_core.messages import Message, ModelRequest, RequestOptions, Usage
from agent_tui_core.records import dataclass
from agent_tui_core.tools.registry import ToolRegistry
from agent_tui_core.wire.accumulator import Accumulator


def overhead(system_prompt: str, tools: ToolRegistry) -> int:
    """Guess the tokens that every request has besides its messages."""
    return (len(system_prompt) + tools.characters) // CHARACTERS_PER_TOKEN


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What one agent asks its model with, and how far a run may go."""

    model: str
    system_prompt: str = ""
    tools: ToolRegistry = field(default_factory=ToolRegistry)
    """Asked for each request: some tools come and go."""
    max_tokens: int | None = None
    options: RequestOptions = field(default_factory=RequestOptions)
    max_tool_iterations: int = 25
    """How many rounds of calls one run may make."""
    retries: int = 3
    progress_timeout: float | None = None
    """Seconds without text, call or usage after which a request is given up; None waits for ever."""
    key_name: str | None = ""
    """The environment variable of the key, for a person; None when no key is sent."""
    context_limit: int | None = None
    """Tokens that the model can read; None is unknown: room is made when the provider says it is full."""

    def overhead(self) -> int:
        """Guess the tokens that every request has besides its messages."""
        return overhead(self.system_prompt, self.tools)

    def request(self, messages: Sequence[Message]) -> ModelRequest:
        """What is sent to ask the model what comes after these messages."""
        return ModelRequest(
            model=self.model,
            messages=messages,
            system_prompt=self.system_prompt,
            tools=self.tools.specs,
            max_tokens=self.max_tokens,
            options=self.options,
        )


@dataclass(slots=True)
class Run:
    """What came of a run so far."""

    iterations: int = 0
    usage: Usage = field(default_factory=Usage)
    reply: Accumulator = field(default_factory=Accumulator)
    round: Round | None = None
    left: bool = False
    """The program ends: nobody interrupted it."""
    begun: bool = False
    """History has it."""
    ended: RunEnded | None = None
    """Its end, once history has it: with the last answer, where that has no calls."""
