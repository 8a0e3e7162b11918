from __future__ import annotations

import asyncio
import gzip
import os
import stat
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui_core.blocks import Text
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, plan
from agent_tui_core.config.taping import Taping
from agent_tui_core.errors import BadRequest, ConfigError, ProviderError
from agent_tui_core.events import AnswerEnded, Body, StreamEvent, TextDelta, ToolUseDelta, UsageReported
from agent_tui_core.messages import Message, ModelRequest
from agent_tui_core.providers.cassettes import read_folder
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.openai import OpenAIProvider
from agent_tui_core.providers.recording import ReplayTransport, record
from agent_tui_core.runtime.session import Session, open_session
from development import DEVELOPMENT
from loopback import (
    DONE,
    HANG,
    RESET,
    Answer,
    LoopbackServer,
    Step,
    call,
    finish,
    json_answer,
    say,
    text,
    usage,
)
from sessions import Reader, planned, settled

HEAD_OF_LATER = (
    b'{"format":99,"method":"GET","url":"","request_headers":{},'
    b'"request":null,"status":200,"headers":{},"at":0}\n'
)
KEY = "sk-very-secret-0123456789"


def asks(*words: str, model: str = "m") -> ModelRequest:
    return ModelRequest(model, [Message("user", (Text(word),)) for word in words])


@asynccontextmanager
async def recorded(server: LoopbackServer, folder: Path) -> AsyncIterator[OpenAIProvider]:
    async with http_client() as client:
        record(client, folder)
        yield OpenAIProvider(client, f"{server.base_url}?key={KEY}", KEY)


@asynccontextmanager
async def replayed(folder: Path, pace: float = 0.0) -> AsyncIterator[OpenAIProvider]:
    async with http_client(transport=ReplayTransport.of(folder, pace=pace)) as client:
        yield OpenAIProvider(client, "http://elsewhere.invalid/v1")


async def answer(provider: OpenAIProvider, request: ModelRequest) -> list[StreamEvent | str]:
    """The events of one answer, and the words of the error that ended it."""
    events: list[StreamEvent | str] = []
    try:
        async with aclosing(provider.stream(request)) as stream:
            async for event in stream:
                events.append(event)  # noqa: PERF401 - what came before an error counts
    except ProviderError as error:
        events.append(f"{type(error).__name__}: {error}")
    return events


async def take_turns(session: Session) -> list[Body]:
    """Three prompts, the second of them interrupted; return what the model was heard to say, and was told."""
    [worker] = session.workers
    reader = Reader(worker)
    subscription = worker.subscribe()
    for words in ("look", "stop", "end"):
        worker.prompt(words)
        if words == "stop":
            await reader.until(lambda t: t.characters > 10 and t.state == "streaming")
            worker.interrupt()
        await settled(session)
    kinds = (TextDelta, ToolUseDelta, UsageReported, AnswerEnded)
    return [event.body for event in subscription.take() if isinstance(event.body, kinds)]


async def test_a_recorded_session_replays_to_the_same_events_without_a_server(tmp_path: Path) -> None:
    tape = tmp_path / "tape"
    answers = [
        call("Glob", {"pattern": "*"}, words="I look."),
        say("No files."),
        Answer(text("I begin to tell "), HANG),
        say("The end."),
    ]
    async with LoopbackServer(answers) as server:
        the_plan = planned(server.base_url, tmp_path, taping=Taping(record=tape))
        async with open_session(the_plan) as session:
            first = await take_turns(session)
    again = replace(the_plan, data_dir=tmp_path / "other", taping=Taping(replay=tape, pace=0.0))
    async with open_session(again) as session:
        assert await take_turns(session) == first
        assert [message.text for message in session.workers[0].conversation.messages][-1] == "The end."
    assert len(list(tape.iterdir())) == 4


