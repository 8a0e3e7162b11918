from __future__ import annotations

from pathlib import Path

import pytest
from rich.color import Color as RichColor
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from agent_tui.panes.palette import DECORATION, STYLE_NAMES, Palette
from agent_tui.theming import load_theme

OURS = [load_theme(path) for path in sorted((Path(__file__).parents[2] / "themes").glob("*.toml"))]
THEMES = {theme.name: theme for theme in [*BUILTIN_THEMES.values(), *OURS]}
READ = [
    "text",
    "muted",
    "heading",
    "link",
    "inline-code",
    "user",
    "reasoning",
    "code",
    "code-comment",
    "card-output",
]
READ += [
    "code-string",
    "code-keyword",
    "diff-added",
    "diff-removed",
    "marker",
    "card error",
    "card ok",
    "quote",
]


def palette(theme: Theme) -> Palette:
    variables = theme.to_color_system().generate() | theme.variables
    background = Color.parse(variables["background"])
    return Palette(variables, background=background, terminal_colors=theme.ansi)


@pytest.mark.parametrize(
    "theme", [theme for theme in THEMES.values() if not theme.ansi], ids=lambda theme: theme.name
)
def test_text_can_be_read_in_every_theme_that_does_not_use_the_terminals_own_colours(theme: Theme) -> None:
    colours = palette(theme)
    for names in READ:
        style = colours[names]
        assert style.color is not None
        assert style.bgcolor is not None
        assert _contrast(style.color, style.bgcolor) >= 4.4, names


@pytest.mark.parametrize(
    "theme", [theme for theme in THEMES.values() if theme.ansi], ids=lambda theme: theme.name
)
def test_a_terminal_theme_sets_no_background(theme: Theme) -> None:
    colours = palette(theme)
    for name in STYLE_NAMES:
        style = colours[name]
        assert style.bgcolor is None or style.bgcolor.is_default
        assert style.color is None or style.color.triplet is None, name


def test_names_combine() -> None:
    style = palette(THEMES["textual-dark"])["text strong em strike"]
    assert (style.bold, style.italic, style.strike) == (True, True, True)


def test_added_and_removed_lines_have_grounds_of_their_own() -> None:
    colours = palette(THEMES["textual-light"])
    grounds = {
        colours[name].bgcolor for name in ("diff", "diff-added", "diff-removed", "code", "user", "text")
    }
    assert len(grounds) == 6


def test_decoration_names_styles() -> None:
    assert set(STYLE_NAMES) >= DECORATION


def _contrast(one: RichColor, other: RichColor) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(color: RichColor) -> float:
    parts = [part / 255 for part in color.get_truecolor()]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
