"""A real small model: conversations longer than it can read go on. Run by `make local-model`."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import local_model
from agent_tui_core.agent.compaction import FULL, LONGEST_SUMMARY
from agent_tui_core.events import (
    Body,
    Compacted,
    CompactionProgressed,
    CompactionStarted,
    Event,
    RequestStarted,
    RunEnded,
)
from agent_tui_core.messages import RequestOptions
from agent_tui_core.runtime.session import open_session
from sessions import planned

pytestmark = pytest.mark.local_model

TURNS = 30
TOPICS = ("the sea", "bread", "an old clock", "the rain", "a letter", "the market")
ASIDE = (
    "Remember what was said before, and that the harbour, the mill and the bridge belong to the town. " * 8
)
"""About 190 tokens: a turn of these and of its answer is far more than a thirtieth of the context."""
PLACE = "AGENT_TUI_LOCAL_MODEL"
"""A folder that keeps server and model between runs."""


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = Path(os.environ.get(PLACE) or tmp_path_factory.mktemp("local_model"))
    folder.mkdir(parents=True, exist_ok=True)
    local_model.install(folder)
    with local_model.served(folder) as url:
        yield url


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(
    "limit", [local_model.CONTEXT, None], ids=["limit is known", "server says it is full"]
)
async def test_thirty_turns_that_are_more_than_the_model_can_read_all_have_their_answer(
    base_url: str, tmp_path: Path, limit: int | None
) -> None:
    base = planned(base_url, tmp_path)
    profile = dataclasses.replace(
        base.profiles["default"],
        name="small",
        tools=(),
        system_prompt="You are brief.",
        max_tokens=64,
        options=RequestOptions(temperature=0.3),
        context_limit=limit,
    )
    events: list[Event] = []
    async with open_session(dataclasses.replace(base, agents=(profile,))) as session:
        worker = session.workers[0]
        subscription = worker.subscribe()
        for number in range(TURNS):
            worker.prompt(f"{ASIDE}\nNow say a sentence about {TOPICS[number % len(TOPICS)]}.")
            async with asyncio.timeout(900):
                await worker.idle()
            taken = subscription.take()
            events += taken
            _tell(number, taken)
    bodies = [event.body for event in events]
    ends = [body.end for body in bodies if isinstance(body, RunEnded)]
    assert len(ends) == TURNS
    assert set(ends) <= {"completed", "limit"}
    assert sum(isinstance(body, Compacted) for body in bodies) >= 1
    _check_bounds(bodies)


def _check_bounds(bodies: list[Body]) -> None:
    """Each compaction made room, and no summary was written past its bound."""
    most = min(LONGEST_SUMMARY, local_model.CONTEXT // 3)
    for body in bodies:
        match body:
            case CompactionProgressed(tokens):
                assert tokens <= most
            case Compacted():
                assert len(body.summary) // 4 <= most
                assert body.tokens_after < min(body.tokens_before, FULL * local_model.CONTEXT)
            case _:
                pass


def _tell(number: int, events: list[Event]) -> None:
    """What a person who ran this wants to see of the turn."""
    started = next(e.at for e in events if isinstance(e.body, RequestStarted | CompactionStarted))
    _write(f"turn {number + 1}: {events[-1].at - started:.1f} s")
    for event in events:
        match event.body:
            case CompactionStarted(tokens):
                started = event.at
                _write(f"  summarising {tokens} tokens")
            case Compacted() as made:
                kind = f"{made.left_out} messages left out" if made.left_out else "summarised"
                _write(f"  {kind} in {event.at - started:.1f} s: {made.tokens_before} → {made.tokens_after}")
            case _:
                pass


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
