"""Owns the way from a theme file to a Textual theme, and where theme files are looked for.

Refuses to stop a start: a theme that cannot be used is left out and becomes a sentence for the person.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeVar

from textual.app import App
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from agent_tui_core.errors import ConfigError
from agent_tui_core.records import dataclass
from agent_tui_core.regular_file import open_regular, read_regular
from agent_tui_core.text import safe_line

DEFAULT_THEME = "harbour"

_MOST_BYTES = 64 * 1024
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_KEYS = ("name", "dark", "terminal-colors", "colors", "variables")
_NEEDED = ("primary", "foreground", "background")
_COLORS = (
    *_NEEDED,
    *("secondary", "accent", "surface", "panel", "success", "warning", "error", "muted"),
)
_TEXT_STYLES = frozenset({"bold", "dim", "italic", "none", "not", "reverse", "strike", "underline"})
_ALPHA = re.compile(r"\s+(?:100|[1-9]?\d)%$")

_TERMINAL_VARIABLES = {
    "ansi-background": "ansi_default",
    "ansi-foreground": "ansi_default",
    "surface-active": "ansi_default",
    "foreground-disabled": "ansi_default",
}
"""What Textual's own style sheet needs and does not make for a theme of terminal colors (8.2)."""

_REMEMBERED = "theme.txt"

Result = TypeVar("Result")


def remembered_theme(data_dir: Path) -> str | None:
    """The theme that was last chosen in the program; None when none was, or nobody can read which."""
    try:
        with open_regular(data_dir / _REMEMBERED) as file:
            name = file.read(100).decode("utf-8", "replace").strip()
    except OSError:
        return None
    return name if _NAME.fullmatch(name) else None


def remember_theme(data_dir: Path, name: str) -> None:
    """Keep a choice for the next start; a theme in the settings file goes before it. Raises OSError."""
    fresh = data_dir / f"{_REMEMBERED}.new"
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(f"{name}\n")
    fresh.replace(data_dir / _REMEMBERED)


def register_themes(app: App[Result], user_dir: Path | None) -> list[str]:
    """Make every theme of ours and of the user's folder known to the app, the user's last so that they win.

    Returns a sentence for each file that could not be used.
    """
    notices: list[str] = []
    for file in [*_toml_files(_builtin_folder(), notices), *_toml_files(user_dir, notices)]:
        try:
            app.register_theme(load_theme(file))
        except ConfigError as error:
            notices.append(safe_line(f"Theme left out. {error}"))
    return notices


def offered_themes(app: App[Result]) -> list[Theme]:
    """The themes a picker lists: ours and the user's, by name; Textual's own stay usable by their names."""
    themes = app.available_themes.values()
    return sorted((t for t in themes if BUILTIN_THEMES.get(t.name) is not t), key=lambda theme: theme.name)


def load_theme(file: Traversable) -> Theme:
    """Read one theme file. Raises ConfigError, which names the file, the key and what would be right."""
    try:
        raw = read_regular(file) if isinstance(file, Path) else file.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror})", file=str(file)) from error
    if len(raw) > _MOST_BYTES:
        raise ConfigError(f"is larger than {_MOST_BYTES // 1024} KiB, so it is no theme", file=str(file))
    try:
        data = tomllib.loads(raw.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"is not valid TOML ({error})", file=str(file)) from error
    return _ThemeFile(str(file), data).theme(Path(file.name).stem)


def _builtin_folder() -> Traversable:
    packaged = files("agent_tui") / "_themes"
    return packaged if packaged.is_dir() else Path(__file__).resolve().parents[2] / "themes"


def _toml_files(folder: Traversable | None, notices: list[str]) -> list[Traversable]:
    if folder is None or not folder.is_dir():
        return []
    try:
        return sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda file: file.name)
    except OSError as error:
        notices.append(safe_line(f"Themes left out. {folder}: cannot be listed ({error.strerror})"))
        return []


