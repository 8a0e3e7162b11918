"""Owns the way of changed rows to the terminal: which widgets are asked for which rows, and what is written.

Refuses to lay out and to decide what a row shows. It stands where Textual's own way stands, draws the same
cells, and asks only for rows that changed; a frame with 32 streaming panes is what it is made for.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from rich.segment import Segment
from textual import events
from textual._compositor import Compositor, CompositorUpdate
from textual.app import App, ReturnType
from textual.dom import NoScreen
from textual.geometry import Region, Size
from textual.screen import Screen, ScreenResultType
from textual.strip import Strip
from textual.widget import Widget

from agent_tui.keyboard import Keyboard
from agent_tui.panes.bare_strips import bare_strips
from agent_tui.panes.cell_table import take_over
from agent_tui.panes.circles import break_up
from agent_tui.panes.steady import steadied, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.style import Style
    from textual.content import Content
    from textual.driver import Driver

_ANSWER_SECONDS: Final = 0.05
"""How long after a key everything is painted at once: what it changes can take a few turns of the loop."""

LONG_FRAME: Final = 0.005
"""Seconds; after a longer frame others of the loop come first, a key among them: Textual's clock paints."""


class Piece(NamedTuple):
    """Cells of one row of the screen that one widget draws: from `start` to before `end`."""

    y: int
    start: int
    end: int
    widget: Widget
    region: Region
    """The whole widget on the screen."""


class PiecesUpdate(CompositorUpdate):
    """Strips and where they go."""

    def __init__(self, strips: list[tuple[int, int, Strip]]) -> None:
        self._strips = strips

    def render_segments(self, console: Console) -> str:
        """The update as the terminal reads it."""
        return "".join([written(strip, x, y, console) for x, y, strip in self._strips])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Segment(self.render_segments(console), control=[])


class Painter(Compositor):
    """A compositor that asks the widgets on top of changed cells for those rows, and nobody else.

    Textual's asks every widget in the box round all changes for all of its rows, then cuts each of them.
    """

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        """Draw the whole without a pane that goes: it is in the map until the next layout."""
        shown = self.visible_widgets
        for widget in [each for each in shown if not _has_screen(each)]:
            del shown[widget]
        return super()._get_renders(crop)

    def render_partial_update(self) -> PiecesUpdate | None:  # type: ignore[override]
        """Draw what is dirty; None when nothing is."""
        screen = self.size.region
        dirty = [region for one in self._dirty_regions if (region := one.intersection(screen))]
        self._dirty_regions.clear()
        return PiecesUpdate(_drawn(self._pieces(dirty))) if dirty else None

    def _pieces(self, dirty: Iterable[Region]) -> list[Piece]:
        layers = self.layers_visible
        pieces: list[Piece] = []
        for y, start, end in self._regions_to_spans(dirty):
            gaps = [(start, end)]
            for widget, shown, region in layers[y]:  # the topmost first
                left, right = shown.x, shown.x + shown.width
                below: list[tuple[int, int]] = []
                for a, b in gaps:
                    from_, to = max(a, left), min(b, right)
                    if from_ >= to:
                        below.append((a, b))
                        continue
                    pieces.append(Piece(y, from_, to, widget, region))
                    below += [gap for gap in ((a, from_), (to, b)) if gap[0] < gap[1]]
                gaps = below
                if not gaps:
                    break
        return pieces


def _drawn(pieces: list[Piece]) -> list[tuple[int, int, Strip]]:
    """Ask each widget once, for the rows from its first to its last that is wanted."""
    spans: dict[Widget, tuple[int, int]] = {}
    for y, _, _, widget, _ in pieces:  # from the top down
        first, _ = spans.get(widget, (y, y))
        spans[widget] = first, y
    rows: dict[Widget, list[Strip]] = {}
    strips: list[tuple[int, int, Strip]] = []
    for y, start, end, widget, region in pieces:
        first, last = spans[widget]
        if (drawn := rows.get(widget)) is None:
            crop = Region(0, first - region.y, region.width, last - first + 1)
            try:
                drawn = widget.render_lines(crop)
            except NoScreen:  # it goes: the next layout knows what is in its place
                drawn = []
            rows[widget] = drawn
        if y - first >= len(drawn):
            continue
        strip = drawn[y - first]
        if end - start != region.width:
            strip = strip.crop(start - region.x, end - region.x)
        strips.append((start, y, strip))
    return strips


def _has_screen(widget: Widget) -> bool:
    return any(isinstance(node, Screen) for node in widget.ancestors_with_self)


