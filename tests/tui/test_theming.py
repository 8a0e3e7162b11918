"""Theme files: what they look like, what they may say, and that none of them stops a start."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.color import Color
from textual.theme import Theme
from textual.widgets import Static

from agent_tui.theming import DEFAULT_THEME, load_theme, offered_themes, register_themes
from agent_tui_core.errors import ConfigError

THEMES = sorted((Path(__file__).resolve().parents[2] / "themes").glob("*.toml"))
COLORED = [load_theme(file) for file in THEMES if not load_theme(file).ansi]

GOOD = """
name = "mine"
[colors]
primary = "#5fb3c8"
foreground = "#ffffff"
background = "#000000"
"""


def contrast(front: str | None, back: str | None) -> float:
    """The ratio of WCAG 2: 1 (none) to 21 (black on white)."""
    assert front is not None
    assert back is not None
    lights = sorted(_luminance(Color.parse(color)) for color in (front, back))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _luminance(color: Color) -> float:
    def linear(channel: int) -> float:
        part = channel / 255
        return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def test_there_are_dark_light_high_contrast_and_terminal_themes() -> None:
    themes = {file.stem: load_theme(file) for file in THEMES}
    assert len(themes) >= 7
    assert DEFAULT_THEME in themes
    assert sum(not theme.dark for theme in themes.values()) >= 2
    assert [name for name, theme in themes.items() if theme.ansi] == ["terminal"]
    assert all(name == theme.name for name, theme in themes.items())


@pytest.mark.parametrize("theme", COLORED, ids=lambda theme: theme.name)
@pytest.mark.parametrize("ground", ["background", "surface", "panel"])
def test_every_theme_can_be_read_on_each_of_its_grounds(theme: Theme, ground: str) -> None:
    back = getattr(theme, ground)
    assert contrast(theme.foreground, back) >= 7
    assert contrast(theme.variables["text-muted"], back) >= 4.5
    for role in ("primary", "secondary", "accent", "success", "warning", "error"):
        assert contrast(getattr(theme, role), back) >= 4.5, role
    cursor = theme.variables
    assert contrast(cursor["block-cursor-foreground"], cursor["block-cursor-background"]) >= 4.5


def test_the_high_contrast_theme_reaches_seven_everywhere() -> None:
    theme = next(theme for theme in COLORED if theme.name == "beacon")
    for ground in (theme.background, theme.surface, theme.panel):
        assert contrast(theme.foreground, ground) >= 15
        for role in ("primary", "secondary", "accent", "success", "warning", "error"):
            assert contrast(getattr(theme, role), ground) >= 7, role


@pytest.mark.parametrize(
    ("text", "key", "remedy"),
    [
        (GOOD.replace("primary", "primray"), "colors.primray", "did you mean 'primary'?"),
        (GOOD.replace("#5fb3c8", "blueish"), "colors.primary", "is no color"),
        (GOOD.replace("#5fb3c8", "ansi_blue"), "colors.primary", "terminal-colors = true"),
        (GOOD.replace('primary = "#5fb3c8"', ""), "colors.primary", "is missing"),
        (GOOD.replace('"#5fb3c8"', "3"), "colors.primary", "must be a text in quotes"),
        (GOOD.replace('"mine"', '"My Theme; {}"'), "name", "lower-case letters"),
        (GOOD.replace('name = "mine"', 'dark = "yes"'), "dark", "true or false"),
        (GOOD.replace('name = "mine"', "drak = true"), "drak", "did you mean 'dark'?"),
        ("colors = 3", "colors", "must be a table"),
        (GOOD + '[variables]\nborder = "; } * { display: none"', "variables.border", "is no color"),
        (GOOD + '[variables]\nbordr = "#000000"', "variables.bordr", "did you mean 'border'?"),
        (GOOD + '[variables]\nlink-style = "loud"', "variables.link-style", "use words of"),
    ],
)
def test_a_theme_error_names_file_key_and_remedy(tmp_path: Path, text: str, key: str, remedy: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_theme(file)
    assert caught.value.key == key
    assert str(file) in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize("raw", [b"= nonsense", b"\xff\xfe", b"x" * 100_000], ids=["syntax", "bytes", "size"])
def test_a_file_that_is_no_theme_is_an_error_that_names_it(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(raw)
    with pytest.raises(ConfigError, match=r"mine\.toml"):
        load_theme(file)


class Sheet(App[None]):
    """An app with nothing but a line of text."""

    def compose(self) -> ComposeResult:
        yield Static("text", markup=False)


async def test_a_broken_user_theme_is_skipped_with_a_notice_and_the_others_are_there(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GOOD)
    (tmp_path / "broken.toml").write_text("[colors]\nprimary = '[red]\x1b]52;c;x\x07'")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "notes.txt").write_text("no theme")
    app = Sheet()
    async with app.run_test():
        notices = register_themes(app, tmp_path)
        assert len(notices) == 2
        assert any("broken.toml" in notice for notice in notices)
        assert not any("\x1b" in notice for notice in notices)
        assert "mine" in [theme.name for theme in offered_themes(app)]


async def test_the_users_theme_wins_over_ours_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GOOD.replace("mine", DEFAULT_THEME).replace("#5fb3c8", "#123456"))
    app = Sheet()
    async with app.run_test():
        assert register_themes(app, tmp_path) == []
        assert app.available_themes[DEFAULT_THEME].primary == "#123456"
        assert [theme.name for theme in offered_themes(app)] == sorted(file.stem for file in THEMES)


async def test_a_user_folder_that_does_not_exist_is_no_error(tmp_path: Path) -> None:
    app = Sheet()
    async with app.run_test():
        assert register_themes(app, tmp_path / "absent") == []
        assert register_themes(app, None) == []


@pytest.mark.parametrize("name", [file.stem for file in THEMES])
async def test_every_theme_can_be_put_on_a_running_app(name: str) -> None:
    app = Sheet()
    async with app.run_test() as pilot:
        register_themes(app, None)
        app.theme = name
        await pilot.pause()
        assert app.current_theme.name == name
        assert app.native_ansi_color is (name == "terminal")


async def test_no_color_turns_every_theme_grey(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = Sheet()
    async with app.run_test() as pilot:
        register_themes(app, None)
        app.theme = "ember"
        await pilot.pause()
        strips = [
            strip.apply_filter(app._filters[-1], Color(0, 0, 0))
            for strip in app.screen._compositor.render_strips()
        ]
    styles = [segment.style for strip in strips for segment in strip if segment.style is not None]
    painted = [
        color.triplet for style in styles for color in (style.color, style.bgcolor) if color is not None
    ]
    assert app.no_color
    assert painted
    assert all(triplet is not None and max(triplet) - min(triplet) <= 1 for triplet in painted)
