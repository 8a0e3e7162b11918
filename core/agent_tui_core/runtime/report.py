"""Owns the values by which the rooms of a session tell a person what they hold; refuses to draw them."""

from __future__ import annotations

from typing import Protocol

from agent_tui_core.records import dataclass


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One thing: a rule, a hook, a server, a program. Its texts may be foreign."""

    id: str
    title: str
    state: str = ""
    """A word or two."""
    detail: str = ""
    bad: bool = False
    """Somebody should look at it."""
    verb: str = ""
    """What a person can do with it, as a button says it ("end", "forget", "restart"); empty: nothing."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """All that one room holds."""

    title: str
    rows: tuple[ReportRow, ...]
    empty: str = ""
    """What to say, and what to do, where there are no rows."""


class Reporter(Protocol):
    """A room that can be looked at."""

    def report(self) -> ReportSection:
        """What it holds now; cheap enough for twice a second."""
        ...

    async def act(self, row_id: str) -> str:
        """Do what the row's `verb` says; return what to tell the person. Raises `AgentTuiError`."""
        ...
