"""Owns how a question with yes and no is answered and shows that it listens; refuses a bare enter for a yes.

What is asked, and where it stands on the screen, is left to those who inherit it.
"""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content
from textual.widgets import Static

from agent_tui.modals.arming import ArmedScreen
from agent_tui.modals.key_button import KeyButton


class YesNoScreen(ArmedScreen[bool]):
    """A question whose answer is no unless the person says y. It needs a `#frame` and a `#state`."""

    DECIDES: ClassVar[frozenset[str]] = frozenset({"y", "n", "enter"})

    def choose(self, key: str) -> None:
        """Only y is a yes."""
        self.settle(key == "y")

    def show_hearing(self) -> None:
        """Say whether a key answers now."""
        listens = self.hearing != "deaf"
        self.query_one("#frame").set_class(listens, "-listens")
        state = self.query_one("#state", Static)
        state.set_class(listens, "-listens")
        said = self._said or ("Press a key to answer" if listens else "One moment: esc is no")
        if self.hearing == "armed":
            self._said = ""
        state.update(Content(f"{'●' if listens else '◌'} {said}"), layout=False)

    def on_key_button_pressed(self, message: KeyButton.Pressed) -> None:
        """A click, which counts when the question listens."""
        self.click(message.key)
