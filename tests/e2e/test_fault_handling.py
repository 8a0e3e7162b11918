"""Each fault is seen to fail when its handling is taken out: a table that never complains proves nothing."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

import agent_tui_core.text as text_room
from agent_tui.panes import lines as lines_room
from agent_tui_core.agent import loop as loop_room
from agent_tui_core.errors import BadRequest, ProviderUnreachable, StreamTruncated
from agent_tui_core.events import AnswerEnded
from agent_tui_core.providers import http as http_room
from agent_tui_core.wire import answer as answer_room
from agent_tui_core.wire import chat_stream as chat_room
from agent_tui_core.wire.sse import SseParser
from fault_dashboard import impatient, table
from fault_kinds import Fault
from fault_rows import FAULTS

BY_LIBRARY: Final = frozenset(
    {
        "chunk extensions",
        "HTTP/1.0 that closes",
        "a body with its length",
        "an interim answer first",
        "a gzip answer",
        "a deflate answer",
        "no content type",
        "the wrong content type",
        "a finish without [DONE]",
        "closed after the finish reason",
    }
)
"""Odd, but whole: the HTTP library reads them, and nothing of ours has to be taken out."""

Rows = Callable[[Fault], bool]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One handling, taken out."""

    name: str
    take_out: Callable[[pytest.MonkeyPatch], None]
    rows: Rows


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


def _any_end_is_an_end(patch: pytest.MonkeyPatch) -> None:
    whole = answer_room.AnswerReader.close

    def close(self: answer_room.AnswerReader, pending: Any = None) -> list[Any]:
        try:
            said = whole(self, pending)
        except StreamTruncated:
            said = []
        if not isinstance(self.failed, StreamTruncated):
            return said
        self.failed = None
        return [*said, AnswerEnded("end")]

    patch.setattr(answer_room.AnswerReader, "close", close)


def _errors_in_a_stream_are_skipped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chat_room, "refusal_in", lambda *_: None)


def _no_limit_for_events(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http_room, "SseParser", functools.partial(SseParser, max_event_bytes=2**60))


def _no_web_pages(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http_room, "_web_page", lambda *_: BadRequest("oops"))


def _no_whole_answers(patch: pytest.MonkeyPatch) -> None:
    def whole(_self: object, _body: bytes) -> list[Any]:
        raise BadRequest("oops")

    patch.setattr(answer_room.AnswerReader, "whole", whole)


def _endless_patience(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http_room, "http_client", functools.partial(http_room.http_client, idle_timeout=1e6))


def _endless_drain(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http_room, "DRAIN_SECONDS", 1e6)
    _endless_patience(patch)


def _endless_error_bodies(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http_room, "ERROR_BODY_SECONDS", 1e6)
    patch.setattr(http_room, "MAX_ERROR_BODY", 2**60)


def _waits_as_long_as_it_is_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(loop_room, "LONGEST_RETRY_AFTER", 1e9)


def _each_chunk_by_itself(patch: pytest.MonkeyPatch) -> None:
    class Forgetful(SseParser):
        def __init__(self) -> None:
            super().__init__()
            self.feed = lambda chunk: SseParser().feed(chunk)

    patch.setattr(http_room, "SseParser", Forgetful)


def _controls_pass(patch: pytest.MonkeyPatch) -> None:
    nothing = re.compile("(?!)")
    for room in (text_room, lines_room):
        for name, value in vars(room).items():
            if isinstance(value, re.Pattern):
                patch.setattr(room, name, nothing)


_BROKEN: Final = ("broke before the answer", "went silent", "compressed", "does not speak HTTP")


def _is_broken(fault: Fault) -> bool:
    return fault.says in _BROKEN


def _is_refused(fault: Fault) -> bool:
    return fault.name[:1] in {"2", "3", "4"} and fault.end == "failed"


MUTATIONS: Final = (
    Mutation("no retries", _no_retries, lambda fault: fault.end == "retried"),
    Mutation("no words for broken connections", _no_words_for_broken_connections, _is_broken),
    Mutation("no words for statuses", _no_words_for_statuses, _is_refused),
    Mutation("keys are not hidden", _no_hiding_of_keys, named("401 that repeats the key")),
    Mutation("any end is an end", _any_end_is_an_end, named("neither", "HTTP/1.0 cut")),
    Mutation(
        "errors in a stream are skipped",
        _errors_in_a_stream_are_skipped,
        named("an error in mid-stream", "a JSON error with status 200"),
    ),
    Mutation("no limit for events", _no_limit_for_events, named("a line of 17 MB")),
    Mutation("no web pages", _no_web_pages, named("a web page")),
    Mutation("no whole answers", _no_whole_answers, named("JSON in place of a stream")),
    Mutation("endless patience", _endless_patience, named("silence within the answer")),
    Mutation("endless drain", _endless_drain, named("silence after [DONE]")),
    Mutation("endless error bodies", _endless_error_bodies, named("an error body without end")),
    Mutation("waits as long as it is told", _waits_as_long_as_it_is_told, named("429 for a day")),
    Mutation(
        "each chunk by itself",
        _each_chunk_by_itself,
        named("every byte in a packet of its own", "the answer in two packets, late"),
    ),
    Mutation("control characters pass", _controls_pass, named("controls in the text")),
)


def _rows() -> Iterator[tuple[Mutation, Fault]]:
    for mutation in MUTATIONS:
        for fault in FAULTS:
            if mutation.rows(fault):
                yield mutation, fault


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
async def test_a_fault_complains_when_its_handling_is_taken_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutation: Mutation
) -> None:
    impatient(monkeypatch)
    mutation.take_out(monkeypatch)
    silent = []
    for number, fault in enumerate(fault for taken, fault in _rows() if taken is mutation):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            async with table(folder) as tried:
                tried.patience = 2.0
                await tried.meet(fault)
                complained = bool(tried.complaints)
        except (TimeoutError, AssertionError):
            complained = True
        if not complained:
            silent.append(fault.name)
    assert silent == []
