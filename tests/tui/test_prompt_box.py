"""The prompt box: what its keys do, what it keeps, what it lets through to the app."""

from __future__ import annotations

from typing import ClassVar

import pytest
from textual._text_area_theme import TextAreaTheme
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key, Paste
from textual.geometry import Region
from textual.screen import Screen
from textual.widgets import Static, TextArea

from agent_tui.panes.prompt import MOST_ROWS, PromptBox

RESERVED = [
    "escape",
    "tab",
    "f1",
    "f2",
    "f4",
    "f6",
    "f7",
    "f8",
    "ctrl+p",
    "ctrl+q",
    "ctrl+t",
    "ctrl+w",
    "ctrl+c",
]


class Desk(App[None]):
    """A box under some text, and a record of all that reaches the app."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"reached('{key}')", show=False) for key in RESERVED if key != "tab"
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self) -> None:
        super().__init__()
        self.box = PromptBox()
        self.sent: list[tuple[str, bool]] = []
        self.reached: list[str] = []
        self.taken_back = 0
        self.queued: str | None = None

    def compose(self) -> ComposeResult:
        yield Static("a transcript", markup=False, id="above")
        yield self.box

    def on_mount(self) -> None:
        self.box.focus()

    def action_reached(self, key: str) -> None:
        self.reached.append(key)

    def on_prompt_box_submitted(self, message: PromptBox.Submitted) -> None:
        self.sent.append((message.text, message.now))

    def on_prompt_box_take_back(self) -> None:
        self.taken_back += 1
        if self.queued is not None:
            self.box.put_back(self.queued, "taken back")
            self.queued = None


async def test_enter_sends_and_empties_the_box() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press(*"hello", "enter")
        assert app.sent == [("hello", False)]
        assert app.box.text == ""


@pytest.mark.parametrize("key", ["ctrl+j", "shift+enter", "shift+\r"])
async def test_a_new_line_is_a_key_of_its_own(key: str) -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("a", key, "b")
        assert app.box.text == "a\nb"
        await pilot.press("enter")
        assert app.sent == [("a\nb", False)]


@pytest.mark.parametrize("key", ["alt+enter", "ctrl+g"])
async def test_send_now_says_so(key: str) -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("a", key)
        assert app.sent == [("a", True)]


async def test_a_blank_prompt_is_not_sent_and_not_lost() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("space", "ctrl+j", "enter")
        assert app.sent == []
        assert app.box.text == " \n"


async def test_a_paste_of_many_lines_stays_one_prompt_and_loses_its_escape_sequences() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        app.post_message(Paste("make:\r\n\tcc x.c\n\x1b]52;c;ZXZpbA==\x07\x1b[2J[/][red]last"))
        await pilot.pause()
        assert app.sent == []
        assert app.box.text == "make:\n\tcc x.c\n[/][red]last"
        await pilot.press("enter")
        assert app.sent == [("make:\n\tcc x.c\n[/][red]last", False)]


@pytest.mark.parametrize("key", [key for key in RESERVED if key != "tab"])
async def test_the_apps_keys_reach_the_app(key: str) -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press(*"some text", key)
        assert app.reached == [key]
        assert app.box.text == "some text"


async def test_tab_does_not_trap() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        app.query_one("#above").can_focus = True
        await pilot.press("a", "tab")
        assert app.focused is app.query_one("#above")
        assert app.box.text == "a"


async def test_up_and_down_walk_the_history_and_the_draft_is_never_lost() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press(*"one", "enter", *"two", "enter", *"draft")
        seen = []
        for key in ("up", "up", "up", "down", "down", "down"):
            await pilot.press(key)
            seen.append(app.box.text)
        assert seen == ["two", "one", "one", "two", "draft", "draft"]


async def test_a_change_to_a_recalled_prompt_survives_the_walk() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press(*"one", "enter", *"two", "enter", "up", "!", "up", "down")
        assert app.box.text == "two!"


async def test_sending_a_recalled_prompt_gives_the_draft_back() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press(*"one", "enter", *"draft", "up", "enter")
        assert app.sent == [("one", False), ("one", False)]
        assert app.box.text == "draft"


async def test_up_inside_many_lines_moves_the_cursor_first() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press(*"one", "enter", "a", "ctrl+j", "b", "up")
        assert app.box.text == "a\nb"
        await pilot.press("up")
        assert app.box.text == "one"
        await pilot.press("down")
        assert app.box.text == "a\nb"


async def test_up_inside_a_wrapped_line_moves_the_cursor_first() -> None:
    app = Desk()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press(*"one", "enter")
        app.box.insert("word " * 12)
        await pilot.pause()
        await pilot.press("up")
        assert app.box.text == "word " * 12


async def test_up_in_an_empty_box_asks_for_a_queued_prompt_and_else_recalls_the_newest() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press(*"sent", "enter", "up")
        assert (app.taken_back, app.box.text) == (1, "sent")
        await pilot.press("down")
        app.queued = "queued"
        await pilot.press("up")
        assert (app.taken_back, app.box.text) == (2, "queued")
        await pilot.press("up")
        assert (app.taken_back, app.box.text) == (2, "sent")
        await pilot.press("down")
        assert app.box.text == "queued"


async def test_a_returned_prompt_goes_in_front_of_what_is_half_typed() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        app.box.put_back("first", "blocked by a hook")
        assert app.box.text == "first"
        await pilot.press("ctrl+u", *"my own", "left")
        app.box.put_back("second", "blocked again")
        assert app.box.text == "second\nmy own"
        await pilot.press("!")
        assert app.box.text == "second\nmy ow!n"
        await pilot.press("ctrl+z", "ctrl+z")
        assert app.box.text == "my own"


async def test_a_returned_prompt_never_replaces_an_edited_recall() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press(*"old", "enter", *"own", "up", "!")
        app.box.put_back("other", "blocked")
        assert app.box.text == "other\nold!"
        await pilot.press("down", "down")
        assert app.box.text == "own"


async def test_a_returned_prompt_takes_the_place_of_an_unchanged_recall_and_keeps_the_words_under_it() -> (
    None
):
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press(*"old", "enter", *"own", "up")
        app.box.put_back("other", "blocked")
        assert app.box.text == "other\nown"


@pytest.mark.parametrize("foreign", ["[/]", "[@click=app.quit]x[/]", "\x1b]52;c;x\x07", "a\nb", "", "   "])
async def test_names_and_reasons_are_text_whatever_they_say(foreign: str) -> None:
    app = Desk()
    async with app.run_test() as pilot:
        app.box.address(foreign)
        app.box.put_back("text", foreign)
        await pilot.pause()
        assert app.box.text == "text"
        assert app.is_running


async def test_it_says_whom_it_talks_to() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        app.box.address("2 [b]tester[/b]")
        await pilot.pause()
        top = app.box.render_lines(app.box.size.region.expand((1, 1)).at_offset((0, 0)))[0].text
        assert "to 2 [b]tester[/b]" in top


async def test_it_grows_from_one_to_six_rows_and_stays_on_the_screen() -> None:
    app = Desk()
    async with app.run_test(size=(80, 24)) as pilot:
        heights = []
        for _ in range(9):
            await pilot.press("x", "ctrl+j")
            heights.append(app.box.region.height - 2)
        assert heights[:5] == [2, 3, 4, 5, 6]
        assert heights[-1] == MOST_ROWS
        await pilot.press("enter")
        assert app.box.region.height == 3


async def test_typing_inside_a_row_causes_no_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("a")
        layouts = 0
        lay_out = Screen._refresh_layout

        def counted(screen: Screen[object], *args: object, **named: object) -> None:
            nonlocal layouts
            layouts += 1
            lay_out(screen, *args, **named)  # type: ignore[arg-type]  # passed through as it came

        monkeypatch.setattr(Screen, "_refresh_layout", counted)
        await pilot.press(*"bcdefgh", "left", "backspace")
        assert layouts == 0
        await pilot.press("ctrl+j")
        assert layouts > 0


async def test_it_notes_when_the_last_key_came() -> None:
    app = Desk()
    now = 100.0
    app.box = PromptBox(clock=lambda: now)
    async with app.run_test() as pilot:
        assert app.box.last_key_at < 0
        for key in ("a", "f6", "escape", "ctrl+q", "left"):
            now += 1
            await pilot.press(key)
            assert app.box.last_key_at == now


async def test_keys_that_were_typed_over_a_modal_go_on_in_the_box() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press(*"half")
        for key in (
            Key("space", " "),
            Key("t", "t"),
            Key("x", "x"),
            Key("backspace", "\x7f"),
            Key("enter", "\r"),
        ):
            app.box.receive(key)
        assert app.box.text == "half t"
        assert app.sent == []


async def test_a_key_reads_no_style_anew_but_a_theme_and_focus_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads = 0
    apply = TextAreaTheme.apply_css

    def counted(theme: TextAreaTheme, area: TextArea) -> None:
        nonlocal reads
        reads += 1
        apply(theme, area)

    monkeypatch.setattr(TextAreaTheme, "apply_css", counted)
    app = Desk()
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.press("a", "b")
        await pilot.pause()
        before = reads
        await pilot.press(*"some words")
        await pilot.pause()
        assert reads == before
        looks = set[tuple[object, ...]]()
        for theme in ("textual-light", "nord", "textual-dark"):
            app.theme = theme
            await pilot.pause()
            looks.add(_looks(app))
        assert len(looks) == 3
        app.screen.set_focus(None)
        await pilot.pause()
        assert _looks(app) not in looks
        app.box.focus()
        await pilot.pause()
        assert _looks(app) in looks


def _looks(app: Desk) -> tuple[object, ...]:
    area = app.box.query_one(TextArea)
    [row] = area.render_lines(Region(0, 0, area.size.width, 1))
    return tuple(segment.style for segment in row)
