"""Owns what is known of calls whose result somebody outside delivers, as values; refuses to wait for one.

Such a call outlives the program: a later life takes it up under the same key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from agent_tui_core.blocks import JsonObject, ToolResult, ToolUse
from agent_tui_core.messages import Usage
from agent_tui_core.records import dataclass


@dataclass(frozen=True, slots=True)
class WaitsOutside:
    """One call that was started and waits. Times are seconds since the epoch."""

    input: JsonObject
    """What it was started with."""
    since: float
    until: float


@dataclass(frozen=True, slots=True)
class LeftCalls:
    """The calls of one message that a run was left with, and the run's counters."""

    calls: tuple[tuple[str, ToolUse], ...]
    """Our key of each and the call itself, in call order."""
    results: Mapping[str, ToolResult]
    """Of those that have one, by key."""
    outside: Mapping[str, WaitsOutside]
    """Those that wait, by key: all that have no result."""
    iterations: int = 0
    usage: Usage = field(default_factory=Usage)
