"""Owns what a verb does to a session, and the reply to it; refuses to read one and to know who sent it.

Each is carried out as a whole or changes nothing. One that comes again under the same id is not carried out
again: it gets the reply that it got.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, assert_never

from agent_tui_core.agent import approvals
from agent_tui_core.blocks import JsonObject
from agent_tui_core.config.profiles import MOST_AGENTS
from agent_tui_core.errors import AgentTuiError
from agent_tui_core.event_json import plain
from agent_tui_core.events import ApprovalRequest
from agent_tui_core.history.message_json import message_to_json
from agent_tui_core.records import dataclass
from agent_tui_core.runtime.report import Reporter
from agent_tui_core.runtime.session import Session
from agent_tui_core.runtime.verbs import (
    Act,
    AddAgent,
    Answer,
    ChangeMode,
    CheckRule,
    Compact,
    EditQueued,
    ErrorCode,
    FillForm,
    GoOn,
    Interrupt,
    InterruptAll,
    ListAgents,
    Look,
    MoveQueued,
    Ping,
    Prompt,
    RemoveAgent,
    Rules,
    StopSession,
    TellHistory,
    UndoCompaction,
    Unqueue,
    Verb,
    VerbRefused,
)
from agent_tui_core.runtime.worker import Worker
from agent_tui_core.text import safe_line

MOST_REPLIES: Final = 1_000
"""So many are kept for who asks again under the same id."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a verb: `ok` has what it tells, else `error` is a code and `words` say why."""

    ok: dict[str, Any] | None = None
    error: ErrorCode | None = None
    words: str = ""


