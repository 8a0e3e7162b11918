from __future__ import annotations

from textual.app import App, ComposeResult
from textual.geometry import Region

from agent_tui.panes.lines_view import LinesView, command_draws, diff_draws, text_draws


class Stage(App[None]):
    CSS = "LinesView { height: 10; } .framed { border: round $primary; padding: 0 1; }"

    def __init__(self, view: LinesView) -> None:
        super().__init__()
        self.view = view

    def compose(self) -> ComposeResult:
        yield self.view


def shown(view: LinesView) -> list[str]:
    strips = view.render_lines(Region(0, 0, view.outer_size.width, view.outer_size.height))
    return [strip.text.rstrip() for strip in strips]


def unified(lines: int) -> str:
    return f"--- a\n+++ b\n@@ -0,0 +1,{lines} @@\n" + "".join(f"+line {n}\n" for n in range(lines))


async def test_it_starts_at_the_first_row_and_says_how_much_is_below() -> None:
    view = LinesView(text_draws("\n".join(f"row {n}" for n in range(30))))
    async with Stage(view).run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        assert shown(view)[0].startswith("row 0")
        assert "↓ 21 more lines" in shown(view)[-1]
        assert view.lines_below == 20


async def test_its_keys_reach_every_row() -> None:
    view = LinesView(text_draws("\n".join(f"row {n}" for n in range(30))))
    async with Stage(view).run_test(size=(40, 12)) as pilot:
        view.focus()
        await pilot.press("down", "down", "up")
        assert shown(view)[0].startswith("row 1")
        await pilot.press("pagedown")
        assert shown(view)[0].startswith("row 10")
        await pilot.press("end")
        assert shown(view)[-1].startswith("row 29")
        assert view.lines_below == 0
        await pilot.press("home", "pageup")
        assert shown(view)[0].startswith("row 0")


async def test_a_page_down_shows_the_row_that_the_mark_covered() -> None:
    view = LinesView(text_draws("\n".join(f"row {n}" for n in range(30))))
    async with Stage(view).run_test(size=(40, 12)) as pilot:
        view.focus()
        await pilot.pause()
        seen = set(shown(view))
        for _ in range(4):
            await pilot.press("pagedown")
            seen |= set(shown(view))
        assert {f"row {n}" for n in range(30)} <= {row.removesuffix("▐").rstrip() for row in seen}


async def test_what_fits_has_neither_mark_nor_thumb() -> None:
    view = LinesView(command_draws("make check"))
    async with Stage(view).run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        assert shown(view) == ["$ make check", *[""] * 9]


async def test_other_lines_can_be_shown_from_the_start() -> None:
    view = LinesView(diff_draws(unified(100)))
    async with Stage(view).run_test(size=(40, 12)) as pilot:
        view.focus()
        await pilot.press("end")
        view.show(command_draws("ls"))
        await pilot.pause()
        assert shown(view)[0] == "$ ls"


async def test_a_border_and_padding_are_drawn() -> None:
    view = LinesView(command_draws("ls"), classes="framed")
    async with Stage(view).run_test(size=(20, 12)) as pilot:
        await pilot.pause()
        assert shown(view)[0].startswith("╭")
        assert shown(view)[1].startswith("│ $ ls")
        assert len(shown(view)) == 10


async def test_a_huge_diff_opens_at_once_and_its_end_can_be_reached() -> None:
    view = LinesView(diff_draws(unified(20_000)))
    async with Stage(view).run_test(size=(60, 12)) as pilot:
        view.focus()
        await pilot.pause()
        assert view.sheet.rows_kept < 1_000
        await pilot.press("end")
        assert shown(view)[-1].startswith("20000 + line 19999")
