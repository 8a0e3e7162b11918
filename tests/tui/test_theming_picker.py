"""The theme picker: it tries on, keeps, and gives back."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.widgets import OptionList, Static

from agent_tui.modals.theme_picker import ThemePicker, theme_commands
from agent_tui.theming import offered_themes, register_themes


class Sheet(App[None]):
    """An app with our themes."""

    def __init__(self) -> None:
        super().__init__()
        register_themes(self, None)
        self.theme = "harbour"
        self.chosen: list[str] = []

    def compose(self) -> ComposeResult:
        yield Static("text", markup=False)


async def test_a_highlighted_theme_is_tried_on_and_escape_brings_the_old_one_back() -> None:
    app = Sheet()
    async with app.run_test() as pilot:
        names = [theme.name for theme in offered_themes(app)]
        app.push_screen(ThemePicker(app.chosen.append))
        await pilot.pause()
        assert app.theme == "harbour"
        await pilot.press("down")
        assert app.theme == names[names.index("harbour") + 1]
        await pilot.press("escape")
        assert app.theme == "harbour"
        assert app.chosen == []
        assert not isinstance(app.screen, ThemePicker)


async def test_enter_keeps_the_theme_and_says_so() -> None:
    app = Sheet()
    async with app.run_test() as pilot:
        app.push_screen(ThemePicker(app.chosen.append))
        await pilot.pause()
        await pilot.press("end", "enter")
        await pilot.pause()
        assert app.theme == "terminal"
        assert app.chosen == ["terminal"]


async def test_the_old_theme_comes_back_even_when_it_is_not_in_the_list() -> None:
    app = Sheet()
    async with app.run_test() as pilot:
        app.theme = "textual-light"
        app.push_screen(ThemePicker())
        await pilot.pause()
        await pilot.press("down", "escape")
        assert app.theme == "textual-light"


async def test_every_theme_can_be_walked_through() -> None:
    app = Sheet()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(ThemePicker())
        await pilot.pause()
        seen = []
        await pilot.press("home")
        for _ in offered_themes(app):
            seen.append(app.theme)
            await pilot.press("down")
        assert seen == [theme.name for theme in offered_themes(app)]
        options = app.screen.query_one(OptionList)
        assert app.screen.region.contains_region(options.region)


async def test_the_palette_offers_it() -> None:
    app = Sheet()
    async with app.run_test() as pilot:
        (command,) = theme_commands(app)
        command.callback()
        await pilot.pause()
        assert isinstance(app.screen, ThemePicker)


@pytest.mark.parametrize("key", ["y", "x"])
async def test_letters_do_nothing_to_it(key: str) -> None:
    app = Sheet()
    async with app.run_test() as pilot:
        app.push_screen(ThemePicker())
        await pilot.pause()
        await pilot.press(key)
        assert isinstance(app.screen, ThemePicker)
        assert app.theme == "harbour"
