"""Measures parsers of server-sent events on the same bytes, cut in four ways: ours and four libraries.

Refuses a parser that does not find every event.

    python bench/sse.py            # QUICK=1 for a minute's worth
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import httpx
from anthropic._streaming import SSEDecoder as AnthropicDecoder
from httpx_sse import EventSource
from openai._streaming import SSEDecoder as OpenAIDecoder
from sseclient import SSEClient
from tables import QUICK, Table, alternating, processor_seconds, times

from agent_tui_core.wire.sse import SseParser

EVENTS = 1_000 if QUICK else 8_000
ROUNDS = 5 if QUICK else 11
CUTS: tuple[tuple[str, int], ...] = (
    ("an event a chunk", 0),
    ("64 KiB", 65536),
    ("1,400 bytes", 1400),
    ("17 bytes", 17),
)
LINEAR = (1, 4, 16)
"""MiB."""

Parse = Callable[[list[bytes]], int]


def recorded(count: int) -> list[bytes]:
    """Chunks as one provider sends them, some words in other scripts."""
    dice = random.Random(1)
    words = (" the", " parser", " reads", ".\n\n", " `bytes`", " größer", " 日本", " — ", ", and", "\n- ")
    return [
        b"data: "
        + json.dumps(
            {
                "id": "chatcmpl-9qJzvYxW3abcdefgh",
                "object": "chat.completion.chunk",
                "created": 1731000000,
                "model": "some-model-2024-07-18",
                "system_fingerprint": "fp_0ba0d124f1",
                "choices": [
                    {
                        "index": 0,
                        "delta": {"content": dice.choice(words)},
                        "logprobs": None,
                        "finish_reason": None,
                    }
                ],
            },
            ensure_ascii=False,
        ).encode()
        + b"\n\n"
        for _ in range(count)
    ]


def cut(events: list[bytes], size: int) -> list[bytes]:
    """The same bytes in chunks of a size; 0 is an event a chunk."""
    if not size:
        return events
    whole = b"".join(events)
    return [whole[start : start + size] for start in range(0, len(whole), size)]


def ours(chunks: list[bytes]) -> int:
    return sum(map(len, map(SseParser().feed, chunks)))


class _Stream(httpx.SyncByteStream):
    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks


def with_httpx_sse(chunks: list[bytes]) -> int:
    response = httpx.Response(200, headers={"Content-Type": "text/event-stream"}, stream=_Stream(chunks))
    return sum(1 for _ in EventSource(response).iter_sse())


def with_openai(chunks: list[bytes]) -> int:
    return sum(1 for _ in OpenAIDecoder().iter_bytes(iter(chunks)))


def with_anthropic(chunks: list[bytes]) -> int:
    return sum(1 for _ in AnthropicDecoder().iter_bytes(iter(chunks)))


def with_sseclient(chunks: list[bytes]) -> int:
    return sum(1 for _ in SSEClient(iter(chunks)).events())


PARSERS: dict[str, Parse] = {
    "agent-tui": ours,
    "httpx-sse": with_httpx_sse,
    "openai": with_openai,
    "anthropic": with_anthropic,
    "sseclient-py": with_sseclient,
}


def measure() -> list[Table]:
    """Compare on each cut, then look whether the time is linear."""
    events = recorded(EVENTS)
    size = sum(map(len, events))
    table = Table(
        f"Server-sent events: ns of processor an event ({EVENTS:,} events, {size / EVENTS:.0f} bytes each)",
        ["chunks", *PARSERS, "ours, MB/s", "× httpx-sse", "× openai"],
    )
    for name, bytes_each in CUTS:
        chunks = cut(events, bytes_each)
        works = {parser: partial(_seconds, parse, chunks, len(events)) for parser, parse in PARSERS.items()}
        got = alternating(works, ROUNDS)
        us = got["agent-tui"]
        middle = {parser: statistics.median(seconds) for parser, seconds in got.items()}
        table.rows.append(
            [
                name,
                *(f"{1e9 * seconds / EVENTS:,.0f}" for seconds in middle.values()),
                f"{size / middle['agent-tui'] / 1e6:,.0f}",
                f"{times(got['httpx-sse'], us):.1f}",
                f"{times(got['openai'], us):.1f}",
            ]
        )
    return [table, linearity()]


def _seconds(parse: Parse, chunks: list[bytes], count: int) -> float:
    found = 0

    def work() -> None:
        nonlocal found
        found = parse(chunks)

    seconds = processor_seconds(work)
    if found != count:
        raise SystemExit(f"{parse.__name__} found {found} of {count} events")
    return seconds


def linearity() -> Table:
    """One event of up to 16 MiB, and as many bytes of small ones, in chunks of 64 KiB."""
    table = Table(
        "Server-sent events: ours, ms a MiB, as the input grows", ["MiB", "one event", "small events"]
    )
    small = recorded(1000)
    for size in LINEAR:
        one = cut([b"data: " + b"x" * (size * 2**20 - 100) + b"\n\n"], 65536)
        repeat = size * 2**20 // sum(map(len, small))
        many = cut(small * repeat, 65536)
        got = alternating(
            {"one": partial(_seconds, ours, one, 1), "many": partial(_seconds, ours, many, repeat * 1000)}, 3
        )
        one_took, many_took = (1000 * statistics.median(took) / size for took in got.values())
        table.rows.append([str(size), f"{one_took:.2f}", f"{many_took:.2f}"])
    return table


if __name__ == "__main__":
    for each in measure():
        print(each.markdown())
