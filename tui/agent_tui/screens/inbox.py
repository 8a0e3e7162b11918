"""Owns when a question opens and closes: one modal at a time, the oldest first; refuses to know its kind.

A modal opens on the person's key, or by itself only when no key was pressed for a while, so that typing is
never taken for an answer; the one after an answer comes at once. What was put off opens on a key alone.
A modal goes away by itself when its question is settled or withdrawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, Protocol, TypeAlias

from textual.app import App
from textual.screen import Screen

from agent_tui.feed import Feed
from agent_tui_core.records import dataclass

QUIET_SECONDS = 0.5
"""How long no key may have been pressed before a modal opens by itself."""

Closing: TypeAlias = Literal["answered", "later", "left", "right", "gone"]
"""How a modal ended: `left` and `right` ask for the question before and after it."""


@dataclass(frozen=True, slots=True)
class Question:
    """Something that waits for the person."""

    id: str
    asked_at: float
    at_once: bool = False
    """It opens whatever is typed: nothing may happen before it is answered."""
    agent_id: str = ""
    """Whose question it is; empty when no agent asks."""


@dataclass(frozen=True, slots=True)
class Opening:
    """How a question is opened, and who hears of its end."""

    by_key: bool
    behind: Callable[[], int]
    """How many other questions wait."""
    closed: Callable[[Closing, str], None]
    """To be called once when the modal is gone, with how, and with the key that answered, if one did."""
    held: str = ""
    """The key that answered the question before this one; it may be down still."""


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
        chosen: Callable[[], str] = str,
        say_later: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`chosen` says which agent is talked to: on a key its question comes first.

        `say_later` tells the person that a question was put off.
        """
        self._app = app
        self._kinds = kinds
        self._feed = feed
        self._last_key_at = last_key_at
        self._chosen = chosen
        self._say_later = say_later
        self._clock = clock
        self._modal: object = None
        self._shown: tuple[Kind, Question] | None = None
        self._told = False
        """The modal was told that its question is gone."""
        self._known: frozenset[str] = frozenset()
        self._put_off: set[str] = set()
        self._walks_on_from = float("inf")
        """When the key came that answered the last question: the next one opens at once."""
        self._held = ""

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
        if asked - self._known and not self._app.app_focus:
            self._app.bell()
        self._known = asked
        self._put_off &= asked
        if self._shown is not None:
            self._close_if_settled(*self._shown)
            return
        fresh = [each for each in waiting if each[1].id not in self._put_off]
        if not fresh or len(self._app.screen_stack) != 1:
            return
        kind, question = self._in_order(fresh)[0]
        last_key_at = self._last_key_at()
        quiet = self._clock() - last_key_at
        walks_on = last_key_at == self._walks_on_from
        if quiet >= QUIET_SECONDS or question.at_once or walks_on:
            self._open(kind, question, by_key=False)
        else:
            self._feed.wake_in(QUIET_SECONDS - quiet + 0.01)

    def open_next(self) -> bool:
        """The person asked for a question: the chosen agent's own, else the oldest; False when none waits."""
        if self._shown is not None:
            return True
        if waiting := list(self._waiting()):
            chosen = self._chosen()
            own = [each for each in waiting if chosen and each[1].agent_id == chosen]
            first = [each for each in waiting if each[1].at_once]
            self._open(*self._in_order(first or own or waiting)[0], by_key=True)
        return bool(waiting)

    def open(self, kind: Kind, question: Question, *, by_key: bool) -> None:
        """Show this question now, unless one is shown already."""
        if self._shown is None:
            self._open(kind, question, by_key=by_key)

    def _open(self, kind: Kind, question: Question, *, by_key: bool) -> None:
        self._told = False
        self._shown = kind, question
        held, self._held, self._walks_on_from = self._held, "", float("inf")
        opening = Opening(by_key, lambda: self._behind(question), partial(self._closed, question), held)
        self._modal = kind.open(question, opening)

    def put_off(self) -> None:
        """Let nothing that waits now open by itself."""
        self._put_off |= {question.id for _, question in self._waiting()}

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

    def _closed(self, question: Question, how: Closing, key: str) -> None:
        self._modal = self._shown = None
        self._put_off.discard(question.id)
        match how:
            case "later":
                self._put_off.add(question.id)
                self._say_later()
            case "answered":
                self._held, self._walks_on_from = key, self._last_key_at()
                self._app.call_later(self.look)  # a frame may be a quarter of a second away
            case "left" | "right":
                order = self._in_order(list(self._waiting()))
                here = next((at for at, each in enumerate(order) if each[1].id == question.id), 0)
                if order:
                    self._open(*order[(here + (1 if how == "right" else -1)) % len(order)], by_key=True)
            case "gone":
                pass
        self._feed.wake()

    def _in_order(self, waiting: Sequence[tuple[Kind, Question]]) -> list[tuple[Kind, Question]]:
        """The oldest first, what was put off behind the others."""
        return sorted(
            waiting,
            key=lambda each: (not each[1].at_once, each[1].id in self._put_off, each[1].asked_at),
        )
