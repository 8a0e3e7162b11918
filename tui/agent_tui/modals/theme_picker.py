"""Owns the choice of a theme: each is tried on as it is highlighted, and escape brings the old one back.

Refuses to save anything: `on_chosen` is told, and whoever opened it decides what lasts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, TypeVar

from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.theme import Theme
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.panes.painting import QuickScreen
from agent_tui.theming import offered_themes

Result = TypeVar("Result")


class ThemePicker(ModalScreen[str | None], QuickScreen[str | None]):
    """A list of themes; the result is the chosen name, or None when nothing was changed."""

    ESCAPE_TO_MINIMIZE = False
    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "restore", "Back", show=False)]
    DEFAULT_CSS = """
    ThemePicker {
        align: right top;
        background: transparent;
        #frame {
            width: 44; max-width: 100%; height: auto; max-height: 100%;
            margin: 1 2; padding: 0 1;
            border: round $border; background: $background;
            border-title-color: $primary; border-title-style: bold;
        }
        OptionList {
            height: auto; max-height: 16; border: none; background: $background; padding: 0;
            &:focus { border: none; background-tint: $foreground 0%; }
        }
        #hint { height: 1; color: $text-muted; margin-top: 1; }
    }
    """

    def __init__(self, on_chosen: Callable[[str], None] | None = None) -> None:
        """`on_chosen` is told the name that the person settled on."""
        super().__init__()
        self._on_chosen = on_chosen
        self._before = ""

    def compose(self) -> ComposeResult:
        """The list, with a sample of each theme's colours."""
        with Vertical(id="frame") as frame:
            frame.border_title = Content("Theme")
            yield OptionList(*(Option(_sample(theme), id=theme.name) for theme in offered_themes(self.app)))
            yield Static(Content("enter keeps · esc goes back"), id="hint", markup=False)

    def on_mount(self) -> None:
        """Start at the theme that is on."""
        self._before = self.app.theme
        options = self.query_one(OptionList)
        names = [theme.name for theme in offered_themes(self.app)]
        if self._before in names:
            options.highlighted = names.index(self._before)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Try the theme on."""
        if event.option_id is not None and self.is_active:
            self.app.theme = event.option_id

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Keep it."""
        if event.option_id is None:
            return
        self.app.theme = event.option_id
        if self._on_chosen is not None:
            self._on_chosen(event.option_id)
        self.dismiss(event.option_id)

    def action_restore(self) -> None:
        """Put the old theme back on."""
        self.app.theme = self._before
        self.dismiss(None)


def theme_commands(
    app: App[Result], on_chosen: Callable[[str], None] | None = None
) -> Iterator[SystemCommand]:
    """What the palette offers about themes; for `App.get_system_commands`."""

    def pick() -> None:
        app.push_screen(ThemePicker(on_chosen))

    yield SystemCommand("Theme", "Choose colours, with a live preview", pick)


def _sample(theme: Theme) -> Content:
    kind = "terminal" if theme.ansi else "dark" if theme.dark else "light"
    colors = (theme.primary, theme.secondary, theme.success, theme.warning, theme.error)
    dots = [(" ●", f"{color} on {theme.background}") for color in colors if color]
    end = (" ", f"on {theme.background}")
    return Content.assemble(f"{theme.name:<17.17} ", f"{kind:<10}", *dots, end)
