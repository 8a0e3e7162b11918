"""Owns the seam between an agent's life and what runs its prompts; refuses to know either."""

from __future__ import annotations

from typing import Protocol

from agent_tui_core.agent.outside import LeftCalls
from agent_tui_core.events import RunEnded
from agent_tui_core.messages import Message


class Runner(Protocol):
    """What runs a prompt: the loop."""

    async def run(self, prompt: Message | None) -> RunEnded:
        """Run to one of the four ends."""
        ...

    async def compact(self) -> RunEnded:
        """Summarise the oldest part of the conversation, as a run of its own."""
        ...

    async def take_up(self, left: LeftCalls) -> RunEnded:
        """Go on with a run that was left while calls waited outside."""
        ...

    def leave(self) -> bool:
        """Let the run, which is cancelled next, stop without an end, to be taken up in a later life.

        False when it waits for nobody outside; then it ends as interrupted.
        """
        ...
