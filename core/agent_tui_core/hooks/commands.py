"""Owns the command hooks of a session: all layers, in the order of the configuration; refuses to run one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from agent_tui_core.hooks.command import CommandHook
from agent_tui_core.hooks.contract import Point
from agent_tui_core.hooks.health import HealthBook
from agent_tui_core.hooks.transcript import Transcripts


class CommandHooks:
    """The command hooks of a session, of all layers, in the order of the configuration."""

    def __init__(self, hooks: Iterable[CommandHook] = ()) -> None:
        self._hooks = list(hooks)
        self.health = HealthBook()
        self.transcripts = Transcripts()
        self.doubt: Callable[[CommandHook], str] = lambda _: ""
        """Why a hook would not run what was trusted; empty: it would. Reads files: asked in a thread."""
        self.problems: list[str] = []
        """What of a project's hooks cannot be used, with places and remedies; foreign words."""

    @property
    def all(self) -> tuple[CommandHook, ...]:
        """In their order."""
        return tuple(self._hooks)

    def add(self, hooks: Iterable[CommandHook]) -> None:
        """These come after those that are there; they count from now on."""
        self._hooks += hooks

    def matching(self, point: Point, subject: str, workspace: Path) -> list[CommandHook]:
        """Those that want to hear of this, in order; the same command with the same settings once."""
        chosen: dict[CommandHook, CommandHook] = {}
        for hook in self._hooks:
            if hook.wants(point, subject, workspace):
                chosen.setdefault(replace(hook, matcher=None, source="", root=None), hook)
        return list(chosen.values())

    def close(self) -> None:
        """Delete what hooks were given to read."""
        self.transcripts.close()