class QuickScreen(Screen[ScreenResultType]):
    """A screen that paints what a key changed as soon as it changed.

    Textual paints at the strokes of a clock of 60 Hz, and after a stroke that painted it may miss one.
    """

    _answers_until = float("-inf")
    _stood_back = False
    _in_frame = False
    _frame_began = 0.0

    def answer(self) -> None:
        """A key came, or the like: do not let the person wait for what it does."""
        self._answers_until = time.monotonic() + _ANSWER_SECONDS

    def begin_frame(self) -> None:
        """Several widgets will draw now: paint when all did."""
        self._in_frame, self._frame_began = True, time.monotonic()

    def end_frame(self) -> None:
        """Paint what they drew, in this turn of the loop; what asks for more waits for Textual's clock."""
        self._in_frame = False
        more = self._layout_required or self._scroll_required or self._repaint_required
        more = more or time.monotonic() - self._frame_began > LONG_FRAME
        if more or self._callbacks or self._recompose_required or not self._may_paint():
            self.check_idle()
        elif self._dirty_widgets:
            try:
                super()._on_timer_update()
            except Exception as error:  # noqa: BLE001 - as Textual does when its clock paints
                self.app._handle_exception(error)

    def _may_paint(self) -> bool:
        app = self.app
        waits = isinstance(app, QuickApp) and app.keyboard.waits()
        return not waits and not app._batch_count and self.is_current and app.screen is self

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        """Say new sizes in its own name: a widget keeps its last message, and so whoever sent it, for long.

        Textual has a question do it that is over this screen when the terminal changes its size.
        """
        with self._context():
            super()._refresh_layout(size, scroll)

    async def on_event(self, event: events.Event) -> None:
        """Whatever size an event says, the one that the terminal has now counts.

        A screen that is laid out sends itself a `Resize`. Where two sizes are on their way at once, each of
        them would bring the other back for ever, and nobody else in the loop would have a turn (Textual 8.2).
        """
        if isinstance(event, events.Resize):
            event.size = self.app.size
        await super().on_event(event)

    def _compositor_refresh(self) -> None:
        """Write what changed; nothing while nobody can see it."""
        if isinstance(self.app, QuickApp) and self.app.unseen:
            self._dirty_widgets.clear()
            self._compositor._dirty_regions.clear()
            return
        super()._compositor_refresh()

    def check_idle(self) -> None:
        """Do what `MessagePump.check_idle` does, but not for each widget of a frame."""
        if not self._in_frame:
            super().check_idle()

    async def _on_idle(self, event: events.Idle) -> None:  # noqa: ARG002 - Textual calls its own as well
        if self._dirty_widgets and not self.app._batch_count and time.monotonic() < self._answers_until:
            super()._on_timer_update()
            if isinstance(self.app, QuickApp):
                self.app.keyboard.answered()

    def _on_timer_update(self) -> None:
        """Paint at a stroke of the clock; once leave it to the key that waits, which paints everything."""
        self._stood_back = (
            not self._stood_back and isinstance(self.app, QuickApp) and self.app.keyboard.waits()
        )
        if not self._stood_back:
            super()._on_timer_update()


class QuickApp(App[ReturnType]):
    """An app whose screens know when a key waits."""

    def __init__(self, keyboard: Keyboard, driver_class: type[Driver] | None = None) -> None:
        break_up()
        bare_strips()
        take_over()
        self.keyboard = keyboard
        """Set before anything is painted."""
        self.unseen = False
        """The terminal has no size yet: nothing is painted."""
        self._waits_to_be_seen: list[Callable[[], object]] = []
        super().__init__(driver_class=driver_class)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        """Write what any screen drew so that each character stays in its cells."""
        super()._display(screen, steadied(renderable))

    def when_seen(self, work: Callable[[], object]) -> None:
        """Do this now, or as soon as the screen can be seen."""
        if self.unseen:
            self._waits_to_be_seen.append(work)
        else:
            work()

    def see(self) -> None:
        """The terminal has a size."""
        if not self.unseen:
            return
        self.unseen = False
        waiting, self._waits_to_be_seen = self._waits_to_be_seen, []
        for work in (self.screen.refresh, *waiting):
            self.call_later(work)

    async def on_event(self, event: events.Event) -> None:
        """Let the screen paint at once what a key changes."""
        if isinstance(event, events.InputEvent) and isinstance(self.screen, QuickScreen):
            self.screen.answer()
        await super().on_event(event)


class Painted(Widget):
    """A widget that draws its rows itself: it says so to the screen directly."""

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Do what `Widget.refresh` does; that one sends a message to the widget, and one to the screen."""
        if layout or recompose or not repaint or not self._is_mounted or not self.is_attached:
            return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)
        self._layout_cache.clear()
        self._rich_style_cache.clear()
        self._set_dirty(*regions)
        if self.display:
            screen = self.screen
            screen._dirty_widgets.add(self)
            screen.check_idle()
        return self


class PaintedWords(Painted):
    """The same for rows of `Content` as `wording.row` makes them: spans in order, none over another."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._looks: dict[str, Style] = {}

    def draw_words(self, content: Content, width: int) -> Strip:
        """Draw a row; Textual's own way costs five times as much."""
        text, segments, at = content.plain, list[Segment](), 0
        for start, end, style in content.spans:
            if start > at:
                segments.append(Segment(text[at:start], self._look("")))
            if end > start:
                segments.append(Segment(text[start:end], self._look(str(style))))
            at = end
        if at < len(text):
            segments.append(Segment(text[at:], self._look("")))
        strip = Strip(segments).adjust_cell_length(width, self._look(""))
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, self.background_colors[1])
        return strip

    def notify_style_update(self) -> None:
        """Textual says that styles or the theme changed."""
        super().notify_style_update()
        self._looks.clear()

    def _look(self, style: str) -> Style:
        look = self._looks.get(style)
        if look is None:
            base = self.visual_style
            look = self._looks[style] = (base + self._get_style(style) if style else base).rich_style
        return look
