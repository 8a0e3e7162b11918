"""Owns the screen on which a person sees what agents may do and use, and changes it row by row.

Refuses to know the rooms behind it: each reports itself and does what its rows say. They are asked twice a
second, and only while the screen is open.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from agent_tui.panes.painting import QuickScreen
from agent_tui.panes.report_lines import RowKey, spelt
from agent_tui.panes.report_view import ReportView
from agent_tui.panes.status import Row
from agent_tui.panes.wording import Part, cut, one_line, row
from agent_tui_core.errors import AgentTuiError
from agent_tui_core.runtime.report import Reporter, ReportRow, ReportSection

EVERY = 0.5
"""Seconds between two looks at the rooms."""
_LONGEST_ANSWER = 300
_NOTHING = ReportSection("Tools, rules and trust", (), "Nothing is set up here that could be looked at.")

_log = logging.getLogger(__name__)


class EquipmentScreen(ModalScreen[None], QuickScreen[None]):
    """Rules, hooks, servers, tools, processes, sandbox and project, row by row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f7,q", "dismiss", "back", priority=True, show=False),
        Binding("enter", "act", "act", priority=True, show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home", "move(-1000000)", show=False),
        Binding("end", "move(1000000)", show=False),
        Binding("tab", "section(1)", priority=True, show=False),
        Binding("shift+tab", "section(-1)", priority=True, show=False),
        Binding("f2", "questions", priority=True, show=False),
    ]
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    EquipmentScreen {
        align: center middle;
        #equipment {
            width: 100%; max-width: 140; height: 100%;
            border: round $primary; background: $background; padding: 0 1;
        }
        #equipment-top, #equipment-foot { height: 1; }
        #equipment-top { margin-bottom: 1; }
        ReportView { height: 1fr; }
    }
    """

    def __init__(
        self,
        reporters: Callable[[], Sequence[Reporter]],
        do: Callable[[Coroutine[object, object, object]], None],
        *,
        waiting: Callable[[], int],
        open_questions: Callable[[], object],
    ) -> None:
        """`do` runs work and tells what goes wrong; `waiting` counts the questions behind this screen."""
        super().__init__()
        self._reporters = reporters
        self._do = do
        self._waiting = waiting
        self._open_questions = open_questions
        self._by_section: dict[str, Reporter] = {}
        self._acting: set[RowKey] = set()
        self._view = ReportView(id="equipment-rows")
        self._top = Row(id="equipment-top")
        self._foot = Row(id="equipment-foot")

    def compose(self) -> ComposeResult:
        """A frame, and in it the list between two rows."""
        with Vertical(id="equipment"):
            yield self._top
            yield self._view
            yield self._foot

    def on_mount(self) -> None:
        """Look now, and from now on."""
        self.look()
        self.set_interval(EVERY, self.look)

    def look(self) -> None:
        """Ask every room what it holds."""
        self._by_section.clear()
        sections: list[ReportSection] = []
        for reporter in self._reporters():
            section = _report_of(reporter)
            if section.title in self._by_section:
                section = replace(section, title=f"{section.title} ({len(sections) + 1})")
            self._by_section[section.title] = reporter
            sections.append(section)
        self._view.show(sections or [_NOTHING])
        self._show_rows()

    def on_report_view_moved(self) -> None:
        """Another row has other verbs."""
        self._show_rows()

    def _show_rows(self) -> None:
        waiting = self._waiting()
        words = f" ◆ {waiting} {'waits' if waiting == 1 else 'wait'} for you — f2 " if waiting else ""
        right: list[Part] = [(words, "bold reverse $text-warning")] if waiting else []
        title: Part = ("Tools, rules and trust", "bold $text-accent")
        self._top.show(lambda width: row([title], right, width))
        key = "bold $text-accent"
        parts: list[Part] = []
        if (chosen := self._view.chosen) is not None and chosen[1].verb:
            doing = chosen[0] in self._acting
            verb = cut(spelt(chosen[1].verb), 24)
            parts += [("enter ", key), (f"{verb}{' …' if doing else ''}   ", "")]
        for keys, label in (("↑ ↓", "rows"), ("tab", "sections"), ("esc", "back")):
            parts += [(f"{keys} ", key), (f"{label}   ", "$text-muted")]
        self._foot.show(lambda width: row(parts, [], width))

    # --- keys -----------------------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        """Choose another row."""
        self._view.move(rows)

    def action_page(self, direction: int) -> None:
        """Go a page on, or back."""
        self._view.page(direction)

    def action_section(self, step: int) -> None:
        """Go to the next section, or the one before."""
        self._view.next_section(step)

    def action_questions(self) -> None:
        """Leave, and show the oldest question."""
        self.dismiss(None)
        self.app.call_later(self._open_questions)

    def action_act(self) -> None:
        """Do what the chosen row's verb says."""
        if (chosen := self._view.chosen) is not None:
            self._act(*chosen)

    def on_report_view_acted(self, message: ReportView.Acted) -> None:
        """The same by the mouse."""
        if (chosen := self._view.chosen) is not None and chosen[0] == message.key:
            self._act(*chosen)

    def _act(self, key: RowKey, row: ReportRow) -> None:
        reporter = self._by_section.get(key[0])
        if reporter is not None and row.verb and key not in self._acting:
            self._acting.add(key)
            self._show_rows()
            self._do(self._acted(reporter, key))

    async def _acted(self, reporter: Reporter, key: RowKey) -> None:
        try:
            answer = await reporter.act(key[1])
        finally:
            self._acting.discard(key)
        self.app.notify(cut(one_line(answer) or "Done.", _LONGEST_ANSWER), timeout=5, markup=False)
        if self.is_mounted:
            self.look()


def _report_of(reporter: Reporter) -> ReportSection:
    """What the room says; one that fails says so in its own place, and hides no other."""
    try:
        return reporter.report()
    except AgentTuiError as error:
        words = str(error)
    except Exception as bug:  # noqa: BLE001 - one room's bug must not end the app
        _log.exception("a report failed")
        words = f"{type(bug).__name__}: {bug}"
    name = type(reporter).__name__
    return ReportSection(name, (ReportRow("", "This could not be read", "failed", words, bad=True),))
