import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx
import pytest

from agent_tui_core.errors import (
    BadRequest,
    Overloaded,
    ProviderRefused,
    ProviderUnreachable,
    RateLimited,
    StreamMalformed,
    StreamTruncated,
    Unauthorized,
)
from agent_tui_core.events import AnswerEnded, ReasoningDelta, StreamEvent, TextDelta, ToolUseDelta
from agent_tui_core.messages import Message, ThinkTags, Usage
from agent_tui_core.providers.http import http_client
from agent_tui_core.wire.accumulator import Accumulator
from agent_tui_core.wire.sse import SseParser
from loopback import CLOSE, HANG, RESET, Answer, End, LoopbackServer, json_answer
from protocols import ASK, Speech, answered, collected, failure_of, message, over_protocols, say, words


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with http_client(idle_timeout=5.0) as made:
        yield made


# what comes


@over_protocols
async def test_a_text_delta_arrives_before_the_rest_is_sent(
    speech: Speech, client: httpx.AsyncClient
) -> None:
    release, w = asyncio.Event(), speech.writer()
    answer = Answer(w.text("first"), release, w.text(" second"), w.end())
    async with LoopbackServer([answer]) as server, asyncio.timeout(10):
        events = speech.provider(client, server.base_url).stream(ASK)
        while not isinstance(event := await anext(events), TextDelta):
            pass
        assert event == TextDelta("first")
        release.set()
        rest = [event async for event in events]
    assert words(rest) == " second"
    assert isinstance(rest[-1], AnswerEnded)


@over_protocols
async def test_an_answer_of_all_kinds_comes_through(speech: Speech, client: httpx.AsyncClient) -> None:
    w = speech.writer()
    call = ("call_7", "Bash", ['{"comm', 'and": ', '"ls"}'])
    answer = Answer(w.thought("hm"), w.text("I look."), w.calls(call), w.end("tool_use"))
    events = await answered(client, speech, answer)
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "hm"
    assert words(events) == "I look."
    assert "".join(e.arguments for e in events if isinstance(e, ToolUseDelta)) == '{"command": "ls"}'
    assert isinstance(events[-1], AnswerEnded)
    assert events[-1].stop_reason == "tool_use"


@over_protocols
async def test_calls_that_interleave_come_out_whole_and_in_order(
    speech: Speech, client: httpx.AsyncClient
) -> None:
    w = speech.writer()
    calls = w.calls(
        ("call_a", "Bash", ['{"command"', ': "a"}']),
        ("call_b", "Read", ['{"path": ', '"b', '"}']),
        ("call_c", "Glob", []),
    )
    built = message(await answered(client, speech, Answer(w.text("On it."), calls, w.end("tool_use"))))
    assert [(use.id, use.name, use.input) for use in built.tool_uses] == [
        ("call_a", "Bash", {"command": "a"}),
        ("call_b", "Read", {"path": "b"}),
        ("call_c", "Glob", {}),
    ]


@over_protocols
@pytest.mark.parametrize("raw", ['{"command": "ls"', "[1]", '{"a": 1, "a": 2}', "ls"])
async def test_broken_arguments_break_their_call_alone(
    speech: Speech, client: httpx.AsyncClient, raw: str
) -> None:
    w = speech.writer()
    calls = w.calls(("call_a", "Bash", [raw]), ("call_b", "Bash", ['{"command": "b"}']))
    built = message(await answered(client, speech, Answer(w.text("On it."), calls, w.end("tool_use"))))
    first, second = built.tool_uses
    assert first.broken is not None
    assert first.raw == raw
    assert second.input == {"command": "b"}
    assert built.text == "On it."


@over_protocols
async def test_usage_is_the_largest_count_and_never_a_sum(speech: Speech, client: httpx.AsyncClient) -> None:
    w = speech.writer()
    parts = (w.text("a"), w.usage(7, 2), w.usage(7, 3), w.end(usage=(100, 5, 80)))
    built = message(await answered(client, speech, Answer(*parts)))
    assert built.usage is not None
    assert (built.usage.input_tokens, built.usage.output_tokens, built.usage.cached_tokens) == (100, 5, 80)


