"""Owns the question of one tool call: what is shown of it, and which key gives which answer.

Refuses to answer by itself, to take typing for an answer, and to hide a part of what would run. The answer
goes back to whoever opened it, together with `request.id`, which is what the person saw.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from agent_tui.modals.arming import ArmedScreen
from agent_tui.modals.edited_input import EditedInput
from agent_tui.modals.key_button import ButtonKind, KeyButton
from agent_tui.modals.preview import Preview, PreviewLine, lines_of, shown_line
from agent_tui.panes.wording import age, cut, plural
from agent_tui_core.agent.approvals import AllowAlways, AllowEdited, AllowOnce, Answer, DenyCall
from agent_tui_core.events import ApprovalRequest
from agent_tui_core.text import safe_line

MOST_COLUMNS = 110
_MOST_DETAIL_ROWS = 3
_LABEL = 9
_ROWS = (
    (("y", "Allow once", "allow"), ("a", "Allow and remember", "allow"), ("e", "Edit, then allow", "allow")),
    (
        ("n", "Deny", "deny"),
        ("r", "Deny with a reason", "deny"),
        ("s", "Deny and stop", "deny"),
        ("l", "Later", "later"),
    ),
)
_CHOSEN: dict[str, str] = {key: label for row in _ROWS for key, label, _ in row} | {"escape": "Later"}

Outcome: TypeAlias = Answer | Literal["later"] | None
Mode: TypeAlias = Literal["question", "reason", "edit"]


class ApprovalModal(ArmedScreen[Outcome]):
    """One waiting call: who asks, all of what would run, why it asks, and the answers."""

    ANSWERS: ClassVar[frozenset[str]] = frozenset(_CHOSEN)
    DEFAULT_CSS = f"""
    ApprovalModal {{
        align: center middle;
        #frame {{
            width: 100%; max-width: {MOST_COLUMNS}; height: auto;
            border: round $border-blurred; background: $background; padding: 0 1;
            &.-listens {{ border: round $warning; }}
        }}
        #top {{ height: 1; }}
        .-airy #top {{ margin-bottom: 1; }}
        .-airy #place {{ margin-bottom: 1; }}
        #title {{ width: 1fr; height: 1; text-style: bold; }}
        #queue {{ width: auto; height: 1; color: $text-muted; margin-left: 1; }}
        #place {{ height: 1; color: $text-muted; }}
        #place.-more {{ color: $warning; }}
        #details {{ height: auto; margin-bottom: 1; }}
        #editor {{ border: none; padding: 0 1; background: $surface; &:focus {{ border: none; }} }}
        #keys {{ height: 2; }}
        #keys Horizontal {{ height: 1; }}
        #ask-reason {{ height: 2; }}
        #reason {{ border: none; height: 1; padding: 0 1; background: $surface; &:focus {{ border: none; }} }}
        #state {{ height: 1; color: $text-muted; }}
        #state.-listens {{ color: $success; }}
        #state.-says {{ color: $warning; }}
        .-hidden {{ display: none; }}
    }}
    """

    def __init__(
        self,
        request: ApprovalRequest,
        waiting: Callable[[], int],
        opened_by_key: bool,
        *,
        number: int | None = None,
        on_typed: Callable[[events.Key], None] | None = None,
        on_pasted: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`waiting` says how many questions wait behind this one. A person who opened it does not type."""
        forward = not opened_by_key
        super().__init__(
            on_typed=on_typed if forward else None, on_pasted=on_pasted if forward else None, clock=clock
        )
        self.request = request
        self.mode: Mode = "question"
        self._waiting = waiting
        self._opened_by_key = opened_by_key
        self._number = number
        self._wall = wall
        self._said = ""
        self._edited = EditedInput(request)
        self._preview = Preview(self._lines(), id="preview")
        self._buttons = {
            key: KeyButton(key, label, kind) for row in _ROWS for key, label, kind in _typed(row)
        }

    # --- what is shown --------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """A frame of fixed rows round one part that scrolls."""
        with Vertical(id="frame"):
            with Horizontal(id="top"):
                yield Static(id="title", markup=False)
                yield Static(id="queue", markup=False)
            yield self._preview
            yield TextArea(id="editor", classes="-hidden", highlight_cursor_line=False)
            yield Static(id="place", markup=False)
            yield Static(id="details", markup=False)
            with Vertical(id="keys"):
                for row in _ROWS:
                    with Horizontal():
                        for key, _, _ in row:
                            yield self._buttons[key]
            with Vertical(id="ask-reason", classes="-hidden"):
                yield Static(Content("Why not? The model reads this."), markup=False)
                yield _ReasonInput(
                    id="reason", placeholder="enter denies with this reason", select_on_focus=False
                )
            yield Static(id="state", markup=False)

    def on_mount(self) -> None:
        """Fit the parts, and show the age from now on."""
        self.query_one("#editor", TextArea).cursor_blink = False
        self.query_one("#reason", Input).cursor_blink = False
        self._buttons["a"].set_able(self.takes("a"))
        self._buttons["e"].set_able(self.takes("e"))
        self._fit()
        self._show_queue()
        self.set_interval(1.0, self._show_queue)
        super().on_mount()

    def on_resize(self) -> None:
        """Fit the parts to the terminal."""
        self._fit()

    def _fit(self) -> None:
        columns, rows = self.app.size
        inner = min(columns, MOST_COLUMNS) - 4
        details, rest = self._details(inner)
        # 8 rows: the frame's two, the top, the place, a gap, two of keys, the state.
        room = rows - 8 - len(details)
        if room < 4:
            details, rest, room = [], self._all_details(), rows - 8
        self._preview.show([*self._lines(), *(rest or [])])
        wanted = self._preview.rows_for(inner)
        airy = room - 2 >= min(wanted, 20)
        self.query_one("#frame").set_class(airy, "-airy")
        room -= 2 * airy
        height = max(1, min(wanted, room))
        self._preview.styles.height = height
        self.query_one("#editor").styles.height = max(height, min(6, room))
        self.query_one("#details", Static).update(Content("\n").join(details))
        self.query_one("#details").set_class(not details, "-hidden")
        self._show_title(inner)

    def _show_title(self, inner: int) -> None:
        request = self.request
        verb = "change" if request.preview.kind == "diff" else "run"
        what = shown_line(request.preview.path) if verb == "change" and request.preview.path else "this"
        name = (
            f"{self._number} {shown_line(request.agent_name)}"
            if self._number
            else shown_line(request.agent_name)
        )
        parts = ((cut(name, 24), "$primary"), " asks: may ", (cut(shown_line(request.tool), 32), "$accent"))
        title = Content.assemble(*parts, f" {verb} ", what, "?", " (edited)" if self._edited.changed else "")
        room = inner - self.query_one("#queue", Static).content_size.width - 1
        self.query_one("#title", Static).update(title.truncate(max(room, 10), ellipsis=True), layout=False)

    def _show_queue(self) -> None:
        behind = self._waiting()
        asked = age(self._wall() - self.request.asked_at)
        words = "asked now" if asked == "now" else f"asked {asked} ago"
        if behind:
            words += f" · {plural(behind, 'more waits', 'more wait')}"
        queue = self.query_one("#queue", Static)
        before = queue.content_size.width
        queue.update(Content(words))
        if len(words) != before:
            self.call_after_refresh(lambda: self._show_title(self._preview.size.width))

    def _lines(self) -> list[PreviewLine]:
        if self._edited.changed:
            return lines_of(self._edited.text, "command" if self._edited.is_command else "text")
        return lines_of(self.request.preview.content, self.request.preview.kind)

    def _rows_of_details(self) -> list[tuple[str, str]]:
        request = self.request
        place = shown_line(request.workspace)
        if request.branch is not None:
            place += f" · branch {shown_line(request.branch)}"
        rows = [
            ("Agent", f"{shown_line(request.agent_name)} · {shown_line(request.model)}"),
            ("In", place),
            ("Why", shown_line(request.reason)),
        ]
        if request.remember is not None:
            rows.append(("a saves", f"{shown_line(request.remember)} · for every agent, until you quit"))
        return rows

    def _details(self, inner: int) -> tuple[list[Content], list[PreviewLine]]:
        """The rows under the preview, and what is too long for them: that stands at the preview's end."""
        rows: list[Content] = []
        rest: list[PreviewLine] = []
        for label, text in self._rows_of_details():
            parts = Content(text).fold(max(inner - _LABEL, 20))
            if len(parts) > _MOST_DETAIL_ROWS:
                rest += _headed(label, text)
                parts = [
                    Content.styled(f"{len(text):,} characters: at the end of the text above", "$warning")
                ]
            for number, part in enumerate(parts):
                rows.append(
                    Content.assemble((f"{label if number == 0 else '':<{_LABEL}}", "$text-muted"), part)
                )
        return rows, rest

    def _all_details(self) -> list[PreviewLine]:
        return [line for label, text in self._rows_of_details() for line in _headed(label, text)]

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
        state.set_class(bool(self._said) and not listens, "-says")
        state.update(Content(self._state_words()), layout=False)
        if self.hearing == "armed":
            self._said = ""

    def _state_words(self) -> str:
        match self.mode:
            case "reason":
                return "enter denies with the reason · esc goes back to the question, the reason stays"
            case "edit":
                return f"esc goes back to the question with your {self._edited.what}; nothing runs before y"
        if self._arming.chosen is not None:
            return f"● {_CHOSEN[self._arming.chosen.key]} …"
        if self.hearing == "armed":
            return f"● {self._said or 'Press a key to answer'}"
        return f"◌ {self._said or 'One moment: keys do not answer yet'}"

    # --- what is answered -----------------------------------------------------------------------------------

    def takes(self, key: str) -> bool:
        """Whether this answer can be given now."""
        if key == "a":
            return self.request.remember is not None and not self._edited.changed
        if key == "e":
            return self._edited.possible
        return key in self.ANSWERS

    def choose(self, key: str) -> None:
        """Act on an answer that was meant as one."""
        match key:
            case "y":
                self._allow()
            case "a" if self.request.remember is not None:
                self.dismiss(AllowAlways(self.request.remember))
            case "n":
                self.dismiss(DenyCall())
            case "s":
                self.dismiss(DenyCall(stop=True))
            case "l" | "escape":
                self.dismiss("later")
            case "r":
                self._enter("reason")
            case "e":
                self._enter("edit")

    def _allow(self) -> None:
        if self._edited.error:
            self._said = self._edited.error
            self.be_deaf()
        elif self._edited.changed:
            self.dismiss(AllowEdited(self._edited.input()))
        else:
            self.dismiss(AllowOnce())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in the reason: denied, in the person's words."""
        if self.mode == "reason":
            self.dismiss(DenyCall(safe_line(event.value)))

    def _enter(self, mode: Mode) -> None:
        self.mode = mode
        self.query_one("#keys").set_class(mode == "reason", "-hidden")
        self.query_one("#ask-reason").set_class(mode != "reason", "-hidden")
        self.query_one("#editor").set_class(mode != "edit", "-hidden")
        self._preview.set_class(mode == "edit", "-hidden")
        self.query_one("#place").set_class(mode == "edit", "-hidden")
        if mode == "reason":
            self.query_one("#reason", Input).focus()
        elif mode == "edit":
            editor = self.query_one("#editor", TextArea)
            editor.text = self._edited.text
            editor.focus()
        else:
            self.set_focus(None)
        self.be_deaf()

    def key_beside_input(self, event: events.Key) -> None:
        """Escape goes back to the question; what was written stays."""
        if event.key != "escape":
            return
        event.stop()
        if self.mode == "edit":
            self._edited.write(self.query_one("#editor", TextArea).text)
            self._said = self._edited.error
            self._buttons["a"].set_able(self.takes("a"))
        self._enter("question")
        self._fit()

    def typed(self, key: events.Key) -> None:
        """Give typing back to the prompt, and say what became of it."""
        if self._on_typed is not None:
            self._said = "That was typing: it went to the prompt. Nothing was answered"
        else:
            self._said = "Too early or no answer: nothing was answered"
        super().typed(key)

    def on_key_button_pressed(self, message: KeyButton.Pressed) -> None:
        """A click, which counts when the question listens."""
        if self.mode == "question":
            self.click(message.key)

    def scroll_by_key(self, key: str) -> bool:
        """The whole text can be read without a mouse."""
        scrolls = {
            "up": self._preview.scroll_up,
            "down": self._preview.scroll_down,
            "pageup": self._preview.scroll_page_up,
            "pagedown": self._preview.scroll_page_down,
            "home": self._preview.scroll_home,
            "end": self._preview.scroll_end,
        }
        if (scroll := scrolls.get(key)) is None:
            return False
        scroll(animate=False)
        return True


class _ReasonInput(Input):
    """A line whose pastes are cleaned."""

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert_text_at_cursor(safe_line(event.text))


def _typed(row: Sequence[tuple[str, str, str]]) -> Sequence[tuple[str, str, ButtonKind]]:
    kinds: dict[str, ButtonKind] = {"allow": "allow", "deny": "deny", "later": "later"}
    return [(key, label, kinds[kind]) for key, label, kind in row]


def _headed(label: str, text: str) -> list[PreviewLine]:
    return [PreviewLine(""), PreviewLine(f"── {label} ──", "heading"), PreviewLine(text)]
