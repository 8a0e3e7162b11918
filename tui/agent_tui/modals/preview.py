"""Owns how the thing that waits for approval is drawn: every line of it, wrapped, coloured, counted.

Refuses to hide: what could look like something else is spelt out, and nothing is cut.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Literal

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agent_tui.panes.wording import plural
from agent_tui_core.records import dataclass
from agent_tui_core.text import visible_command

LineKind = Literal["plain", "command", "added", "removed", "hunk", "file", "heading"]
_GUTTER = 2
_WIDTHS_KEPT = 2
"""With a scrollbar and without."""
SPELT_OUT = re.compile(r"(\\u\{[0-9a-f]+\}|‹[^›]*›)")
"""How `visible_text` writes a character that cannot be seen, and `shown` what repeats."""
_REPEATED = re.compile(r" {40,}|(\\u\{[0-9a-f]+\})\1{8,}")
_SPACES_TOLD = re.compile(r"‹[0-9,]+ spaces›")
_BLANK_LINES = 4
"""So many in a row, and more, are told as a number."""


@dataclass(frozen=True, slots=True)
class PreviewLine:
    """One line of what is shown; its text holds no character that a terminal would not simply print."""

    text: str
    kind: LineKind = "plain"
    count: int = 1
    """For how many lines it stands."""


def shown(foreign: str) -> str:
    """`visible_command`, with the common case made cheap, and numbers for what hides the rest by its length.

    The marks round a number are never foreign: `visible_command` spells those out.
    """
    plain = foreign.isascii() and foreign.isprintable()
    return _REPEATED.sub(_told, foreign if plain else visible_command(foreign))


def _told(run: re.Match[str]) -> str:
    if run[1] is None:
        return f"‹{len(run[0]):,} spaces›"
    return f"‹{len(run[0]) // len(run[1]):,} ×› {run[1]}"


def shown_line(foreign: str) -> str:
    """`foreign` as one line: even its line feeds are spelt out."""
    return shown(foreign).replace("\n", "\\u{a}")


def lines_of(
    content: str, kind: Literal["command", "diff", "text"], path: str | None = None
) -> list[PreviewLine]:
    """Take a command, a unified diff or a text apart; only the line feed ends a line.

    The head of a diff is left out where it only repeats `path`, which stands above it.
    """
    lines = content.removesuffix("\n").split("\n")
    if kind == "diff":
        repeated = [f"--- {path}", f"+++ {path}"]
        return list(_folded(_diff_lines(lines[2:] if path and lines[:2] == repeated else lines)))
    first: LineKind = "command" if kind == "command" else "plain"
    return list(
        _folded([PreviewLine(shown(lines[0]), first), *(PreviewLine(shown(each)) for each in lines[1:])])
    )


def _folded(lines: Iterable[PreviewLine]) -> Iterator[PreviewLine]:
    """The same with a number in the place of many blank lines, which would push the rest off the screen."""
    for mark, run in itertools.groupby(lines, _mark_of_blank):
        same = list(run)
        if mark is None or len(same) < _BLANK_LINES:
            yield from same
        else:
            told = f"{mark.strip()}‹{plural(len(same), 'blank line')}›"
            yield PreviewLine(told, same[0].kind, len(same))


def _mark_of_blank(line: PreviewLine) -> str | None:
    """The sign of a line of a diff with nothing behind it; "" for any other blank line, None for words."""
    sign = line.text[:1] if line.kind in ("added", "removed") else ""
    rest = _SPACES_TOLD.sub("", line.text[len(sign) :])
    return sign if not rest.strip(" ") else None


def _diff_lines(lines: Sequence[str]) -> Iterator[PreviewLine]:
    kinds: dict[str, LineKind] = {"+": "added", "-": "removed", "@": "hunk"}
    in_hunk = False
    for line in lines:
        in_hunk = in_hunk or line.startswith("@@")
        yield PreviewLine(shown(line), kinds.get(line[:1], "plain") if in_hunk else "file")


class Preview(ScrollView, can_focus=False):
    """Lines that wrap, each marked where it goes on in the next row."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"preview--{part}" for part in ("added", "removed", "hunk", "file", "heading", "gutter", "spelt-out")
    }
    DEFAULT_CSS = """
    Preview {
        background: $surface;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-background: $panel;
        scrollbar-color: $primary;
        & .preview--added { background: $success 14%; color: $success; }
        & .preview--removed { background: $error 14%; color: $error; }
        & .preview--hunk { color: $secondary; }
        & .preview--file { color: $text-muted; text-style: bold; }
        & .preview--heading { color: $primary; text-style: bold; }
        & .preview--gutter { color: $text-muted; }
        & .preview--spelt-out { color: $warning; text-style: reverse bold; }
        &:ansi {
            & .preview--added { background: ansi_default; color: ansi_green; }
            & .preview--removed { background: ansi_default; color: ansi_red; }
        }
    }
    """

    class Scrolled(Message):
        """Other lines are visible now, or their number has changed."""

    def __init__(self, lines: Sequence[PreviewLine], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines = tuple(lines)
        self._numbers = _numbered(self._lines)
        self.end_seen = False
        """Whether the last row of these lines was on the screen."""
        self._rows: list[tuple[int, str]] = []
        """Each row of the screen: the number of its line, and its part of that line."""
        self._width = 0
        self._wrapped: dict[int, list[tuple[int, str]]] = {}
        """The rows for the widths that were asked for: with many lines, each is work that keys wait for."""

    def show(self, lines: Sequence[PreviewLine]) -> None:
        """Show other lines, from their top."""
        if (given := tuple(lines)) != self._lines:
            self._lines = given
            self._numbers = _numbered(given)
            self.end_seen = False
            self._wrapped.clear()
        self._width = 0
        self._wrap()
        self.scroll_to(y=0, animate=False)

    def rows_for(self, width: int) -> int:
        """How many rows the lines need in `width` cells, without a scrollbar."""
        return len(self._rows_at(width))

    def place(self) -> tuple[int, int, int, bool, bool]:
        """First and last visible line, how many there are, and whether there is more above and below."""
        lines = self._numbers[-1]
        if not self._rows:
            return (1, lines, lines, False, False)
        top = min(round(self.scroll_y), len(self._rows) - 1)
        end = min(top + max(self.size.height, 1), len(self._rows))
        return (
            self._numbers[self._rows[top][0]] + 1,
            self._numbers[self._rows[end - 1][0] + 1],
            lines,
            top > 0,
            end < len(self._rows),
        )

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap to the new width."""
        self._wrap()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Say that other lines are visible."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.Scrolled())

    def render_line(self, y: int) -> Strip:
        """One row, with its gutter."""
        width = self.scrollable_content_region.width
        row = y + round(self.scroll_y)
        base = self.rich_style
        if row >= len(self._rows):
            return Strip.blank(width, base)
        self.end_seen = self.end_seen or row == len(self._rows) - 1
        number, text = self._rows[row]
        kind = self._lines[number].kind
        goes_on = row > 0 and self._rows[row - 1][0] == number
        style = base if kind in ("plain", "command") else self.get_component_rich_style(f"preview--{kind}")
        mark = "↳ " if goes_on else "$ " if kind == "command" else "  "
        segments = [Segment(mark, self._on(style, "gutter")), *self._spelt_out(text, style)]
        used = _GUTTER + cell_len(text)
        return Strip(segments, used).extend_cell_length(width, style).crop(0, width)

    def _spelt_out(self, text: str, style: Style) -> Iterator[Segment]:
        for number, part in enumerate(SPELT_OUT.split(text)):
            if part:
                yield Segment(part, self._on(style, "spelt-out") if number % 2 else style)

    def _on(self, style: Style, component: str) -> Style:
        part = self.get_component_rich_style(f"preview--{component}", partial=True)
        return style + Style(color=part.color, bold=part.bold, reverse=part.reverse)

    def _wrap(self) -> None:
        width = self.scrollable_content_region.width
        if width == self._width or width <= _GUTTER:
            return
        self._width = width
        self._rows = self._rows_at(width)
        self.virtual_size = Size(width, len(self._rows))
        self.post_message(self.Scrolled())
        self.refresh()

    def _rows_at(self, width: int) -> list[tuple[int, str]]:
        if width not in self._wrapped:
            while len(self._wrapped) >= _WIDTHS_KEPT:
                del self._wrapped[next(iter(self._wrapped))]
            self._wrapped[width] = list(self._wrap_at(width))
        return self._wrapped[width]

    def _wrap_at(self, width: int) -> Iterator[tuple[int, str]]:
        room = max(width - _GUTTER, 4)
        for number, line in enumerate(self._lines):
            text = line.text
            if len(text) <= room and text.isascii():
                yield number, text
                continue
            for part in _rows_of(text, room):
                yield number, part


def _rows_of(text: str, room: int) -> Iterator[str]:
    """The rows of one line; what stands for another character is torn only where it is wider than a row."""
    row, used = "", 0
    for number, part in enumerate(SPELT_OUT.split(text)):
        cells = cell_len(part)
        if number % 2 and row and used + cells > room:
            yield row
            row, used = "", 0
        if used + cells <= room:
            row, used = row + part, used + cells
            continue
        *whole, row = _chopped(row + part, room)
        yield from whole
        used = cell_len(row)
    yield row


def _chopped(text: str, room: int) -> list[str]:
    if text.isascii():
        return [text[start : start + room] for start in range(0, len(text), room)]
    return chop_cells(text, room)


def _numbered(lines: Sequence[PreviewLine]) -> list[int]:
    """How many lines come before each of these, and before their end."""
    return list(itertools.accumulate((line.count for line in lines), initial=0))
