"""Owns the question of one tool call: what is shown of it, and which key gives which answer.

Refuses to answer by itself, to take typing for an answer, and to hide a part of what would run. The answer
goes back to whoever opened it, together with `request.id`, which is what the person saw.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Literal, TypeAlias

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from agent_tui.modals.approval_look import CSS, MOST_COLUMNS
from agent_tui.modals.arming import ArmedScreen
from agent_tui.modals.clean_input import CleanInput, PassingTextArea
from agent_tui.modals.edited_input import EditedInput
from agent_tui.modals.key_button import ButtonKind, KeyButton
from agent_tui.modals.particulars import detail_lines, detail_rows, title
from agent_tui.modals.preview import Preview, PreviewLine, lines_of
from agent_tui.modals.saved_rule import SavedRule
from agent_tui.panes.beneath import Beneath
from agent_tui.panes.wording import age, plural
from agent_tui_core.agent.approvals import (
    AllowAlways,
    AllowEdited,
    AllowOnce,
    Answer,
    DenyCall,
    RuleScope,
)
from agent_tui_core.events import ApprovalRequest
from agent_tui_core.text import safe_line

_COLUMNS_OF_KEYS = 64
_ROWS: tuple[tuple[tuple[str, str, ButtonKind], ...], ...] = (
    (("y", "Allow once", "allow"), ("a", "Allow and remember", "allow"), ("e", "Edit, then allow", "allow")),
    (
        ("n", "Deny", "deny"),
        ("r", "Deny with a reason", "deny"),
        ("s", "Deny and stop", "deny"),
        ("l", "Later", "later"),
    ),
)
_CHOSEN = {key: label for row in _ROWS for key, label, _ in row}

Outcome: TypeAlias = Answer | Literal["later", "left", "right"] | None
Mode: TypeAlias = Literal["question", "reason", "rule", "edit"]


class ApprovalModal(ArmedScreen[Outcome]):
    """One waiting call: who asks, all of what would run, why it asks, and the answers."""

    DECIDES: ClassVar[frozenset[str]] = frozenset("yans")
    AT_ONCE: ClassVar[frozenset[str]] = frozenset({"w", "m", "e", "r", "l", "left", "right"})
    DEFAULT_CSS = CSS

    def __init__(
        self,
        request: ApprovalRequest,
        waiting: Callable[[], int],
        opened_by_key: bool,
        *,
        number: int | None = None,
        beneath: Beneath | None = None,
        held: str = "",
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        rule_problem: Callable[[str], str | None] | None = None,
        also_allows: Callable[[str, RuleScope], int] = lambda _rule, _scope: 0,
    ) -> None:
        """`waiting` says how many questions wait besides this one.

        `rule_problem` says why a rule cannot be saved for this call; without it the rule cannot be edited.
        `also_allows` counts the other waiting calls that a rule would let run.
        """
        super().__init__(beneath, opened_by_key=opened_by_key, held=held, clock=clock)
        self.request = request
        self.mode: Mode = "question"
        self._waiting = waiting
        self._number = number
        self._wall = wall
        self._also_allows = also_allows
        self._warned_of = 0  # so many other calls the person was told of that `a` would let run
        self._inner = MOST_COLUMNS
        self._queue_words = ""
        self._edited = EditedInput(request)
        self._saved = SavedRule(request, rule_problem)
        self._drawn: tuple[str | None, list[PreviewLine]] | None = None
        self._preview = Preview((), id="preview")
        self._buttons = {key: KeyButton(key, label, kind) for row in _ROWS for key, label, kind in row}

    # --- what is shown --------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """A frame of fixed rows round one part that scrolls."""
        with Vertical(id="frame"):
            with Horizontal(id="top"):
                yield Static(id="title", markup=False)
                yield Static(id="queue", markup=False)
            yield self._preview
            yield PassingTextArea(id="editor", classes="-hidden", highlight_cursor_line=False)
            yield Static(id="place", markup=False)
            yield Static(id="details", markup=False)
            with Vertical(id="keys"):
                for row in _ROWS:
                    with Horizontal():
                        for key, _, _ in row:
                            yield self._buttons[key]
            with Vertical(id="ask-reason", classes="-hidden"):
                yield Static(Content("Why not? The model reads this."), markup=False)
                yield CleanInput(
                    id="reason", placeholder="enter denies with this reason", select_on_focus=False
                )
            with Vertical(id="ask-rule", classes="-hidden"):
                yield Static(Content("Which rule? It has to cover this call."), markup=False)
                yield CleanInput(id="rule", select_on_focus=False)
            yield Static(id="state", markup=False)

    def on_mount(self) -> None:
        """Fit the parts, and show the age from now on."""
        self.query_one("#editor", TextArea).cursor_blink = False
        for line in self.query(CleanInput):
            line.cursor_blink = False
        self._buttons["a"].set_able(self.takes("a"))
        self._buttons["e"].set_able(self.takes("e"))
        self._fit()
        self._show_queue()
        self.set_interval(1.0, self._show_queue)

    def on_resize(self) -> None:
        """Fit the parts to the terminal."""
        self._fit()

    def _fit(self) -> None:
        columns, rows = self.app.size
        self._inner = inner = min(columns, MOST_COLUMNS) - 4
        narrow = inner < _COLUMNS_OF_KEYS
        self.query_one("#keys").set_class(narrow, "-narrow")
        details, rest = detail_rows(self.request, inner, self._saved.rows())
        # Besides: the frame's two, the top, the place, a gap, the keys, the state.
        around = 6 + (sum(map(len, _ROWS)) if narrow else len(_ROWS))
        room = rows - around - len(details)
        if room < 4:
            details, rest, room = [], detail_lines(self.request, self._saved.rows()), rows - around
        self._preview.show([*self._lines(), *rest])
        wanted = self._preview.rows_for(inner)
        airy = room - 2 >= min(wanted, 20)
        self.query_one("#frame").set_class(airy, "-airy")
        room -= 2 * airy
        self._preview.styles.height = max(1, min(wanted, room))
        self.query_one("#editor").styles.height = max(1, min(max(wanted, 6), room))
        self.query_one("#details", Static).update(Content("\n").join(details))
        self.query_one("#details").set_class(not details, "-hidden")
        self._show_title()

    def _show_title(self) -> None:
        room = self._inner - cell_len(self._queue_words) - 1
        words = title(self.request, self._number, room, edited=self._edited.changed)
        self.query_one("#title", Static).update(words, layout=False)

    def _show_queue(self) -> None:
        behind = self._waiting()
        asked = age(self._wall() - self.request.asked_at)
        words = "asked now" if asked == "now" else f"asked {asked} ago"
        if behind:
            words += f" · ← → {plural(behind, 'more waits', 'more wait')}"
        resized = len(words) != len(self._queue_words)
        self._queue_words = words
        self.query_one("#queue", Static).update(Content(words), layout=resized)
        if resized:
            self._show_title()

    def _lines(self) -> list[PreviewLine]:
        """What would run, taken apart once for each text that a person makes of it."""
        edited = self._edited.text if self._edited.changed else None
        if self._drawn is None or self._drawn[0] != edited:
            shown = self.request.preview
            self._drawn = (
                edited,
                (
                    lines_of(shown.content, shown.kind, shown.path)
                    if edited is None
                    else lines_of(edited, "command" if self._edited.is_command else "text")
                ),
            )
        return self._drawn[1]

    def on_preview_scrolled(self) -> None:
        """Say where one is in the text, and that there is more."""
        first, last, lines, above, below = self._preview.place()
        place = self.query_one("#place", Static)
        place.set_class(above or below, "-more")
        if not (above or below):
            place.update(Content(f"  all of it: {plural(lines, 'line')}"), layout=False)
            return
        more = "▼ more below" if below else "▲ the end; more above"
        words = f"  lines {first}–{last} of {lines} · {more} · ↑ ↓ PgUp PgDn Home End"
        place.update(Content(words), layout=False)

    def show_hearing(self) -> None:
        """Say whether a key answers now."""
        state = self.query_one("#state", Static)
        listens = self.mode == "question" and self.hearing != "deaf"
        self.query_one("#frame").set_class(listens, "-listens")
        state.set_class(listens, "-listens")
        state.set_class(bool(self._said or self._saved.error) and not listens, "-says")
        state.update(Content(self._state_words()), layout=False)
        if self.hearing == "armed":
            self._said = ""

    def _state_words(self) -> str:
        match self.mode:
            case "reason":
                return "enter denies with this reason · esc goes back, the reason stays"
            case "rule":
                return (
                    self._saved.error
                    or "enter takes this rule, esc leaves it as it was · nothing is saved before a"
                )
            case "edit":
                return f"esc goes back to the question with your {self._edited.what} · nothing runs before y"
        if self._guard.chosen is not None:
            return f"● {_CHOSEN[self._guard.chosen.key]} …"
        if self.hearing == "armed":
            return f"● {self._said or 'Press a key to answer'}"
        return f"◌ {self._said or 'One moment: keys do not answer yet'}"

    # --- what is answered -----------------------------------------------------------------------------------

    def takes(self, key: str) -> bool:
        """Whether this answer can be given now."""
        if key in {"a", "w"}:
            return self._saved.possible and not self._edited.changed
        if key == "m":
            return self._saved.editable and not self._edited.changed
        if key == "e":
            return self._edited.possible
        if key in {"left", "right"}:
            return self._waiting() > 0
        return super().takes(key)

    def choose(self, key: str) -> None:
        """Act on an answer that was meant as one."""
        match key:
            case "y" | "a" if self.reads_on(self._preview, key):
                return
            case "y":
                self._allow()
            case "a":
                self._allow_always()
            case "w":
                self._saved.next_scope()
                self._warned_of = 0
                self._fit()
            case "m":
                self._enter("rule")
            case "n":
                self.settle(DenyCall())
            case "s":
                self.settle(DenyCall(stop=True))
            case "l" | "escape":
                self.settle("later")
            case "left" | "right":
                self.settle("left" if key == "left" else "right")
            case "r":
                self._enter("reason")
            case "e":
                self._enter("edit")

    def _allow(self) -> None:
        if self._edited.error:
            self._said = self._edited.error
            self.be_deaf()
        elif self._edited.changed:
            self.settle(AllowEdited(self._edited.input()))
        else:
            self.settle(AllowOnce())

    def _allow_always(self) -> None:
        """A rule that lets other calls run as well needs a second key, with their number in words."""
        others = self._also_allows(self._saved.rule, self._saved.scope)
        if others > self._warned_of:
            self._warned_of = others
            self._said = (
                f"a again: it also allows {plural(others, 'other call that waits', 'other calls that wait')}"
            )
            self.be_deaf()
        else:
            self.settle(AllowAlways(self._saved.rule, self._saved.scope))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in the reason: denied, in the person's words; in the rule: it is taken, not yet saved."""
        if self.mode == "reason":
            self.settle(DenyCall(safe_line(event.value)))
        elif self.mode == "rule":
            if self._saved.write(event.value):
                self._enter("question")
                self._fit()
            else:
                self.show_hearing()

    def _enter(self, mode: Mode) -> None:
        self.mode = mode
        self.query_one("#keys").set_class(mode in {"reason", "rule"}, "-hidden")
        self.query_one("#keys").set_class(mode == "edit", "-unseen")
        self.query_one("#ask-reason").set_class(mode != "reason", "-hidden")
        self.query_one("#ask-rule").set_class(mode != "rule", "-hidden")
        self.query_one("#editor").set_class(mode != "edit", "-hidden")
        self._preview.set_class(mode == "edit", "-hidden")
        self.query_one("#place").set_class(mode == "edit", "-hidden")
        if mode == "reason":
            self.query_one("#reason", Input).focus()
        elif mode == "rule":
            line = self.query_one("#rule", Input)
            line.value = self._saved.rule
            line.focus()
        elif mode == "edit":
            editor = self.query_one("#editor", TextArea)
            editor.text = self._edited.text
            editor.focus()
        else:
            self.set_focus(None)
            self._warned_of = 0
        self.look_anew()

    def key_beside_input(self, event: events.Key) -> None:
        """Escape goes back to the question; what was written stays."""
        if event.key != "escape":
            return
        event.stop()
        self._saved.error = ""
        if self.mode == "edit":
            self._edited.write(self.query_one("#editor", TextArea).text)
            self._said = self._edited.error
            self._buttons["a"].set_able(self.takes("a"))
        self._enter("question")
        self._fit()

    def on_key_button_pressed(self, message: KeyButton.Pressed) -> None:
        """A click, which counts when the question listens."""
        if self.mode == "question":
            self.click(message.key)

    def scroll_by_key(self, key: str) -> bool:
        """The whole text can be read without a mouse."""
        return self.scroll_part(self._preview, key)
