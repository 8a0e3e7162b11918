"""Owns the title of the terminal's window while the program runs; refuses foreign text in it.

A title is a control sequence: only words of our own and numbers go into it.
"""

from __future__ import annotations

from textual.app import App

from agent_tui.panes.wording import plural

_SAVE, _RESTORE = "\x1b[22;2t", "\x1b[23;2t"


class TerminalTitle:
    """Says how many agents there are and who waits."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._shown = ""

    def save(self) -> None:
        """Have the terminal remember the title that it has."""
        self._write(_SAVE)

    def restore(self) -> None:
        """Bring that title back."""
        self._write(_RESTORE)

    def say(self, agents: int, waiting: int) -> None:
        """Say these numbers, if they are others than before."""
        title = f"agent-tui — {plural(agents, 'agent')}"
        if waiting:
            title += f", {waiting} {'waits' if waiting == 1 else 'wait'} for you"
        if title != self._shown:
            self._app.title = self._shown = title
            self._write(f"\x1b]2;{title}\x07")

    def _write(self, sequence: str) -> None:
        driver = self._app._driver
        if driver is not None and not self._app.is_headless:
            driver.write(sequence)
