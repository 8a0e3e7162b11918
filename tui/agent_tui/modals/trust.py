"""Owns the question whether a folder's own rules, hooks, servers and tools may be used; refuses a quick yes.

It lists all that would be let in, spelt out and whole. Everything but y means: not now.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from agent_tui.modals.key_button import KeyButton
from agent_tui.modals.preview import Preview, PreviewLine, shown_line
from agent_tui.modals.yes_no import YesNoScreen
from agent_tui.panes.beneath import Beneath
from agent_tui.panes.wording import plural

MOST_COLUMNS = 110
_EXPLAINED = (
    "Somebody else may have written it. If you say yes, it counts for the agents that work here, until one "
    "byte of it changes; if not, they work without it."
)


class TrustModal(YesNoScreen):
    """What a folder brings along, and yes or not now."""

    DEFAULT_CSS = f"""
    TrustModal {{
        align: center middle;
        #frame {{
            width: 100%; max-width: {MOST_COLUMNS}; height: auto; max-height: 100%;
            border: round $border-blurred; background: $background; padding: 0 1;
            &.-listens {{ border: round $warning; }}
        }}
        #title {{ height: auto; text-style: bold; }}
        #explained {{ height: auto; color: $text-muted; margin-bottom: 1; }}
        #place {{ height: 1; color: $text-muted; }}
        #place.-more {{ color: $warning; }}
        #keys {{ height: 1; margin-top: 1; }}
        #state {{ height: 1; color: $text-muted; }}
        #state.-listens {{ color: $success; }}
        #title, #place, #state {{ text-overflow: ellipsis; }}
    }}
    """

    def __init__(
        self,
        root: Path,
        would_run: Sequence[str],
        problems: Sequence[str] = (),
        *,
        beneath: Beneath | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(beneath, opened_by_key=False, clock=clock)
        self._root = root
        self._preview = Preview(_lines(root, would_run, problems), id="preview")

    def compose(self) -> ComposeResult:
        """The question, all that it is about, and the two answers."""
        with Vertical(id="frame"):
            yield Static(
                Content("This folder brings its own rules and programs. Trust it?"), id="title", markup=False
            )
            yield Static(Content(_EXPLAINED), id="explained", markup=False)
            yield self._preview
            yield Static(id="place", markup=False)
            with Horizontal(id="keys"):
                yield KeyButton("n", "Not now (enter)", "later")
                yield KeyButton("y", "Trust this content", "deny")
            yield Static(id="state", markup=False)

    def on_mount(self) -> None:
        """Fit the list."""
        self._fit()

    def on_resize(self) -> None:
        """Fit the list to the terminal."""
        self._fit()

    def _fit(self) -> None:
        columns, rows = self.app.size
        inner = min(columns, MOST_COLUMNS) - 4
        explained = len(Content(_EXPLAINED).fold(max(inner, 10)))
        room = rows - 2 - 1 - explained - 1 - 1 - 2 - 1
        self._preview.styles.height = max(1, min(self._preview.rows_for(inner - 1), room))

    def on_preview_scrolled(self) -> None:
        """Say where one is in the list, and that there is more."""
        first, last, lines, above, below = self._preview.place()
        place = self.query_one("#place", Static)
        place.set_class(above or below, "-more")
        more = "▼ more below" if below else "▲ the end; more above"
        words = (
            f"  lines {first}–{last} of {lines} · {more} · ↑ ↓ PgUp PgDn Home End"
            if above or below
            else f"  all of it: {plural(lines, 'line')}"
        )
        place.update(Content(words), layout=False)

    def choose(self, key: str) -> None:
        """Only y is a yes, and only to what was on the screen to its end."""
        if key != "y" or not self.reads_on(self._preview, key):
            super().choose(key)

    def scroll_by_key(self, key: str) -> bool:
        """The whole list can be read without a mouse."""
        return self.scroll_part(self._preview, key)


def _lines(root: Path, would_run: Sequence[str], problems: Sequence[str]) -> list[PreviewLine]:
    lines = [PreviewLine(shown_line(str(root)), "file"), PreviewLine("")]
    lines.append(PreviewLine("What it would run, allow and say:", "heading"))
    lines += [PreviewLine(shown_line(each)) for each in would_run] or [PreviewLine("nothing")]
    if problems:
        lines += [
            PreviewLine(""),
            PreviewLine("What is broken, or not a folder's to say, and is not used:", "heading"),
        ]
        lines += [PreviewLine(shown_line(each)) for each in problems]
    return lines
