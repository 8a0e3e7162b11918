"""Owns the seam to any server that speaks OpenAI's chat completions: one address, one key, its models.

Refuses to be asked for its key: it goes into the Authorization header and nowhere else.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx

from agent_tui_core.errors import BadRequest
from agent_tui_core.events import StreamEvent
from agent_tui_core.messages import ModelRequest, ThinkTags
from agent_tui_core.providers.extras import ServerExtras
from agent_tui_core.providers.server import ModelServer, ServedProvider, asked_again, bearer
from agent_tui_core.wire.openai import ChatStream, request_body


class OpenAIProvider(ServedProvider):
    """A model's server behind `base_url`, asked through a client that others share."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        base_url: str,
        api_key: str | None = None,
        *,
        think_tags: ThinkTags = True,
        extras: ServerExtras | None = None,
    ) -> None:
        """`think_tags`: text that begins with `<think>` is reasoning (P8).

        Ends in `ConfigError` when the address or the key cannot be used.
        """
        headers = bearer(api_key)
        server = ModelServer(client, base_url, headers, endpoint="chat/completions", extras=extras)
        super().__init__(server, has_key=bool(headers), think_tags=think_tags)
        self._wants_usage = True

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Ask the model once; see `ModelProvider.stream`.

        Asks again without `stream_options` when the server refuses just that, and remembers it.
        """
        async with aclosing(asked_again(lambda: self._ask(request), self._give_way)) as events:
            async for event in events:
                yield event

    def _ask(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        body = request_body(request)
        if not self._wants_usage:
            body.pop("stream_options", None)
        names = [spec.name for spec in request.tools]
        stream = ChatStream(names, think_tags=self.think_tags(request))
        return self._server.ask(body, stream, request.options.extra_body)

    def _give_way(self, error: BadRequest) -> bool:
        if not self._wants_usage or "stream_options" not in f"{error} {error.body}":
            return False
        self._wants_usage = False
        return True
