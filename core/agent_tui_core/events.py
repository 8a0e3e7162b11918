"""Owns what can happen, as values: what the model sent, what the loop did, what the worker became.

Refuses classes, futures and widgets in an event: every one can be stored, replayed, printed as JSON and sent
over a socket. `Event` is the envelope that a worker's outbox stamps on each body.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from agent_tui_core.blocks import JsonObject, ToolResult, ToolUse
from agent_tui_core.messages import Message, QueuedPrompt, StopReason, Usage
from agent_tui_core.records import dataclass

# --- what the model sent (a provider's stream is made of these) ---------------------------------------------


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's reasoning; `opaque` is what the provider wants back with it."""

    text: str
    opaque: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ToolUseDelta:
    """A piece of a tool call. `call` is its place in the answer; id and name are what is known now."""

    call: int
    id: str
    name: str
    arguments: str
    """The next piece of the raw JSON text of the arguments."""
    opaque: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What the answer cost so far; several reports about one answer mean their maximum."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class AnswerEnded:
    """The provider said that the answer is whole. Without this event it is not, and no call of it runs."""

    stop_reason: StopReason
    raw_reason: str | None = None
    """The provider's own word for it."""


@dataclass(frozen=True, slots=True)
class RequestQueued:
    """The server gets no more requests at once: this one waits for its turn.

    `ahead` others are before it; None: its turn came, and it is made now.
    """

    ahead: int | None


StreamEvent: TypeAlias = (
    TextDelta | ReasoningDelta | ToolUseDelta | UsageReported | AnswerEnded | RequestQueued
)

# --- what the loop did --------------------------------------------------------------------------------------

RunEnd: TypeAlias = Literal["completed", "interrupted", "failed", "limit"]
CallOutcome: TypeAlias = Literal["ok", "error", "denied", "cancelled", "timed_out", "not_run"]
DecidedBy: TypeAlias = Literal["hook", "rule", "person", "policy", "interrupt", "loop"]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run began. `prompt` is None when it goes on after tool results without a new prompt."""

    prompt: Message | None


@dataclass(frozen=True, slots=True)
class RequestStarted:
    """The model is asked; `iteration` counts the requests of this run from 1."""

    model: str
    iteration: int


@dataclass(frozen=True, slots=True)
class RequestRetrying:
    """The request failed before any text came and will be made again after `delay` seconds.

    Reasoning and pieces of calls that came of it are void.
    """

    attempt: int
    attempts: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class MessageCommitted:
    """A whole message is in the conversation (and in history, where there is one)."""

    message: Message


@dataclass(frozen=True, slots=True)
class ToolJudged:
    """It is settled whether a call may run, by whom, why, and with which input."""

    key: str
    """Our key of the call, unique in the whole history."""
    allowed: bool
    by: DecidedBy
    reason: str
    rule: str | None
    input: JsonObject
    """The input that will run: what hooks and the person made of the model's."""
    waited: float
    """Seconds from the question to the answer; 0 when nobody was asked."""


@dataclass(frozen=True, slots=True)
class ApprovalPreview:
    """What an approval shows, built from the input that will run, never from the model's prose."""

    kind: Literal["command", "diff", "text"]
    content: str
    """A command line, a unified diff, or the input as JSON."""
    path: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that waits for a person."""

    id: str
    agent_id: str
    agent_name: str
    model: str
    workspace: str
    branch: str | None
    tool: str
    input: JsonObject
    preview: ApprovalPreview
    reason: str
    """Why it asks: the rule, the hook or the mode."""
    remember: str | None
    """The rule that "always" would save; None when nothing can be remembered."""
    asked_at: float
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """The call with this key sleeps until a person answers."""

    key: str
    request: ApprovalRequest


@dataclass(frozen=True, slots=True)
class ApprovalSettled:
    """The question is no longer open: answered, covered by a new rule, or withdrawn."""

    key: str
    request_id: str
    answer: Literal["allowed", "remembered", "denied", "withdrawn", "covered"]


@dataclass(frozen=True, slots=True)
class ToolProposed:
    """A whole call of a committed message: from here on it has exactly one `ToolEnded`."""

    key: str
    call: ToolUse
    message_id: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """The tool runs now."""

    key: str
    input: JsonObject
    until: float | None = None
    """Seconds since the epoch until which somebody outside may deliver the result; None: it returns by
    itself."""


@dataclass(frozen=True, slots=True)
class ToolSpawned:
    """The tool runs in a process of its own."""

    key: str
    pid: int


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    """A piece of the tool's output while it runs."""

    key: str
    output: str


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """The call has its one result. `seconds` is the time the tool ran; 0 when it did not."""

    key: str
    result: ToolResult
    outcome: CallOutcome
    seconds: float
    preview: ApprovalPreview | None = None
    """What changed, as a diff, where the tool can tell."""


