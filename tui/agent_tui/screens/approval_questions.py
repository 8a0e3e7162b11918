"""Owns the way of an approval from the desk to its modal and back; refuses to answer for a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from textual.app import App

from agent_tui.feed import Feed
from agent_tui.screens.inbox import Closing, Opening, Question
from agent_tui_core.agent.approvals import AllowAlways, Answer, ApprovalDesk, RuleScope
from agent_tui_core.events import ApprovalRequest

if TYPE_CHECKING:
    from agent_tui.modals.approval import ApprovalModal
    from agent_tui.panes.beneath import Beneath

Outcome: TypeAlias = "Answer | Literal['later', 'left', 'right'] | None"
_SCOPES: dict[RuleScope, str] = {
    "agent": "this agent",
    "session": "this session",
    "project": "this project, also after you quit",
}


class ApprovalQuestions:
    """The calls that wait for a person."""

    def __init__(
        self, app: App[None], desk: ApprovalDesk, feed: Feed, beneath: Callable[[], Beneath]
    ) -> None:
        self._app = app
        self._desk = desk
        self._feed = feed
        self._beneath = beneath
        self._modal: ApprovalModal | None = None
        desk.watch(feed.wake)

    def waiting(self) -> Sequence[Question]:
        """What is pending at the desk."""
        return [
            Question(request.id, request.asked_at, agent_id=request.agent_id)
            for request in self._desk.pending
        ]

    def still_waits(self, question_id: str) -> bool:
        """Whether the desk still has it."""
        return self._request(question_id) is not None

    def open(self, question: Question, opening: Opening) -> object:
        """Show the call."""
        from agent_tui.modals.approval import ApprovalModal

        request = self._request(question.id)
        if request is None:  # pragma: no cover - nothing happens between `waiting` and this
            return None
        asking = self._feed.agents.get(request.agent_id)
        check = self._desk.rule_problem
        self._modal = ApprovalModal(
            request,
            opening.behind,
            opening.by_key,
            number=asking.agent.number if asking else None,
            beneath=self._beneath(),
            held=opening.held,
            wall=self._feed.wall,
            rule_problem=partial(check, request) if check is not None else None,
            also_allows=partial(self._also_allows, request),
        )
        modal = self._modal

        def closed(outcome: Outcome) -> None:
            self._modal = None
            how: Closing = "answered"
            if outcome is None:
                how = "gone"
            elif isinstance(outcome, str):
                how = outcome
            else:
                self._answer(request, outcome)
            opening.closed(how, modal.answered_with)

        self._app.push_screen(self._modal, closed)
        return self._modal

    def withdraw(self) -> None:
        """Close the modal: its question is settled."""
        if self._modal is not None:
            self._modal.dismiss(None)

    def _also_allows(self, request: ApprovalRequest, rule: str, scope: RuleScope) -> int:
        """How many other waiting calls this rule would let run."""
        check = self._desk.rule_problem
        return sum(
            check is not None
            and other.id != request.id
            and (scope != "agent" or other.agent_id == request.agent_id)
            and (scope != "project" or other.workspace == request.workspace)
            and check(other, rule) is None
            for other in self._desk.pending
        )

    def _request(self, question_id: str) -> ApprovalRequest | None:
        return next((each for each in self._desk.pending if each.id == question_id), None)

    def _answer(self, request: ApprovalRequest, answer: Answer) -> None:
        settled = self._desk.answer(request.id, answer)
        if not settled:
            self._app.notify(
                "Too late: that question was settled before your answer.", severity="warning", markup=False
            )
        elif isinstance(answer, AllowAlways):
            more = f" It settled {settled - 1} more." if settled > 1 else ""
            self._app.notify(f"Remembered for {_SCOPES[answer.scope]}.{more}", timeout=4, markup=False)