@dataclass(frozen=True, slots=True)
class _ThemeFile:
    """One parsed file, taken apart key by key."""

    file: str
    data: Mapping[str, object]

    def theme(self, stem: str) -> Theme:
        self._only_known(self.data, _KEYS, "")
        name = self.data.get("name", stem)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise self._wrong("name", "use lower-case letters, digits and hyphens, 40 at most")
        terminal_colors = self._claim("terminal-colors", default=False)
        colors = dict(self._colors(terminal_colors))
        variables = dict(self._strings("variables"))
        if (muted := colors.pop("muted", None)) is not None:
            variables = {"text-muted": muted, "foreground-muted": muted} | variables
        if terminal_colors:
            variables = _TERMINAL_VARIABLES | variables
        theme = Theme(
            name=name,
            dark=self._claim("dark", default=True),
            ansi=terminal_colors,
            primary=colors["primary"],
            secondary=colors.get("secondary"),
            accent=colors.get("accent"),
            foreground=colors["foreground"],
            background=colors["background"],
            surface=colors.get("surface"),
            panel=colors.get("panel"),
            success=colors.get("success"),
            warning=colors.get("warning"),
            error=colors.get("error"),
            variables=variables,
        )
        self._check_variables(theme)
        return theme

    def _colors(self, terminal_colors: bool) -> Iterator[tuple[str, str]]:
        colors = dict(self._strings("colors"))
        self._only_known(colors, _COLORS, "colors.")
        for missing in (key for key in _NEEDED if key not in colors):
            raise self._wrong(f"colors.{missing}", 'is missing: give a color such as "#a1b2c3"')
        for key, value in colors.items():
            if not _is_color(value):
                raise self._wrong(f"colors.{key}", f'{value!r} is no color: write one such as "#a1b2c3"')
            if value.startswith("ansi_") and not terminal_colors:
                raise self._wrong(
                    f"colors.{key}", "a terminal color needs terminal-colors = true in the theme"
                )
            yield key, value

    def _check_variables(self, theme: Theme) -> None:
        self._only_known(theme.variables, _known_variables(), "variables.")
        for key, value in theme.variables.items():
            if "style" in key:
                if not value or set(value.split()) - _TEXT_STYLES:
                    raise self._wrong(f"variables.{key}", f"use words of {', '.join(sorted(_TEXT_STYLES))}")
            elif not _is_color(_ALPHA.sub("", value)):
                raise self._wrong(
                    f"variables.{key}", f'{value!r} is no color: write "#a1b2c3" or "#a1b2c3 40%"'
                )

    def _strings(self, key: str) -> Iterator[tuple[str, str]]:
        table = self.data.get(key, {})
        if not isinstance(table, dict):
            raise self._wrong(key, f"must be a table: [{key}]")
        for inner, value in table.items():
            if not isinstance(value, str):
                raise self._wrong(f"{key}.{inner}", "must be a text in quotes")
            yield inner, value

    def _claim(self, key: str, *, default: bool) -> bool:
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, "must be true or false")
        return value

    def _only_known(
        self, table: Mapping[str, object], known: tuple[str, ...] | Mapping[str, str], prefix: str
    ) -> None:
        for key in table:
            if key not in known:
                near = get_close_matches(key, known, n=1)
                remedy = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(list(known)[:12])}"
                raise self._wrong(f"{prefix}{key}", f"no such key; {remedy}")

    def _wrong(self, key: str, remedy: str) -> ConfigError:
        return ConfigError(remedy, file=self.file, key=key)


@cache
def _known_variables() -> Mapping[str, str]:
    both = (
        Theme(name="any", primary="#808080", ansi=ansi).to_color_system().generate() for ansi in (False, True)
    )
    return {key: value for generated in both for key, value in generated.items()}


def _is_color(value: str) -> bool:
    try:
        Color.parse(value)
    except ColorParseError:
        return False
    return value == value.strip()
