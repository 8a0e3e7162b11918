"""Owns when an agent last got on, by its events; refuses a timer: whoever looks says what time it is.

A person's own doings, notices and bytes that say nothing are no progress.
"""

from __future__ import annotations

from typing import Final

from agent_tui_core.events import (
    AgentState,
    Event,
    Noticed,
    PromptReturned,
    QueueChanged,
    RequestRetrying,
    StateChanged,
)

_NO_PROGRESS: Final = (Noticed, QueueChanged, PromptReturned, StateChanged)
_SHOULD_PROGRESS: Final[frozenset[AgentState]] = frozenset(
    {"connecting", "streaming", "summarising", "running"}
)


class ProgressClock:
    """One agent's last sign of life, in seconds since the epoch."""

    def __init__(self) -> None:
        self.last_at = 0.0
        """The last event of any kind."""
        self.progressed_at = 0.0
        """The last that the model, a tool or the run itself made."""
        self.retrying: RequestRetrying | None = None
        """The last request that was made again."""
        self.retry_at = 0.0
        """When it is, or was, made again."""

    def note(self, event: Event) -> None:
        """Take the next event."""
        self.last_at = event.at
        if isinstance(event.body, _NO_PROGRESS):
            return
        self.progressed_at = event.at
        if isinstance(event.body, RequestRetrying):
            self.retrying, self.retry_at = event.body, event.at + event.body.delay

    def silent_for(self, state: AgentState, now: float) -> float:
        """Seconds without progress of what should get on in this state; else 0."""
        return max(0.0, now - self.progressed_at) if state in _SHOULD_PROGRESS else 0.0
