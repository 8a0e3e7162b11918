"""Owns what the dashboard shows: where panes stand, what rows say, that streaming lays nothing out."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

from agent_tui.feed import AgentFeed
from agent_tui.panes import roster as roster_room
from agent_tui.panes.painting import Painted
from agent_tui.panes.prompt import PromptBox
from agent_tui.panes.roster import DRAWN_EVERY, Roster, agent_rows
from agent_tui.screens.tiling import READABLE, regions, tile
from agent_tui_core.events import QueueChanged
from agent_tui_core.messages import QueuedPrompt
from dashboard_pilot import Driver, dashboard, overlaps
from scripted_session import ScriptedSession, scripted_plan

NAMES = ("scout", "builder", "tester", "writer", "fixer", "reader", "keeper", "helper", "walker", "singer")
HOSTILE = (
    "[/]",
    "[@click=app.bell]x[/]",
    "\x1b]52;c;aGFja2Vk\x07name",
    "\x1b[2Jclear",
    "[bold",
    "$(x)\u202eesrever",
)


def _session(folder: Path, count: int) -> ScriptedSession:
    names = [NAMES[i] if i < len(NAMES) else f"agent-{i}" for i in range(count)]
    return ScriptedSession(scripted_plan(folder), *names)


def _parts(driver: Driver) -> list[Widget]:
    screen = driver.screen
    rows: list[Widget] = [screen.query_one("#status"), screen.query_one("#keys"), screen.query_one(PromptBox)]
    roster = screen.query_one(Roster)
    return [*rows, *driver.panes, *([roster] if roster.display else [])]


# --- where panes stand --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [Size(80, 19), Size(120, 31), Size(220, 55), Size(41, 9), Size(300, 20)])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 16, 40])
def test_panes_fill_the_space_without_gap_or_overlap_and_can_be_read(count: int, size: Size) -> None:
    tiling = tile(count, size)
    if tiling is None:
        assert count > (size.width // READABLE.width) * (size.height // READABLE.height)
        return
    placed = regions(tiling, size)
    assert len(placed) == count
    assert sum(region.area for region in placed) == size.width * size.height
    assert not any(a.overlaps(b) for i, a in enumerate(placed) for b in placed[i + 1 :])
    if count > 1:
        assert all(r.width >= READABLE.width and r.height >= READABLE.height for r in placed)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (220, 60)])
@pytest.mark.parametrize("count", [1, 4, 8, 10])
async def test_nothing_overlaps_or_leaves_the_terminal(
    tmp_path: Path, size: tuple[int, int], count: int
) -> None:
    async with dashboard(_session(tmp_path, count), size) as driver:
        parts = _parts(driver)
        assert not overlaps(parts)
        assert all(driver.screen.region.contains_region(part.region) for part in parts)
        assert sum(part.region.area for part in parts) == size[0] * size[1]
        assert all(len(line) <= size[0] for line in driver.lines())


async def test_the_grid_follows_the_terminal_and_becomes_a_list_when_panes_cannot_be_read(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path, 8), (220, 60)) as driver:
        assert len(driver.panes) == 8
        await driver.pilot.resize_terminal(80, 24)
        await driver.until(lambda: len(driver.panes) == 1)
        await driver.drawn()
        for name in NAMES[:8]:
            await driver.shows(name)
        assert not overlaps(_parts(driver))
        await driver.pilot.resize_terminal(220, 60)
        await driver.until(lambda: len(driver.panes) == 8)
        assert not driver.screen.query_one(Roster).display


async def test_a_list_longer_than_the_screen_keeps_the_chosen_agent_in_view_and_says_what_is_hidden(
    tmp_path: Path,
) -> None:
    async with dashboard(_session(tmp_path, 30), (80, 24)) as driver:
        await driver.shows("more")
        for _ in range(25):
            await driver.press("f6")
        await driver.drawn()
        assert driver.chosen == 26
        await driver.shows("▸26 agent-25")
        await driver.shows("↑")


async def test_a_list_looks_at_its_agents_in_turns_but_tells_a_state_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def rows(feed: AgentFeed, width: int, now: float, *, chosen: bool) -> list[Content]:
        made.append(feed.agent.number)
        return agent_rows(feed, width, now, chosen=chosen)

    async with dashboard(_session(tmp_path, 24), (100, 60)) as driver:
        await driver.drawn()
        roster, feeds = driver.screen.query_one(Roster), list(driver.app.feed.agents.values())
        monkeypatch.setattr(roster_room, "agent_rows", rows)
        roster.report(feeds, "", 100.0)
        assert made == list(range(1, 25))
        made.clear()
        for frame in range(1, 9):
            roster.report(feeds, "", 100.0 + frame * DRAWN_EVERY / 4)
        assert set(made) == set(range(1, 25))
        assert 46 <= len(made) <= 48
        made.clear()
        feeds[16].transcript.state = "failed"
        roster.report(feeds, "", 100.0 + 2 * DRAWN_EVERY + 0.001)
        assert 17 in made and len(made) < 3


async def test_the_list_keeps_nothing_of_agents_that_are_gone(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path, 24), (100, 60)) as driver:
        roster = driver.screen.query_one(Roster)
        feeds = [AgentFeed(worker, lambda: None) for worker in driver.workers]
        gone = [weakref.ref(feed) for feed in feeds]
        roster.report(feeds, "", 100.0)
        del feeds
        gc.collect()
        assert not [each for each in gone if each() is not None]


async def test_a_frame_without_news_draws_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Widget] = []
    async with dashboard(_session(tmp_path, 4)) as driver:
        await driver.drawn()
        for kind in (Widget, Painted):
            monkeypatch.setattr(kind, "refresh", lambda widget, *_, **__: drawn.append(widget))
        driver.app.feed.now()
        assert not drawn
        driver.app.feed.agents[driver.workers[0].id].transcript.state = "failed"
        driver.app.feed.now()
        assert drawn


async def test_a_tiny_terminal_does_not_end_the_app(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path, 4), (80, 24)) as driver:
        for size in ((20, 5), (5, 3), (1, 1), (80, 24)):
            await driver.pilot.resize_terminal(*size)
            await driver.drawn()
        await driver.shows("scout")


# --- what rows say ------------------------------------------------------------------------------------------


async def test_a_header_names_number_agent_model_and_state_in_words(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path, 2)) as driver:
        for state, words in (
            ("connecting", "connecting"),
            ("streaming", "streaming"),
            ("running", "running"),
            ("waiting", "waiting for you"),
            ("stopping", "stopping…"),
            ("interrupted", "interrupted"),
            ("failed", "failed"),
            ("limit", "stopped at limit"),
            ("idle", "idle"),
        ):
            driver.workers[0].become(state)  # type: ignore[arg-type]
            await driver.drawn()
            header = driver.lines()[1]
            assert "1 scout" in header
            assert "demo/scout" in header
            assert words in header[:60]


async def test_a_tool_that_is_silent_for_minutes_is_named_instead_of_a_spinner(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path, 1)) as driver:
        driver.workers[0].become("running", "npm test")
        await driver.drawn()
        transcript = driver.app.feed.agents["agent-1"].transcript
        transcript.clock.progressed_at -= 360
        await driver.drawn()
        await driver.shows("quiet for 6 min inside npm test")


async def test_a_long_name_and_model_are_cut_with_a_mark_and_the_state_stays_whole(tmp_path: Path) -> None:
    session = ScriptedSession(scripted_plan(tmp_path), "a" * 90, "b", "c", "d")
    session.workers[1].model = "some-organisation/a-rather-long-model-name-70B-instruct"
    async with dashboard(session, (80, 24)) as driver:
        session.workers[0].become("waiting")
        await driver.drawn()
        header = driver.lines()[1]
        assert "…" in header[:40]
        assert "waiting for you" in header[:40]
        assert "idle" in header[40:]
        assert "instruct" in header[40:]


async def test_the_status_row_counts_states_and_says_who_waits_and_how_to_answer(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path, 4)) as driver:
        driver.workers[1].begin("go")
        driver.app._last_key_at = float("inf")
        asked = [driver.workers[0].ask("Bash", "ls"), driver.workers[2].ask("Bash", "pwd")]
        await driver.pilot.pause()
        await driver.drawn()
        status = driver.lines()[0]
        assert "4 agents" in status
        assert "2 wait for you — f2" in status
        assert "1 streaming" in status
        assert driver.app.title == "agent-tui — 4 agents, 2 wait for you"
        for task in asked:
            task.cancel()


async def test_queued_prompts_are_seen_and_up_takes_the_last_one_back(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path, 1)) as driver:
        worker = driver.workers[0]
        worker.begin("first")
        for words in ("second", "third"):
            await driver.press(*words, "enter")
        await driver.drawn()
        assert [prompt.text for prompt in worker.queue] == ["second", "third"]
        await driver.shows("queued second")
        await driver.shows("queued third")
        await driver.press("up")
        await driver.until(lambda: driver.screen.prompt.text == "third")
        assert [prompt.text for prompt in worker.queue] == ["second"]
        await driver.drawn()
        assert "queued third" not in driver.text()


async def test_what_is_not_sent_by_itself_says_which_key_sends_it(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path, 1)) as driver:
        worker = driver.workers[0]
        left = QueuedPrompt("left", "from before", kept=True, held=True)
        more = (QueuedPrompt("more", "and more", kept=True), QueuedPrompt("last", "and last", kept=True))
        worker.emit(QueueChanged((left, QueuedPrompt("new", "not on disk"), *more)))
        await driver.shows("queued from before")
        await driver.shows("saving not on disk")
        await driver.shows("and 2 more")
        await driver.shows("f9 sends the next one")
        worker.begin("first")
        await driver.shows("f9 sends the next one")
        worker.emit(QueueChanged((QueuedPrompt("left", "from before", kept=True),)))
        await driver.drawn()
        assert "f9 sends" not in driver.text()
        worker.end("interrupted", "by you")
        await driver.shows("f9 sends the next one")


async def test_an_agent_that_was_asked_nothing_says_what_to_do_next(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path, 2)) as driver:
        await driver.shows("Type below and press enter")
        await driver.shows("alt+2")
        driver.workers[0].begin("go")
        await driver.drawn()
        assert "Type below and press enter" not in driver.text()


async def test_a_prompt_that_was_refused_comes_back_into_the_box_of_its_agent(tmp_path: Path) -> None:
    from agent_tui_core.events import PromptReturned

    async with dashboard(_session(tmp_path, 2)) as driver:
        driver.workers[1].emit(PromptReturned("for the builder", "the server is gone"))
        await driver.drawn()
        assert driver.screen.prompt.text == ""
        await driver.press("f6")
        await driver.drawn()
        assert driver.screen.prompt.text == "for the builder"
        await driver.shows("the server is gone")


# --- what it costs ------------------------------------------------------------------------------------------


async def test_streaming_causes_no_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layouts = 0
    refresh = Screen._refresh_layout

    def counted(self: Screen[object], size: Size | None = None, scroll: bool = False) -> None:
        nonlocal layouts
        layouts += 1
        refresh(self, size, scroll)

    async with dashboard(_session(tmp_path, 4)) as driver:
        for worker in driver.workers:
            worker.begin("go")
            worker.say("# A title\n\nSome words. ")
        await driver.drawn()
        await driver.pilot.pause(0.1)
        monkeypatch.setattr(Screen, "_refresh_layout", counted)
        for frame in range(30):
            for worker in driver.workers:
                worker.say(f"- words of **frame** {frame}\n" if frame % 3 else f"more `words` {frame} ")
            await driver.drawn()
        await driver.shows("29")
        assert layouts == 0


async def test_a_pane_that_is_hidden_folds_on_and_shows_all_when_it_comes_back(tmp_path: Path) -> None:
    async with dashboard(_session(tmp_path, 2)) as driver:
        driver.workers[1].begin("go")
        await driver.press("f4")
        driver.workers[1].say("said while nobody looked")
        await driver.drawn()
        assert "said while nobody looked" not in driver.text()
        await driver.press("f4")
        await driver.drawn()
        await driver.shows("said while nobody looked")


# --- foreign text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_name_is_only_ever_text(tmp_path: Path, name: str) -> None:
    session = ScriptedSession(scripted_plan(tmp_path), name, "builder")
    session.workers[0].model = name
    bells: list[str] = []
    async with dashboard(session, (120, 36)) as driver:
        driver.app.bell = lambda: bells.append("rang")  # type: ignore[method-assign]
        worker = session.workers[0]
        worker.begin(name)
        worker.say(name)
        worker.become("running", name)
        await driver.press("escape")
        await driver.press(*"queued", "enter")
        await driver.press("ctrl+w")
        await driver.drawn()
        await driver.pilot.click(offset=(4, 1))
        await driver.pilot.resize_terminal(60, 12)
        await driver.drawn()
        shown = driver.text()
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\u202e" not in shown
        assert not bells
