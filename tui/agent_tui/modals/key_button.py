"""Owns the labelled keys of a question: one row each, for the eye and the mouse; refuses the focus."""

from __future__ import annotations

from typing import Literal

from textual.content import Content
from textual.message import Message
from textual.widgets import Static

ButtonKind = Literal["allow", "deny", "later"]
_COLORS: dict[ButtonKind, str] = {"allow": "$success", "deny": "$error", "later": "$secondary"}


class KeyButton(Static, can_focus=False):
    """A key and what it does. A click on it posts `Pressed`; the screen decides whether that counts."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyButton { width: auto; height: 1; margin-right: 2; }
    KeyButton:hover { background: $panel; }
    KeyButton.-off { text-style: dim; }
    KeyButton.-off:hover { background: transparent; }
    """

    class Pressed(Message):
        """The button was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, key: str, label: str, kind: ButtonKind) -> None:
        super().__init__(id=f"key-{key}", markup=False)
        self.key = key
        self._label = label
        self._kind = kind
        self.set_able(True)

    def set_able(self, able: bool) -> None:
        """Grey the button out, or not."""
        self.set_class(not able, "-off")
        style = f"bold reverse {_COLORS[self._kind]}" if able else "dim"
        self.update(
            Content.assemble((f" {self.key} ", style), (f" {self._label}", "" if able else "dim")),
            layout=False,
        )

    def set_label(self, label: str) -> None:
        """Say something else from now on."""
        self._label = label
        self.set_able(not self.has_class("-off"))
        self.refresh(layout=True)

    def on_click(self) -> None:
        """Leave the decision to the screen."""
        self.post_message(self.Pressed(self.key))
