"""Owns the seam between the loop and any model; refuses to know a protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from agent_tui_core.events import StreamEvent
from agent_tui_core.messages import ModelRequest


class ModelProvider(Protocol):
    """Something that answers a request with a stream of events."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Ask the model once; yield events as they arrive, the last of them `AnswerEnded`.

        Ends in a `ProviderError` when the server refuses, breaks or sends nonsense; what was yielded
        before it stands. Closing the generator closes the connection at once.
        """
        ...

    async def models(self) -> list[str]:
        """The names of the models that the server offers; raises `ProviderError`."""
        ...

    async def aclose(self) -> None:
        """Release what the provider holds of its own; a shared HTTP client is not its own."""
        ...
