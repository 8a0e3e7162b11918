"""Owns the way of a form from whoever waits to its modal and back; refuses to fill anything in.

What was half written is kept until the program ends, and stands there again when the same is asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.app import App

from agent_tui.feed import Feed
from agent_tui.panes.wording import one_line
from agent_tui.screens.inbox import Closing, Opening, Question
from agent_tui_core.runtime.forms import Form, Forms

if TYPE_CHECKING:
    from agent_tui.modals.form import FormModal, Outcome
    from agent_tui.panes.beneath import Beneath

_MOST_DRAFTS = 50


class FormQuestions:
    """What servers and waiting tool calls want a person to fill in."""

    def __init__(self, app: App[None], forms: Forms, feed: Feed, beneath: Callable[[], Beneath]) -> None:
        self._app = app
        self._forms = forms
        self._feed = feed
        self._beneath = beneath
        self._modal: FormModal | None = None
        self._drafts: dict[str, dict[str, str]] = {}
        forms.watch(feed.wake)

    def waiting(self) -> Sequence[Question]:
        """Those that are urgent."""
        return [
            Question(form.id, form.asked_at, agent_id=form.agent_id)
            for form in self._forms.pending
            if form.urgent
        ]

    def at_leisure(self) -> Sequence[Form]:
        """Those that open only when a person asks for them."""
        return [form for form in self._forms.pending if not form.urgent]

    def next_for(self, agent_id: str) -> Question | None:
        """The form that a person means: the oldest of this agent, else of all."""
        pending = self._forms.pending
        found = next((form for form in pending if form.agent_id == agent_id), pending[0] if pending else None)
        return None if found is None else Question(found.id, found.asked_at)

    def still_waits(self, question_id: str) -> bool:
        """Whether someone still waits for it."""
        return self._form(question_id) is not None

    def open(self, question: Question, opening: Opening) -> object:
        """Show the form."""
        from agent_tui.modals.form import FormModal

        form = self._form(question.id)
        if form is None:  # pragma: no cover - nothing happens between `waiting` and this
            return None
        asking = self._feed.agents.get(form.agent_id)
        self._modal = modal = FormModal(
            form,
            opening.by_key,
            agent=f"{asking.agent.number} {one_line(asking.agent.name)}" if asking else "",
            written=self._drafts.get(_sameness(form)),
            beneath=self._beneath(),
            held=opening.held,
        )

        def closed(outcome: Outcome) -> None:
            self._modal = None
            self._answer(form, modal.written, outcome)
            how: Closing = "gone" if outcome is None else "later" if outcome == "later" else "answered"
            opening.closed(how, modal.answered_with)

        self._app.push_screen(modal, closed)
        return modal

    def withdraw(self) -> None:
        """Nobody waits for what is shown."""
        if self._modal is not None:
            self._modal.withdraw()

    def _form(self, form_id: str) -> Form | None:
        return next((form for form in self._forms.pending if form.id == form_id), None)

    def _answer(self, form: Form, written: dict[str, str], outcome: Outcome) -> None:
        draft = _sameness(form)
        self._drafts.pop(draft, None)
        if outcome is None or outcome == "later":
            self._drafts[draft] = written
            for oldest in list(self._drafts)[:-_MOST_DRAFTS]:
                del self._drafts[oldest]
            return
        content = None if outcome == "declined" else outcome
        if not self._forms.answer(form.id, content if isinstance(content, dict) else None):
            self._app.notify("Too late: nobody waits for that any more.", severity="warning", markup=False)


def _sameness(form: Form) -> str:
    """What has to be equal for a draft to stand there again: who asks, for whom, and for what."""
    return json.dumps([form.source, form.agent_id, form.message, form.schema], sort_keys=True, default=str)
