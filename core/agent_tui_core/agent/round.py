"""Owns the calls of one message on their way to their results: a value that fills up; refuses to run one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import field

from agent_tui_core.agent.conversation import CANCELLED
from agent_tui_core.agent.outside import WaitsOutside
from agent_tui_core.blocks import ToolResult, ToolUse
from agent_tui_core.events import ToolEnded
from agent_tui_core.messages import Message
from agent_tui_core.records import dataclass


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A whole call of a committed message, with our key."""

    key: str
    call: ToolUse


@dataclass(slots=True)
class Round:
    """The calls of one message on their way to their results."""

    calls: Sequence[ProposedCall]
    history: tuple[Message, ...]
    results: dict[str, ToolResult] = field(default_factory=dict)
    unrecorded: list[ToolEnded] = field(default_factory=list)
    """Ends that an interrupt left to be committed together with the results."""
    stopped: str | None = None
    """Why the run shall end after this round."""
    handed: bool = False
    """Calls wait for the caller: the run ends here, and their results come with the next one."""
    started: dict[str, float] = field(default_factory=dict)
    outside: dict[str, WaitsOutside] = field(default_factory=dict)
    """The calls that were started and whose results somebody outside delivers."""
    left: bool = False
    """The program ends: what still waits outside stays open for a later life, and the run with it."""
    cut: str = CANCELLED
    """What the model reads for a call that an interrupt leaves without a result."""

    @property
    def waits_outside(self) -> bool:
        """Whether a call waits for somebody outside."""
        return any(key not in self.results for key in self.outside)

    def message(self) -> Message:
        """The results in call order; a call without one was cancelled."""
        return Message(
            "tool",
            tuple(
                self.results.get(each.key) or ToolResult(each.call.id, self.cut, is_error=True)
                for each in self.calls
            ),
        )


def cancel_if_open(proposed: ProposedCall, round_: Round, words: str | None = None) -> None:
    """Answer a call that has no result yet as cancelled, with these words or those of the round."""
    if proposed.key in round_.results:
        return
    began = round_.started.get(proposed.key)
    seconds = 0.0 if began is None else time.monotonic() - began
    result = ToolResult(proposed.call.id, words or round_.cut, is_error=True)
    round_.results[proposed.key] = result
    round_.unrecorded.append(ToolEnded(proposed.key, result, "cancelled", seconds))
