"""Owns which servers a start may ask and the key of each; refuses to connect and to keep a key.

A flag or the environment goes before every server in the file; keys stay in the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final
from urllib.parse import urlsplit

from agent_tui_core.blocks import JsonObject
from agent_tui_core.config.models import ProviderSettings, Settings, base_url_problem
from agent_tui_core.errors import ConfigError
from agent_tui_core.messages import ThinkTags
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line
from agent_tui_core.wire.headers import header_value_problem
from agent_tui_core.wire.protocols import WireProtocol

OPENAI_BASE_URL: Final = "https://api.openai.com/v1"
OPENAI_MODEL: Final = "gpt-4.1-mini"
"""What is asked at OpenAI when nobody named a model: its list of models has no useful first one."""
OPENAI_KEY: Final = "OPENAI_API_KEY"
ANTHROPIC_BASE_URL: Final = "https://api.anthropic.com/v1"
ANTHROPIC_KEY: Final = "ANTHROPIC_API_KEY"
ANTHROPIC_MODEL: Final = "claude-sonnet-4-5"
"""What a script asks at Anthropic when it named no model. The dashboard asks the server for its newest."""
REPLAY_BASE_URL: Final = "http://localhost/v1"
"""Is never connected to."""


@dataclass(frozen=True, slots=True)
class ProviderProfile:
    """A server to ask; the key stays in the environment, `api_key` fetches it."""

    name: str
    base_url: str
    api_key_env: str | None
    models: tuple[str, ...]
    protocol: WireProtocol = "chat"
    think_tags: ThinkTags = True
    thinking: bool = False
    progress_timeout: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_env: Mapping[str, str] = field(default_factory=dict)
    """Header → environment variable; `secret_headers` fetches the values."""
    extra_body: JsonObject = field(default_factory=dict)
    idle_timeout: float | None = None
    retries: int | None = None
    max_concurrent_requests: int | None = None
    api_key: str | None = field(default=None, repr=False)
    """The key itself, from a program that has it; it is stored nowhere."""


def named_provider(base_url: str | None, environ: Mapping[str, str]) -> ProviderProfile | None:
    """The provider that a flag or the environment names: it goes before every one in the file."""
    for said_by, url in (("--base-url", base_url), ("OPENAI_BASE_URL", environ.get("OPENAI_BASE_URL"))):
        if not url:
            continue
        if problem := base_url_problem(url):
            raise ConfigError(problem, key=said_by)
        url = url.rstrip("/")
        name = "openai" if url == OPENAI_BASE_URL else urlsplit(url).netloc
        return ProviderProfile(name, url, OPENAI_KEY if environ.get(OPENAI_KEY) else None, ())
    return None


def providers(
    settings: Settings, override: ProviderProfile | None, environ: Mapping[str, str]
) -> dict[str, ProviderProfile]:
    """All that a start may ask, by name; empty when nothing names one."""
    if override is not None:
        return {override.name: override}
    if settings.providers:
        return {name: _provider(name, provider) for name, provider in settings.providers.items()}
    if environ.get(OPENAI_KEY):
        return {"openai": ProviderProfile("openai", OPENAI_BASE_URL, OPENAI_KEY, ())}
    if environ.get(ANTHROPIC_KEY):
        return {"anthropic": ProviderProfile("anthropic", ANTHROPIC_BASE_URL, ANTHROPIC_KEY, (), "anthropic")}
    return {}


def replayed(named: Mapping[str, ProviderProfile]) -> dict[str, ProviderProfile]:
    """The same without keys: no server is asked. Without one, one that offers what was recorded."""
    if not named:
        return {"replay": ProviderProfile("replay", REPLAY_BASE_URL, None, ())}
    return {name: replace(provider, api_key_env=None, headers_env={}) for name, provider in named.items()}


def api_key(provider: ProviderProfile, environ: Mapping[str, str]) -> str | None:
    """The key that belongs to this provider and to no other host; None when it takes none.

    Raises `ConfigError` when its variable is empty or holds what no header can carry.
    """
    if provider.api_key is not None:
        return _given_key(provider.api_key)
    if provider.api_key_env is None:
        return None
    key = environ.get(provider.api_key_env, "").strip()
    where = f"providers.{safe_line(provider.name)}.api_key_env"
    if not key:
        raise ConfigError(
            f"the key is taken from the environment variable {provider.api_key_env}, which is not set. "
            f"Set it (export {provider.api_key_env}=...), or remove api_key_env if the server takes no key",
            key=where,
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"the environment variable {provider.api_key_env} holds characters that no key has; "
            "was it pasted with a line break or with typographic quotes?",
            key=where,
        )
    return key


def _given_key(given: str) -> str | None:
    """A key that a program gave: `AgentOptions` has the same words for "none"."""
    key = given.strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError("holds characters that no key has", key="api_key")
    return None if key in {"", "not-needed"} else key


def secret_headers(provider: ProviderProfile, environ: Mapping[str, str]) -> dict[str, str]:
    """The headers whose values are in the environment; they belong to this provider and to no other host.

    Raises `ConfigError` when a variable is empty or holds what no header can carry.
    """
    headers: dict[str, str] = {}
    for header, variable in provider.headers_env.items():
        value = environ.get(variable, "").strip()
        where = f"providers.{safe_line(provider.name)}.headers_env.{safe_line(header)}"
        if not value:
            raise ConfigError(
                f"the value is taken from the environment variable {variable}, which is not set. "
                f"Set it (export {variable}=...), or remove the header",
                key=where,
            )
        if problem := header_value_problem(value):
            raise ConfigError(f"the environment variable {variable} {problem}", key=where)
        headers[header] = value
    return headers


def _provider(name: str, settings: ProviderSettings) -> ProviderProfile:
    return ProviderProfile(
        name,
        settings.base_url.rstrip("/"),
        settings.api_key_env,
        settings.models,
        settings.protocol,
        settings.think_tags,
        settings.thinking,
        settings.progress_timeout,
        settings.headers,
        settings.headers_env,
        settings.extra_body,
        settings.idle_timeout,
        settings.retries,
        settings.max_concurrent_requests,
    )
