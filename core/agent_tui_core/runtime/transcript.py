"""Owns the reading of one agent's events: a fold into entries, state and counters; refuses to draw.

A pane, a script or a web page each fold the same events into one of these and show what became dirty. The
fold never raises on an odd order of events: what it cannot place it ignores.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from agent_tui_core.blocks import Image, Reasoning, Text, ToolUse
from agent_tui_core.events import (
    AgentState,
    AnswerEnded,
    ApprovalRequested,
    ApprovalSettled,
    Body,
    Compacted,
    CompactionProgressed,
    CompactionStarted,
    CompactionUndone,
    Event,
    MessageCommitted,
    Noticed,
    PromptReturned,
    QueueChanged,
    ReasoningDelta,
    RequestRetrying,
    RequestStarted,
    RunEnd,
    RunEnded,
    RunStarted,
    StateChanged,
    StreamEvent,
    TextDelta,
    ToolEnded,
    ToolJudged,
    ToolProgressed,
    ToolProposed,
    ToolSpawned,
    ToolStarted,
    ToolUseDelta,
    UsageReported,
    WorkerClosed,
    WorkerFailed,
)
from agent_tui_core.messages import Message, QueuedPrompt, Usage
from agent_tui_core.runtime.call_folding import CallBody, fold_call
from agent_tui_core.runtime.entries import (
    EndEntry,
    Entry,
    NoticeEntry,
    ProseEntry,
    ToolEntry,
    UserEntry,
    summarised,
)
from agent_tui_core.runtime.progress import ProgressClock
from agent_tui_core.wire.opaque import is_tagged


class Transcript:
    """What one agent did, as a list of entries that only grows, and what it is doing now."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.dirty: set[int] = set()
        """Indexes of entries that changed since the reader last cleared this set."""
        self.state: AgentState = "idle"
        self.detail = ""
        self.state_since = 0.0
        self.clock = ProgressClock()
        """When something last came, and until when a retry is waited for."""
        self.queue: tuple[QueuedPrompt, ...] = ()
        self.usage = Usage()
        """The sum over all answers; the running one included."""
        self.run_started_at: float | None = None
        self.run_ended_at: float | None = None
        self.waiting: dict[str, ApprovalRequested] = {}
        """Open questions by request id, oldest first."""
        self.returned: PromptReturned | None = None
        """A prompt that came back; whoever puts it into an input box sets this to None."""
        self.characters = 0
        """Characters of text, reasoning and arguments that were streamed, for a rate."""
        self.summary_tokens = 0
        """Tokens of the summary that is being written to make room."""
        self.closed = False
        self._tail: int | None = None
        self._calls: dict[int, int] = {}
        self._by_key: dict[str, int] = {}
        self._answer_usage = Usage()
        self._base_usage = Usage()
        self._streamed = False
        self._answer_from = 0
        """Where the entries of the answer that grows begin."""

    def apply(self, events: Iterable[Event]) -> None:
        """Fold events, in order."""
        for event in events:
            self.clock.note(event)
            self._apply(event.body, event.at)

    def silent_for(self, now: float) -> float:
        """Seconds in which nothing came from a model or a tool that should be at work; else 0."""
        return self.clock.silent_for(self.state, now)

    def running_calls(self) -> list[ToolEntry]:
        """The calls that run now, oldest first."""
        entries = (self.entries[index] for index in self._by_key.values())
        return [each for each in entries if isinstance(each, ToolEntry) and each.status == "running"]

    def _apply(self, body: Body, at: float) -> None:
        match body:
            case TextDelta() | ReasoningDelta() | ToolUseDelta() | UsageReported() | AnswerEnded():
                self._apply_answer(body)
            case (
                ToolJudged()
                | ApprovalRequested()
                | ApprovalSettled()
                | ToolStarted()
                | ToolSpawned()
                | ToolProgressed()
                | ToolEnded()
            ):
                self._apply_to_call(body, at)
            case StateChanged(state, detail):
                if (state, detail) != (self.state, self.detail):
                    self.state_since = self.clock.progressed_at = at
                self.state, self.detail = state, detail
            case QueueChanged(prompts):
                self.queue = prompts
            case PromptReturned():
                self._return_prompt(body)
            case Noticed(level, text):
                self._add(NoticeEntry(level, text))
            case WorkerFailed(reason):
                self._add(EndEntry("failed", reason))
            case WorkerClosed():
                self.closed = True
            case _:
                self._apply_to_run(body, at)

    def _apply_answer(self, event: StreamEvent) -> None:
        match event:
            case TextDelta(text):
                self._grow("text", text)
            case ReasoningDelta(text, opaque):
                self._grow("reasoning", text)
                if opaque and is_tagged(opaque):
                    self._close_tail()
            case ToolUseDelta():
                self._propose(event)
            case UsageReported(usage):
                self._answer_usage = self._answer_usage.maximum(usage)
                self.usage = self._base_usage.plus(self._answer_usage)
            case AnswerEnded():
                self._close_tail()

    def _apply_to_run(self, body: Body, at: float) -> None:
        match body:
            case RunStarted(prompt):
                self.run_started_at, self.run_ended_at = at, None
                if prompt is not None:
                    self._add(UserEntry(_said(prompt)))
            case RequestStarted() | RequestRetrying():
                self._begin_answer()
            case MessageCommitted(message):
                self._commit(message)
            case ToolProposed(key, call):
                self._place(key, call)
            case CompactionStarted():
                self.summary_tokens = 0
            case CompactionProgressed(tokens):
                self.summary_tokens = tokens
            case Compacted():
                self._add(summarised(body))
            case CompactionUndone():
                self._add(NoticeEntry("info", "The summary was undone: the model reads everything again."))
            case RunEnded(end, reason):
                self._end_run(end, reason, at)
            case _:
                pass

    # --- prose ----------------------------------------------------------------------------------------------

    def _grow(self, kind: Literal["text", "reasoning"], text: str) -> None:
        if not text:
            return
        self._streamed = True
        self.characters += len(text)
        tail = None if self._tail is None else self.entries[self._tail]
        if not isinstance(tail, ProseEntry) or tail.kind != kind:
            self._close_tail()
            self._tail = self._add(ProseEntry(kind))
            tail = self.entries[self._tail]
        if isinstance(tail, ProseEntry) and self._tail is not None:
            tail.pieces.append(text)
            self.dirty.add(self._tail)

    def _close_tail(self, *, cut: bool = False) -> None:
        if self._tail is None:
            return
        tail = self.entries[self._tail]
        if isinstance(tail, ProseEntry):
            tail.closed, tail.cut = True, cut
        self.dirty.add(self._tail)
        self._tail = None

    def _begin_answer(self) -> None:
        self._close_tail(cut=True)
        self._withdraw("withdrawn: the answer broke off in this call, and the request is made again")
        self._answer_from = len(self.entries)
        self._calls.clear()
        self._streamed = False
        self._base_usage, self._answer_usage = self.usage, Usage()

    # --- messages -------------------------------------------------------------------------------------------

    def _commit(self, message: Message) -> None:
        match message.role:
            case "user":
                self._settle_user(_said(message))
            case "assistant":
                self._close_tail()
                if not self._streamed:
                    self._replay(message)
                if message.stop_reason in {"interrupted", "error"}:
                    self._mark_cut()
                self._drop_unfinished(message)
                self._streamed = False
            case "tool":
                pass

    def _settle_user(self, text: str) -> None:
        for index in range(len(self.entries) - 1, -1, -1):
            entry = self.entries[index]
            if isinstance(entry, UserEntry):
                if entry.staged and entry.returned is None:
                    entry.staged = False
                    self.dirty.add(index)
                    return
                break
        self._add(UserEntry(text, staged=False))

    def _replay(self, message: Message) -> None:
        self._calls.clear()
        self._answer_from = len(self.entries)
        for block in message.blocks:
            match block:
                case Text(text):
                    self._add(ProseEntry("text", [text], closed=True))
                case Reasoning(text) if text:
                    self._add(ProseEntry("reasoning", [text], closed=True))
                case ToolUse(id=call_id, name=name, input=input_):
                    self._calls[len(self._calls)] = self._add(ToolEntry(name, call_id, input=input_))
                case _:
                    pass
        if message.usage is not None:
            self.usage = self._base_usage = self.usage.plus(message.usage)

    def _mark_cut(self) -> None:
        """Say of the answer's last words that they are not all, though they may be closed already."""
        for index in range(len(self.entries) - 1, self._answer_from - 1, -1):
            entry = self.entries[index]
            if isinstance(entry, ProseEntry):
                entry.cut = True
                self.dirty.add(index)
                return

    def _drop_unfinished(self, message: Message) -> None:
        self._withdraw("the answer broke off before this call was whole", first=len(message.tool_uses))

    def _withdraw(self, reason: str, *, first: int = 0) -> None:
        """Say of calls that never became whole that they do not run, from the place `first` on."""
        for call, index in list(self._calls.items()):
            entry = self.entries[index]
            if call >= first and isinstance(entry, ToolEntry) and not entry.key:
                entry.status, entry.reason = "not_run", reason
                self.dirty.add(index)
                del self._calls[call]

    # --- calls ----------------------------------------------------------------------------------------------

    def _propose(self, delta: ToolUseDelta) -> None:
        self._streamed = True
        self.characters += len(delta.arguments)
        index = self._calls.get(delta.call)
        if index is None:
            self._close_tail()
            index = self._calls[delta.call] = self._add(ToolEntry(delta.name, delta.id))
        entry = self.entries[index]
        if isinstance(entry, ToolEntry):
            entry.name, entry.call_id = delta.name, delta.id
            entry.raw.append(delta.arguments)
            self.dirty.add(index)

    def _place(self, key: str, call: ToolUse) -> None:
        index = next(
            (
                i
                for i in self._calls.values()
                if isinstance(e := self.entries[i], ToolEntry) and not e.key and e.call_id == call.id
            ),
            None,
        )
        if index is None:
            index = self._add(ToolEntry(call.name, call.id))
        self._by_key[key] = index
        entry = self.entries[index]
        if isinstance(entry, ToolEntry):
            entry.key, entry.name, entry.input, entry.status = key, call.name, call.input, "judging"
            entry.raw.clear()
            self.dirty.add(index)

    def _apply_to_call(self, body: CallBody, at: float) -> None:
        index = self._by_key.get(body.key)
        entry = None if index is None else self.entries[index]
        if index is None or not isinstance(entry, ToolEntry):
            return
        match body:
            case ApprovalRequested(request=request):
                self.waiting[request.id] = body
            case ApprovalSettled(request_id=request_id):
                self.waiting.pop(request_id, None)
            case _:
                pass
        fold_call(entry, body, at)
        self.dirty.add(index)

    # --- ends -----------------------------------------------------------------------------------------------

    def _end_run(self, end: RunEnd, reason: str, at: float) -> None:
        self._close_tail(cut=end in {"interrupted", "failed"})
        self._leave_unanswered(reason or end, told=end != "completed")
        self._base_usage, self._answer_usage = self.usage, Usage()
        self.run_ended_at = at
        if end != "completed":
            self._add(EndEntry(end, reason))

    def _leave_unanswered(self, reason: str, *, told: bool) -> None:
        """Nothing came of the last prompt. Where the end of the run tells why, the prompt need not."""
        index, entry = self._last_said()
        if entry is None or not entry.staged:
            return
        entry.unanswered = "" if told else reason
        if entry.returned == reason:
            entry.returned = ""
        self.dirty.add(index)

    def _return_prompt(self, body: PromptReturned) -> None:
        self.returned = body
        index, entry = self._last_said()
        if entry is None or not entry.staged:
            return
        if f"{entry.text}\n\n".startswith(f"{body.prompt}\n\n"):
            entry.returned = body.reason
            self.dirty.add(index)

    def _last_said(self) -> tuple[int, UserEntry | None]:
        for index in range(len(self.entries) - 1, -1, -1):
            entry = self.entries[index]
            if isinstance(entry, UserEntry):
                return index, entry
        return -1, None

    def _add(self, entry: Entry) -> int:
        self.entries.append(entry)
        self.dirty.add(len(self.entries) - 1)
        return len(self.entries) - 1


def _said(message: Message) -> str:
    """The words of a prompt, and apart from them what hooks added for the model; then its pictures."""
    words = [block.text for block in message.blocks if isinstance(block, Text)]
    return "\n\n".join([*words, *("[image]" for block in message.blocks if isinstance(block, Image))])
