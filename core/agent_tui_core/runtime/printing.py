"""Owns how a headless run is told: text for people, or one JSON object a line; refuses to decide anything.

Nothing that comes from a model, a tool or a server leaves with a byte in it that could move a terminal.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, Protocol

from agent_tui_core.blocks import JsonObject
from agent_tui_core.event_json import event_to_json
from agent_tui_core.events import (
    Compacted,
    CompactionStarted,
    Event,
    MessageCommitted,
    Noticed,
    RequestRetrying,
    RunEnded,
    RunStarted,
    TextDelta,
    ToolEnded,
    ToolJudged,
    ToolProposed,
    ToolStarted,
    WorkerFailed,
)
from agent_tui_core.runtime.commands import Reply
from agent_tui_core.runtime.entries import summarised
from agent_tui_core.runtime.forms import Form
from agent_tui_core.runtime.pipes import OutputPipes
from agent_tui_core.runtime.session import Session
from agent_tui_core.runtime.worker import Worker
from agent_tui_core.text import safe_line, safe_text

SCHEMA: Final = 1
"""Grows when a line changes its meaning or loses a field; new types and new fields do not count."""
SHORT_ID: Final = 8
_SHOWN: Final = 200


class Printer(Protocol):
    """Tells a run, from its first to its last word."""

    def opened(self, session: Session) -> None:
        """The session is there; nothing runs yet."""
        ...

    def happened(self, worker: Worker, event: Event) -> None:
        """One event of one agent."""
        ...

    def refused(self, line: int, reason: str) -> None:
        """A line of input could not be carried out."""
        ...

    def form_requested(self, form: Form) -> None:
        """A server or a tool waits for something to be filled in."""
        ...

    def form_settled(self, form_id: str) -> None:
        """It waits no longer."""
        ...

    def replied(self, order_id: str | int, reply: Reply) -> None:
        """What came of an order that has an id."""
        ...

    def added(self, worker: Worker) -> None:
        """An agent joined the session."""
        ...

    def told(self, words: str) -> None:
        """Something that whoever started the run should know, and no agent said."""
        ...

    def closed(self, code: int) -> None:
        """Nothing follows."""
        ...


class JsonPrinter:
    """One JSON object a line, in ASCII; see docs/headless.md."""

    def __init__(self, pipes: OutputPipes) -> None:
        self._pipes = pipes
        self._seq = 0

    def opened(self, session: Session) -> None:
        """The first line."""
        agents = [_agent(worker) for worker in session.workers]
        self._own(
            "SessionOpened",
            schema=SCHEMA,
            session_id=session.id,
            demo=session.demo,
            greeting=session.greeting,
            agents=agents,
        )

    def happened(self, worker: Worker, event: Event) -> None:
        """One line; a call that the policy denied is told to people too."""
        self._line(event_to_json(event))
        match event.body:
            case ToolJudged(allowed=False, by="policy", reason=reason):
                self._pipes.note(f"{safe_line(worker.name)}: denied: {safe_line(reason)}\n")
            case _:
                pass

    def refused(self, line: int, reason: str) -> None:
        """One line."""
        self._own("InputRefused", line=line, reason=reason)

    def form_requested(self, form: Form) -> None:
        """One line."""
        said = {field.name: getattr(form, field.name) for field in fields(form)}
        self._own("FormRequested", form=said | {"schema": dict(form.schema)})

    def form_settled(self, form_id: str) -> None:
        """One line."""
        self._own("FormSettled", form_id=form_id)

    def replied(self, order_id: str | int, reply: Reply) -> None:
        """One line."""
        self._own("Reply", id=order_id, ok=reply.ok, error=reply.error, words=reply.words)

    def added(self, worker: Worker) -> None:
        """One line."""
        self._own("AgentAdded", agent=_agent(worker))

    def told(self, words: str) -> None:
        """On standard error: programs need not know it."""
        self._pipes.note(f"{safe_line(words)}\n")

    def closed(self, code: int) -> None:
        """The last line."""
        self._own("SessionClosed", code=code)

    def _own(self, kind: str, **fields: object) -> None:
        self._seq += 1
        head = {"type": kind, "agent_id": None, "run_id": None, "seq": self._seq, "at": time.time()}
        self._line(head | fields)

    def _line(self, value: Mapping[str, Any]) -> None:
        self._pipes.write(json_line(value))


def _agent(worker: Worker) -> dict[str, str]:
    return {
        "id": worker.id,
        "name": worker.name,
        "model": worker.model,
        "provider": worker.provider,
        "workspace": str(worker.workspace),
    }


def json_line(value: Mapping[str, Any]) -> str:
    """One line that every JSON parser accepts: ASCII, no DEL, no lone surrogates, no NaN or infinity."""
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_plain(value), separators=(",", ":"), allow_nan=False)
    if "\\ud" in text:
        text = json.dumps(_plain(value), separators=(",", ":"), allow_nan=False)
    return text.replace("\x7f", "\\u007f") + "\n"


def _plain(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case Mapping():
            return {_plain(str(key)): _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value


class TextPrinter:
    """The agents' words on standard output, all else on standard error.

    One agent's words leave as they arrive. Of several agents whole lines leave, each behind its agent's name.
    """

    def __init__(self, pipes: OutputPipes) -> None:
        self._pipes = pipes
        self._several = False
        self._open: dict[str, str] = {}
        """What is written or kept of each agent's last line, by agent id; no entry between two lines."""
        self._held = ""
        """A carriage return at the end of a piece: a line feed may follow."""
        self._names: dict[str, str] = {}
        """The tool of each call, by its key."""

    def opened(self, session: Session) -> None:
        """Who is there, and how to come back."""
        workers = session.workers
        self._several = len(workers) > 1
        who = ", ".join(f"{worker.name} ({worker.model})" for worker in workers)
        self._pipes.note(f"session {session.id[:SHORT_ID]}: {safe_line(who)}\n")
        if session.greeting:
            self._pipes.note(f"{safe_line(session.greeting)}\n")

    def happened(self, worker: Worker, event: Event) -> None:
        """Words, or a note."""
        match event.body:
            case TextDelta(text):
                self._say(worker, text)
            case MessageCommitted() | RequestRetrying() | RunStarted():
                self._end_line(worker)
            case ToolProposed(key, call):
                self._names[key] = call.name
            case _:
                pass
        if told := self._note(event):
            self._end_line(worker)
            before = f"{safe_line(worker.name)}: " if self._several else ""
            self._pipes.note(f"{before}{safe_line(told)}\n")

    def refused(self, line: int, reason: str) -> None:
        """A note."""
        self._pipes.note(f"line {line} of the input: {safe_line(reason)}\n")

    def form_requested(self, form: Form) -> None:
        """Nobody could fill it in: words on standard output answer nothing."""

    def form_settled(self, form_id: str) -> None:
        """It was not told either."""

    def replied(self, order_id: str | int, reply: Reply) -> None:
        """A note, where it was not carried out."""
        if reply.error is not None:
            self._pipes.note(f"order {safe_line(str(order_id))}: {safe_line(reply.words)}\n")

    def added(self, worker: Worker) -> None:
        """From now on lines say whose they are."""
        self._several = True
        self._pipes.note(f"{safe_line(worker.name)} ({safe_line(worker.model)}) joined\n")

    def told(self, words: str) -> None:
        """A note."""
        self._pipes.note(f"{safe_line(words)}\n")

    def closed(self, code: int) -> None:
        """Nothing is left to say."""

    def _say(self, worker: Worker, text: str) -> None:
        if not text:
            return
        if not self._several:
            words = _words(self._held + text)
            self._held = "\r" if text.endswith("\r") else ""
            words = words[:-1] if self._held else words
            self._pipes.write(words)
            self._open[worker.id] = words.rpartition("\n")[2] or self._open.get(worker.id, "")
            if words.endswith("\n"):
                self._open.pop(worker.id, None)
            return
        *whole, rest = (self._open.pop(worker.id, "") + text).split("\n")
        for line in whole:
            self._write_line(worker, line)
        if rest:
            self._open[worker.id] = rest

    def _end_line(self, worker: Worker) -> None:
        self._held = ""
        rest = self._open.pop(worker.id, "")
        if rest and self._several:
            self._write_line(worker, rest)
        elif rest:
            self._pipes.write("\n")

    def _write_line(self, worker: Worker, line: str) -> None:
        words = _words(line.removesuffix("\r")).replace("\n", " ")
        self._pipes.write(f"{safe_line(worker.name)}: {words}\n" if words else f"{safe_line(worker.name)}:\n")

    def _note(self, event: Event) -> str | None:
        match event.body:
            case ToolStarted(key, input, until):
                waits = "" if until is None else f" waits for a result: agent-tui tool-result {key}"
                return f"> {self._names.get(key, 'tool')} {_summary(input)}{waits}"
            case ToolJudged(key=key, allowed=False, reason=reason, input=input):
                return f"! {self._names.get(key, 'tool')} {_summary(input)}: denied: {reason}"
            case ToolEnded(key, result, outcome) if outcome not in {"ok", "denied"}:
                first = result.content.strip().partition("\n")[0]
                return f"! {self._names.get(key, 'tool')}: {outcome}: {first[:_SHOWN]}"
            case CompactionStarted(tokens):
                return f"> summarising: ~{tokens} tokens are near what the model can read"
            case Compacted():
                return f"> {summarised(event.body).text}"
            case RequestRetrying(attempt, attempts, delay, reason):
                return f"! retrying ({attempt} of {attempts}, in {delay:.0f} s): {reason}"
            case Noticed(level, text):
                return text if level == "info" else f"{level}: {text}"
            case RunEnded(end, reason) if end != "completed":
                return f"! {end}: {reason}"
            case WorkerFailed(reason):
                return f"! failed: {reason}"
            case _:
                return None


def _words(text: str) -> str:
    """Without anything that moves a terminal, but with tabs: the output may become a file."""
    return "\t".join(safe_text(part) for part in text.split("\t"))


def _summary(input: JsonObject) -> str:
    """A call's input in a few words: what it runs or touches."""
    for key in ("command", "file_path", "pattern", "path"):
        if isinstance(value := input.get(key), str):
            return _cut(value)
    return _cut(json.dumps(dict(input), ensure_ascii=False, default=str))


def _cut(text: str) -> str:
    line = safe_line(text)
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
