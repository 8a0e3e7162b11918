"""Strips carry only the caches that somebody looked into, and show what Textual's own show."""

from __future__ import annotations

import subprocess
import sys

from rich.segment import Segment
from rich.style import Style
from textual.cache import FIFOCache
from textual.strip import Strip

from agent_tui.panes.bare_strips import bare_strips

ASKED = """
import sys
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import Monochrome
from textual.strip import Strip
if sys.argv[1] == "bare":
    from agent_tui.panes.bare_strips import bare_strips
    assert bare_strips()
style = Style(bold=True, color="red", bgcolor="blue")
strip = Strip([Segment("a long ", style), Segment("row of 宽 words", style + Style(dim=True))])
for _ in range(2):
    print(strip.cell_length, strip.cell_count, strip.link_ids, strip.text, bool(strip))
    print(strip.crop(2, 9), strip.crop_extend(0, 40, Style(italic=True)), strip.divide([3, 12, 20]))
    print(strip.adjust_cell_length(5), strip.adjust_cell_length(30), strip.extend_cell_length(33))
    print(strip.apply_style(Style(bgcolor="red")), strip.apply_offsets(3, 4), strip.simplify())
    print(strip.apply_filter(Monochrome(), Color.parse("blue")), Strip.join([strip, strip]), strip)
"""


def _said(kind: str) -> str:
    ended = subprocess.run([sys.executable, "-c", ASKED, kind], capture_output=True, text=True, check=True)
    return ended.stdout


def test_a_bare_strip_answers_as_textuals_own() -> None:
    own = _said("own")
    assert own.count("\n") == 10
    assert _said("bare") == own


def test_what_was_asked_before_is_remembered() -> None:
    assert bare_strips()
    strip = Strip([Segment("some words"), Segment(" and more")])
    assert strip.crop(2, 12) is strip.crop(2, 12)
    assert strip.divide([4, 9]) is strip.divide([4, 9])
    assert strip.crop(2, 12).text == "me words a"


def test_only_what_was_looked_into_is_carried() -> None:
    assert bare_strips()
    strip = Strip([Segment("some words")])
    strip.apply_style(Style(bold=True))
    slots = [name for name, part in vars(Strip).items() if type(part).__name__ == "_Later"]
    carried = [name for name in slots if _carries(strip, name)]
    assert len(slots) == 7 and carried == ["_style_cache"]


def _carries(strip: Strip, name: str) -> bool:
    try:
        return isinstance(vars(Strip)[name]._get(strip), FIFOCache)
    except AttributeError:
        return False