async def test_no_secret_is_ever_written(tmp_path: Path) -> None:
    half = len(KEY) // 2
    answers = [
        Answer(
            text(f"your key is {KEY}"),
            b'data: {"choices": [{"index": 0, "delta": {"content": "' + KEY[:half].encode(),
            KEY[half:].encode() + b'"}}]}\n\n',
            finish(),
            DONE,
            headers={"Set-Cookie": "session=cookie-of-the-server", "X-Request-Id": "r1"},
        ),
        json_answer({"error": {"message": f"wrong key: {KEY}"}}, status=401),
        json_answer({"data": [{"id": "m"}]}),
    ]
    async with LoopbackServer(answers) as server, recorded(server, tmp_path) as provider:
        await answer(provider, asks("one"))
        await answer(provider, asks(f"my key is {KEY}"))
        await provider.models()
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 3
    for secret in (KEY, KEY[:half], KEY[half:], "authorization", "cookie"):
        assert secret.encode() not in kept.lower()
    assert b'"x-request-id":"r1"' in kept


async def test_cassettes_are_private_files_with_names_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "tape"
    before = os.umask(0)
    try:
        async with LoopbackServer(lambda _request: say("x")) as server:
            async with recorded(server, folder) as one, recorded(server, folder) as two:
                for words in ("a", "b", "c"):
                    await asyncio.gather(answer(one, asks(words)), answer(two, asks(words)))
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    files = sorted(folder.iterdir())
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert [file.name[:6] for file in files] == [f"{number:05}-" for number in range(1, 7)]
    asked = [cassette.head.request["messages"][0]["content"] for cassette in read_folder(folder)]
    assert asked == ["a", "a", "b", "b", "c", "c"]


async def test_an_interrupted_response_is_recorded_as_cut_and_replays_as_cut(tmp_path: Path) -> None:
    async with LoopbackServer([Answer(text("Hel"), HANG)]) as server, recorded(server, tmp_path) as provider:
        async with aclosing(provider.stream(asks("hi"))) as stream:
            assert await anext(stream) == TextDelta("Hel")
    [cassette] = read_folder(tmp_path)
    assert cassette.end == "cut"
    assert b"".join(piece.bytes() for piece in cassette.pieces) == text("Hel")
    async with replayed(tmp_path) as provider:
        assert [str(event)[:15] for event in await answer(provider, asks("hi"))] == [
            "TextDelta(text=",
            "StreamTruncated",
        ]


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ((text("Hel"), RESET), 200),
        ((b'data: {"choices": []}\r', b"\n\r\ndata: \xff\xfe\n\n", text("x"), finish(), DONE), 200),
        ((b'{"error": {"message": "go away"}}',), 429),
        ((text("\U0001f600 é"), usage(3, 4), finish(), DONE), 200),
    ],
)
async def test_bytes_and_errors_replay_as_they_came(
    tmp_path: Path, steps: Sequence[Step], status: int
) -> None:
    async with LoopbackServer([Answer(*steps, status=status)]) as server:
        async with recorded(server, tmp_path) as provider:
            first = await answer(provider, asks("hi"))
    async with replayed(tmp_path) as provider:
        again = await answer(provider, asks("hi"))
    assert first[:-1] == again[:-1]
    if isinstance(first[-1], str):  # the error names the host, which is another
        assert str(again[-1]).partition(":")[0] == first[-1].partition(":")[0]
    else:
        assert first == again


