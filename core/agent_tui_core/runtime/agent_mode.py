"""Owns the mode of one agent, which a person may change while it works; refuses to judge by it."""

from __future__ import annotations

from collections.abc import Callable

from agent_tui_core.agent.watchers import Watchers
from agent_tui_core.config.modes import Mode


class AgentMode:
    """What holds now, and who goes by it. It begins as the profile says and lasts as long as the session."""

    def __init__(self, mode: Mode = "ask") -> None:
        self._mode: Mode = mode
        self._followers: Watchers[[Mode]] = Watchers()

    @property
    def now(self) -> Mode:
        """The mode that the next call is judged in."""
        return self._mode

    def become(self, mode: Mode) -> None:
        """Change it; calls that run already are not judged again."""
        self._mode = mode
        self._followers.tell(mode)

    def follow(self, tell: Callable[[Mode], None]) -> None:
        """Tell the mode now, and at each change."""
        self._followers.add(tell)
        tell(self._mode)
