from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Offset, Region
from textual.pilot import Pilot
from textual.screen import Screen
from textual.selection import SELECT_ALL, Selection

from agent_tui.panes.scrolled_lines import ScrolledLines
from agent_tui.panes.sheet import FEWEST_KEPT, SCREENS_KEPT
from agent_tui.panes.transcript import TranscriptView
from agent_tui_core.blocks import ToolResult
from agent_tui_core.events import Event, ReasoningDelta, TextDelta, ToolProgressed
from agent_tui_core.runtime.entries import EndEntry, ProseEntry, ToolEntry, UserEntry
from agent_tui_core.runtime.transcript import Transcript


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Stage(App[None]):
    def __init__(self, *transcripts: Transcript) -> None:
        super().__init__()
        self.clock = Clock()
        self.views = [TranscriptView(transcript, clock=self.clock) for transcript in transcripts]

    def compose(self) -> ComposeResult:
        yield from self.views

    @property
    def view(self) -> TranscriptView:
        return self.views[0]


def say(transcript: Transcript, text: str) -> None:
    transcript.apply([Event("a", "r", 1, 0.0, TextDelta(text))])


def think(transcript: Transcript, text: str) -> None:
    transcript.apply([Event("a", "r", 1, 0.0, ReasoningDelta(text))])


def add(transcript: Transcript, *entries: UserEntry | ProseEntry | ToolEntry | EndEntry) -> None:
    for entry in entries:
        transcript.entries.append(entry)
        transcript.dirty.add(len(transcript.entries) - 1)


def paragraphs(count: int) -> str:
    return "".join(f"paragraph {n}\n\n" for n in range(count))


def shown(view: ScrolledLines) -> list[str]:
    strips = view.render_lines(Region(0, 0, view.size.width, view.size.height))
    assert all(strip.cell_length == view.size.width for strip in strips)
    return ["".join(segment.text for segment in strip)[:-1].rstrip() for strip in strips]


@asynccontextmanager
async def reading(text: str) -> AsyncIterator[tuple[Transcript, TranscriptView, Pilot[None]]]:
    """What an agent said, in a pane of ten rows."""
    transcript = Transcript()
    say(transcript, text)
    app = Stage(transcript)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        app.view.tick()
        yield transcript, app.view, pilot


@contextmanager
def counted_layouts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    count: list[int] = []
    original = Screen._refresh_layout

    def counting(self: Screen[None], *args: object, **options: object) -> None:
        count.append(1)
        original(self, *args, **options)  # type: ignore[arg-type]  # passes on whatever came

    monkeypatch.setattr(Screen, "_refresh_layout", counting)
    yield count


async def test_a_stream_is_painted_without_any_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    transcripts = [Transcript() for _ in range(4)]
    app = Stage(*transcripts)
    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.pause()
        with counted_layouts(monkeypatch) as layouts:
            painted = 0
            for frame in range(30):
                for transcript in transcripts:
                    say(transcript, f"word {frame} **bold** `code`\n" + "\n- item\n" * (frame % 7 == 0))
                painted += sum(view.tick() for view in app.views)
                await pilot.pause()
            assert painted == 120
            assert layouts == []
        assert "word 29" in "".join(shown(app.view))


async def test_a_tick_without_news_paints_nothing() -> None:
    transcript = Transcript()
    say(transcript, "hello")
    app = Stage(transcript)
    async with app.run_test() as pilot:
        await pilot.pause()
        app.view.tick()
        assert not app.view.tick()
        assert transcript.dirty == set()


