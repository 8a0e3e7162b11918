"""Owns the proof that who listens to an agent can neither harm it nor fill the memory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.agent.approvals import AllowOnce
from agent_tui_core.events import Event, EventsMissed, TextDelta, ToolProgressed
from agent_tui_core.runtime.outbox import MOST_UNREAD, MOST_UNREAD_CHARACTERS, Outbox
from agent_tui_core.runtime.session import open_session
from agent_tui_core.runtime.transcript import Transcript
from loopback import DONE, Answer, LoopbackServer, finish, say, text
from sessions import Reader, planned, settled, tool_answer, waiting


def broken(*_args: object) -> None:
    raise RuntimeError("no screen")


def outline(transcript: Transcript) -> list[object]:
    return [(type(entry).__name__, getattr(entry, "text", "")) for entry in transcript.entries]


async def test_listeners_that_raise_harm_neither_the_agent_nor_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answers = [tool_answer("Bash", {"command": "touch x"}), say("Done.")]
    async with (
        LoopbackServer(answers) as server,
        open_session(planned(server.base_url, tmp_path)) as session,
    ):
        session.watch(broken)
        session.desk.watch(broken)
        session.equipment.forms.watch(broken)
        worker = session.workers[0]
        worker.subscribe(broken)
        worker.mode.follow(lambda mode: broken() if mode == "plan" else None)
        reader = Reader(worker)
        worker.prompt("go")
        await waiting(session)
        assert session.desk.answer(session.desk.pending[0].id, AllowOnce())
        await settled(session)
        worker.mode.become("plan")
        assert worker.mode.now == "plan"
        assert reader.read().state == "idle"
        assert outline(reader.read())[-1] == ("ProseEntry", "Done.")
        other = await session.add_worker()
        await session.remove_worker(other.id)
    assert caplog.text.count("no screen") >= 4
    assert caplog.text.count("who listens to agent") == 1


async def test_a_listener_that_does_not_read_is_told_of_the_gap_and_hears_all_from_the_beginning(
    tmp_path: Path,
) -> None:
    pieces = [text("x" * 2) for _ in range(40)]
    async with (
        LoopbackServer([Answer(*pieces, finish(), DONE), say("Next.")]) as server,
        open_session(planned(server.base_url, tmp_path)) as session,
    ):
        worker = session.workers[0]
        reader, sleeper = Reader(worker), worker.subscribe(most=10)
        late = Transcript()
        for prompt in ("one", "two"):
            worker.prompt(prompt)
            await settled(session)
        for _ in range(600):
            worker.notice("still here")
        events = sleeper.take()
        assert isinstance(events[0].body, EventsMissed)
        assert events[0].body.count >= 600
        late.apply(events[1:])
        assert outline(late) == outline(reader.read())
        assert (late.state, late.usage) == ("idle", reader.transcript.usage)
        worker.notice("hello")
        assert [getattr(event.body, "text", "") for event in sleeper.take()] == ["hello"]


@pytest.mark.parametrize(
    ("body", "at_most"),
    [(TextDelta("x"), 2 * MOST_UNREAD), (ToolProgressed("key", "x" * 60_000), 2_000)],
)
def test_what_waits_for_a_listener_is_bounded_in_events_and_in_characters(body: Any, at_most: int) -> None:
    outbox = Outbox("a")
    sleeper = outbox.subscribe()
    most = 0
    for _ in range(at_most):
        outbox.append(body)
        most = max(most, len(sleeper._pending))
    assert most <= MOST_UNREAD + 512
    assert sum(len(getattr(event.body, "output", "")) for event in sleeper._pending) < MOST_UNREAD_CHARACTERS
    (gap,) = sleeper.take()
    assert gap.body == EventsMissed(at_most)


def test_a_listener_that_asks_for_all_gets_all() -> None:
    outbox = Outbox("a")
    reader = outbox.subscribe(most=None)
    for _ in range(MOST_UNREAD + 1_000):
        outbox.append(TextDelta("x"))
    assert len(reader.take()) == MOST_UNREAD + 1_000


def test_a_long_past_is_no_backlog() -> None:
    outbox = Outbox("a")
    listener = outbox.subscribe(most=10)
    past = [Event("a", "r", number, 0.0, TextDelta("x")) for number in range(5_000)]
    listener.begin_with(past)
    for _ in range(512):
        outbox.append(TextDelta("y"))
    assert isinstance(listener.take()[0].body, EventsMissed)
    listener.begin_with(past)
    outbox.append(TextDelta("z"))
    assert [len(listener.take()), len(listener.take())] == [5_001, 0]


async def test_a_listener_is_woken_at_the_first_event_that_waits() -> None:
    outbox, woken = Outbox("a"), asyncio.Event()
    listener = outbox.subscribe(woken.set)
    outbox.append(TextDelta("x"))
    assert woken.is_set()
    assert len(listener.take()) == 1
