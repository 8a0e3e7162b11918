"""Owns the filling in of a form: what a server wants to know, or the result of a call, given by hand.

Refuses to send by itself, and to take typing for a yes: nothing is sent before y, which answers only when the
question listens. What was written is kept for whoever opened it, however it ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import ClassVar, Literal, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from agent_tui.modals.arming import ArmedScreen
from agent_tui.modals.fields import fields_of, filled
from agent_tui.modals.form_rows import Done, FieldRow
from agent_tui.modals.key_button import KeyButton
from agent_tui.modals.preview import shown_line
from agent_tui.panes.beneath import Beneath
from agent_tui.panes.wording import cut, plural
from agent_tui_core.blocks import JsonObject
from agent_tui_core.runtime.forms import Form
from agent_tui_core.text import visible_text

MOST_COLUMNS = 100
_MOST_MESSAGE = 20_000

Outcome: TypeAlias = "JsonObject | Literal['declined', 'later'] | None"
Mode: TypeAlias = Literal["question", "writing"]


class FormModal(ArmedScreen[Outcome]):
    """Fields, and the keys that send, decline or put off."""

    DECIDES: ClassVar[frozenset[str]] = frozenset("yn")
    AT_ONCE: ClassVar[frozenset[str]] = frozenset("el")
    DEFAULT_CSS = f"""
    FormModal {{
        align: center middle;
        #frame {{
            width: 100%; max-width: {MOST_COLUMNS}; height: auto; max-height: 100%;
            border: round $border-blurred; background: $background; padding: 0 1;
            &.-listens {{ border: round $warning; }}
        }}
        #title {{ height: 1; text-style: bold; text-wrap: nowrap; text-overflow: ellipsis; }}
        #who {{ height: auto; color: $text-muted; margin-bottom: 1; }}
        #body {{
            height: auto; scrollbar-size-vertical: 1; scrollbar-background: $panel; scrollbar-color: $primary;
        }}
        #message {{ height: auto; margin-bottom: 1; }}
        #keys {{ height: 1; margin-top: 1; }}
        #state {{ height: 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }}
        #state.-listens {{ color: $success; }}
        #state.-says {{ color: $warning; }}
    }}
    """

    def __init__(
        self,
        form: Form,
        opened_by_key: bool,
        *,
        agent: str = "",
        written: Mapping[str, str] | None = None,
        beneath: Beneath | None = None,
        held: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`agent` says for whom; `written` is what was filled in before. By key one writes at once."""
        super().__init__(beneath, opened_by_key=opened_by_key, held=held, clock=clock)
        self.form = form
        self.mode: Mode = "question"
        self._opened_by_key = opened_by_key
        self._agent = agent
        self._gone = False
        fields = fields_of(form.schema)
        before = written or {field.key: field.start for field in fields}
        long = form.kind == "tool-result"
        self._rows = [
            FieldRow(field, before.get(field.key, ""), long=long and not field.most) for field in fields
        ]

    @property
    def written(self) -> dict[str, str]:
        """What stands in the fields, fitting or not."""
        return {row.field.key: row.written for row in self._rows}

    # --- what is shown --------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Who asks, what for, the fields, and the answers."""
        gives = self.form.kind == "tool-result"
        source = shown_line(self.form.source)
        title = f"Give the result of {source}" if gives else f"{source} asks you"
        words = visible_text(self.form.message)
        if len(words) > _MOST_MESSAGE:
            words = f"{words[:_MOST_MESSAGE]}\n… and {len(words) - _MOST_MESSAGE:,} more characters"
        with Vertical(id="frame"):
            yield Static(Content(title), id="title", markup=False)
            yield Static(Content(self._who()), id="who", markup=False)
            with VerticalScroll(id="body", can_focus=False):
                yield Static(Content(words), id="message", markup=False)
                yield from self._rows
            with Horizontal(id="keys"):
                yield KeyButton("y", "Send", "allow")
                if self._rows:
                    yield KeyButton("e", "Fill in", "later")
                yield KeyButton("n", "Decline", "deny")
                yield KeyButton("l", "Later", "later")
            yield Static(id="state", markup=False)

    def _who(self) -> str:
        for_whom = f"For agent {self._agent}. " if self._agent else ""
        if self.form.kind == "tool-result":
            return f"{for_whom}The model reads what you write as the tool's answer."
        return (
            f"{for_whom}What you send goes to {cut(shown_line(self.form.source), 40)}: no passwords, no keys."
        )

    def on_mount(self) -> None:
        """Fit, and let nothing write into the fields yet."""
        self._fit()
        self._let_write(False)
        if self._opened_by_key and self._rows:
            self.call_after_refresh(self._write)

    def on_resize(self) -> None:
        """Fit the parts to the terminal."""
        self._fit()

    def _fit(self) -> None:
        columns, rows = self.app.size
        who = len(Content(self._who()).fold(max(min(columns, MOST_COLUMNS) - 4, 10)))
        # Besides: the frame's two, the title, two gaps, the keys, the state.
        self.query_one("#body").styles.max_height = max(rows - 7 - who, 3)

    def show_hearing(self) -> None:
        """Say whether a key answers now."""
        listens = self.mode == "question" and self.hearing != "deaf"
        self.query_one("#frame").set_class(listens, "-listens")
        state = self.query_one("#state", Static)
        state.set_class(listens, "-listens")
        state.set_class(bool(self._said or self._gone) and not listens, "-says")
        state.update(Content(self._state_words()), layout=False)
        if self.hearing == "armed":
            self._said = ""

    def _state_words(self) -> str:
        if self._gone:
            return "▲ It was withdrawn: nothing will be sent. esc closes this"
        if self.mode == "writing":
            return "enter, tab: next field · ← → choose · esc: done · nothing is sent before y"
        if self._guard.chosen is not None:
            return "● …"
        if self.hearing == "armed":
            return f"● {self._said or 'Press a key to answer'}"
        return f"◌ {self._said or 'One moment: keys do not answer yet'}"

    # --- what is answered -----------------------------------------------------------------------------------

    def takes(self, key: str) -> bool:
        """Whether this answer can be given now."""
        return super().takes(key) and (key != "e" or bool(self._rows)) and (not self._gone or key == "l")

    def choose(self, key: str) -> None:
        """Act on an answer that was meant as one."""
        match key:
            case "y":
                self._send()
            case "e":
                self._write()
            case "n":
                self.settle("declined")
            case "l" | "escape":
                self.settle(None if self._gone else "later")

    def withdraw(self) -> None:
        """Nobody waits for it any more: close, or, where someone writes, say so and leave the words."""
        if self.mode == "question":
            self.dismiss(None)
            return
        self._gone = True
        self.show_hearing()

    def _send(self) -> None:
        content, wrong = filled([row.field for row in self._rows], self.written)
        for row in self._rows:
            row.say_wrong(wrong.get(row.field.key, ""))
        if not wrong:
            self.settle(content)
            return
        first = next(row for row in self._rows if row.field.key in wrong)
        first.scroll_visible(animate=False)
        name = cut(shown_line(first.field.title), 30)
        more = f" and {plural(len(wrong) - 1, 'more field')}" if len(wrong) > 1 else ""
        self._said = f"{name}: {wrong[first.field.key]}{more}. e fills in"
        self.be_deaf()

    def _write(self) -> None:
        self.mode = "writing"
        self._let_write(True)
        wrong = filled([row.field for row in self._rows], self.written)[1]
        first = next((row for row in self._rows if row.field.key in wrong), self._rows[0])
        first.place.focus()
        self.look_anew()

    def _ask_again(self) -> None:
        self.mode = "question"
        self.set_focus(None)
        self._let_write(False)
        self.look_anew()

    def _let_write(self, may: bool) -> None:
        for row in self._rows:
            row.let_focus(may)

    # --- keys and mouse -------------------------------------------------------------------------------------

    def on_done(self, _message: Done) -> None:
        """Enter: the next field, or back to the question after the last."""
        places = [row.place for row in self._rows]
        at = places.index(self.focused) if self.focused in places else len(places) - 1
        if at + 1 < len(places):
            places[at + 1].focus()
        else:
            self._ask_again()

    def key_beside_input(self, event: events.Key) -> None:
        """Escape goes back to the question; what was written stays."""
        if event.key == "escape":
            event.stop()
            if self._gone:
                self.settle(None)
            else:
                self._ask_again()

    def on_key_button_pressed(self, message: KeyButton.Pressed) -> None:
        """A click, which counts when the question listens."""
        if self.mode == "question":
            self.click(message.key)

    def on_click(self, event: events.Click) -> None:
        """A click into a field begins to write."""
        inside = any(row.place is event.widget for row in self._rows)
        if inside and self.mode == "question" and self.hearing == "armed" and not self._gone:
            self._write()
            event.widget.focus() if event.widget else None

    def scroll_by_key(self, key: str) -> bool:
        """All of it can be read without a mouse."""
        return self.scroll_part(self.query_one("#body", VerticalScroll), key)