# how it ends


@over_protocols
@pytest.mark.parametrize("end", [CLOSE, RESET], ids=["closed", "reset"])
async def test_an_answer_that_breaks_off_is_truncated_and_runs_no_call(
    speech: Speech, client: httpx.AsyncClient, end: End
) -> None:
    w = speech.writer()
    whole_call = w.calls(("call_a", "Bash", ['{"command": "rm -r x"}']))
    accumulator = Accumulator()
    async with LoopbackServer([Answer(w.text("a"), whole_call, 0.05, end)]) as server:
        provider = speech.provider(client, server.base_url)
        with pytest.raises(StreamTruncated):
            async with asyncio.timeout(10), aclosing(provider.stream(ASK)) as events:
                async for event in events:
                    accumulator.add(event)
    kept = accumulator.message(stop_reason="error")
    assert kept is not None
    assert (kept.text, kept.tool_uses) == ("a", ())


@over_protocols
async def test_a_body_that_ends_before_the_answer_does_is_truncated(
    speech: Speech, client: httpx.AsyncClient
) -> None:
    w = speech.writer()
    assert isinstance(await failure_of(client, speech, Answer(w.text("a"))), StreamTruncated)


@over_protocols
async def test_a_connection_that_breaks_before_any_event_is_unreachable(
    speech: Speech, client: httpx.AsyncClient
) -> None:
    error = await failure_of(client, speech, Answer(b": wait\n\n", 0.05, CLOSE))
    assert isinstance(error, ProviderUnreachable)


@over_protocols
@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_a_cut_answer_says_so_and_its_calls_are_broken(
    speech: Speech, client: httpx.AsyncClient, reason: str
) -> None:
    w = speech.writer()
    calls = w.calls(("call_a", "Bash", ['{"command": "rm -r x"}']))
    events = await answered(client, speech, Answer(w.text("a"), calls, w.end(reason)))  # type: ignore[arg-type]  # a parameter
    built = message(events)
    assert built.stop_reason == reason
    assert all(use.broken for use in built.tool_uses)


@over_protocols
@pytest.mark.parametrize(
    ("reason", "why"), [("end", "nothing in it"), ("length", "output limit"), ("content_filter", "filter")]
)
async def test_an_answer_with_nothing_in_it_is_an_error(
    speech: Speech, client: httpx.AsyncClient, reason: str, why: str
) -> None:
    w = speech.writer()
    error = await failure_of(client, speech, Answer(w.end(reason)))  # type: ignore[arg-type]  # a parameter
    assert isinstance(error, StreamMalformed)
    assert str(error).startswith("empty response")
    assert why in str(error)


@over_protocols
async def test_an_error_within_the_stream_comes_after_the_text_before_it(
    speech: Speech, client: httpx.AsyncClient
) -> None:
    w, got = speech.writer(), list[StreamEvent]()
    async with LoopbackServer([Answer(w.text("Half"), w.error("Overloaded, sorry"))]) as server:
        with pytest.raises(Overloaded, match="Overloaded, sorry"):
            async for event in speech.provider(client, server.base_url).stream(ASK):
                got.append(event)
    assert words(got) == "Half"


@over_protocols
async def test_an_error_in_the_place_of_a_stream_is_an_error(
    speech: Speech, client: httpx.AsyncClient
) -> None:
    said = {"type": "error", "error": {"type": "invalid_request_error", "message": "no such model here"}}
    for answer in (json_answer(said), Answer(speech.writer().error("no such model here"))):
        assert "no such model here" in str(await failure_of(client, speech, answer))


