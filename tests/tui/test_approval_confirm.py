"""The yes-or-no question: No unless the person says Yes, and never by typing."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.events import Paste
from textual.geometry import Region
from textual.pilot import Pilot
from textual.widgets import Static

from agent_tui.modals.confirm import ConfirmModal
from agent_tui.panes.beneath import Beneath


class Desk(App[None]):
    """A screen over which one question opens."""

    def __init__(
        self, title: str = "Stop 3 agents?", body: str = "They can go on later.", yes: str = "Stop"
    ) -> None:
        super().__init__()
        self.now = 5.0
        self.outcomes: list[bool | None] = []
        self.typed: list[str] = []
        self.pasted: list[str] = []
        beneath = Beneath(lambda key: self.typed.append(key.key), self.pasted.append)
        self.modal = ConfirmModal(title, body, yes, beneath=beneath, clock=lambda: self.now)

    def compose(self) -> ComposeResult:
        yield Static("a transcript", markup=False)

    async def open(self, pilot: Pilot[None]) -> None:
        self.push_screen(self.modal, self.outcomes.append)
        await pilot.pause()

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.05)):
            self.now += 0.05
            if self.modal.is_active:
                self.modal.tick()


@pytest.mark.parametrize(("key", "outcome"), [("y", True), ("n", False), ("escape", False), ("enter", False)])
async def test_each_answer_has_its_key_and_enter_is_no(key: str, outcome: bool) -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await app.open(pilot)
        app.wait(3)
        await pilot.press(key)
        await pilot.pause()
        app.wait(0.4)
        await pilot.pause()
        assert app.outcomes == [outcome]


@pytest.mark.parametrize("keys", ["y", "yes", "yy\n", "happy"])
async def test_typing_into_the_opening_question_is_no_answer(keys: str) -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await app.open(pilot)
        for key in keys:
            await pilot.press("enter" if key == "\n" else key)
            app.wait(0.1)
        app.wait(1)
        await pilot.pause()
        assert app.outcomes == []
        assert [key for key in app.typed if key != "enter"] == list(keys.strip())


async def test_escape_is_no_at_once() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await app.open(pilot)
        await pilot.press("escape")
        await pilot.pause()
        assert app.outcomes == [False]


async def test_a_paste_closes_it_and_goes_to_the_prompt() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await app.open(pilot)
        app.post_message(Paste("y\nwords"))
        await pilot.pause()
        assert app.outcomes == [False]
        assert app.pasted == ["y\nwords"]


async def test_a_click_on_yes_is_a_yes() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await app.open(pilot)
        await pilot.click("#key-y")
        assert app.outcomes == []
        app.wait(3)
        await pilot.click("#key-y")
        await pilot.pause()
        assert app.outcomes == [True]


async def test_foreign_words_are_text_and_everything_fits() -> None:
    foreign = "[/]\x1b]52;c;x\x07[@click=app.quit]x " * 30
    app = Desk(foreign, foreign + "\nline " * 40, "Stop [/]")
    async with app.run_test(size=(80, 24)) as pilot:
        await app.open(pilot)
        whole = Region(0, 0, 80, 24)
        for part in ("#frame", "#key-y", "#key-n", "#state"):
            assert whole.contains_region(app.modal.query_one(part).region)
        shown = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "\x1b" not in shown
        assert "[@click=app.quit]x" in shown
