"""What a pane says of a model or a tool that gives no sign of life, of retries and of summaries."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.feed import PULSE, SLOW_PULSE, AgentFeed, is_silent
from agent_tui.panes.wording import silence_words, state_words
from agent_tui_core.blocks import ToolUse
from agent_tui_core.events import (
    Body,
    CompactionProgressed,
    CompactionStarted,
    Event,
    Noticed,
    QueueChanged,
    RequestRetrying,
    RequestStarted,
    StateChanged,
    TextDelta,
    ToolProgressed,
    ToolProposed,
    ToolSpawned,
    ToolStarted,
    UsageReported,
)
from agent_tui_core.messages import Usage
from agent_tui_core.runtime.activity import Activity
from agent_tui_core.runtime.transcript import Transcript
from dashboard_pilot import dashboard
from scripted_session import ScriptedSession, scripted_plan

START = 1_000_000.0


def told(*happened: tuple[float, Body]) -> Transcript:
    """A transcript of what happened, each so many seconds after the start, with the states it makes."""
    transcript, activity = Transcript(), Activity()
    for seconds, body in happened:
        bodies = [body, changed] if (changed := activity.after(body)) else [body]
        transcript.apply(Event("a", "r", 1, START + seconds, each) for each in bodies)
    return transcript


def words(transcript: Transcript, seconds: float) -> str:
    said = state_words(transcript, START + seconds)
    return f"{said.glyph} {said.words}"


STREAMING: tuple[tuple[float, Body], ...] = ((0, RequestStarted("m", 1)), (1, TextDelta("Hello")))


def test_a_stream_without_progress_for_ten_seconds_is_told_as_silent_and_nothing_spins() -> None:
    transcript = told(*STREAMING)
    assert "streaming" in words(transcript, 10)
    assert words(transcript, 11) == "◌ silent 10 s"
    assert words(transcript, 30) == words(transcript, 30.2) == "◌ silent 29 s"
    assert words(transcript, 73) == "◌ silent 1 min 12 s"


def test_a_server_that_never_begins_is_silent_as_well() -> None:
    assert words(told((0, RequestStarted("m", 1))), 12) == "◌ silent 12 s"


@pytest.mark.parametrize(
    "body",
    [TextDelta("x"), UsageReported(Usage(1, 2)), RequestStarted("m", 2)],
    ids=["text", "usage", "request"],
)
def test_text_and_usage_end_a_silence(body: Body) -> None:
    assert "silent" not in words(told(*STREAMING, (40, body)), 45)


@pytest.mark.parametrize("body", [Noticed("info", "x"), QueueChanged(()), StateChanged("streaming")])
def test_what_a_person_or_the_program_does_is_no_progress(body: Body) -> None:
    assert words(told(*STREAMING, (40, body)), 45) == "◌ silent 44 s"


def test_from_a_minute_on_the_pane_has_a_line_that_says_so() -> None:
    transcript = told(*STREAMING)
    assert silence_words(transcript, START + 60, "m", chosen=True) == ""
    assert silence_words(transcript, START + 73, "m", chosen=True) == (
        "Nothing came from m for 1 min 12 s; esc stops it."
    )
    assert "esc" not in silence_words(transcript, START + 73, "m", chosen=False)


def tool(*after: tuple[float, Body]) -> Transcript:
    call = ToolUse("c", "Bash", {"command": "npm test"})
    return told(
        (0, ToolProposed("k", call, "m")),
        (0, ToolStarted("k", call.input)),
        (0, ToolSpawned("k", 4242)),
        *after,
    )


def test_a_quiet_tool_is_named_with_its_command_and_its_process() -> None:
    assert "running Bash" in words(tool(), 59)
    assert words(tool(), 365) == "◌ quiet for 6 min inside `npm test` (pid 4242 alive)"
    assert "running Bash" in words(tool((340, ToolProgressed("k", "."))), 365)


def test_a_command_that_is_no_command_of_ours_has_no_control_characters_in_the_header() -> None:
    call = ToolUse("c", "Bash", {"command": "echo \x1b[31m[/]\n rm"})
    transcript = told((0, ToolProposed("k", call, "m")), (0, ToolStarted("k", call.input)))
    assert "\x1b" not in words(transcript, 100)
    assert "\n" not in words(transcript, 100)


def test_a_retry_counts_down_and_says_why() -> None:
    transcript = told((0, RequestRetrying(1, 3, 25.0, "rate limit at api.example (429)")))
    assert words(transcript, 0) == "↻ retrying in 25 s: rate limit at api.example (429)"
    assert words(transcript, 24.5) == "↻ retrying in 1 s: rate limit at api.example (429)"
    assert words(transcript, 30) == "↻ retrying in 0 s: rate limit at api.example (429)"


def test_a_summary_is_told_with_its_seconds_and_tokens() -> None:
    transcript = told(
        (0, CompactionStarted(3_000)), (1, CompactionProgressed(20)), (12, CompactionProgressed(240))
    )
    assert words(transcript, 12).endswith("summarising: 12 s, 240 tokens")


async def test_who_is_silent_is_looked_at_once_a_second_and_who_is_idle_never(tmp_path: Path) -> None:
    worker = ScriptedSession(scripted_plan(tmp_path), "scout").workers[0]
    now = START
    feed = AgentFeed(worker, lambda: None)
    feed.fold(now)
    pulses = [feed.pulse]
    worker.become("streaming")
    worker.say("hello")
    feed.fold(now)
    pulses.append(feed.pulse)
    at = feed.transcript.clock.progressed_at
    feed.fold(at + 11)
    assert is_silent(feed.transcript, at + 11)
    pulses.append(feed.pulse)
    worker.become("idle")
    feed.fold(at + 12)
    assert [*pulses, feed.pulse] == [None, PULSE, SLOW_PULSE, None]
    feed.close()


async def test_a_silence_is_on_the_screen_and_goes_with_the_next_word(tmp_path: Path) -> None:
    async with dashboard(ScriptedSession(scripted_plan(tmp_path), "scout")) as driver:
        driver.workers[0].become("streaming")
        driver.workers[0].say("Hello")
        await driver.drawn()
        clock = driver.app.feed.agents["agent-1"].transcript.clock
        clock.progressed_at -= 72
        driver.app.feed.now()
        await driver.shows("silent 1 min 12 s")
        await driver.shows("Nothing came from")
        driver.workers[0].say(" there")
        await driver.drawn()
        await driver.shows("streaming")
        await driver.until(lambda: "Nothing came from" not in driver.text())
