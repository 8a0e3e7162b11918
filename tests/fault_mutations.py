"""Owns what is taken out of the program so that each row of the table of broken networks complains.

Refuses to run it. A mutation takes out a handling of ours, or the part of a library that has it.
"""

from __future__ import annotations

import functools
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Final

import httptools
import pytest

from agent_tui_core.agent import loop as loop_room
from agent_tui_core.agent import requesting as requesting_room
from agent_tui_core.errors import BadRequest, ProviderUnreachable
from agent_tui_core.providers import direct as direct_room
from agent_tui_core.providers import exchange as exchange_room
from agent_tui_core.providers import http as http_room
from fault_kinds import Fault

Rows = Callable[[Fault], bool]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One handling, taken out."""

    name: str
    take_out: Callable[[pytest.MonkeyPatch], None]
    rows: Rows
    holds_up: bool = False
    """What it does is to hold up the keys; of others that alone is no complaint, but a busy machine."""


def named(*names: str) -> Rows:
    return lambda fault: fault.name in names


def _no_retries(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(loop_room, "LoopSettings", functools.partial(loop_room.LoopSettings, retries=0))


def _no_words_for_broken_connections(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http_room, "failure", lambda *_, **__: ProviderUnreachable("oops"))


def _no_words_for_statuses(patch: pytest.MonkeyPatch) -> None:
    async def refused(_response: object) -> BadRequest:
        return BadRequest("oops")

    patch.setattr(http_room, "refused", refused)


def _no_hiding_of_keys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http_room, "hide_key", lambda *_: None)


def _endless_patience(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http_room, "http_client", functools.partial(http_room.http_client, idle_timeout=1e6))


def _endless_drain(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http_room, "DRAIN_SECONDS", 1e6)
    _endless_patience(patch)


def _endless_error_bodies(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http_room, "ERROR_BODY_SECONDS", 1e6)
    patch.setattr(http_room, "MAX_ERROR_BODY", 2**60)


def _waits_as_long_as_it_is_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(requesting_room, "LONGEST_RETRY_AFTER", 1e9)


def _heads_have_no_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(exchange_room, "MOST_HEAD", 2**60)


def _what_is_no_http_passes(patch: pytest.MonkeyPatch) -> None:
    class Deaf:
        """Hears HTTP where there is any, and goes on where there is none."""

        def __init__(self, protocol: object) -> None:
            self._parser = httptools.HttpResponseParser(protocol)
            self._lost = False

        def __getattr__(self, name: str) -> Any:
            return getattr(self._parser, name)

        def feed_data(self, data: bytes) -> None:
            try:
                if not self._lost:
                    self._parser.feed_data(data)
            except httptools.HttpParserError:
                self._lost = True

    patch.setattr(httptools, "HttpResponseParser", Deaf)


def _chunks_have_no_extensions(patch: pytest.MonkeyPatch) -> None:
    received = exchange_room.Connection.buffer_updated

    def strict(self: exchange_room.Connection, nbytes: int) -> None:
        buffer = self.get_buffer(-1)
        data = bytes(buffer[:nbytes]).replace(b";a=b\r\n", b"!\r\n")
        buffer[: len(data)] = data
        received(self, len(data))

    patch.setattr(exchange_room.Connection, "buffer_updated", strict)


def _only_chunks_are_framed(patch: pytest.MonkeyPatch) -> None:
    whole = exchange_room.Connection.on_headers_complete

    def strict(self: exchange_room.Connection) -> None:
        whole(self)
        if not any(name.lower() == b"transfer-encoding" for name, _ in self.headers):
            self.whole = True

    patch.setattr(exchange_room.Connection, "on_headers_complete", strict)


def _a_late_break_counts(patch: pytest.MonkeyPatch) -> None:
    async def drain(chunks: AsyncIterator[bytes]) -> None:
        async for _ in chunks:
            pass

    patch.setattr(http_room, "_drain", drain)


def _the_first_head_counts(patch: pytest.MonkeyPatch) -> None:
    whole = exchange_room.Connection.on_headers_complete

    def hasty(self: exchange_room.Connection) -> None:
        whole(self)
        if self.status is None and self._parser is not None:
            self.status = self._parser.get_status_code()

    patch.setattr(exchange_room.Connection, "on_headers_complete", hasty)


def _nothing_is_unpacked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("httpx._models.SUPPORTED_DECODERS", {})


def _anybody_is_trusted(patch: pytest.MonkeyPatch) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    patch.setattr(direct_room, "_tls", lambda *_: context)


def _nobody_is_trusted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(direct_room, "_tls", lambda *_: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))


_BROKEN: Final = (
    "broke before the answer",
    "went silent",
    "compressed",
    "does not speak",
    "cannot be trusted",
)


def _is_broken(fault: Fault) -> bool:
    return fault.says.startswith(_BROKEN)


def _is_refused(fault: Fault) -> bool:
    return fault.name[:1] in {"2", "3", "4"} and fault.end == "failed"


NETWORK_MUTATIONS: Final = (
    Mutation("no retries", _no_retries, lambda fault: fault.end == "retried"),
    Mutation("no words for broken connections", _no_words_for_broken_connections, _is_broken),
    Mutation("no words for statuses", _no_words_for_statuses, _is_refused),
    Mutation("keys are not hidden", _no_hiding_of_keys, named("401 that repeats the key")),
    Mutation("endless patience", _endless_patience, named("silence within the answer")),
    Mutation("endless drain", _endless_drain, named("silence after [DONE]")),
    Mutation("endless error bodies", _endless_error_bodies, named("an error body without end")),
    Mutation("waits as long as it is told", _waits_as_long_as_it_is_told, named("429 for a day")),
    Mutation(
        "anybody is trusted",
        _anybody_is_trusted,
        named("a certificate of nobody known", "a certificate of another name"),
    ),
    Mutation("nobody is trusted", _nobody_is_trusted, named("a whole answer over TLS")),
    Mutation("heads have no end", _heads_have_no_end, named("a header of a megabyte", "endless headers")),
    Mutation(
        "what is no HTTP passes",
        _what_is_no_http_passes,
        named("not HTTP", "two lengths", "binary noise", "a chunk longer than its size"),
    ),
    Mutation("chunks have no extensions", _chunks_have_no_extensions, named("chunk extensions")),
    Mutation(
        "only chunks are framed",
        _only_chunks_are_framed,
        named("HTTP/1.0 that closes", "a body with its length"),
    ),
    Mutation("a late break counts", _a_late_break_counts, named("closed after the finish reason")),
    Mutation("the first head counts", _the_first_head_counts, named("an interim answer first")),
    Mutation("nothing is unpacked", _nothing_is_unpacked, named("a gzip answer", "a deflate answer")),
)
