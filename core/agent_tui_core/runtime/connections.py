"""Owns which provider an agent talks to, and the one HTTP client they share; refuses to know an agent's life.

A key is fetched only for the provider that it belongs to. Where nothing is configured, local servers are
probed once; where none answers, the demo model does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent_tui_core.blocks import JsonObject
from agent_tui_core.config.profiles import AgentProfile, Plan
from agent_tui_core.config.servers import ANTHROPIC_BASE_URL, ProviderProfile, api_key, secret_headers
from agent_tui_core.config.taping import Taping
from agent_tui_core.errors import ConfigError, ProviderError, ProviderRefused
from agent_tui_core.events import AnswerEnded, StreamEvent
from agent_tui_core.messages import ModelRequest, ThinkTags
from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.providers.choice import make_provider
from agent_tui_core.providers.demo_cast import DEMO_BASE_URL
from agent_tui_core.providers.extras import ServerExtras
from agent_tui_core.providers.later import LaterProvider
from agent_tui_core.providers.limited import LimitedProvider
from agent_tui_core.providers.ports import LOCAL_SERVERS, listening
from agent_tui_core.records import dataclass
from agent_tui_core.wire.protocols import PROTOCOLS, WireProtocol

if TYPE_CHECKING:
    import httpx

DEMO = "demo"
GIVEN = "program"
"""The name of a provider that is an object of the program that opened the session."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Connection:
    """One agent's way to its model."""

    provider: ModelProvider
    name: str
    base_url: str
    model: str
    protocol: WireProtocol = "chat"
    think_tags: ThinkTags = True
    thinking: bool = False
    key_name: str | None = None
    """The environment variable that its key is taken from; "" for a key from a program, None for no key."""
    progress_timeout: float | None = None
    retries: int | None = None


