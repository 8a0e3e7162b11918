"""Owns which provider speaks which protocol; refuses to know where the name of one was configured."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from agent_tui_core.messages import ThinkTags
from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.providers.extras import ServerExtras
from agent_tui_core.wire.protocols import WireProtocol

if TYPE_CHECKING:
    import httpx


def make_provider(
    protocol: WireProtocol,
    client: httpx.AsyncClient,
    base_url: str,
    api_key: str | None,
    *,
    think_tags: ThinkTags = True,
    thinking: bool = False,
    extras: ServerExtras | None = None,
) -> ModelProvider:
    """Make the provider for a server; raises `ConfigError` when its address or key cannot be used.

    Chat completions have no common way to ask for thinking, so there `thinking` changes nothing.
    """
    match protocol:
        case "chat":
            from agent_tui_core.providers.openai import OpenAIProvider

            return OpenAIProvider(client, base_url, api_key, think_tags=think_tags, extras=extras)
        case "anthropic":
            from agent_tui_core.providers.anthropic import AnthropicProvider

            return AnthropicProvider(
                client, base_url, api_key, think_tags=think_tags, thinking=thinking, extras=extras
            )
        case "responses":
            from agent_tui_core.providers.responses import ResponsesProvider

            return ResponsesProvider(
                client, base_url, api_key, think_tags=think_tags, thinking=thinking, extras=extras
            )
        case _:
            assert_never(protocol)
