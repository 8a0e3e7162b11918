"""The descriptors of a headless run: whole lines in, whole text out, and nobody waits for them."""

from __future__ import annotations

import asyncio
import fcntl
import json
import math
import os
from collections.abc import Iterator

import pytest

from agent_tui_core.runtime import pipes
from agent_tui_core.runtime.pipes import NOWHERE, LineReader, OutputPipes
from agent_tui_core.runtime.printing import json_line

Ends = tuple[int, int]


@pytest.fixture
def pipe() -> Iterator[Ends]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


def no_constant(word: str) -> None:
    raise AssertionError(word)


def never(error: OSError) -> None:
    raise AssertionError(error)


async def lines_of(read_end: int) -> list[tuple[int, bytes | None]]:
    found: list[tuple[int, bytes | None]] = []
    ended = asyncio.Event()
    LineReader(read_end, line=lambda number, line: found.append((number, line)), ended=ended.set)
    async with asyncio.timeout(10):
        await ended.wait()
    return found


async def test_lines_are_whole_however_they_arrive_and_the_last_needs_no_end(pipe: Ends) -> None:
    for part in (b"on", b"e\n\ntw", b"o\r\n", b"three"):
        os.write(pipe[1], part)
    os.close(pipe[1])
    assert await lines_of(pipe[0]) == [(1, b"one"), (2, b""), (3, b"two\r"), (4, b"three")]


async def test_a_line_that_is_too_long_is_told_and_the_next_is_read(
    pipe: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipes, "LONGEST_LINE", 10)
    os.write(pipe[1], b"x" * 11 + b"\n" + b"y" * 10 + b"\n")
    os.close(pipe[1])
    assert await lines_of(pipe[0]) == [(1, None), (2, b"y" * 10)]


async def test_a_pipe_that_is_full_keeps_nobody_waiting(pipe: Ends) -> None:
    output = OutputPipes(pipe[1], NOWHERE, broken=never)
    for _ in range(100):
        output.write("x" * 10_000)
    drained = asyncio.create_task(output.drained())
    await asyncio.sleep(0)
    assert not drained.done()
    read = 0
    async with asyncio.timeout(10):
        while read < 1_000_000:
            read += len(await asyncio.to_thread(os.read, pipe[0], 65_536))
        await drained
    output.close()


async def test_a_pipe_that_does_not_block_loses_nothing(pipe: Ends) -> None:
    os.set_blocking(pipe[1], False)
    assert fcntl.fcntl(pipe[1], fcntl.F_GETFL) & os.O_NONBLOCK
    output = OutputPipes(pipe[1], NOWHERE, broken=never)
    output.write("x" * 300_000)
    read = 0
    async with asyncio.timeout(10):
        while read < 300_000:
            read += len(await asyncio.to_thread(os.read, pipe[0], 65_536))
        await output.drained()
    output.close()


async def test_a_reader_that_left_is_told_once_and_then_nothing_is_written(pipe: Ends) -> None:
    errors: list[OSError] = []
    notes = os.pipe()
    output = OutputPipes(pipe[1], notes[1], broken=errors.append)
    os.close(pipe[0])
    for _ in range(3):
        output.write("x")
        output.note("y")
    async with asyncio.timeout(10):
        await output.drained()
    output.close()
    os.close(notes[1])
    assert [type(error) for error in errors] == [BrokenPipeError]
    assert os.read(notes[0], 10) == b""
    os.close(notes[0])


async def test_keys_are_blacked_out_but_placeholders_are_words(pipe: Ends) -> None:
    output = OutputPipes(pipe[1], NOWHERE, broken=never, secrets=["sk-0123456789", "local", ""])
    output.write("sk-0123456789 is not local")
    await output.drained()
    output.close()
    assert os.read(pipe[0], 100) == b"[key] is not local"


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("\x1b[2J\x7f\x9b\u2028", "\x1b[2J\x7f\x9b\u2028"),
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\\ud800", "\\ud800"),
        (math.inf, "inf"),
        ([{"a\udfff": (math.nan, 1)}], [{"a\ufffd": ["nan", 1]}]),
        (10**400, 10**400),
    ],
)
def test_a_line_is_json_that_every_parser_accepts(value: object, read: object) -> None:
    line = json_line({"value": value})
    assert line.isascii()
    assert not set(line) & {"\x1b", "\x7f"}
    assert line.count("\n") == 1
    assert json.loads(line, parse_constant=no_constant) == {"value": read}
