"""Owns a widget that draws the rows of a sheet itself: strips, thumb, marker, selection, wheel.

Refuses children and layouts. A strip is kept only while its row is on screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment as RichSegment
from textual import events
from textual.filter import ANSIToTruecolor
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip

from agent_tui.panes.lines import BLANK, Line, cut_segments, printable
from agent_tui.panes.painting import Painted
from agent_tui.panes.palette import DECORATION, Palette
from agent_tui.panes.rows import Row, Spot
from agent_tui.panes.sheet import Sheet

WHEEL_ROWS = 3
_OLD_STRIPS = 16
"""Strips of rows that went, which may lie about until the next look."""
_BITS = 24
_MASK = (1 << _BITS) - 1
_NOWHERE = Spot(1 << 40, 0, 0)


class ScrolledLines(Painted):
    """Rows of a sheet, its own scroll position, a thumb in the last column."""

    ALLOW_SELECT: ClassVar[bool] = True
    DEFAULT_CSS = """
    ScrolledLines { width: 1fr; height: 1fr; background: $background; color: $foreground; }
    """

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.sheet = Sheet()
        self._rows: list[Row] = []
        self._thumb = range(0)
        self._marker = ""
        self._pressed: tuple[int, int] | None = None
        self._shown = Size(0, 0)
        self._strips: dict[tuple[int, bool], tuple[Line, Strip]] = {}
        self._palette: Palette | None = None

    # --- what a subclass and a screen use -------------------------------------------------------------------

    @property
    def unseen_lines(self) -> int:
        """Rows that came below while the reader was elsewhere; 0 when following."""
        return 0 if self.sheet.following else self.sheet.unseen

    @property
    def is_following(self) -> bool:
        """The last row is on screen and stays there."""
        return self.sheet.following

    def marker_words(self) -> str:
        """What stands in the last row while the reader is elsewhere; empty for nothing."""
        unseen = self.unseen_lines
        return f" ↓ {unseen} new line{'' if unseen == 1 else 's'} " if unseen else ""

    def start_again(self) -> None:
        """Forget all rows."""
        self.sheet = Sheet()
        self._rows, self._shown = [], Size(0, 0)
        self._strips.clear()

    def scroll_rows(self, rows: int) -> None:
        """Move by rows, up when negative."""
        self.sheet.scroll(rows, self._height)
        self.show_changes()

    def scroll_page(self, direction: int) -> None:
        """Move by a screen less one row: -1 up, 1 down."""
        self.scroll_rows(direction * max(1, self._height - 1))

    def scroll_to_start(self) -> None:
        """Go to the first row."""
        self.sheet.to_start()
        self.show_changes()

    def scroll_to_end(self) -> None:
        """Go to the last row and follow what comes."""
        self.sheet.to_end()
        self.show_changes()

    def show_changes(self) -> bool:
        """Refresh the region of rows that are not what the screen shows; return whether there was any."""
        size = self.size
        if not size.width or not size.height or not self.is_attached:
            return False
        if size != self._shown:
            self._take_size(size)
        return self._show()

    def _show(self) -> bool:
        """The same, of a size that is taken."""
        size, old_rows, old_thumb, old_marker = self._shown, self._rows, self._thumb, self._marker
        self._arrange()
        changed = _changed_rows(old_rows, self._rows, size.height)
        if old_marker != self._marker:
            changed = range(min([*changed, size.height - 1]), size.height)
        regions = [Region(0, changed.start, size.width, len(changed))] if changed else []
        moved = set(old_thumb) ^ set(self._thumb)
        if moved:
            regions.append(Region(size.width - 1, min(moved), 1, max(moved) + 1 - min(moved)))
        if regions:
            self._keep_strips()
            self.refresh(*regions)
        return bool(regions)

    # --- arranging ------------------------------------------------------------------------------------------

    @property
    def _height(self) -> int:
        return max(1, self._shown.height)

    def _take_size(self, size: Size) -> None:
        self._shown = size
        self._strips.clear()
        self.sheet.resize(max(1, size.width - 1))

    def _arrange(self) -> None:
        height = self._height
        self.sheet.settle(height)
        self._rows = self.sheet.window(height)
        self._marker = self.marker_words()
        total = max(self.sheet.total, len(self._rows))
        if total <= height:
            self._thumb = range(0)
            return
        length = max(1, height * height // total)
        above = min(self.sheet.above(height), total - height)
        start = round((height - length) * above / (total - height))
        self._thumb = range(start, start + length)

    def _keep_strips(self) -> None:
        if len(self._strips) <= self._height + _OLD_STRIPS:
            return
        shown = {id(row.line) for row in self._rows}
        self._strips = {key: value for key, value in self._strips.items() if key[0] in shown}

    def on_resize(self, _event: events.Resize) -> None:
        """Draw what is visible for the new size."""
        self.show_changes()

    def on_unmount(self) -> None:
        """Let go of all that was drawn: a widget that is gone lies about until its circles are collected."""
        self.sheet, self._rows = Sheet(), []
        self._strips.clear()

    def notify_style_update(self) -> None:
        """Textual says that styles or the theme changed."""
        super().notify_style_update()
        self._palette = None
        self._strips.clear()

    # --- strips ---------------------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Give the compositor strips, from the rows of the last tick."""
        if (size := self.size) != self._shown:
            self._take_size(size)
            self._arrange()
        if self.gutter.width or self.gutter.height:
            return super().render_lines(crop)
        strips = self._visible_strips(crop.line_range)
        if crop.width != self._shown.width:
            return [strip.crop(crop.x, crop.right) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        """One strip with offsets, from which Textual tells where a selection starts."""
        spot = self._rows[y].spot if 0 <= y < len(self._rows) else _NOWHERE
        return self._visible_strips(range(y, y + 1))[0].apply_offsets(0, _packed(spot))

    @property
    def palette(self) -> Palette:
        """The colours of the app's theme, on the background of this widget."""
        if self._palette is None:
            app = self.app
            self._palette = Palette(
                app.theme_variables,
                background=self.background_colors[1],
                terminal_colors=app.current_theme.ansi,
            )
        return self._palette

    def _visible_strips(self, screen_rows: range) -> list[Strip]:
        selection = self.text_selection
        rows, kept_strips, thumb = self._rows, self._strips, self._thumb
        marked = self._height - 1 if self._marker else -1
        strips: list[Strip] = []
        for y in screen_rows:
            on_thumb = y in thumb
            if y == marked:
                strips.append(self._make_marker(on_thumb))
                continue
            line = rows[y].line if 0 <= y < len(rows) else BLANK
            if selection is not None and 0 <= y < len(rows):
                span = selection.get_span(_packed(rows[y].spot))
                if span is not None:
                    strips.append(self._make(_selected(line, *span), on_thumb))
                    continue
            key = (id(line), on_thumb)
            kept = kept_strips.get(key)
            if kept is None:
                kept = kept_strips[key] = (line, self._make(line, on_thumb))
            strips.append(kept[1])
        return strips

    def _make(self, line: Line, thumb: bool) -> Strip:
        palette = self.palette
        width = self._shown.width - 1
        segments = [RichSegment(printable(text), palette[style]) for text, style in line.segments if text]
        used = sum([cell_len(segment.text) for segment in segments])
        if used > width:
            segments = [*Strip(segments, used).crop(0, width)]
        elif used < width:
            segments.append(RichSegment(" " * (width - used), palette[line.fill]))
        return self._finish(segments, thumb)

    def _make_marker(self, thumb: bool) -> Strip:
        width = self._shown.width - 1
        words = self._marker[:width]
        base, style = self.palette[""], self.palette["marker"]
        left = (width - cell_len(words)) // 2
        right = width - cell_len(words) - left
        segments = [RichSegment(" " * left, base), RichSegment(words, style), RichSegment(" " * right, base)]
        return self._finish([segment for segment in segments if segment.text], thumb)

    def _finish(self, segments: list[RichSegment], thumb: bool) -> Strip:
        palette = self.palette
        segments.append(RichSegment("▐", palette["thumb"]) if thumb else RichSegment(" ", palette[""]))
        strip = Strip(segments, self._shown.width)
        for line_filter in self.get_line_filters():
            if palette.terminal_colors or not isinstance(line_filter, ANSIToTruecolor):
                strip = strip.apply_filter(line_filter, self.background_colors[1])
        return strip

    # --- selection ------------------------------------------------------------------------------------------

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002 - Textual's name
        """Draw the selection."""
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected characters, without what is only decoration; wrapped rows are joined again."""
        start = None if selection.start is None else _unpacked(selection.start.y)
        end = None if selection.end is None else _unpacked(selection.end.y)
        pieces: list[str] = []
        for spot, line in self.sheet.rows_between(start, end):
            first = selection.start.x if selection.start is not None and spot == start else 0
            last = selection.end.x if selection.end is not None and spot == end else len(line.text)
            pieces += _copied(cut_segments(line.segments, first, last))
            pieces.append(line.join)
        text = "".join(pieces)
        return "\n".join(row.rstrip() for row in text.split("\n")).removesuffix("\n"), "\n"

    # --- the mouse ------------------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """A click on the marker goes to the end."""
        if self._marker and event.y == self._height - 1 and self._pressed == (event.x, event.y):
            self.scroll_to_end()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Remember where, because a drag that selects text is no click."""
        self._pressed = (event.x, event.y)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel, down."""
        event.stop()
        self.scroll_rows(WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel, up."""
        event.stop()
        self.scroll_rows(-WHEEL_ROWS)


def _changed_rows(old: Sequence[Row], new: Sequence[Row], height: int) -> range:
    """The rows of the screen between the first and the last that differ."""
    most = min(height, max(len(old), len(new)))
    differ = [y for y in range(most) if y >= len(old) or y >= len(new) or not _same(old[y].line, new[y].line)]
    return range(differ[0], differ[-1] + 1) if differ else range(0)


def _same(one: Line, other: Line) -> bool:
    return one is other or one == other


def _packed(spot: Spot) -> int:
    return (spot.entry << _BITS | spot.unit) << _BITS | spot.row


def _unpacked(y: int) -> Spot:
    return Spot(y >> 2 * _BITS, y >> _BITS & _MASK, y & _MASK)


def _selected(line: Line, start: int, end: int) -> Line:
    length = len(line.text)
    end = length if end < 0 else min(end, length)
    before, inside = cut_segments(line.segments, 0, start), cut_segments(line.segments, start, end)
    after = cut_segments(line.segments, end, length)
    return Line((*before, *((text, f"{style} selection") for text, style in inside), *after), line.fill)


def _copied(segments: Iterable[tuple[str, str]]) -> list[str]:
    return [text for text, style in segments if DECORATION.isdisjoint(style.split())]
