"""Owns what "allow and remember" would save: which rule, for whom, how long; refuses to save it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from agent_tui.modals.preview import shown_line
from agent_tui_core.agent.approvals import RuleScope
from agent_tui_core.events import ApprovalRequest

_SCOPES: Final[tuple[RuleScope, ...]] = ("session", "project", "agent")


class SavedRule:
    """The rule as the person has it now, beginning with what was proposed."""

    def __init__(self, request: ApprovalRequest, problem: Callable[[str], str | None] | None) -> None:
        """`problem` says why a text cannot be saved for this call; without it the rule is fixed."""
        self._agent = request.agent_name
        self._proposed = request.remember
        self._problem = problem
        self.rule = request.remember or ""
        self.scope: RuleScope = "session"
        self.error = ""
        """Why what was written last cannot be saved; empty when it can."""

    @property
    def possible(self) -> bool:
        """Whether something can be remembered for this call."""
        return self._proposed is not None

    @property
    def editable(self) -> bool:
        """Whether it can be another rule than the proposed one, which has to be seen whole for that."""
        return self._proposed is not None and self._problem is not None and shown_line(self.rule) == self.rule

    def next_scope(self) -> None:
        """Choose the next answer to "for whom?"."""
        self.scope = _SCOPES[(_SCOPES.index(self.scope) + 1) % len(_SCOPES)]

    def write(self, text: str) -> bool:
        """Take another rule, if it can be saved for this call; else `error` says why not."""
        rule = text.strip()
        self.error = "" if self._problem is None else self._problem(rule) or ""
        if not self.error:
            self.rule = rule
        return not self.error

    def rows(self) -> list[tuple[str, str]]:
        """What would be saved, and how to change it, for a person; empty when nothing can be."""
        if not self.possible:
            return []
        keys = "w changes for whom, m the rule" if self.editable else "w changes for whom"
        return [("a saves", f"{shown_line(self.rule)} · {self._whom()}"), ("", keys)]

    def _whom(self) -> str:
        match self.scope:
            case "session":
                return "for every agent, until you quit"
            case "project":
                return "for every agent in this folder, from now on"
            case "agent":
                return f"for {shown_line(self._agent)} alone, until you quit"
