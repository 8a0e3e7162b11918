"""Measures what a token costs before it is drawn: our `Client`, a `Worker` with history, and four other ways.

Refuses to call cheap what loses something: each way delivers every character, from another process.

    python bench/client.py            # QUICK=1 for a minute's worth
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, ExitStack
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from streaming import Answers, serve, served
from tables import QUICK, ROOT, Table

sys.path[:0] = [str(ROOT / "core")]

FULL = ((1, 2_000), (32, 100)) if QUICK else ((1, 8_000), (8, 2_000), (32, 1_000))
"""How many streams, and the tokens of each."""
SLOW = frozenset({"openai SDK", "pydantic-ai"})
"""They get an eighth of the tokens at full speed: they cost a hundred times as much, and nothing else."""
WARM = 500
"""Tokens before anything is measured: a process that has its memory."""
RATE = 50
PACED = (32, RATE if QUICK else 2 * RATE)
ROUNDS = 1 if QUICK else 5
WORDS = (" the", " parser", " reads", ".\n\n", " `bytes`", " größer", " 日本", ", and")

Way = Callable[[str, int], Coroutine[None, None, int]]
"""Asks that many times at once; returns the characters that came."""


# --- the server ---------------------------------------------------------------------------------------------


def words(_number: int) -> Iterator[str]:
    """The tokens of every answer."""
    dice = random.Random(1)
    while True:
        yield dice.choice(WORDS)


def serving(tokens: int, rate: float) -> AbstractContextManager[str]:
    """The address of a server of such answers."""
    return served([__file__, "--serve", str(tokens), str(rate)])


# --- the ways -----------------------------------------------------------------------------------------------


async def with_client(url: str, streams: int) -> int:
    from agent_tui_core import AgentOptions, Client, Text

    async def one() -> int:
        came = 0
        async with Client(AgentOptions(model="bench", base_url=url, api_key="none")) as client:
            await client.send("hi")
            while (block := await client.receive()) is not None:
                came += len(block.text) if isinstance(block, Text) else 0
        return came

    return sum(await asyncio.gather(*(one() for _ in range(streams))))


async def with_workers(url: str, streams: int) -> int:
    from agent_tui_core.config.load import load_settings
    from agent_tui_core.config.profiles import Flags, plan
    from agent_tui_core.events import TextDelta
    from agent_tui_core.runtime.session import open_session

    folder = _history()
    environ = {"AGENT_TUI_DATA_DIR": folder, "AGENT_TUI_CONFIG_DIR": folder}
    flags = Flags(workspace=Path(folder), base_url=url, model="bench", count=streams)
    async with open_session(plan(load_settings(None, environ=environ), flags, environ)) as session:
        outboxes = [worker.subscribe() for worker in session.workers]
        session.start("hi")
        for worker in session.workers:
            await worker.idle()
        said = [event.body for outbox in outboxes for event in outbox.take()]
    return sum(len(body.text) for body in said if isinstance(body, TextDelta))


@functools.cache
def _history() -> str:
    """The folder of a history for this process: its tables are made once in a person's life."""
    folder = tempfile.TemporaryDirectory(prefix="agent-tui-bench-")
    atexit.register(folder.cleanup)
    return folder.name


async def with_openai(url: str, streams: int) -> int:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="none") as client:

        async def one() -> int:
            came = 0
            answer = await client.chat.completions.create(
                model="bench", messages=[{"role": "user", "content": "hi"}], stream=True
            )
            async for chunk in answer:
                came += len(chunk.choices[0].delta.content or "")
            return came

        return sum(await asyncio.gather(*(one() for _ in range(streams))))


async def with_httpx_sse(url: str, streams: int) -> int:
    import httpx
    from httpx_sse import aconnect_sse

    async with httpx.AsyncClient(timeout=30, limits=httpx.Limits(max_connections=None)) as client:

        async def one() -> int:
            came = 0
            address = f"{url}/chat/completions"
            async with aconnect_sse(client, "POST", address, json={"stream": True}) as source:
                async for sent in source.aiter_sse():
                    if sent.data == "[DONE]":
                        break
                    came += len(json.loads(sent.data)["choices"][0]["delta"].get("content") or "")
            return came

        return sum(await asyncio.gather(*(one() for _ in range(streams))))


