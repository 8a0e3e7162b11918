"""Owns the seam to any server that speaks OpenAI's Responses API: one address, one key, its models.

Refuses to be asked for its key: it goes into the Authorization header and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx

from agent_tui_core.errors import BadRequest
from agent_tui_core.events import StreamEvent
from agent_tui_core.messages import ModelRequest, ThinkTags
from agent_tui_core.providers.extras import ServerExtras
from agent_tui_core.providers.server import ModelServer, ServedProvider, asked_again, bearer
from agent_tui_core.records import dataclass
from agent_tui_core.wire.responses import ResponsesStream, request_body


@dataclass(slots=True)
class _Manner:
    """What of our wishes a model takes, as its refusals taught."""

    summaries: bool
    encrypted: bool = True


class ResponsesProvider(ServedProvider):
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
        """`thinking` asks for summaries of the reasoning; `think_tags` is for local servers (P8).

        Ends in `ConfigError` when the address or the key cannot be used.
        """
        headers = bearer(api_key)
        server = ModelServer(client, base_url, headers, endpoint="responses", extras=extras)
        super().__init__(server, has_key=bool(headers), think_tags=think_tags)
        self._thinking = thinking
        self._manners: dict[str, _Manner] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Ask the model once; see `ModelProvider.stream`.

        Models that do not reason refuse to be asked for reasoning: they are asked again without, and it is
        remembered of each.
        """
        manner = self._manners.setdefault(request.model, _Manner(self._thinking))
        asking = _Asking(request, manner)

        def ask() -> AsyncGenerator[StreamEvent, None]:
            names = [spec.name for spec in request.tools]
            stream = ResponsesStream(names, think_tags=self.think_tags(request))
            return self._server.ask(asking.body(), stream, request.options.extra_body)

        async with aclosing(asked_again(ask, asking.gives_way)) as events:
            async for event in events:
                yield event


@dataclass(slots=True)
class _Asking:
    """One request, and what was given up for it."""

    request: ModelRequest
    manner: _Manner
    thoughts: bool = True

    def body(self) -> dict[str, Any]:
        encrypted = self.manner.encrypted
        return request_body(
            self.request, encrypted=encrypted, summaries=self.manner.summaries, thoughts=self.thoughts
        )

    def gives_way(self, error: BadRequest) -> bool:
        """Whether asking for less can help; it is then asked so.

        "Unsupported parameter: 'reasoning.summary'", "Your organization must be verified to generate
        reasoning summaries", "Encrypted content is not supported with this model"; and of earlier reasoning
        that another model or account wrote: "The encrypted content … could not be verified".
        """
        said = f"{error} {error.body}".lower()
        if self.manner.summaries and re.search(r"reasoning.summar", said):
            self.manner.summaries = False
        elif self.manner.encrypted and re.search(r"encrypted content is not supported|['\"]include", said):
            self.manner.encrypted = False
        elif self.thoughts and re.search(r"could not be (?:verified|decrypted)|reasoning input item", said):
            self.thoughts = False
        else:
            return False
        return True
