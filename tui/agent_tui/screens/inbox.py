"""Owns the showing of questions: one modal at a time, the oldest first; refuses to answer for a person.

A modal opens on the person's key, or by itself only when no key was pressed for a while, so that typing is
never taken for an answer. It goes away by itself when its question is settled or withdrawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from textual.app import App

from agent_tui.feed import Feed
from agent_tui.panes.prompt import PromptBox
from agent_tui_core.agent.approvals import AllowAlways, Answer, ApprovalDesk
from agent_tui_core.events import ApprovalRequest

if TYPE_CHECKING:
    from agent_tui.modals.approval import ApprovalModal

QUIET_SECONDS = 0.5
"""How long no key may have been pressed before a modal opens by itself."""

Outcome: TypeAlias = "Answer | Literal['later'] | None"


class Inbox:
    """Shows the questions of all agents to the person, one after the other."""

    def __init__(
        self,
        app: App[None],
        desk: ApprovalDesk,
        feed: Feed,
        prompt: PromptBox,
        last_key_at: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._desk = desk
        self._feed = feed
        self._prompt = prompt
        self._last_key_at = last_key_at
        self._clock = clock
        self._modal: ApprovalModal | None = None
        self._shown: ApprovalRequest | None = None
        self._known: frozenset[str] = frozenset()
        self._put_away = False

    def start(self) -> None:
        """Look at the desk after every change and every frame."""
        self._desk.watch(self._feed.wake)
        self._feed.watch(self.look)

    def look(self) -> None:
        """Bring what is shown in line with what is asked."""
        asked = frozenset(request.id for request in self._desk.pending)
        if asked - self._known:
            self._put_away = False
            if not self._app.app_focus:
                self._app.bell()
        self._known = asked
        if self._modal is not None:
            self._close_if_settled(asked)
        elif asked and not self._put_away and len(self._app.screen_stack) == 1:
            quiet = self._clock() - self._last_key_at()
            if quiet >= QUIET_SECONDS:
                self._open(by_key=False)
            else:
                self._feed.wake_in(QUIET_SECONDS - quiet + 0.01)

    def open_by_key(self) -> None:
        """The person asked for the oldest question."""
        if self._modal is not None:
            return
        if self._desk.pending:
            self._open(by_key=True)
        else:
            self._app.notify("Nobody waits for you.", timeout=2, markup=False)

    def _open(self, *, by_key: bool) -> None:
        from agent_tui.modals.approval import ApprovalModal

        request = self._desk.pending[0]
        self._put_away = False
        self._shown = request
        asking = self._feed.agents.get(request.agent_id)
        self._modal = ApprovalModal(
            request,
            self._behind,
            by_key,
            number=asking.agent.number if asking else None,
            on_typed=self._prompt.receive,
            on_pasted=self._prompt.insert,
            wall=self._feed.wall,
        )
        self._app.push_screen(self._modal, self._closed)

    def _behind(self) -> int:
        """How many wait behind the one that is shown."""
        return sum(1 for request in self._desk.pending if request != self._shown)

    def _close_if_settled(self, asked: frozenset[str]) -> None:
        if self._modal is None or (self._shown is not None and self._shown.id in asked):
            return
        # Only what is on top and whole can be dismissed; otherwise it is looked at again soon.
        if self._app.screen is self._modal and self._modal.is_mounted:
            self._modal.dismiss(None)
        else:
            self._feed.wake_in(QUIET_SECONDS)

    def _closed(self, outcome: Outcome) -> None:
        request, self._modal, self._shown = self._shown, None, None
        if outcome == "later":
            self._put_away = True
        elif outcome is not None and request is not None:
            self._answer(request, outcome)
        self._feed.wake()

    def _answer(self, request: ApprovalRequest, answer: Answer) -> None:
        settled = self._desk.answer(request.id, answer)
        if not settled:
            self._app.notify(
                "Too late: that question was settled before your answer.", severity="warning", markup=False
            )
        elif isinstance(answer, AllowAlways):
            more = f" It settled {settled - 1} more." if settled > 1 else ""
            self._app.notify(f"Remembered for this session.{more}", timeout=4, markup=False)
