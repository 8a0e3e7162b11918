"""Owns what the frame clock promises: merging, folding, rate, rest, and bugs that stay where they are."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from pathlib import Path

import pytest

from agent_tui.feed import FASTEST, SLOWEST, Feed, Meter, merged
from agent_tui_core.events import ReasoningDelta, TextDelta, ToolUseDelta, UsageReported
from agent_tui_core.messages import Usage
from agent_tui_core.runtime.outbox import Outbox
from agent_tui_core.runtime.transcript import Transcript
from scripted_session import ScriptedSession, ScriptedWorker, scripted_plan


def _worker(folder: Path) -> ScriptedWorker:
    return ScriptedSession(scripted_plan(folder), "scout").workers[0]


async def _until_idle(feed: Feed) -> None:
    async with asyncio.timeout(5):
        while not feed.is_idle:
            await asyncio.sleep(0.01)


def test_neighbouring_pieces_become_one_and_nothing_else_does() -> None:
    outbox = Outbox("a")
    subscription = outbox.subscribe()
    call = ToolUseDelta(0, "1", "Bash", "{}")
    for body in (
        TextDelta("a"),
        TextDelta("b"),
        ReasoningDelta("c"),
        ReasoningDelta("d"),
        ReasoningDelta("e", {"signature": "s"}),
        ReasoningDelta("after the seal"),
        TextDelta("f"),
        call,
        TextDelta("g"),
    ):
        outbox.append(body)
    assert [event.body for event in merged(subscription.take())] == [
        TextDelta("ab"),
        ReasoningDelta("cd"),
        ReasoningDelta("e", {"signature": "s"}),
        ReasoningDelta("after the seal"),
        TextDelta("f"),
        call,
        TextDelta("g"),
    ]


async def test_a_burst_of_events_is_one_frame_and_nothing_is_lost(tmp_path: Path) -> None:
    worker = _worker(tmp_path)
    feed = Feed()
    feed.follow([worker])
    feed.start()
    await _until_idle(feed)
    frames = feed.frames
    for number in range(500):
        worker.say(f"{number} ")
    await _until_idle(feed)
    assert feed.frames == frames + 1
    prose = feed.agents[worker.id].transcript.entries[-1]
    assert getattr(prose, "text", "") == "".join(f"{number} " for number in range(500))
    feed.stop()


async def test_a_frame_breaks_off_for_a_key_but_the_next_one_is_whole(tmp_path: Path) -> None:
    session = ScriptedSession(scripted_plan(tmp_path), "scout", "builder")
    hurried = False
    ticked: list[str] = []
    feed = Feed(hurried=lambda: hurried)
    feed.follow(session.workers)
    feed.start()
    feed.show({worker.id: partial(ticked.append, worker.name) for worker in session.workers})
    await _until_idle(feed)
    ticked.clear()
    frames, hurried = feed.frames, True
    for worker in session.workers:
        worker.say("words")
    feed._on_time()
    texts = [len(agent.transcript.entries) for agent in feed.agents.values()]
    assert (feed.frames, ticked, texts) == (frames, [], [1, 0])
    await _until_idle(feed)
    assert feed.frames == frames + 1
    assert ticked == ["scout", "builder"]
    assert [len(agent.transcript.entries) for agent in feed.agents.values()] == [1, 1]
    session.workers[1].say("more")
    feed.now()
    assert ticked == ["scout", "builder"] * 2, "a frame that answers a key stood back for it"
    feed.stop()


async def test_nothing_wakes_an_idle_dashboard(tmp_path: Path) -> None:
    worker = _worker(tmp_path)
    feed = Feed()
    feed.follow([worker])
    feed.start()
    worker.begin("go")
    worker.end()
    await _until_idle(feed)
    frames = feed.frames
    await asyncio.sleep(1.2)
    assert feed.frames == frames
    feed.stop()


async def test_the_clock_goes_on_while_an_agent_is_silent(tmp_path: Path) -> None:
    worker = _worker(tmp_path)
    feed = Feed()
    feed.follow([worker])
    feed.start()
    worker.begin("go")
    feed.now()
    frames = feed.frames
    async with asyncio.timeout(3):
        while feed.frames < frames + 2:
            await asyncio.sleep(0.05)
    feed.stop()


async def test_a_view_that_breaks_stops_neither_feed_nor_the_other_views(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session = ScriptedSession(scripted_plan(tmp_path), "scout", "builder")
    seen: list[str] = []

    def breaks() -> None:
        raise KeyError("a bug in a pane")

    feed = Feed()
    feed.follow(session.workers)
    feed.show({"agent-1": breaks, "agent-2": lambda: seen.append("drawn")})
    feed.start()
    with caplog.at_level(logging.ERROR, "agent_tui.feed"):
        for _ in range(5):
            session.workers[0].say("x")
            feed.now()
    assert len(seen) == 5
    assert feed.agents["agent-1"].transcript.entries
    assert len(caplog.records) == 1
    feed.stop()


async def test_slow_frames_halve_the_rate_down_to_a_floor_and_quick_ones_bring_it_back() -> None:
    feed = Feed()
    for _ in range(10):
        feed.measure_frame(1.0)
    assert feed.period == SLOWEST
    for _ in range(10):
        feed.measure_frame(0.0)
    assert feed.period == FASTEST
    feed.measure_frame(FASTEST * 0.6)
    assert feed.period == 2 * FASTEST
    feed.measure_frame(FASTEST * 0.4)
    assert feed.period == FASTEST, "one slow frame has the rate halved for ever"


async def test_a_feed_that_was_stopped_has_no_frames_any_more(tmp_path: Path) -> None:
    worker = _worker(tmp_path)
    feed = Feed()
    feed.follow([worker])
    feed.start()
    feed.stop()
    frames = feed.frames
    worker.say("late")
    feed.wake()
    await asyncio.sleep(0.1)
    assert feed.frames == frames


def test_the_meter_counts_characters_until_the_provider_has_counted_tokens() -> None:
    transcript, meter, outbox = Transcript(), Meter(), Outbox("a")
    subscription = outbox.subscribe()

    def after(body: TextDelta | UsageReported, now: float) -> None:
        outbox.append(body)
        transcript.apply(subscription.take())
        meter.measure(transcript, now)

    after(TextDelta("x" * 400), 10.0)
    assert (meter.tokens_out, meter.is_estimate, meter.tokens_in) == (100, True, None)
    after(UsageReported(Usage(input_tokens=50, output_tokens=90)), 10.5)
    assert (meter.tokens_out, meter.is_estimate, meter.tokens_in) == (90, False, 50)
    after(TextDelta("x" * 40), 11.0)
    assert (meter.tokens_out, meter.is_estimate) == (100, True)


def test_the_rate_is_that_of_the_last_moments() -> None:
    transcript, meter = Transcript(), Meter()
    for step in range(40):
        transcript.characters += 20
        meter.measure(transcript, step * 0.1)
    assert 45 <= meter.rate(3.9) <= 55
    assert meter.rate(30.0) == 0.0