class GoneProvider:
    """Stands for a provider that a resumed agent had and that is no longer configured."""

    def __init__(self, name: str) -> None:
        if name == GIVEN:
            self._words = "a program gave this agent its provider, and no program does now: name a server"
            return
        self._words = (
            f"the provider {name!r} of this agent is not configured any more. Name it in the settings file "
            f"again ([providers.{name}]), or come back with --resume and --base-url (and -m)"
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:  # noqa: ARG002
        """Refuse."""
        if self._words:
            raise ProviderRefused(self._words)
        yield AnswerEnded("error")

    async def models(self) -> list[str]:
        """Refuse."""
        raise ProviderRefused(self._words)

    async def aclose(self) -> None:
        """Nothing is held."""


class Connections:
    """The providers of one session."""

    def __init__(
        self,
        plan: Plan,
        *,
        demo: bool,
        demo_pace: float,
        given: ModelProvider | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """`given` answers in the place of every server; whoever made it closes it."""
        self.demo = demo and given is None
        self._given = given
        self.local: str | None = None
        """The local server that was found, by name, when nothing was configured."""
        self._plan = plan
        self._pace = demo_pace
        self._environ = environ
        self._profiles = dict(plan.providers)
        self._making = threading.Lock()
        self._clients: dict[bool, httpx.AsyncClient] = {}
        """One for the network, one for the demo."""
        self._replay = _opened(plan.taping)
        self._made: dict[str, ModelProvider] = {}

    async def settle(self) -> None:
        """Decide between a local server and the demo, when nothing is configured."""
        if self.demo or self._profiles or self._given is not None:
            return
        there = await listening(LOCAL_SERVERS)
        found = await self._asked_for_models(there) if there else None
        if found is None:
            self.demo = True
            return
        self.local = found.name
        self._profiles[found.name] = found

    async def connect(self, profile: AgentProfile) -> Connection:
        """Return the way to this agent's model; raises `ConfigError` when none can be named."""
        if self._given is not None:
            model = profile.model or next(iter(await self._given.models()), "default")
            return Connection(self._given, GIVEN, "", model)
        if self.demo:
            return self._demo(profile.model or DEMO)
        name = profile.provider or next(iter(self._profiles), "")
        chosen = self._profiles.get(name)
        if chosen is None:
            raise ConfigError(f"the agent {profile.name!r} has no provider", key="provider")
        provider = self._provider(chosen)
        model = profile.model or next(iter(chosen.models), None) or await self._first_model(chosen, provider)
        return _connection(provider, chosen, model)

    def reconnect(self, stored: JsonObject) -> Connection:
        """Return the way to a resumed agent's model, by what was stored of it."""
        name, url, model = (str(stored.get(key) or "") for key in ("provider", "base_url", "model"))
        said = self._plan.said
        model = said.model or model
        if self._given is not None:
            return Connection(self._given, GIVEN, "", model)
        if said.provider is not None:
            return _connection(self._provider(said.provider), said.provider, model)
        if name == DEMO:
            return self._demo(model)
        chosen = self._configured(name, url, stored)
        if chosen is None and (self._replay is not None or urlsplit(url).hostname in _LOOPBACK):
            chosen = _as_stored(name, url, stored)
        if chosen is None:
            return Connection(GoneProvider(name), name, url, model)
        return _connection(self._provider(chosen), chosen, model)

    def _configured(self, name: str, url: str, stored: JsonObject) -> ProviderProfile | None:
        """The provider of this name, else the one that is the same server under another name."""
        known = {**self._plan.configured, **self._profiles}
        if name in known:
            return known[name]
        spoken = stored.get("protocol", "chat")
        same = (each for each in known.values() if (each.base_url, each.protocol) == (url, spoken))
        return next(same, None)

    async def close(self) -> None:
        """Close every connection."""
        for provider in self._made.values():
            with contextlib.suppress(ConfigError):  # it could not even be made
                await provider.aclose()
        for client in self._clients.values():
            await client.aclose()

    async def _asked_for_models(self, there: Sequence[tuple[str, str]]) -> ProviderProfile | None:
        from agent_tui_core.providers.discovery import probe

        client = await asyncio.to_thread(self._client)
        for server in await probe(client, there):
            if server.models:
                return ProviderProfile(server.name, server.base_url, None, server.models)
        return None

    def _provider(self, profile: ProviderProfile) -> ModelProvider:
        extras = server_extras(profile, self._environ)
        return self._later(profile, api_key(profile, self._environ), extras)

    def _demo(self, model: str) -> Connection:
        profile = ProviderProfile(DEMO, DEMO_BASE_URL, None, ())
        return _connection(self._later(profile, None, ServerExtras(), demo=True), profile, model)

    def _later(
        self, profile: ProviderProfile, key: str | None, extras: ServerExtras, *, demo: bool = False
    ) -> ModelProvider:
        def make() -> ModelProvider:
            return make_provider(
                profile.protocol,
                self._client(demo=demo),
                profile.base_url,
                key,
                think_tags=profile.think_tags,
                thinking=profile.thinking,
                extras=extras,
            )

        if profile.name not in self._made:
            most = profile.max_concurrent_requests
            made = LaterProvider(make)
            self._made[profile.name] = made if most is None else LimitedProvider(made, most)
        return self._made[profile.name]

    def _client(self, *, demo: bool = False) -> httpx.AsyncClient:
        from agent_tui_core.providers.http import http_client

        with self._making:
            if demo not in self._clients:
                self._clients[demo] = client = http_client(transport=self._transport(demo=demo))
                if self._plan.taping.record is not None:
                    from agent_tui_core.providers.recording import record

                    record(client, self._plan.taping.record)
            return self._clients[demo]

    def _transport(self, *, demo: bool) -> httpx.AsyncBaseTransport | None:
        """What stands in the place of the network, if something does."""
        if self._replay is not None or not demo:
            return self._replay
        from agent_tui_core.providers.demo import DemoTransport

        return DemoTransport(pace=self._pace)

    async def _first_model(self, profile: ProviderProfile, provider: ModelProvider) -> str:
        remedy = "name one with --model, AGENT_TUI_MODEL, or model = … in the agent's profile"
        newest_first = profile.base_url == ANTHROPIC_BASE_URL
        if urlsplit(profile.base_url).hostname not in _LOOPBACK and not newest_first:
            raise ConfigError(f"no model is named for the provider {profile.name!r}; {remedy}", key="model")
        try:
            offered = await provider.models()
        except ProviderError as error:
            raise ConfigError(f"{error}, so its models are unknown; {remedy}", key="model") from error
        if not offered:
            raise ConfigError(f"the server at {profile.base_url} offers no model; {remedy}", key="model")
        return offered[0]


def server_extras(profile: ProviderProfile, environ: Mapping[str, str]) -> ServerExtras:
    """What a server is told besides; raises `ConfigError` when a header's variable cannot be used."""
    return ServerExtras(
        headers=profile.headers,
        secret_headers=secret_headers(profile, environ),
        extra_body=profile.extra_body,
        idle_timeout=profile.idle_timeout,
    )


def _opened(taping: Taping) -> httpx.AsyncBaseTransport | None:
    """What is replayed; raises `ConfigError` when the folders of a taping cannot be used."""
    if taping.record is not None:
        from agent_tui_core.providers.cassettes import make_folder

        make_folder(taping.record)
    if taping.replay is None:
        return None
    from agent_tui_core.providers.recording import ReplayTransport

    return ReplayTransport.of(taping.replay, pace=taping.pace)


def _connection(provider: ModelProvider, profile: ProviderProfile, model: str) -> Connection:
    return Connection(
        provider,
        profile.name,
        profile.base_url,
        model,
        profile.protocol,
        profile.think_tags,
        profile.thinking,
        profile.api_key_env or ("" if profile.api_key else None),
        profile.progress_timeout,
        profile.retries,
    )


def _as_stored(name: str, base_url: str, stored: JsonObject) -> ProviderProfile:
    """A local server that is not configured, as it was asked before; it takes no key."""
    spoken = stored.get("protocol")
    protocol: WireProtocol = next((known for known in PROTOCOLS if known == spoken), "chat")
    said = stored.get("think_tags")
    think_tags: ThinkTags = "open" if said == "open" else said is not False
    return ProviderProfile(name, base_url, None, (), protocol, think_tags, stored.get("thinking") is True)