@dataclass(frozen=True, slots=True)
class CompactionStarted:
    """The conversation comes near what its model can read: its oldest part is being summarised."""

    tokens: int
    """Its size now; a guess where the provider did not count."""


@dataclass(frozen=True, slots=True)
class CompactionProgressed:
    """The summary grows; comes about once a second."""

    tokens: int
    """Tokens of it so far; a guess where the provider did not count."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """Requests have a summary from now on, in the place of everything up to a message."""

    id: str
    summary: str
    """What the model reads in their place; a marker where they are left out without a summary."""
    covers: str
    """The id of the last message that the summary stands for."""
    tokens_before: int
    tokens_after: int
    left_out: int = 0
    """How many messages are left out without a summary of them."""


@dataclass(frozen=True, slots=True)
class CompactionUndone:
    """Requests have the messages again that a summary stood for."""

    id: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over, in exactly one of four ways."""

    end: RunEnd
    reason: str
    """For a person; empty when completed."""
    iterations: int
    usage: Usage


# --- what the worker became ---------------------------------------------------------------------------------

WorkingState: TypeAlias = Literal["connecting", "streaming", "summarising", "running", "retrying", "stopping"]
AgentState: TypeAlias = Literal["idle", "queued", "waiting", "interrupted", "failed", "limit"] | WorkingState


@dataclass(frozen=True, slots=True)
class StateChanged:
    """What the agent does now; `detail` completes the words, e.g. the command that runs."""

    state: AgentState
    detail: str = ""


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """The prompts that wait until their agent can take them, oldest first."""

    prompts: tuple[QueuedPrompt, ...]


@dataclass(frozen=True, slots=True)
class EventsMissed:
    """This listener did not take its events for too long, and `count` of them were dropped.

    What follows is all that it has to know, from the beginning: forget what was folded before.
    """

    count: int


@dataclass(frozen=True, slots=True)
class PromptReturned:
    """A prompt that was not accepted goes back to the input box, with the reason."""

    prompt: str
    reason: str


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something a person should read in the pane."""

    level: Literal["info", "warning", "error"]
    text: str


@dataclass(frozen=True, slots=True)
class WorkerFailed:
    """A bug ended the run; the traceback is in the log file."""

    reason: str


@dataclass(frozen=True, slots=True)
class WorkerClosed:
    """The agent is gone; nothing follows."""


Body: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | ToolUseDelta
    | UsageReported
    | AnswerEnded
    | RequestQueued
    | RunStarted
    | RequestStarted
    | RequestRetrying
    | MessageCommitted
    | ToolProposed
    | ToolJudged
    | ApprovalRequested
    | ApprovalSettled
    | ToolStarted
    | ToolSpawned
    | ToolProgressed
    | ToolEnded
    | CompactionStarted
    | CompactionProgressed
    | Compacted
    | CompactionUndone
    | RunEnded
    | StateChanged
    | QueueChanged
    | EventsMissed
    | PromptReturned
    | Noticed
    | WorkerFailed
    | WorkerClosed
)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to one agent."""

    agent_id: str
    run_id: str | None
    """None for what happens between runs."""
    seq: int
    """Counts the events of this agent from 1, without gaps."""
    at: float
    """Seconds since the epoch."""
    body: Body
