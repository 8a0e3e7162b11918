"""Owns the way of a workspace's own things from the session to the question about them and back.

Refuses to read them and to trust them by itself. It goes before every other question.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING

from textual.app import App

from agent_tui.ports import DashboardSession
from agent_tui.screens.inbox import Opening, Question

if TYPE_CHECKING:
    from agent_tui.modals.trust import TrustModal
    from agent_tui.panes.beneath import Beneath

_ID = "project"


class TrustQuestion:
    """Whether the folder's own rules, hooks, servers and tools count."""

    def __init__(
        self,
        app: App[None],
        session: DashboardSession,
        beneath: Callable[[], Beneath],
        do: Callable[[Coroutine[object, object, object]], None],
        decided: Callable[[], None],
    ) -> None:
        """`do` runs work and tells what goes wrong; `decided` is called once the agents may begin."""
        self._app = app
        self._session = session
        self._beneath = beneath
        self._do = do
        self._decided = decided
        self._modal: TrustModal | None = None
        self._answered = False

    def waiting(self) -> Sequence[Question]:
        """The folder's offer, while nobody decided."""
        return [Question(_ID, 0.0, at_once=True)] if self.still_waits(_ID) else []

    def still_waits(self, question_id: str) -> bool:
        """Whether nobody decided."""
        return question_id == _ID and self._session.offer is not None and not self._answered

    def open(self, question: Question, opening: Opening) -> object:  # noqa: ARG002 - there is only one
        """Show what the folder brings along."""
        from agent_tui.modals.trust import TrustModal

        offer = self._session.offer
        if offer is None:  # pragma: no cover - nothing happens between `waiting` and this
            return None
        self._modal = TrustModal(
            offer.root,
            offer.would_run,
            offer.problems,
            beneath=self._beneath(),
        )

        def closed(trusted: bool | None) -> None:
            self._modal, self._answered = None, True
            self._do(self._decide(bool(trusted)))
            opening.closed("gone", "")

        self._app.push_screen(self._modal, closed)
        return self._modal

    def withdraw(self) -> None:
        """Somebody else decided."""
        if self._modal is not None:
            self._modal.dismiss(None)

    async def _decide(self, trusted: bool) -> None:
        try:
            await self._session.decide_project(trusted)
        finally:
            self._decided()
        if not trusted:
            words = "The folder's own rules and programs are left alone. The next start asks again."
            self._app.notify(words, timeout=5, markup=False)
