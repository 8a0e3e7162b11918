"""Owns the waiting: one first-in-first-out inbox of calls that a person has to judge, for all agents.

Refuses to decide: nothing here times out, allows or denies by itself; an unanswered question waits. The
future behind a question never leaves this module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, TypeAlias

from agent_tui_core.agent.watchers import Watchers
from agent_tui_core.blocks import JsonObject
from agent_tui_core.events import ApprovalRequest
from agent_tui_core.records import dataclass


@dataclass(frozen=True, slots=True)
class AllowOnce:
    """Run this call, this time."""


RuleScope: TypeAlias = Literal["agent", "session", "project"]
"""For whom a saved rule holds: this agent, or all of them, until the session ends; or all that work in this
folder, from now on."""


@dataclass(frozen=True, slots=True)
class AllowAlways:
    """Run this call and save `rule`; other waiting calls that it covers run as well."""

    rule: str
    scope: RuleScope = "session"


@dataclass(frozen=True, slots=True)
class AllowEdited:
    """Run the call with this input, which is judged once more by the deny rules."""

    input: JsonObject


@dataclass(frozen=True, slots=True)
class DenyCall:
    """Do not run the call; the model reads the reason. `stop` ends the agent's run as well."""

    reason: str = ""
    stop: bool = False
    by: Literal["person", "policy"] = "person"
    """"policy" when there is nobody who could have been asked."""


@dataclass(frozen=True, slots=True)
class Covered:
    """A rule that was saved for another call allows this one too. The desk itself says so, never a person."""

    rule: str


Answer: TypeAlias = AllowOnce | AllowAlways | AllowEdited | DenyCall
Settlement: TypeAlias = Answer | Covered


@dataclass(slots=True)
class _Question:
    request: ApprovalRequest
    still_asks: Callable[[], bool]
    future: asyncio.Future[Settlement]


class ApprovalDesk:
    """Where calls sleep until a person answers. One desk serves all agents of a session."""

    def __init__(
        self,
        remember: Callable[[ApprovalRequest, AllowAlways], None] = lambda _request, _answer: None,
        rule_problem: Callable[[ApprovalRequest, str], str | None] | None = None,
    ) -> None:
        """`remember` saves an allow rule before the other questions are judged again.

        `rule_problem` says why a rule that a person wrote cannot be saved for a question's call, or None;
        without it nobody writes rules.
        """
        self._remember = remember
        self.rule_problem = rule_problem
        self._questions: dict[str, _Question] = {}
        self._watchers: Watchers[[]] = Watchers()

    @property
    def pending(self) -> tuple[ApprovalRequest, ...]:
        """The open questions, oldest first."""
        return tuple(q.request for q in self._questions.values() if not q.future.done())

    async def ask(self, request: ApprovalRequest, still_asks: Callable[[], bool]) -> Settlement:
        """Sleep until the question is settled. Cancelling withdraws it.

        `still_asks` judges the call again by the rules that hold then.
        """
        question = _Question(request, still_asks, asyncio.get_running_loop().create_future())
        self._questions[request.id] = question
        self._changed()
        try:
            return await question.future
        finally:
            del self._questions[request.id]
            self._changed()

    def answer(self, request_id: str, answer: Answer) -> int:
        """Settle a question; return how many this settled. 0: it was settled or withdrawn before."""
        question = self._questions.get(request_id)
        if question is None or question.future.done():
            return 0
        question.future.set_result(answer)
        settled = 1
        if isinstance(answer, AllowAlways):
            self._remember(question.request, answer)
            settled += self._settle_covered(answer.rule)
        self._changed()
        return settled

    def judge_again(self, rule: str) -> int:
        """Settle what would run without a question now, because of `rule`; return how many those are."""
        settled = self._settle_covered(rule)
        if settled:
            self._changed()
        return settled

    def watch(self, wake: Callable[[], object]) -> None:
        """Call `wake` after every change of `pending`; it must only set a flag or schedule."""
        self._watchers.add(wake)

    def _settle_covered(self, rule: str) -> int:
        covered = [q for q in self._questions.values() if not q.future.done() and not q.still_asks()]
        for question in covered:
            question.future.set_result(Covered(rule))
        return len(covered)

    def _changed(self) -> None:
        self._watchers.tell()
