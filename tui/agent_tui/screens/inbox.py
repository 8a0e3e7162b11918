"""Owns when a question opens and closes: one modal at a time, the oldest first; refuses to know its kind.

A modal opens on the person's key, or by itself only when no key was pressed for a while, so that typing is
never taken for an answer. It goes away by itself when its question is settled or withdrawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from textual.app import App
from textual.screen import Screen

from agent_tui.feed import Feed
from agent_tui_core.records import dataclass

QUIET_SECONDS = 0.5
"""How long no key may have been pressed before a modal opens by itself."""


@dataclass(frozen=True, slots=True)
class Question:
    """Something that waits for the person."""

    id: str
    asked_at: float
    at_once: bool = False
    """It opens whatever is typed: nothing may happen before it is answered."""


@dataclass(frozen=True, slots=True)
class Opening:
    """How a question is opened, and who hears of its end."""

    by_key: bool
    behind: Callable[[], int]
    """How many other questions wait."""
    closed: Callable[[bool], None]
    """To be called once when the modal is gone; True: the person puts questions off."""


class Kind(Protocol):
    """One kind of question. It shows its modals and passes on what was answered."""

    def waiting(self) -> Sequence[Question]:
        """Those that open by themselves, the oldest first."""
        ...

    def still_waits(self, question_id: str) -> bool:
        """Whether nobody has answered or withdrawn it; also asked of those that open by a key only."""
        ...

    def open(self, question: Question, opening: Opening) -> object:
        """Push the modal of this question and return it."""
        ...

    def withdraw(self) -> None:
        """The question on top of the screen is settled or gone: close it, or say so."""
        ...


class Inbox:
    """Shows the questions of all agents to the person, one after the other."""

    def __init__(
        self,
        app: App[None],
        kinds: Sequence[Kind],
        feed: Feed,
        last_key_at: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._kinds = kinds
        self._feed = feed
        self._last_key_at = last_key_at
        self._clock = clock
        self._modal: object = None
        self._shown: tuple[Kind, Question] | None = None
        self._told = False
        """The modal was told that its question is gone."""
        self._known: frozenset[str] = frozenset()
        self._put_away = False

    @property
    def count(self) -> int:
        """How many questions wait for the person."""
        return sum(1 for _ in self._waiting())

    def start(self) -> None:
        """Look at the questions after every frame."""
        self._feed.watch(self.look)

    def look(self) -> None:
        """Bring what is shown in line with what is asked."""
        waiting = list(self._waiting())
        asked = frozenset(question.id for _, question in waiting)
        if asked - self._known:
            self._put_away = False
            if not self._app.app_focus:
                self._app.bell()
        self._known = asked
        if self._shown is not None:
            self._close_if_settled(*self._shown)
        elif waiting and not self._put_away and len(self._app.screen_stack) == 1:
            quiet = self._clock() - self._last_key_at()
            kind, question = _oldest(waiting)
            if quiet >= QUIET_SECONDS or question.at_once:
                self.open(kind, question, by_key=False)
            else:
                self._feed.wake_in(QUIET_SECONDS - quiet + 0.01)

    def open_oldest(self) -> bool:
        """The person asked for the oldest question; False when there is none."""
        if self._shown is not None:
            return True
        if waiting := list(self._waiting()):
            self.open(*_oldest(waiting), by_key=True)
        return bool(waiting)

    def open(self, kind: Kind, question: Question, *, by_key: bool) -> None:
        """Show this question now, unless one is shown already."""
        if self._shown is not None:
            return
        self._put_away = self._told = False
        self._shown = kind, question
        opening = Opening(by_key, lambda: self._behind(question), self._closed)
        self._modal = kind.open(question, opening)

    def put_off(self) -> None:
        """Let nothing open by itself until something new is asked."""
        self._put_away = True

    def _waiting(self) -> Iterator[tuple[Kind, Question]]:
        for kind in self._kinds:
            for question in kind.waiting():
                yield kind, question

    def _behind(self, shown: Question) -> int:
        return sum(1 for _, question in self._waiting() if question.id != shown.id)

    def _close_if_settled(self, kind: Kind, question: Question) -> None:
        if self._told or kind.still_waits(question.id):
            return
        # Only what is on top and whole can be dismissed; otherwise it is looked at again soon.
        top: Screen[object] = self._app.screen
        if top is self._modal and top.is_mounted:
            self._told = True
            kind.withdraw()
        else:
            self._feed.wake_in(QUIET_SECONDS)

    def _closed(self, later: bool) -> None:
        self._modal = self._shown = None
        self._put_away = later
        self._feed.wake()


def _oldest(waiting: Sequence[tuple[Kind, Question]]) -> tuple[Kind, Question]:
    """Each kind keeps its own order; between kinds the first of each are compared."""
    firsts: dict[int, tuple[Kind, Question]] = {}
    for kind, question in waiting:
        firsts.setdefault(id(kind), (kind, question))
    return min(firsts.values(), key=lambda first: (not first[1].at_once, first[1].asked_at))
