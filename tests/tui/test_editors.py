"""The editors: whatever is pasted, typed, deleted, undone and resized, they hold what they say they hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.document._wrapped_document import WrappedDocument
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import TextArea

from agent_tui.modals.approval import ApprovalModal
from agent_tui.modals.form_rows import _LongText
from agent_tui.panes.prompt import PromptBox
from agent_tui_core.events import ApprovalPreview, ApprovalRequest
from properties import IN_SOAK, tried

Step: TypeAlias = str | tuple[int, int] | Paste
EIGHT_LINES: Final = "\n".join(f"line {number}" for number in range(8))
KEYS: Final = (
    *("ctrl+z", "ctrl+y", "backspace", "delete", "ctrl+j", "enter", "ctrl+k", "ctrl+u", "ctrl+x", "ctrl+v"),
    *(
        "up",
        "down",
        "left",
        "right",
        "home",
        "end",
        "ctrl+left",
        "ctrl+right",
        "ctrl+f",
        "pageup",
        "pagedown",
    ),
    *("shift+up", "shift+down", "shift+home", "shift+end", "ctrl+a", "a", "space", "tab", "界"),
)
STEPS: Final = st.lists(
    st.one_of(
        st.sampled_from(KEYS),
        st.sampled_from(("ctrl+z", "ctrl+y")),  # as often as all others together
        st.tuples(st.integers(1, 90), st.integers(1, 40)),
        st.one_of(
            st.integers(1, 30).map(lambda lines: "\n".join(f"line {number}" for number in range(lines))),
            st.text("ab \t\n界e\u0301\x1b", max_size=60),
            st.integers(1, 400).map(lambda length: "word " * length),
        ).map(Paste),
    ),
    min_size=1,
    max_size=15,
)


class Prompt(App[None]):
    """A prompt box alone."""

    def compose(self) -> ComposeResult:
        yield PromptBox()


class Edited(App[None]):
    """A question whose command is being edited."""

    async def begin(self, pilot: Pilot[None]) -> None:
        preview = ApprovalPreview("command", "make test", None)
        asked = ApprovalRequest(
            *("question", "agent", "tester", "model", "/work", None, "Bash", {"command": "make test"}),
            *(preview, "no rule allows it", None, 0.0),
        )
        modal = ApprovalModal(asked, lambda: 0, opened_by_key=True)
        await self.push_screen(modal)
        modal.choose("e")
        await pilot.pause()


class Form(App[None]):
    """A form's field of several lines."""

    def compose(self) -> ComposeResult:
        yield _LongText("")


def holds_together(editor: TextArea) -> None:
    """What the editor remembers of its text is what it would find out anew."""
    held, fresh = editor.wrapped_document, WrappedDocument(editor.document)
    fresh.wrap(held._width, held._tab_width)
    assert held._wrap_offsets == fresh._wrap_offsets
    assert held._offset_to_line_info == fresh._offset_to_line_info
    assert held._line_index_to_offsets == fresh._line_index_to_offsets
    assert held._tab_width_cache == fresh._tab_width_cache
    assert held._width == editor.wrap_width or not editor.wrap_width
    row, column = editor.cursor_location
    assert row < editor.document.line_count
    assert column <= len(editor.document.get_line(row))
    assert not any(character in editor.text for character in "\x1b\r")


async def walk(app: App[None], steps: list[Step]) -> None:
    async with app.run_test(size=(60, 24)) as pilot:
        if isinstance(app, Edited):
            await app.begin(pilot)
        editor = app.screen.query_one(TextArea)
        editor.focus()
        await pilot.pause()
        for step in steps:
            before = editor.text
            match step:
                case Paste():
                    app.post_message(Paste(step.text))
                case str():
                    await pilot.press(step)
                case width, height:
                    await pilot.resize_terminal(width, height)
            await pilot.pause()
            holds_together(editor)
            if step == "ctrl+z" and editor.text != before:
                editor.redo()
                assert editor.text == before
                editor.undo()
                await pilot.pause()
                holds_together(editor)


@pytest.mark.parametrize("app", [Prompt, Edited, Form])
@pytest.mark.timeout(600)
@settings(tried(), max_examples=tried().max_examples if IN_SOAK else 6)
@given(steps=STEPS)
@example(steps=[Paste(EIGHT_LINES), "ctrl+z"])
@example(steps=[Paste(EIGHT_LINES), "ctrl+z", "ctrl+y", "ctrl+z"])
@example(steps=[Paste(EIGHT_LINES), "ctrl+a", "delete", "ctrl+z", (30, 8), "ctrl+y", (10, 3), "ctrl+z"])
@example(steps=[Paste("word " * 60), "ctrl+u", (5, 5), "ctrl+z"])
def test_an_editor_survives_whatever_is_done_to_its_text(
    app: Callable[[], App[None]], steps: list[Step]
) -> None:
    asyncio.run(walk(app(), steps))
