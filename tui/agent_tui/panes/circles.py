"""Owns the ends of what is gone: it leaves no circle behind, so its memory is free at once.

Refuses to change what is drawn. Textual leaves a screen, a pane and each layout as circles of thousands of
objects, which wait for a walk of the collector; and a walk holds up keys and streams the longer, the more it
finds. Each function here stands in the place of one of Textual's, calls it, and then lets go.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from textual._compositor import Compositor
from textual._styles_cache import StylesCache
from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet
from textual.messages import Prune
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from textual._compositor import CompositorMap
    from textual.css.styles import RenderStyles
    from textual.dom import DOMNode
    from textual.geometry import Size

_divide = Strip.divide
_arrange_root = Compositor._arrange_root
_process_component_classes = Stylesheet._process_component_classes
_leave_widget = Widget._message_loop_exit
_leave_screen = Screen._message_loop_exit
_clear = LRUCache.clear


@functools.cache
def break_up() -> None:
    """Stand in Textual's places from now on; for the moment before the first widget is made."""
    places: tuple[tuple[type, str, Callable[..., Any]], ...] = (
        (Strip, "divide", _divided),
        (Compositor, "_arrange_root", _arranged),
        (Stylesheet, "_process_component_classes", _with_component_classes),
        (Widget, "_message_loop_exit", _left_by_widget),
        (Screen, "_message_loop_exit", _left_by_screen),
        (LRUCache, "clear", _cleared),
        (LRUCache, "__del__", _unlinked),
    )
    for owner, name, function in places:
        setattr(owner, name, function)
    # Two colours of each widget are remembered by the widget itself, for the last 1024 of them: what was
    # closed long ago stays in memory with all that it drew. A class method remembers them by colours alone.
    if callable(remembers := StylesCache.__dict__["get_inner_outer"]):
        setattr(StylesCache, "get_inner_outer", classmethod(remembers))  # noqa: B010


# --- while it is drawn --------------------------------------------------------------------------------------


def _divided(strip: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
    """Cut a strip. Textual's own remembers a strip that stays whole in that strip."""
    wanted = list(cuts)
    return [strip] if wanted == [strip.cell_length] else _divide(strip, wanted)


def _arranged(
    compositor: Compositor, root: Widget, size: Size, visible_only: bool = True
) -> tuple[CompositorMap, set[Widget]]:
    """Place all widgets. Textual's own has a function inside that holds itself, and with it all places."""
    places, widgets = _arrange_root(compositor, root, size, visible_only)
    found = places.copy(), widgets.copy()
    places.clear()
    widgets.clear()
    return found


def _with_component_classes(sheet: Stylesheet, node: DOMNode) -> None:
    """Style the parts of a widget. Each has a node of its own, which its styles hold and which holds them."""
    before = list(node._component_styles.values())
    _process_component_classes(sheet, node)
    for styles in before:
        _let_go(styles)


def _cleared(cache: LRUCache[Any, Any]) -> None:
    _unlinked(cache)
    _clear(cache)


def _unlinked(cache: LRUCache[Any, Any]) -> None:
    """Its entries are a ring of lists; nobody reads them any more."""
    for link in cache._cache.values():
        link.clear()


# --- when it goes -------------------------------------------------------------------------------------------


async def _left_by_widget(widget: Widget) -> None:
    parts = list(widget._component_styles.values())
    await _leave_widget(widget)
    await _end_late(widget)
    for styles in (*parts, widget.styles):
        _let_go(styles)
    widget._animate = widget.styles._animate = None
    for cache in (widget._layout_cache, widget._styles_cache, widget._box_model_cache):
        cache.clear()
    for each in vars(widget).values():
        if isinstance(each, Timer):
            each._callback = None


async def _end_late(widget: Widget) -> None:
    """A layout may have made a scrollbar in the meantime, which nobody asked to end: its task would stay."""
    for late in widget._get_virtual_dom():
        if late._task is not None and not late._task.done():
            late.post_message(Prune())
            await late._task


async def _left_by_screen(screen: Screen[Any]) -> None:
    await _leave_screen(screen)
    drawn = screen._compositor
    drawn.root, drawn._full_map, drawn._visible_map = None, {}, None
    drawn._layers = drawn._layers_visible = drawn._visible_widgets = drawn._cuts = None


def _let_go(styles: RenderStyles) -> None:
    """Styles that belong to no node can still be read and written, and tell nobody."""
    styles.base.node = styles.inline.node = None
