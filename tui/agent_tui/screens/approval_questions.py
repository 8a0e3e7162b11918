"""Owns the way of an approval from the desk to its modal and back; refuses to answer for a person."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from textual.app import App

from agent_tui.feed import Feed
from agent_tui.panes.prompt import PromptBox
from agent_tui.screens.inbox import Opening, Question
from agent_tui_core.agent.approvals import AllowAlways, Answer, ApprovalDesk, RuleScope
from agent_tui_core.events import ApprovalRequest

if TYPE_CHECKING:
    from agent_tui.modals.approval import ApprovalModal

Outcome: TypeAlias = "Answer | Literal['later'] | None"
_SCOPES: dict[RuleScope, str] = {
    "agent": "this agent",
    "session": "this session",
    "project": "this project, also after you quit",
}


class ApprovalQuestions:
    """The calls that wait for a person."""

    def __init__(self, app: App[None], desk: ApprovalDesk, feed: Feed, prompt: PromptBox) -> None:
        self._app = app
        self._desk = desk
        self._feed = feed
        self._prompt = prompt
        self._modal: ApprovalModal | None = None
        desk.watch(feed.wake)

    def waiting(self) -> Sequence[Question]:
        """What is pending at the desk."""
        return [Question(request.id, request.asked_at) for request in self._desk.pending]

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
            on_typed=self._prompt.receive,
            on_pasted=self._prompt.insert,
            wall=self._feed.wall,
            rule_problem=partial(check, request) if check is not None else None,
        )

        def closed(outcome: Outcome) -> None:
            self._modal = None
            if outcome is not None and outcome != "later":
                self._answer(request, outcome)
            opening.closed(outcome == "later")

        self._app.push_screen(self._modal, closed)
        return self._modal

    def withdraw(self) -> None:
        """Close the modal: its question is settled."""
        if self._modal is not None:
            self._modal.dismiss(None)

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
