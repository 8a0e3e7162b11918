"""Owns the names of the styles that lines use and their colours in a theme; refuses to know what they mean.

Names combine with spaces ("text strong"): later ones win. Colours that could not be read on the background
are moved towards the text colour until they can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from rich.style import Style
from textual.color import Color, ColorParseError


class Look(NamedTuple):
    """How a style is made: an ink, a ground (empty: what is below), attributes, the least contrast."""

    ink: str = ""
    ground: str = ""
    attributes: str = ""
    contrast: float = 4.5


_LOOKS: dict[str, Look] = {
    "text": Look("text"),
    "muted": Look("muted"),
    "faint": Look("faint", contrast=1.6),
    "strong": Look(attributes="bold"),
    "em": Look(attributes="italic"),
    "strike": Look(attributes="strike"),
    "heading": Look("accent", attributes="bold"),
    "link": Look("primary", attributes="underline"),
    "target": Look("muted"),
    "inline-code": Look("text", "inline"),
    "mark": Look("faint", contrast=2.0),
    "bullet": Look("primary"),
    "quote": Look("muted", attributes="italic"),
    "quote-bar": Look("primary", contrast=2.0),
    "rule": Look("faint", contrast=1.6),
    "table": Look("faint", contrast=2.0),
    "code": Look("text", "code"),
    "code-label": Look("muted", "code", "italic"),
    "code-keyword": Look("accent", "code", "bold"),
    "code-string": Look("success", "code"),
    "code-comment": Look("muted", "code", "italic"),
    "code-number": Look("warning", "code"),
    "code-name": Look("primary", "code"),
    "code-type": Look("secondary", "code"),
    "code-operator": Look("muted", "code"),
    "code-added": Look("success", "code"),
    "code-removed": Look("error", "code"),
    "user": Look("text", "user"),
    "user-bar": Look("accent", "user", contrast=3.0),
    "user-note": Look("muted", "user", "italic"),
    "reasoning": Look("muted", attributes="italic"),
    "fold": Look("muted"),
    "card": Look("text", "card"),
    "card-bar": Look("faint", "card", contrast=2.0),
    "card-title": Look("text", "card", "bold"),
    "card-argument": Look("text", "card"),
    "card-output": Look("muted", "card"),
    "card-note": Look("muted", "card", "italic"),
    "running": Look("primary"),
    "waiting": Look("warning", attributes="bold"),
    "ok": Look("success"),
    "error": Look("error"),
    "warning": Look("warning"),
    "info": Look("muted"),
    "diff": Look("text", "card"),
    "diff-number": Look("muted", contrast=3.0),
    "diff-added": Look("text", "added"),
    "diff-removed": Look("text", "removed"),
    "diff-added-mark": Look("success", "added", "bold"),
    "diff-removed-mark": Look("error", "removed", "bold"),
    "diff-hunk": Look("muted", "card", "italic"),
    "command": Look("text", "code"),
    "thumb": Look("muted", contrast=2.0),
    "marker": Look("back", "accent", "bold"),
    "selection": Look("", "chosen"),
    "margin": Look(),
}

STYLE_NAMES = tuple(_LOOKS)
"""Every style that a segment of a line may name."""

DECORATION = frozenset({"user-bar", "quote-bar", "card-bar", "mark", "margin", "diff-number", "thumb"})
"""Segments with one of these names are drawn but not copied."""

_TERMINAL_GROUNDS = {"accent": "reverse", "chosen": "reverse"}
_TERMINAL_INKS = {"added": "success", "removed": "error", "inline": "secondary"}
"""With the terminal's own colours no shade of the background is known; these stand out otherwise."""


class Palette:
    """Makes a Rich style of the names on a segment, once for each combination."""

    def __init__(self, variables: Mapping[str, str], *, background: Color, terminal_colors: bool) -> None:
        self.terminal_colors = terminal_colors
        """The colours are the terminal's own; no shade between two of them is known."""
        self._styles = _terminal_styles(variables) if terminal_colors else _styles(variables, background)
        self._combined: dict[str, Style] = {}

    def __getitem__(self, names: str) -> Style:
        style = self._combined.get(names)
        if style is None:
            style = self._styles[""]
            for name in names.split():
                style += self._styles.get(name, Style.null())
            self._combined[names] = style
        return style


def _styles(variables: Mapping[str, str], background: Color) -> dict[str, Style]:
    def color(name: str, default: Color) -> Color:
        return _parse(variables.get(name, ""), default)

    solid = background.a == 1 and background.ansi is None
    back = background if solid else color("background", Color(0, 0, 0))
    text = _readable(color("foreground", back.inverse), back, back.get_contrast_text(1.0), 7.0)
    inks = {
        name: color(name, text) for name in ("primary", "secondary", "accent", "success", "warning", "error")
    }
    grounds = {
        "code": back.blend(text, 0.07),
        "inline": back.blend(text, 0.13),
        "card": back.blend(text, 0.035),
        "user": back.blend(inks["primary"], 0.14),
        "added": back.blend(inks["success"], 0.2),
        "removed": back.blend(inks["error"], 0.2),
        "accent": _readable(inks["accent"], back, text, 4.5),
        "chosen": back.blend(inks["primary"], 0.45),
    }
    inks |= {"text": text, "back": back, "muted": text.blend(back, 0.32), "faint": text.blend(back, 0.7)}
    styles = {"": Style.from_color(text.rich_color, back.rich_color)}
    for name, look in _LOOKS.items():
        ground = grounds.get(look.ground)
        ink = inks.get(look.ink)
        if ink is not None and look.ink != "back":
            ink = _readable(ink, grounds["card"] if ground is None else ground, text, look.contrast)
        styles[name] = Style.parse(look.attributes or "") + Style.from_color(
            None if ink is None else ink.rich_color, None if ground is None else ground.rich_color
        )
    return styles


def _terminal_styles(variables: Mapping[str, str]) -> dict[str, Style]:
    styles = {"": Style.from_color(None, None)}
    for name, look in _LOOKS.items():
        attributes = [look.attributes, _TERMINAL_GROUNDS.get(look.ground, "")]
        ink: Color | None = None
        if look.ink in {"muted", "faint"}:
            attributes.append("dim")
        elif look.ink not in {"", "text", "back"}:
            ink = _parse(variables.get(look.ink, ""), None)
        if instead := _TERMINAL_INKS.get(look.ground):
            ink = _parse(variables.get(instead, ""), None)
        styles[name] = Style.parse(" ".join(attributes)) + Style.from_color(ink and ink.rich_color)
    return styles


_Default = TypeVar("_Default", Color, None)


def _parse(value: str, default: _Default) -> Color | _Default:
    try:
        return Color.parse(value.partition(" ")[0])
    except ColorParseError:
        return default


def _readable(ink: Color, ground: Color, towards: Color, contrast: float) -> Color:
    """Move an ink towards the text's, then towards black or white, until its contrast (WCAG) is enough."""
    end = ground.get_contrast_text(1.0)
    for start, goal in ((ink, towards), (towards, end)):
        for step in range(11):
            moved = start.blend(goal, step / 10)
            if _contrast(moved, ground) >= contrast:
                return moved
    return end


def _contrast(one: Color, other: Color) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