async def test_only_the_rows_that_changed_are_refreshed(monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = Transcript()
    say(transcript, "one\n\ntwo\n\nthree")
    app = Stage(transcript)
    async with app.run_test(size=(40, 20)) as pilot:
        await pilot.pause()
        app.view.tick()
        regions: list[Region] = []
        monkeypatch.setattr(app.view, "refresh", lambda *dirty, **_options: regions.extend(dirty))
        say(transcript, " and four")
        assert app.view.tick()
        assert regions == [Region(0, 4, 40, 1)]


async def test_a_piece_of_megabytes_is_read_over_several_frames() -> None:
    transcript = Transcript()
    app = Stage(transcript)
    async with app.run_test() as pilot:
        await pilot.pause()
        view = app.view
        say(transcript, "word " * 200_000 + "and the end")
        frames = 0
        while not frames or view.behind:
            view.tick()
            frames += 1
        assert frames == 6
        await pilot.pause()
        assert "and the end" in " ".join(shown(view))


async def test_a_hidden_view_keeps_the_transcript_dirty() -> None:
    transcript = Transcript()
    app = Stage(transcript)
    async with app.run_test() as pilot:
        app.view.display = False
        await pilot.pause()
        say(transcript, "unseen")
        assert not app.view.tick()
        assert transcript.dirty == {0}
        app.view.display = True
        await pilot.pause()
        app.view.tick()
        assert shown(app.view)[0] == "unseen"


async def test_the_end_is_followed_until_the_reader_scrolls_up_and_again_at_the_end() -> None:
    async with reading(paragraphs(50)) as (transcript, view, _):
        assert "paragraph 49" in shown(view)[-1]
        view.scroll_page(-1)
        top = shown(view)[0]
        say(transcript, "new one\n\nnew two\n\n")
        assert view.tick()
        assert shown(view)[0] == top
        assert view.unseen_lines == 4
        assert "↓ 4 new lines" in shown(view)[-1]
        view.scroll_page(1)
        view.scroll_page(1)
        assert view.is_following
        assert view.unseen_lines == 0
        assert "new two" in shown(view)[-1]


async def test_new_lines_are_counted_as_they_come_even_of_an_entry_that_was_never_on_screen() -> None:
    async with reading(paragraphs(50)) as (transcript, view, _):
        view.scroll_to_start()
        think(transcript, "hm\n")
        view.tick()
        say(transcript, "word " * 40_000)
        view.tick()
        before = view.unseen_lines
        for _ in range(10):
            say(transcript, "x\n\n")
            view.tick()
        assert 0 < view.unseen_lines - before < 40


async def test_a_click_on_the_marker_follows_again() -> None:
    async with reading(paragraphs(50)) as (transcript, view, pilot):
        view.scroll_rows(-20)
        say(transcript, "more\n\n")
        view.tick()
        await pilot.click(view, offset=Offset(20, 9))
        assert view.is_following


async def test_the_wheel_moves_by_three_rows() -> None:
    async with reading(paragraphs(50)) as (_, view, pilot):
        before = shown(view)
        await pilot._post_mouse_events([_wheel_up()], view)
        assert shown(view)[3:] == before[:-3]


def _wheel_up() -> type:
    from textual.events import MouseScrollUp

    return MouseScrollUp


async def test_every_row_can_be_reached_from_the_end_to_the_start_and_back() -> None:
    async with reading(paragraphs(200)) as (_, view, _):
        seen: list[str] = []
        for _ in range(500):
            seen = [*shown(view)[:1], *seen]
            view.scroll_rows(-1)
        assert [row for row in seen if row][-190:-180] == [f"paragraph {n}" for n in range(5, 15)]
        assert shown(view)[0] == "paragraph 0"
        view.scroll_to_end()
        assert shown(view)[-1] == "paragraph 199"
        view.scroll_to_start()
        assert shown(view)[0] == "paragraph 0"


async def test_a_million_characters_stay_cheap_and_bounded() -> None:
    transcript = Transcript()
    app = Stage(transcript)
    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.pause()
        view = app.view
        piece = (
            "A paragraph with **bold** words and `code` in it.\n\n- item\n- [x] done\n\n```py\nx = 1\n```\n\n"
        )
        early = _ticks(transcript, view, piece, 60)
        say(transcript, piece * (1_000_000 // len(piece)))
        view.tick()
        late = _ticks(transcript, view, piece, 60)
        assert late < early * 3 + 0.002
        assert view.sheet.rows_kept <= SCREENS_KEPT * 40
        for _ in range(100):
            view.scroll_page(-1)
        assert view.sheet.rows_kept <= SCREENS_KEPT * 40


def _ticks(transcript: Transcript, view: TranscriptView, piece: str, count: int) -> float:
    costs: list[float] = []
    for _ in range(count):
        say(transcript, piece)
        start = time.perf_counter()
        view.tick()
        costs.append(time.perf_counter() - start)
    return sorted(costs)[count // 2]


@pytest.mark.parametrize(
    "text",
    ["x" * 300_000, "word " * 60_000, "```\n" + "code\n" * 60_000, "\n" * 200_000],
    ids=["line", "words", "code", "blank"],
)
async def test_one_giant_block_is_shown_and_bounded(text: str) -> None:
    transcript = Transcript()
    app = Stage(transcript)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        for start in range(0, len(text), 20_000):
            say(transcript, text[start : start + 20_000])
            app.view.tick()
        app.view.scroll_to_start()
        app.view.scroll_to_end()
        assert app.view.sheet.rows_kept <= FEWEST_KEPT + 400
        assert len(shown(app.view)) == 20


async def test_a_new_width_wraps_anew_and_keeps_the_place() -> None:
    transcript = Transcript()
    say(transcript, "".join(f"paragraph {n} {'with words ' * 12}\n\n" for n in range(200)))
    app = Stage(transcript)
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        view = app.view
        view.tick()
        view.scroll_rows(-100)
        top = next(row for row in shown(view) if row.startswith("paragraph")).split()[1]
        await pilot.resize_terminal(40, 20)
        await pilot.pause()
        assert (
            abs(int(next(row for row in shown(view) if row.startswith("paragraph")).split()[1]) - int(top))
            <= 1
        )
        view.scroll_to_end()
        await pilot.resize_terminal(100, 30)
        await pilot.pause()
        assert view.is_following
        assert "words" in shown(view)[-1]


async def test_a_card_unfolds_on_a_click_and_folds_again() -> None:
    transcript = Transcript()
    result = ToolResult("1", "\n".join(f"row {n}" for n in range(40)))
    add(transcript, ToolEntry("Read", "1", "k", status="ok", input={"file_path": "a"}, result=result))
    app = Stage(transcript)
    async with app.run_test(size=(40, 60)) as pilot:
        await pilot.pause()
        app.view.tick()
        assert "  … 32 more lines" in shown(app.view)[9]
        await pilot.click(app.view, offset=Offset(5, 2))
        assert shown(app.view)[40].endswith("row 39")
        assert app.view.toggle(0)
        assert len([row for row in shown(app.view) if row]) == 10


async def test_a_drag_selects_and_is_no_click() -> None:
    transcript = Transcript()
    add(transcript, ProseEntry("reasoning", ["first thought\nsecond thought"], closed=True))
    say(transcript, "hello **brave** new world")
    app = Stage(transcript)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        app.view.tick()
        await pilot.mouse_down(app.view, offset=Offset(6, 2))
        await pilot.hover(app.view, offset=Offset(10, 2))
        await pilot.mouse_up(app.view, offset=Offset(10, 2))
        assert app.screen.get_selected_text() == "brave"
        assert shown(app.view)[0] == "▸ thought for 2 lines"


async def test_a_copy_joins_wrapped_rows_and_leaves_decoration_out() -> None:
    transcript = Transcript()
    add(transcript, UserEntry("please copy all of these words for me", staged=False))
    say(
        transcript,
        "> quoted words that are long enough to wrap\n\n```\ncode_that_is_longer_than_the_pane = 1\n```",
    )
    app = Stage(transcript)
    async with app.run_test(size=(24, 20)) as pilot:
        await pilot.pause()
        app.view.tick()
        copied = app.view.get_selection(SELECT_ALL)
        assert copied is not None
        assert copied[0].split("\n") == [
            "please copy all of these words for me",
            "",
            "quoted words that are long enough to wrap",
            "",
            "code_that_is_longer_than_the_pane = 1",
        ]


async def test_a_selection_stays_on_its_words_when_something_above_unfolds() -> None:
    transcript = Transcript()
    add(transcript, ProseEntry("reasoning", ["a\nb\nc"], closed=True))
    say(transcript, "the words")
    app = Stage(transcript)
    async with app.run_test(size=(24, 20)) as pilot:
        await pilot.pause()
        view = app.view
        view.tick()
        row = next(row for row in view._rows if row.line.text == "the words")
        y = view.render_line(view._rows.index(row))
        (x_offset, y_offset) = next(iter(y)).style.meta["offset"]  # type: ignore[union-attr]  # always styled
        view.toggle_reasoning()
        selection = Selection(Offset(x_offset + 4, y_offset), Offset(x_offset + 9, y_offset))
        assert view.get_selection(selection) == ("words", "\n")


async def test_reasoning_is_live_then_one_row_then_all_of_it() -> None:
    transcript = Transcript()
    app = Stage(transcript)
    async with app.run_test(size=(40, 30)) as pilot:
        await pilot.pause()
        think(transcript, "".join(f"thought {n}\n" for n in range(20)))
        app.view.tick()
        live = [row for row in shown(app.view) if row]
        assert live[0] == "▾ thinking…"
        assert live[1:] == [f"  thought {n}" for n in range(14, 20)]
        say(transcript, "answer")
        app.view.tick()
        assert shown(app.view)[:3] == ["▸ thought for 20 lines", "", "answer"]
        assert app.view.toggle_reasoning()
        assert [row for row in shown(app.view) if row][:3] == [
            "▾ thought for 20 lines",
            "  thought 0",
            "  thought 1",
        ]


async def test_a_running_call_counts_its_seconds() -> None:
    transcript = Transcript()
    add(
        transcript, ToolEntry("Bash", "1", "k", status="running", input={"command": "make"}, started_at=998.0)
    )
    app = Stage(transcript)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        app.view.tick()
        assert "running 2 s" in shown(app.view)[0]
        app.clock.now = 1_005.0
        assert app.view.tick()
        assert "running 7 s" in shown(app.view)[0]
        transcript._by_key["k"] = 0
        transcript.apply([Event("a", "r", 1, 0.0, ToolProgressed("k", "compiling\n"))])
        app.view.tick()
        assert "compiling" in shown(app.view)[1]


async def test_markup_and_escapes_of_a_stranger_are_only_text() -> None:
    transcript = Transcript()
    add(transcript, UserEntry("[/] [@click=app.quit]x[/]\x1b]52;c;aGk=\x07", staged=False))
    add(transcript, EndEntry("failed", "said\x1b[2J [bold]no"))
    app = Stage(transcript)
    async with app.run_test(size=(60, 10)) as pilot:
        await pilot.pause()
        app.view.tick()
        assert shown(app.view)[:3] == ["▌ [/] [@click=app.quit]x[/]", "", "✗ failed: said [bold]no"]


async def test_a_change_of_theme_changes_the_colours() -> None:
    transcript = Transcript()
    say(transcript, "# heading")
    app = Stage(transcript)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        app.view.tick()
        before = app.view.render_line(0)
        app.theme = "textual-light"
        await pilot.pause()
        after = app.view.render_line(0)
        assert next(iter(before)).style != next(iter(after)).style


async def test_any_size_is_drawn() -> None:
    transcript = Transcript()
    say(transcript, "# head\n\n- a list\n\n| a | b |\n|---|---|\n| 漢字 | d |\n\n```py\nx = 1\n```\n")
    add(transcript, UserEntry("hi"), ToolEntry("Bash", "1", status="waiting", input={"command": "x" * 90}))
    app = Stage(transcript)
    async with app.run_test(size=(80, 24)) as pilot:
        for width, height in [(1, 1), (2, 3), (5, 2), (12, 40), (200, 60)]:
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            app.view.tick()
            assert len(shown(app.view)) == height
