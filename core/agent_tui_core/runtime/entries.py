"""Owns the entries that an agent's transcript is made of; refuses to fold or to draw.

An entry is changed in place by its `Transcript` alone; everybody else reads.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias

from agent_tui_core.blocks import JsonObject, ToolResult
from agent_tui_core.events import ApprovalPreview, Compacted, DecidedBy, RunEnd
from agent_tui_core.records import dataclass


@dataclass(slots=True)
class UserEntry:
    """What a person said. `staged` until something came of it; `returned` when it went back to the box."""

    text: str
    staged: bool = True
    returned: str | None = None
    unanswered: str | None = None
    """Why its run ended without any of it in the conversation."""


@dataclass(slots=True)
class ProseEntry:
    """Text or reasoning of the model: pieces as they came; once `closed` it never changes again."""

    kind: Literal["text", "reasoning"]
    pieces: list[str] = field(default_factory=list)
    closed: bool = False
    cut: bool = False
    """The answer was interrupted or broke off here."""

    @property
    def text(self) -> str:
        """All of it; the pieces are joined once after it is closed."""
        if self.closed and len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return "".join(self.pieces)


ToolStatus: TypeAlias = Literal[
    "proposed",
    "judging",
    "waiting",
    "running",
    "ok",
    "error",
    "denied",
    "cancelled",
    "timed_out",
    "not_run",
]


@dataclass(slots=True)
class ToolEntry:
    """A tool call from its first fragment to its result."""

    name: str
    call_id: str
    key: str = ""
    status: ToolStatus = "proposed"
    raw: list[str] = field(default_factory=list)
    """Raw JSON pieces of the arguments while they stream in; empty once `input` is whole."""
    input: JsonObject | None = None
    decided_by: DecidedBy | None = None
    reason: str = ""
    rule: str | None = None
    started_at: float | None = None
    until: float | None = None
    """Until when somebody outside may deliver its result; None for a tool that returns by itself."""
    pid: int | None = None
    """The process that it runs in, where it is one; it lives as long as the call runs."""
    progress: str = ""
    result: ToolResult | None = None
    seconds: float = 0.0
    preview: ApprovalPreview | None = None


@dataclass(slots=True)
class NoticeEntry:
    """Something that was said about the agent, by the program."""

    level: Literal["info", "warning", "error"]
    text: str


@dataclass(slots=True)
class EndEntry:
    """A run ended in another way than completed."""

    end: RunEnd
    reason: str


Entry: TypeAlias = UserEntry | ProseEntry | ToolEntry | NoticeEntry | EndEntry


def summarised(compacted: Compacted) -> NoticeEntry:
    """What is said where less begins to stand for the messages, in requests."""
    before, after = _count(compacted.tokens_before), _count(compacted.tokens_after)
    told = "What was said up to here is summarised for the model"
    if compacted.left_out:
        told = f"The model no longer reads the first {compacted.left_out} messages, nor a summary of them"
    words = (
        f"{told}: ~{before} → ~{after} tokens. "
        "Nothing is lost: it stays in the history, and the palette can undo it."
    )
    return NoticeEntry("info", words)


def _count(tokens: int) -> str:
    return f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)
