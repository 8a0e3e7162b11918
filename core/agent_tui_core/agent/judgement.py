"""Owns the verdict of the rules on one call; refuses to come to one."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from agent_tui_core.records import dataclass

Behavior: TypeAlias = Literal["allow", "ask", "deny"]
EDITED: Final = "allowed with an edited input"
"""The reason that history keeps where a person changed what runs: no yes to what they were asked about."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the rules say of one call."""

    behavior: Behavior
    reason: str
    rule: str | None = None
    """The rule that decided; None when no rule spoke."""
    by: Literal["rule", "hook", "policy"] = "rule"
    """Who says so."""
    part: str = ""
    """The part of a command line that decided; empty when it was all of it."""
    layer: str = ""
    """Where that rule is from: "your settings", "remembered", "the project" …; empty for what is built in."""
