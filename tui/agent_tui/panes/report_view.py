"""Owns the list in which a person looks at reports: its cursor, its scrolling, the mouse; refuses to act.

It draws the lines on screen itself, so that a list that is read anew twice a second costs no layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agent_tui.panes.report_lines import ReportLine, RowKey, report_lines
from agent_tui_core.runtime.report import ReportRow, ReportSection

_LOOKS = ("head", "count", "bad", "state", "detail", "verb", "empty", "chosen")


class ReportView(ScrollView, can_focus=False):
    """Sections of rows, one of which is chosen."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"report--{look}" for look in _LOOKS}
    DEFAULT_CSS = """
    ReportView {
        background: $background; color: $foreground;
        overflow-x: hidden; overflow-y: auto;
        scrollbar-size-vertical: 1; scrollbar-background: $panel; scrollbar-color: $primary;
        & .report--head { color: $text-accent; text-style: bold; }
        & .report--count { color: $text-muted; }
        & .report--bad { color: $text-error; text-style: bold; }
        & .report--state { color: $text-secondary; }
        & .report--detail { color: $text-muted; }
        & .report--verb { color: $text-accent; }
        & .report--empty { color: $text-muted; }
        & .report--chosen { background: $primary-muted; text-style: bold; }
        &:ansi .report--chosen { background: ansi_default; text-style: bold reverse; }
    }
    """

    class Acted(Message):
        """The button of a row was clicked."""

        def __init__(self, key: RowKey) -> None:
            super().__init__()
            self.key = key

    class Moved(Message):
        """Another row is chosen."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._sections: tuple[ReportSection, ...] = ()
        self._lines: list[ReportLine] = []
        self._rows: dict[RowKey, ReportRow] = {}
        self._chosen: RowKey | None = None
        self._place = 0
        """Where the chosen row stands among the rows."""
        self._wrapped_to = 0

    @property
    def chosen(self) -> tuple[RowKey, ReportRow] | None:
        """The row that keys mean."""
        row = self._rows.get(self._chosen) if self._chosen else None
        return (self._chosen, row) if self._chosen and row else None

    def show(self, sections: Sequence[ReportSection]) -> None:
        """Show what the rooms hold now; the chosen row and the place stay."""
        if tuple(sections) == self._sections:
            return
        self._sections = tuple(sections)
        self._rows = {(section.title, row.id): row for section in sections for row in section.rows}
        if self._chosen not in self._rows:
            keys = list(self._rows)
            self._place = min(self._place, max(len(keys) - 1, 0))
            self._chosen = keys[self._place] if keys else None
        self._wrap()
        self.post_message(self.Moved())

    # --- moving ---------------------------------------------------------------------------------------------

    def move(self, rows: int) -> None:
        """Choose another row; without any further one the list is scrolled, so that all of it can be read."""
        keys = list(self._rows)
        if not keys:
            self.scroll_relative(y=rows, animate=False)
            return
        place = self._place + rows
        if 0 <= place < len(keys):
            self._choose(keys[place])
        else:
            self._choose(keys[0 if place < 0 else -1])
            (self.scroll_home if place < 0 else self.scroll_end)(animate=False)

    def page(self, direction: int) -> None:
        """Choose the first row on the next or the previous page."""
        height = max(self.size.height - 1, 1)
        at = next((y for y, line in enumerate(self._lines) if line.key == self._chosen), 0)
        wanted = at + direction * height
        starts = [(y, line.key) for y, line in enumerate(self._lines) if line.key and line.is_first]
        if not starts:
            self.scroll_relative(y=direction * height, animate=False)
            return
        if not 0 <= wanted < len(self._lines):
            self.move(direction * len(starts))
            return
        self._choose(min(starts, key=lambda start: abs(start[0] - wanted))[1])

    def next_section(self, step: int) -> None:
        """Choose the first row of the next section that has one."""
        titles = list(dict.fromkeys(title for title, _ in self._rows))
        if titles and self._chosen:
            title = titles[(titles.index(self._chosen[0]) + step) % len(titles)]
            self._choose(next(key for key in self._rows if key[0] == title))

    def _choose(self, key: RowKey | None) -> None:
        if key is None:
            return
        self._chosen = key
        self._place = list(self._rows).index(key)
        self._keep_in_view()
        self.refresh()
        self.post_message(self.Moved())

    def _keep_in_view(self) -> None:
        ys = [y for y, line in enumerate(self._lines) if line.key == self._chosen]
        if not ys:
            return
        top, height = round(self.scroll_y), max(self.size.height, 1)
        first, last = ys[0], min(ys[-1], ys[0] + height - 1)
        while first and self._lines[first - 1].key is None:  # its heading, when it is the first of them
            first -= 1
        if first < top or last - first >= height:
            self.scroll_to(
                y=min(first, max(last - height + 1, 0)) if last - first >= height else first, animate=False
            )
        elif last >= top + height:
            self.scroll_to(y=last - height + 1, animate=False)

    # --- the mouse ------------------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """Choose the row; a click on its button does what the button says."""
        y = event.y + round(self.scroll_y)
        if not 0 <= y < len(self._lines) or (line := self._lines[y]).key is None:
            return
        self._choose(line.key)
        at = 0
        for text, look in line.parts:
            if look == "verb" and at <= event.x < at + cell_len(text):
                self.post_message(self.Acted(line.key))
            at += cell_len(text)

    # --- drawing --------------------------------------------------------------------------------------------

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap to the new width."""
        self._wrap()
        self._keep_in_view()

    def _wrap(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        self._lines = report_lines(self._sections, width - 1)
        self.virtual_size = Size(width, len(self._lines))
        if self.scrollable_content_region.width != width and width != self._wrapped_to:
            self._wrapped_to = width
            self.call_after_refresh(self._wrap)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line, with the mark of the chosen row."""
        width = self.scrollable_content_region.width
        at = y + round(self.scroll_y)
        base = self.rich_style
        if at >= len(self._lines):
            return Strip.blank(width, base)
        line = self._lines[at]
        is_chosen = line.key is not None and line.key == self._chosen
        if is_chosen:
            base = base + self._look("chosen")
        segments: list[Segment] = []
        for text, look in line.parts:
            style = base + self._look(look) if look in _LOOKS else base
            if is_chosen and look == "verb":
                style += Style(reverse=True)
            segments.append(Segment(text, style))
        strip = Strip(segments).adjust_cell_length(width, base)
        if is_chosen and line.is_first:
            strip = Strip.join([Strip([Segment("  ▸ ", base)]), strip.crop(4, width)])
        return strip

    def _look(self, name: str) -> Style:
        part = self.get_component_rich_style(f"report--{name}", partial=True)
        keeps = name in {"chosen", "verb"}
        return Style(
            color=part.color, bgcolor=part.bgcolor if keeps else None, bold=part.bold, reverse=part.reverse
        )
