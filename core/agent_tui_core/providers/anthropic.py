"""Owns the seam to any server that speaks Anthropic's Messages API: one address, one key, its models.

Refuses to be asked for its key: it goes into the `x-api-key` header and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

import httpx

from agent_tui_core.errors import BadRequest
from agent_tui_core.events import StreamEvent
from agent_tui_core.messages import ModelRequest, ThinkTags
from agent_tui_core.providers.extras import ServerExtras
from agent_tui_core.providers.server import ModelServer, ServedProvider, asked_again, checked_key
from agent_tui_core.records import dataclass
from agent_tui_core.wire.anthropic import (
    DEFAULT_MAX_TOKENS,
    LEAST_MAX_TOKENS,
    MessagesStream,
    Thinking,
    request_body,
)

API_VERSION: Final = "2023-06-01"
_MOST_MODELS: Final = "1000"
"""What one page of the models list holds at most; without a wish it holds 20."""
_NEXT: Final[dict[Thinking, Thinking]] = {"adaptive": "budget", "budget": "off"}
_LARGEST_ANSWER: Final = re.compile(r"max_tokens: \d+ > (\d+)")
"""`max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for …`"""
_THOUGHTS_REFUSED: Final = re.compile(r"`signature`|xpected `thinking`|cannot be modified")
"""``Invalid `signature` in `thinking` block``, ``Expected `thinking` …, but found `tool_use` ``: what another
server or protocol answered before."""
_WINDOW: Final = re.compile(r"exceed context limit: (\d+) \+ (\d+) > (\d+)")
"""`input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, …`"""


@dataclass(slots=True)
class _Manner:
    """How a model wants to be asked, as its refusals taught."""

    thinking: Thinking
    max_tokens: int = DEFAULT_MAX_TOKENS


class AnthropicProvider(ServedProvider):
    """A model's server behind `base_url`, asked through a client that others share."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        base_url: str,
        api_key: str | None = None,
        *,
        think_tags: ThinkTags = True,
        thinking: bool = False,
        extras: ServerExtras | None = None,
    ) -> None:
        """`thinking` asks for it, in the way that the model takes; `think_tags` is for local servers (P8).

        Ends in `ConfigError` when the address or the key cannot be used.
        """
        key = checked_key(api_key)
        headers = {"anthropic-version": API_VERSION} | ({"x-api-key": key} if key else {})
        server = ModelServer(client, base_url, headers, endpoint="messages", extras=extras)
        super().__init__(server, has_key=bool(key), think_tags=think_tags)
        self._thinking: Thinking = "adaptive" if thinking else "off"
        self._manners: dict[str, _Manner] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Ask the model once; see `ModelProvider.stream`.

        Asks again when the server refuses our own wishes: the way in which thinking is asked for, thinking
        that another server signed, a `max_tokens` that the request did not name. What the model taught is
        remembered.
        """
        manner = self._manners.setdefault(request.model, _Manner(self._thinking))
        asking = _Asking(request, manner)

        def ask() -> AsyncGenerator[StreamEvent, None]:
            names = [spec.name for spec in request.tools]
            stream = MessagesStream(names, think_tags=self.think_tags(request))
            return self._server.ask(asking.body(), stream, request.options.extra_body)

        async with aclosing(asked_again(ask, asking.gives_way)) as events:
            async for event in events:
                yield event

    async def models(self) -> list[str]:
        """The names of the models that the server offers, the newest first; raises `ProviderError`."""
        return await self._server.models({"limit": _MOST_MODELS})


@dataclass(slots=True)
class _Asking:
    """One request, and what was given up for it."""

    request: ModelRequest
    manner: _Manner
    room: int | None = None
    """What the context window leaves for this answer."""
    thoughts: bool = True

    def body(self) -> dict[str, Any]:
        limit = self.manner.max_tokens if self.room is None else self.room
        thinking = self.manner.thinking if self.thoughts else "off"
        return request_body(self.request, thinking=thinking, max_tokens=limit, thoughts=self.thoughts)

    def gives_way(self, error: BadRequest) -> bool:
        """Whether asking differently can help; it is then asked so."""
        said = str(error)
        if self.request.max_tokens is None and self._fewer_tokens(said):
            return True
        if self.thoughts and _THOUGHTS_REFUSED.search(said):
            self.thoughts = False
            return True
        if "thinking" in said and "messages." not in said and self.manner.thinking in _NEXT:
            self.manner.thinking = _NEXT[self.manner.thinking]
            return True
        return False

    def _fewer_tokens(self, said: str) -> bool:
        largest, window = _LARGEST_ANSWER.search(said), _WINDOW.search(said)
        if largest is not None and 0 < int(largest[1]) < self.manner.max_tokens:
            self.manner.max_tokens = int(largest[1])
            return True
        left = int(window[3]) - int(window[1]) if window else 0
        if self.room is None and left >= LEAST_MAX_TOKENS:
            self.room = left
            return True
        return False
