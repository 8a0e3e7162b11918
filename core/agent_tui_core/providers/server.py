"""Owns one model's server at one address: endpoints, key, list of models; refuses to know a protocol.

The key goes into one header and nowhere else, and cannot be asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final

import httpx
import msgspec

from agent_tui_core.blocks import JsonObject
from agent_tui_core.errors import BadRequest, ConfigError, ProviderUnreachable, StreamMalformed
from agent_tui_core.events import StreamEvent
from agent_tui_core.messages import ModelRequest, ThinkTags
from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.providers.extras import ServerExtras
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
from agent_tui_core.wire.answer import AnswerStream
from agent_tui_core.wire.request_options import with_extra

_NOTHING: Final[JsonObject] = {}
MAX_MODELS: Final = 1000
MAX_MODEL_NAME: Final = 200
MODELS_SECONDS: Final = 20.0
"""How long a server may take to list its models."""


class ModelServer:
    """A server behind `base_url`, asked through a client that others share."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        base_url: str,
        headers: Mapping[str, str],
        *,
        endpoint: str,
        extras: ServerExtras | None = None,
    ) -> None:
        """`endpoint` is the path that answers; an address that ends with it is understood.

        Ends in `ConfigError` when the address cannot be used.
        """
        self._client = client
        self._base = _parse_base_url(base_url, endpoint)
        self._url = endpoint_url(self._base, endpoint)
        self._extras = extras or ServerExtras()
        self._headers = self._extras.over(headers)

    @property
    def base_url(self) -> str:
        """The address that was configured, without a slash at its end."""
        return str(self._base)

    def ask(
        self, body: dict[str, Any], stream: AnswerStream, extra_body: JsonObject = _NOTHING
    ) -> AsyncGenerator[StreamEvent, None]:
        """Ask once, with the further fields of the server, then of the request; see `stream_events`."""
        return stream_events(
            self._client,
            self._url,
            headers=self._headers,
            body=with_extra(body, self._extras.extra_body, extra_body),
            stream=stream,
            secrets=self._extras.secrets,
            idle_timeout=self._extras.idle_timeout,
        )

    async def models(self, query: Mapping[str, str] | None = None) -> list[str]:
        """The names of the models that the server offers, in its order; raises `ProviderError`."""
        url = endpoint_url(self._base, "models").copy_merge_params(query or {})
        secrets = {"secrets": self._extras.secrets}
        request = self._client.build_request("GET", url, headers=self._headers, extensions=secrets)
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


class ServedProvider(ModelProvider):
    """What providers of all protocols have in common: one server, and nothing to release."""

    def __init__(self, server: ModelServer, *, has_key: bool, think_tags: ThinkTags) -> None:
        self._server = server
        self._has_key = has_key
        self._think_tags = think_tags

    def think_tags(self, request: ModelRequest) -> ThinkTags:
        """What counts for this request: its own word, or that of the server."""
        said = request.options.think_tags
        return self._think_tags if said is None else said

    @property
    def base_url(self) -> str:
        """The address that was configured, without a slash at its end."""
        return self._server.base_url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}, api_key={'***' if self._has_key else None})"

    async def models(self) -> list[str]:
        """The names of the models that the server offers, in its order; raises `ProviderError`."""
        return await self._server.models()

    async def aclose(self) -> None:
        """Nothing to release: the client belongs to the session."""


async def asked_again(
    ask: Callable[[], AsyncGenerator[StreamEvent, None]], give_way: Callable[[BadRequest], bool]
) -> AsyncGenerator[StreamEvent, None]:
    """Ask; when the request is refused before anything came, ask again while `give_way` makes it easier."""
    while True:
        started = False
        try:
            async with aclosing(ask()) as events:
                async for event in events:
                    started = True
                    yield event
            return
        except BadRequest as error:
            if started or not give_way(error):
                raise


def endpoint_url(base: httpx.URL, name: str) -> httpx.URL:
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


def checked_key(api_key: str | None) -> str | None:
    """The key, trimmed; None when there is none. Raises `ConfigError` for what no header can hold."""
    key = (api_key or "").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError(
            "the API key holds characters that no key has (blanks, line ends or the like)", key="api_key"
        )
    return key or None


def bearer(api_key: str | None) -> dict[str, str]:
    """The header of the servers that take the key as a bearer token; none without a key."""
    key = checked_key(api_key)
    return {"Authorization": f"Bearer {key}"} if key else {}


class _Model(msgspec.Struct):
    id: str


class _ModelList(msgspec.Struct):
    data: list[_Model] | None


def _parse_base_url(base_url: str, name: str) -> httpx.URL:
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
    path = url.path.rstrip("/").removesuffix(f"/{name}")
    return url.copy_with(path=path, fragment=None)
