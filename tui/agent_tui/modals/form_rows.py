"""Owns the rows of a form: a label, a place to write or choose in, and what is wrong with it.

Refuses to judge what was written. All words of a field are foreign: what could hide in them is spelt out.
"""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from agent_tui.modals.clean_input import PassingTextArea
from agent_tui.modals.fields import FormField
from agent_tui.modals.preview import shown_line
from agent_tui.panes.lines import clean_text
from agent_tui.panes.wording import cut, one_line
from agent_tui_core.text import safe_line, visible_text

_EXAMPLES = {"integer": "a whole number", "number": "a number", "json": 'JSON, such as ["a", "b"]'}
_MOST_HINT = 400


class Done(Message):
    """Enter was pressed in a field: go on to the next."""


class FieldRow(Vertical):
    """One field."""

    DEFAULT_CSS = """
    FieldRow {
        height: auto; margin-bottom: 1;
        .label, .wrong { height: auto; }
        .wrong { color: $text-error; display: none; }
        Input, TextArea { border: none; padding: 0 1; background: $surface; height: 1; }
        TextArea { height: 5; }
        Input:focus, TextArea:focus { border: none; background: $panel; }
    }
    """

    def __init__(self, field: FormField, written: str, *, long: bool) -> None:
        """`long` gives a text several rows."""
        super().__init__()
        self.field = field
        self._wrong = Static(classes="wrong", markup=False)
        self.place: Input | TextArea | ChoiceLine
        if field.choices:
            self.place = ChoiceLine(field.words, written, may_be_empty=not field.required or not written)
        elif long and field.kind in {"text", "json"}:
            self.place = _LongText(clean_text(written))
        else:
            self.place = _Line(one_line(written), placeholder=_EXAMPLES.get(field.kind, ""))

    def compose(self) -> ComposeResult:
        """Label, place, and room for what is wrong."""
        yield Static(_label(self.field), classes="label", markup=False)
        yield self.place
        yield self._wrong

    def let_focus(self, may: bool) -> None:
        """Take keys, or leave them to the question."""
        self.place.can_focus = may

    @property
    def written(self) -> str:
        """What stands in the place now."""
        return self.place.text if isinstance(self.place, TextArea) else self.place.value

    def say_wrong(self, words: str) -> None:
        """Say what would fit; nothing when all is well."""
        self._wrong.display = bool(words)
        self._wrong.update(Content(f"▲ {words}" if words else ""))


def _label(field: FormField) -> Content:
    parts: list[str | tuple[str, str]] = [(cut(shown_line(field.title), 200), "bold")]
    parts.append((" · required" if field.required else " · optional", "$text-muted"))
    if field.hint:
        parts.append((f"\n{cut(visible_text(field.hint), _MOST_HINT)}", "$text-muted"))
    return Content.assemble(*parts)


class _Line(Input):
    """One line whose pastes are cleaned."""

    def __init__(self, value: str, *, placeholder: str) -> None:
        super().__init__(value, placeholder=placeholder, select_on_focus=False)
        self.cursor_blink = False

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert_text_at_cursor(safe_line(event.text))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter goes on."""
        event.stop()
        self.post_message(Done())


class _LongText(PassingTextArea):
    """Several lines; tab leaves them."""

    def __init__(self, value: str) -> None:
        super().__init__(value, tab_behavior="focus", highlight_cursor_line=False)
        self.cursor_blink = False


class ChoiceLine(Widget):
    """One of some words: all of them where they fit, else the chosen one and its place."""

    DEFAULT_CSS = """
    ChoiceLine { height: 1; width: 1fr; padding: 0 1; background: $surface; &:focus { background: $panel; } }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,up", "step(-1)", show=False),
        Binding("right,down,space", "step(1)", show=False),
        Binding("pageup", "step(-10)", show=False),
        Binding("pagedown", "step(10)", show=False),
        Binding("enter", "done", show=False),
    ]

    def __init__(self, words: tuple[str, ...], chosen: str, *, may_be_empty: bool) -> None:
        super().__init__()
        self._words = ("", *words) if may_be_empty else words
        self._at = self._words.index(chosen) if chosen in self._words else 0

    @property
    def value(self) -> str:
        """What is chosen; empty when nothing is."""
        return self._words[self._at]

    def action_step(self, steps: int) -> None:
        """Choose another."""
        self._at = (self._at + steps) % len(self._words)
        self.refresh()

    def action_done(self) -> None:
        """Go on."""
        self.post_message(Done())

    def on_click(self, event: events.Click) -> None:
        """Choose what was clicked."""
        if not self.has_focus:
            return
        at = 0
        for index, words in enumerate(self._all()):
            if at <= event.x - 1 < at + cell_len(words):
                self._at = index
            at += cell_len(words)
        self.refresh()

    def render(self) -> Content:
        """The words, the chosen one marked by a sign, not by its colour alone."""
        parts = self._all()
        if sum(map(cell_len, parts)) <= self.size.width:
            return Content.assemble(
                *(
                    (words, "bold" if index == self._at else "$text-muted")
                    for index, words in enumerate(parts)
                )
            )
        place = f"  {self._at + 1} of {len(self._words)}"
        room = max(self.size.width - len(place) - 6, 8)
        return Content.assemble("◂ ", (cut(_said(self.value), room), "bold"), " ▸", (place, "$text-muted"))

    def _all(self) -> list[str]:
        if sum(map(len, self._words)) > self.size.width:
            return [" " * (self.size.width + 1)]
        return [
            f"{'●' if index == self._at else '○'} {_said(words)}   "
            for index, words in enumerate(self._words)
        ]


def _said(words: str) -> str:
    return shown_line(words) if words else "(nothing)"