class Commands:
    """Carries verbs out, one after the other: whoever calls it sees to that."""

    def __init__(self, session: Session, stop: Callable[[], None]) -> None:
        """`stop` ends the session for whoever may."""
        self._session = session
        self._stop = stop
        self._replies: OrderedDict[str | int, tuple[Verb, Reply]] = OrderedDict()

    async def do(self, verb: Verb, id: str | int | None = None) -> Reply:
        """Carry it out; never raises. `id` is its sender's, and unique."""
        before = None if id is None else self._replies.get(id)
        if before is not None:
            if before[0] != verb:
                words = (
                    f"the id {safe_line(str(id))!r} was used before, for something else: give each its own"
                )
                return Reply(error="not_understood", words=words)
            again = before[1]
            return Reply(again.ok, again.error, again.words or "it was carried out before, and not again")
        reply = await self._carried_out(verb)
        if id is not None:
            self._replies[id] = (verb, reply)
            while len(self._replies) > MOST_REPLIES:
                self._replies.popitem(last=False)
        return reply

    async def _carried_out(self, verb: Verb) -> Reply:
        try:
            return Reply(await self._act(verb) or {})
        except VerbRefused as refused:
            return Reply(error=refused.code, words=str(refused))
        except AgentTuiError as error:
            return Reply(error="failed", words=safe_line(str(error)))
        except Exception as bug:
            log.exception("the verb %s broke", verb.name)
            words = f"a bug: {type(bug).__name__}: {safe_line(str(bug))} — the log file has the details"
            return Reply(error="failed", words=words)

    async def _act(self, verb: Verb) -> dict[str, Any] | None:
        match verb:
            case Prompt() | Unqueue() | EditQueued() | MoveQueued() | GoOn():
                return self._about_prompts(verb)
            case Interrupt() | InterruptAll() | Compact() | UndoCompaction() | ChangeMode() | TellHistory():
                return await self._about_runs(verb)
            case Answer() | FillForm() | CheckRule():
                return self._about_questions(verb)
            case Rules() | Look() | Act():
                return await self._about_rooms(verb)
            case AddAgent() | RemoveAgent() | ListAgents() | Ping() | StopSession():
                return await self._about_session(verb)
            case _:
                assert_never(verb)

    # --- one agent ------------------------------------------------------------------------------------------

    def _about_prompts(
        self, verb: Prompt | Unqueue | EditQueued | MoveQueued | GoOn
    ) -> dict[str, Any] | None:
        match verb:
            case Prompt(text=text, agent=agent, now=now):
                return {"prompts": [self._prompt(worker, text, now=now) for worker in self._named(agent)]}
            case Unqueue(prompt_id=prompt_id):
                return {"text": _waits(self._one(verb.agent).unqueue(prompt_id), prompt_id)}
            case EditQueued(prompt_id=prompt_id, text=words):
                _waits(self._one(verb.agent).edit_queued(prompt_id, words) or None, prompt_id)
            case MoveQueued(prompt_id=prompt_id, index=index):
                _waits(self._one(verb.agent).move_queued(prompt_id, index) or None, prompt_id)
            case GoOn():
                worker = self._one(verb.agent)
                if not worker.go_on():
                    raise VerbRefused(*_busy_or("nothing waits to be sent", worker))
        return None

    def _prompt(self, worker: Worker, text: str, *, now: bool) -> dict[str, Any]:
        run = worker.prompt_now(text) if now else worker.prompt(text)
        queued = any(prompt.id == run.prompt_id for prompt in worker.queue)
        return {"agent": worker.id, "prompt_id": run.prompt_id, "queued": queued}

    async def _about_runs(
        self, verb: Interrupt | InterruptAll | Compact | UndoCompaction | ChangeMode | TellHistory
    ) -> dict[str, Any] | None:
        match verb:
            case Interrupt(agent=agent):
                return {"count": sum(worker.interrupt() for worker in self._named(agent))}
            case InterruptAll():
                return {"count": self._session.interrupt_all()}
            case Compact():
                worker = self._one(verb.agent)
                if not worker.compact():
                    raise VerbRefused(*_busy_or("it cannot be summarised now", worker))
            case UndoCompaction():
                worker = self._one(verb.agent)
                if not await worker.undo_compaction():
                    raise VerbRefused(*_busy_or("nothing was summarised", worker))
            case ChangeMode(mode=mode):
                self._one(verb.agent).mode.become(mode)
            case TellHistory():
                return self._history(verb)
        return None

    def _history(self, verb: TellHistory) -> dict[str, Any]:
        messages = self._one(verb.agent).conversation.messages
        end = len(messages)
        if verb.before is not None:
            places = (index for index, message in enumerate(messages) if message.id == verb.before)
            if (found := next(places, None)) is None:
                raise VerbRefused("unknown", f"there is no message {safe_line(verb.before)!r}")
            end = found
        first = max(0, end - verb.count)
        return {"messages": [message_to_json(each) for each in messages[first:end]], "more": first > 0}

    def _named(self, agent: str | None) -> Sequence[Worker]:
        """The agent of that name or id; all without one."""
        workers = self._session.workers
        if agent is None:
            return workers
        named = [worker for worker in workers if agent == worker.id] or [
            worker for worker in workers if agent == worker.name
        ]
        if len(named) == 1:
            return named
        names = ", ".join(safe_line(worker.name) for worker in workers) or "none"
        how_many = "no agent" if not named else "more than one agent"
        raise VerbRefused("unknown", f"there is {how_many} called {safe_line(agent)!r}; there is: {names}")

    def _one(self, agent: str | None) -> Worker:
        named = self._named(agent)
        if len(named) == 1:
            return named[0]
        names = ", ".join(safe_line(worker.name) for worker in named) or "none"
        raise VerbRefused("not_understood", f"say which agent; there is: {names}")

    # --- questions ------------------------------------------------------------------------------------------

    def _about_questions(self, verb: Answer | FillForm | CheckRule) -> dict[str, Any]:
        match verb:
            case FillForm(form_id=form_id, content=content):
                return self._fill(form_id, content)
            case CheckRule(request_id=request_id, rule=rule):
                return {"problem": self._session.rule_problem(self._question(request_id), rule)}
            case Answer(request_id=request_id):
                settled = self._session.desk.answer(request_id, self._answer(verb))
                if not settled:
                    raise _too_late(request_id)
                return {"settled": settled}

    def _fill(self, form_id: str, content: JsonObject | None) -> dict[str, Any]:
        forms = self._session.equipment.forms
        if (problem := forms.problem(form_id, content)) is not None:
            is_open = any(form.id == form_id for form in forms.pending)
            raise VerbRefused("not_understood" if is_open else "too_late", problem)
        forms.answer(form_id, content)
        return {}

    def _answer(self, verb: Answer) -> approvals.Answer:
        if verb.deny is not None:
            return approvals.DenyCall(verb.deny.reason, verb.deny.stop)
        if verb.edited is not None:
            return approvals.AllowEdited(verb.edited.input)
        if verb.always is None:
            return approvals.AllowOnce()
        request = self._question(verb.request_id)
        if request.remember is None:
            raise VerbRefused("forbidden", "this call cannot be remembered: allow it once")
        return approvals.AllowAlways(verb.always.rule or request.remember, verb.always.scope)

    def _question(self, request_id: str) -> ApprovalRequest:
        request = next((each for each in self._session.desk.pending if each.id == request_id), None)
        if request is None:
            raise _too_late(request_id)
        return request

    # --- rooms and session ----------------------------------------------------------------------------------

    async def _about_rooms(self, verb: Rules | Look | Act) -> dict[str, Any]:
        equipment = self._session.equipment
        match verb:
            case Rules():
                return _section(equipment.rules)
            case Look():
                return {"rooms": [_section(reporter) for reporter in equipment.reporters]}
            case Act(reporter=title, row=row_id):
                by_title = {reporter.report().title: reporter for reporter in equipment.reporters}
                reporter = by_title.get(title)
                if reporter is None:
                    raise VerbRefused("unknown", f"there is no room {safe_line(title)!r}")
                if all(row.id != row_id or not row.verb for row in reporter.report().rows):
                    raise VerbRefused("unknown", f"no row {safe_line(row_id)!r} of it offers anything")
                return {"words": await reporter.act(row_id)}

    async def _about_session(
        self, verb: AddAgent | RemoveAgent | ListAgents | Ping | StopSession
    ) -> dict[str, Any] | None:
        session = self._session
        match verb:
            case AddAgent(profile=profile, called=name):
                if len(session.workers) >= MOST_AGENTS:
                    raise VerbRefused("forbidden", f"a session has at most {MOST_AGENTS} agents")
                return {"agent": agent_row(await session.add_worker(profile, name=name))}
            case RemoveAgent(agent=agent):
                await session.remove_worker(self._one(agent).id)
            case ListAgents():
                return {
                    "agents": [agent_row(worker) for worker in session.workers],
                    "asked": [plain(request) for request in session.desk.pending],
                    "forms": [plain(form) for form in session.equipment.forms.pending],
                }
            case Ping():
                return {"now": time.time()}
            case StopSession():
                self._stop()
        return None


def agent_row(worker: Worker) -> dict[str, Any]:
    """All that a list of agents says of one."""
    return {
        "id": worker.id,
        "number": worker.number,
        "name": worker.name,
        "model": worker.model,
        "provider": worker.provider,
        "workspace": str(worker.workspace),
        "branch": worker.branch,
        "mode": worker.mode.now,
        "state": worker.state,
        "detail": worker.detail,
        "busy": worker.busy,
        "queue": [[prompt.id, prompt.text] for prompt in worker.queue],
        "tokens": worker.tokens,
    }


def _section(reporter: Reporter) -> dict[str, Any]:
    section = reporter.report()
    return {"title": section.title, "rows": [plain(row) for row in section.rows]}


def _waits(found: Any, prompt_id: str) -> Any:
    if found is None:
        raise VerbRefused("too_late", f"no prompt {safe_line(prompt_id)!r} waits there")
    return found


def _busy_or(words: str, worker: Worker) -> tuple[ErrorCode, str]:
    return ("busy", f"{safe_line(worker.name)} has a run") if worker.busy else ("too_late", words)


def _too_late(request_id: str) -> VerbRefused:
    words = f"no question {safe_line(request_id)!r} is open: it was settled or withdrawn"
    return VerbRefused("too_late", words)
