"""What a server is told besides: headers, secrets, fields, patience, and how many requests at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from agent_tui_core.agent.requesting import Requesting
from agent_tui_core.blocks import Text
from agent_tui_core.errors import ProviderError, ProviderUnreachable
from agent_tui_core.events import AnswerEnded, RequestQueued, StreamEvent, TextDelta
from agent_tui_core.messages import Message, ModelRequest, RequestOptions
from agent_tui_core.providers.choice import make_provider
from agent_tui_core.providers.extras import ServerExtras
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.limited import LimitedProvider
from agent_tui_core.providers.recording import record
from agent_tui_core.wire.accumulator import Accumulator
from loopback import HANG, Answer, LoopbackServer, json_answer
from protocols import KEY, Speech, collected, over_protocols, say, words
from scripted import Recorder, Scripted, says

SECRET = "azure-0123456789abcdef"
ASK = [Message("user", (Text("hi"),))]


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with http_client(idle_timeout=5.0) as made:
        yield made


@over_protocols
async def test_headers_and_fields_go_with_each_request(speech: Speech, client: httpx.AsyncClient) -> None:
    extras = ServerExtras(
        headers={"X-Title": "agent-tui", "Anthropic-Version": "2099-01-01"},
        secret_headers={"api-key": SECRET},
        extra_body={"provider": {"order": ["a"], "allow": True}, "metadata": {"user": "one"}},
    )
    models = json_answer({"data": [{"id": "m"}]})
    async with LoopbackServer([say(speech, "a"), models]) as server:
        provider = make_provider(speech.name, client, f"{server.base_url}?api-version=1", None, extras=extras)
        options = RequestOptions(extra_body={"provider": {"allow": False}, "metadata": "mine"})
        assert words(await collected(provider, ModelRequest("m", ASK, options=options))) == "a"
        assert await provider.models() == ["m"]
    for asked in server.requests:
        assert asked.headers["x-title"] == "agent-tui"
        assert asked.headers["api-key"] == SECRET
        assert asked.headers["anthropic-version"] == "2099-01-01"
        assert "api-version=1" in asked.path
    body = server.requests[0].json
    assert body["provider"] == {"order": ["a"], "allow": False}
    assert body["metadata"] == "mine"


@over_protocols
async def test_the_value_of_a_secret_header_is_in_no_error_repr_or_recording(
    speech: Speech, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    record(client, tmp_path)
    extras = ServerExtras(secret_headers={"X-Gateway": f"Token {SECRET}"})
    echoes = [
        json_answer({"error": {"message": f"no such key: {SECRET}"}}, status=401),
        json_answer({"error": {"message": f"no such key: Token {SECRET}"}}),
        Answer(SECRET.encode(), status=500),
        json_answer({"error": {"message": SECRET}}, status=403),
    ]
    async with LoopbackServer(echoes) as server:
        provider = make_provider(speech.name, client, server.base_url, KEY, extras=extras)
        for _ in echoes[:3]:
            with pytest.raises(ProviderError) as caught:
                await collected(provider)
            assert SECRET not in f"{caught.value!r} {getattr(caught.value, 'body', '')}"
        with pytest.raises(ProviderError) as caught:
            await provider.models()
        assert SECRET not in str(caught.value)
    assert [asked.headers["x-gateway"] for asked in server.requests] == [f"Token {SECRET}"] * 4
    assert SECRET not in f"{provider!r} {extras!r}"
    kept = [file.read_text() for file in tmp_path.iterdir()]
    assert kept
    assert not any(SECRET in each for each in kept)


async def test_a_server_has_a_patience_of_its_own(client: httpx.AsyncClient) -> None:
    extras = ServerExtras(idle_timeout=0.1)
    async with LoopbackServer([Answer(HANG)]) as server:
        provider = make_provider("chat", client, server.base_url, None, extras=extras)
        with pytest.raises(ProviderUnreachable, match=r"within 0\.1 s"):
            await collected(provider)


# --- so many requests at once -------------------------------------------------------------------------------


async def followed(provider: LimitedProvider, into: list[StreamEvent]) -> None:
    async with aclosing(provider.stream(ModelRequest("m", ASK))) as events:
        async for event in events:
            into.append(event)  # noqa: PERF401 - a list that is looked at while it grows


async def until(claim: object) -> None:
    """Let everything run that can."""
    assert callable(claim)
    async with asyncio.timeout(10):
        while not claim():
            await asyncio.sleep(0)


async def test_requests_over_the_cap_wait_in_order_and_say_so() -> None:
    gates = [asyncio.Event() for _ in range(4)]
    model = Scripted(
        [[gate, TextDelta(str(number)), AnswerEnded("end")] for number, gate in enumerate(gates)]
    )
    provider = LimitedProvider(model, 2)
    seen: list[list[StreamEvent]] = [[] for _ in gates]
    tasks = []
    for each in seen:
        tasks.append(asyncio.create_task(followed(provider, each)))
        await asyncio.sleep(0)
    await until(lambda: len(model.requests) == 2 and seen[3])
    assert seen == [[], [], [RequestQueued(0)], [RequestQueued(1)]]
    gates[0].set()
    await until(lambda: len(model.requests) == 3)
    assert seen[2] == [RequestQueued(0), RequestQueued(None)]
    assert seen[3] == [RequestQueued(1)]
    for gate in gates:
        gate.set()
    await asyncio.gather(*tasks)
    assert [each[-2] for each in seen] == [TextDelta(str(number)) for number in range(4)]


async def test_one_that_is_interrupted_while_it_waits_gives_its_turn_away_at_once() -> None:
    gate = asyncio.Event()
    model = Scripted([[gate, AnswerEnded("end")], says("third")])
    provider = LimitedProvider(model, 1)
    seen: list[list[StreamEvent]] = [[], [], []]
    first, second, third = tasks = [asyncio.create_task(followed(provider, each)) for each in seen]
    await until(lambda: seen[1] and seen[2])
    second.cancel()
    await asyncio.wait({second})
    assert second.cancelled()
    gate.set()
    await asyncio.gather(first, third)
    assert TextDelta("third") in seen[2]
    assert len(tasks) == 3


@pytest.mark.parametrize("step", [ProviderUnreachable("gone"), asyncio.Event()])
async def test_a_place_is_free_again_however_its_request_ended(step: ProviderError | asyncio.Event) -> None:
    model = Scripted([[TextDelta("a"), step], says("b")])
    provider = LimitedProvider(model, 1)
    stream = provider.stream(ModelRequest("m", ASK))
    assert await anext(stream) == TextDelta("a")
    if isinstance(step, ProviderError):
        with pytest.raises(ProviderUnreachable):
            await anext(stream)
    else:
        await stream.aclose()
    seen: list[StreamEvent] = []
    await followed(provider, seen)
    assert seen[0] == TextDelta("b")


async def test_waiting_for_a_place_is_nobodys_silence() -> None:
    gate = asyncio.Event()
    provider = LimitedProvider(Scripted([[gate, AnswerEnded("end")], says("second")]), 1)
    first = asyncio.create_task(followed(provider, []))
    await asyncio.sleep(0)
    requesting = Requesting(provider, Recorder(), retries=0, progress_timeout=0.1)
    reply = Accumulator()
    asyncio.get_running_loop().call_later(0.5, gate.set)
    await requesting.once(ModelRequest("m", ASK), reply, lambda _event: None)
    await first
    answer = reply.message()
    assert answer is not None
    assert answer.text == "second"