async def with_pydantic_ai(url: str, streams: int) -> int:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    agent = Agent(OpenAIChatModel("bench", provider=OpenAIProvider(base_url=url, api_key="none")))

    async def one() -> int:
        came = 0
        async with agent.run_stream("hi") as answer:
            async for piece in answer.stream_text(delta=True, debounce_by=None):
                came += len(piece)
        return came

    return sum(await asyncio.gather(*(one() for _ in range(streams))))


async def with_sockets(url: str, streams: int) -> int:
    """The floor: bytes from a socket, cut at line ends, nothing checked."""
    import msgspec

    port = int(url.rpartition(":")[2].partition("/")[0])
    decode = msgspec.json.Decoder().decode

    async def one() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
        came, rest = 0, b""
        while b"[DONE]" not in rest:
            *lines, rest = (rest + await reader.read(65536)).split(b"\n")
            for line in lines:
                if line.startswith(b"data: {"):
                    came += len(decode(line[6:])["choices"][0]["delta"].get("content", ""))
                elif line.startswith(b"data: [DONE]"):
                    rest = line
        writer.close()
        return came

    return sum(await asyncio.gather(*(one() for _ in range(streams))))


WAYS: dict[str, Way] = {
    "our Client": with_client,
    "our Worker, history on": with_workers,
    "openai SDK": with_openai,
    "httpx + httpx-sse + json": with_httpx_sse,
    "pydantic-ai": with_pydantic_ai,
    "sockets (the floor)": with_sockets,
}


class Load(NamedTuple):
    """What a server answers, and how many ask."""

    url: str
    streams: int
    tokens: int

    def cost(self, way: str) -> float:
        """Processor milliseconds for 1,000 tokens; every character has to come."""
        began = time.process_time()
        came = asyncio.run(WAYS[way](self.url, self.streams))
        spent = time.process_time() - began
        if came != (wanted := self.streams * sum(map(len, islice(words(0), self.tokens)))):
            raise SystemExit(f"{way}: {came} of {wanted} characters came")
        return 1_000_000 * spent / (self.streams * self.tokens)


def costs(way: str, warm: str, loads: list[Load]) -> list[float]:
    """The cost of each load, and the memory of the process, in MB: in a process of its own, warm."""
    told = [str(part) for load in loads for part in load]
    command = [sys.executable, __file__, "--child", way, warm, *told]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SSL_CERT")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr.strip() or f"{way} ended with {done.returncode}")
    return [float(figure) for figure in done.stdout.split()]


def child(way: str, warm: str, told: list[str]) -> None:
    asyncio.run(WAYS[way](warm, 1))
    parts = zip(told[::3], told[1::3], told[2::3], strict=True)
    loads = [Load(url, int(streams), int(tokens)) for url, streams, tokens in parts]
    print(*(load.cost(way) for load in loads), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)


def measure() -> list[Table]:
    """Full speed for 1, 8 and 32 streams, then the pace of a model: all of them in each process."""
    speeds = [f"{streams} at full speed" for streams, _ in FULL]
    columns = ["way", *speeds, f"{PACED[0]} at {RATE} tokens/s", "MB at most"]
    table = Table("A token before it is drawn: ms of processor for 1,000 tokens", columns)
    got: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    with ExitStack() as stack:
        start = stack.enter_context
        warm = start(serving(WARM, 0))
        paced = Load(start(serving(PACED[1], RATE)), *PACED)
        whole = [Load(start(serving(tokens, 0)), streams, tokens) for streams, tokens in FULL]
        less = [Load(start(serving(tokens // 8, 0)), streams, tokens // 8) for streams, tokens in FULL]
        for _ in range(ROUNDS):
            for way, rounds in got.items():
                rounds.append(costs(way, warm, [*(less if way in SLOW else whole), paced]))
    for way, rounds in got.items():
        *milliseconds, megabytes = map(statistics.median, zip(*rounds, strict=True))
        table.rows.append([way, *(f"{each:.1f}" for each in milliseconds), f"{megabytes:.0f}"])
    table.notes.append(
        "Every character came in every round; the process was warm, its imports are not counted. "
        f"At full speed {' and '.join(sorted(SLOW))} got an eighth of the tokens."
    )
    return [table]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        asyncio.run(serve(Answers(words, 1, int(sys.argv[2]), float(sys.argv[3]))))
    elif sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        for each in measure():
            print(each.markdown())
