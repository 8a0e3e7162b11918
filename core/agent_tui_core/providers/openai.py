"""Owns the seam to any server that speaks OpenAI's chat completions: one address, one key, its models.

Refuses to be asked for its key: it goes into the Authorization header and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx
import msgspec

from agent_tui_core.errors import BadRequest, ConfigError, ProviderUnreachable, StreamMalformed
from agent_tui_core.events import StreamEvent
from agent_tui_core.messages import ModelRequest
from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.providers.http import (
    MAX_JSON_BODY,
    collect,
    failure,
    hide_key,
    host,
    refused,
    stream_events,
)
from agent_tui_core.text import safe_line
from agent_tui_core.wire.openai import ChatStream, request_body

MAX_MODELS = 1000
MAX_MODEL_NAME = 200
MODELS_SECONDS = 20.0
"""How long a server may take to list its models."""


class OpenAIProvider(ModelProvider):
    """A model's server behind `base_url`, asked through a client that others share."""

    def __init__(self, client: httpx.AsyncClient, base_url: str, api_key: str | None = None) -> None:
        """Ends in `ConfigError` when the address or the key cannot be used."""
        self._client = client
        self._base = _parse_base_url(base_url)
        self._headers = _authorization(api_key)
        self._wants_usage = True

    @property
    def base_url(self) -> str:
        """The address that was configured, without a slash at its end."""
        return str(self._base)

    def __repr__(self) -> str:
        return f"OpenAIProvider({self.base_url!r}, api_key={'***' if self._headers else None})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Ask the model once; see `ModelProvider.stream`.

        Asks again without `stream_options` when the server refuses just that, and remembers it.
        """
        if self._wants_usage:
            try:
                async with aclosing(self._ask(request)) as events:
                    async for event in events:
                        yield event
                return
            except BadRequest as error:
                if "stream_options" not in f"{error} {error.body}":
                    raise
                self._wants_usage = False
        async with aclosing(self._ask(request)) as events:
            async for event in events:
                yield event

    async def models(self) -> list[str]:
        """The names of the models that the server offers, in its order; raises `ProviderError`."""
        request = self._client.build_request("GET", endpoint(self._base, "models"), headers=self._headers)
        try:
            async with asyncio.timeout(MODELS_SECONDS):
                body = await self._get(request)
        except httpx.HTTPError as error:
            raise failure(error, request, started=False) from error
        except TimeoutError as error:
            raise ProviderUnreachable(
                f"{host(request.url)} did not list its models in {MODELS_SECONDS:.0f} s"
            ) from error
        names = model_names(body)
        if names is None:
            raise StreamMalformed(
                f"{host(request.url)} answered, but not with a list of models: check base_url"
            )
        return list(names)

    async def aclose(self) -> None:
        """Nothing to release: the client belongs to the session."""

    def _ask(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        body = request_body(request)
        if not self._wants_usage:
            body.pop("stream_options", None)
        stream = ChatStream([spec.name for spec in request.tools])
        url = endpoint(self._base, "chat/completions")
        return stream_events(self._client, url, headers=self._headers, body=body, stream=stream)

    async def _get(self, request: httpx.Request) -> bytes:
        response = await self._client.send(request, stream=True)
        try:
            if response.status_code != 200:
                error = await refused(response)
                hide_key(error, request)
                raise error
            return await collect(response.aiter_bytes(), MAX_JSON_BODY)
        finally:
            await response.aclose()


def endpoint(base: httpx.URL, name: str) -> httpx.URL:
    """Return the address of one endpoint; what stands behind the `?` of the base stays."""
    return base.copy_with(path=f"{base.path.rstrip('/')}/{name}")


def model_names(body: bytes) -> tuple[str, ...] | None:
    """Return the names in an answer to GET /models; None when it is no such answer.

    Names that a terminal could not show as they are, or that are absurdly long, are left out.
    """
    try:
        listed = msgspec.json.decode(body, type=_ModelList)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    names = (model.id for model in (listed.data or ())[:MAX_MODELS])
    return tuple(name for name in names if 0 < len(name) <= MAX_MODEL_NAME and safe_line(name) == name)


class _Model(msgspec.Struct):
    id: str


class _ModelList(msgspec.Struct):
    data: list[_Model] | None


def _parse_base_url(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL as error:
        raise ConfigError(f"{safe_line(base_url)!r} is no address: {error}", key="base_url") from error
    if url.userinfo:
        raise ConfigError(
            "an address with a user or password in it is not used: set api_key_env", key="base_url"
        )
    if url.scheme not in {"http", "https"} or not url.host:
        example = "http://127.0.0.1:11434/v1"
        raise ConfigError(f"{safe_line(base_url)!r} is no http(s) address such as {example}", key="base_url")
    path = url.path.rstrip("/").removesuffix("/chat/completions")
    return url.copy_with(path=path, fragment=None)


def _authorization(api_key: str | None) -> dict[str, str]:
    key = (api_key or "").strip()
    if not key:
        return {}
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError(
            "the API key holds characters that no key has (blanks, line ends or the like)", key="api_key"
        )
    return {"Authorization": f"Bearer {key}"}