@over_protocols
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequest),
        (401, Unauthorized),
        (403, Unauthorized),
        (413, BadRequest),
        (429, RateLimited),
        (500, Overloaded),
        (529, Overloaded),
    ],
)
async def test_an_error_status_brings_the_servers_own_words_and_its_wish_to_wait(
    speech: Speech, client: httpx.AsyncClient, status: int, kind: type[ProviderRefused]
) -> None:
    said = {"type": "error", "error": {"type": "some_error", "message": "the very reason"}}
    answer = json_answer(said, status=status, headers={"Retry-After": "7"})
    error = await failure_of(client, speech, answer)
    assert type(error) is kind
    assert "the very reason" in str(error)
    assert (error.status, error.retry_after) == (status, 7)


@over_protocols
async def test_a_whole_json_answer_in_place_of_a_stream_is_accepted(
    speech: Speech, client: httpx.AsyncClient
) -> None:
    events = await answered(client, speech, json_answer(speech.whole("all at once")))
    assert words(events) == "all at once"
    assert isinstance(events[-1], AnswerEnded)


@over_protocols
async def test_a_web_page_and_nothing_at_all_are_errors(speech: Speech, client: httpx.AsyncClient) -> None:
    page = Answer(b"<!doctype html><title>Log in</title>", content_type="text/html")
    assert "web page" in str(await failure_of(client, speech, page))
    assert "204" in str(await failure_of(client, speech, Answer(status=204, framing="none")))


@over_protocols
async def test_what_another_protocol_says_is_no_answer(speech: Speech, client: httpx.AsyncClient) -> None:
    alien = Answer(b'data: {"candidates": [{"text": "hello"}]}\n\n')
    assert isinstance(await failure_of(client, speech, alien), StreamMalformed | StreamTruncated)


@over_protocols
async def test_closing_the_stream_hangs_up_within_100_ms(speech: Speech, client: httpx.AsyncClient) -> None:
    async with LoopbackServer([Answer(speech.writer().text("a"), HANG)]) as server, asyncio.timeout(10):
        events = speech.provider(client, server.base_url).stream(ASK)
        await anext(events)
        closed_at = time.perf_counter()
        await events.aclose()
        await server.streams[0].disconnected.wait()
    assert server.streams[0].disconnected_at is not None
    assert server.streams[0].disconnected_at - closed_at < 0.1


@over_protocols
async def test_a_whole_answer_leaves_the_connection_usable(speech: Speech, client: httpx.AsyncClient) -> None:
    async with LoopbackServer([say(speech, "one"), say(speech, "two")]) as server:
        provider = speech.provider(client, server.base_url)
        for _ in range(2):
            await collected(provider)
    assert server.connections == 1


@over_protocols
async def test_think_tags_are_reasoning_where_the_profile_says_so(
    speech: Speech, client: httpx.AsyncClient
) -> None:
    wishes: tuple[tuple[ThinkTags, str], ...]
    wishes = ((True, "Hello"), ("open", "Hello"), (False, "<think>hm</think>Hello"))
    for wanted, expected in wishes:
        w = speech.writer()
        answer = Answer(w.text("<thi"), w.text("nk>hm</think>"), w.text("Hello"), w.end())
        async with LoopbackServer([answer]) as server:
            provider = speech.provider(client, server.base_url, think_tags=wanted)
            assert words(await collected(provider)) == expected


@over_protocols
def test_any_slicing_of_the_bytes_gives_the_same_message(speech: Speech) -> None:
    w = speech.writer()
    calls = w.calls(("call_a", "Bash", ['{"command"', ': "ż"}']), ("call_b", "Read", ["{}"]))
    body = w.thought("hm") + w.text("Zażółć 🐢") + calls + w.end("tool_use")

    def read(size: int) -> Message:
        parser, stream, events = SseParser(), speech.stream(["Bash", "Read"]), list[StreamEvent]()
        for start in range(0, len(body), size):
            for sent in parser.feed(body[start : start + size]):
                events += stream.feed(sent)
        return message(events + stream.close(parser.close()))

    whole = read(len(body))
    assert whole.usage == Usage(10, 5, 0, whole.usage.reasoning_tokens if whole.usage else None)
    for size in (1, 2, 3, 7, 64):
        assert read(size).blocks == whole.blocks