async def test_the_pace_is_the_recorded_one_or_as_fast_as_possible(tmp_path: Path) -> None:
    slow = Answer(text("a"), 0.15, text("b"), 0.15, finish(), DONE)
    async with LoopbackServer([slow]) as server, recorded(server, tmp_path) as provider:
        await answer(provider, asks("hi"))
    seconds = []
    for pace in (1.0, 0.0):
        async with replayed(tmp_path, pace) as provider:
            began = time.monotonic()
            assert len(await answer(provider, asks("hi"))) == 3
            seconds.append(time.monotonic() - began)
    assert seconds[0] >= 0.29
    assert seconds[1] < 0.15


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (asks("hi", model="other"), "recorded with another model"),
        (asks("hi", "more"), "has 1 messages and this request 2; number 2 is the first that differs"),
        (asks("ho"), "number 1 is the first that differs: .*ho.* here, .*hi.* there"),
        (asks("hi"), "played already"),
    ],
)
async def test_a_request_that_fits_no_cassette_says_why(
    tmp_path: Path, request_: ModelRequest, words: str
) -> None:
    async with LoopbackServer([say("x")]) as server, recorded(server, tmp_path) as provider:
        await answer(provider, asks("hi"))
    async with replayed(tmp_path) as provider:
        assert isinstance((await answer(provider, asks("hi")))[-1], AnswerEnded)
        with pytest.raises(BadRequest, match=f"no cassette fits this request: .*{words}"):
            async with aclosing(provider.stream(request_)) as stream:
                await anext(stream)
        assert await provider.models() == ["m"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "there is no cassette in"),
        (b"", "is no cassette"),
        (b"{}\n", "is no cassette"),
        (HEAD_OF_LATER, "its format is 99"),
    ],
)
async def test_a_folder_that_cannot_be_replayed_stops_the_start(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    tape = tmp_path / "tape"
    tape.mkdir()
    if content is not None:
        (tape / "00001-x.cassette").write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        async with open_session(planned("http://127.0.0.1:9/v1", tmp_path, taping=Taping(replay=tape))):
            pass


async def test_a_recording_that_cannot_be_written_harms_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "tape"
    async with LoopbackServer([say("Hello")]) as server, recorded(server, folder) as provider:
        folder.rmdir()
        assert TextDelta("Hello") in await answer(provider, asks("hi"))
    assert "not recorded" in caplog.text


def test_a_replay_needs_neither_key_nor_server_and_excludes_a_recording(tmp_path: Path) -> None:
    settings = load_settings(None, environ={})
    the_plan = plan(settings, Flags(workspace=tmp_path, taping=Taping(replay=tmp_path)), {})
    [provider] = the_plan.providers.values()
    assert (provider.name, provider.api_key_env) == ("replay", None)
    with pytest.raises(ConfigError, match="--record"):
        plan(settings, Flags(workspace=tmp_path, taping=Taping(tmp_path, tmp_path)), {})
    with pytest.raises(ConfigError, match="--replay-pace"):
        plan(settings, Flags(workspace=tmp_path, taping=Taping(replay=tmp_path, pace=-1.0)), {})


async def test_the_command_line_records_and_replays(tmp_path: Path) -> None:
    async def run(*options: str) -> tuple[int | None, str]:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "agent_tui", "run", "say it", "--data-dir", str(tmp_path / "data"), *options),
            stdout=asyncio.subprocess.PIPE,
            stdin=asyncio.subprocess.DEVNULL,
            env=DEVELOPMENT
            | {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        )
        out, _ = await child.communicate()
        return child.returncode, out.decode().strip()

    tape = str(tmp_path / "tape")
    async with LoopbackServer([say("Said.")]) as server:
        first = await run("--base-url", server.base_url, "-m", "m", "--record", tape)
    assert first == (0, "Said.")
    assert await run("--replay", tape, "--replay-pace", "0") == first
    assert (await run("--replay", tape, "--record", tape))[0] == 2


async def test_what_is_compressed_replays_compressed(tmp_path: Path) -> None:
    squeezed = gzip.compress(text("Hello") + finish() + DONE)
    packed = Answer(squeezed[:9], squeezed[9:], headers={"Content-Encoding": "gzip"})
    async with LoopbackServer([packed]) as server, recorded(server, tmp_path) as provider:
        first = await answer(provider, asks("hi"))
    assert TextDelta("Hello") in first
    async with replayed(tmp_path) as provider:
        assert await answer(provider, asks("hi")) == first
