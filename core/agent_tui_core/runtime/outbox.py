"""Owns the way out of an agent: stamps bodies into events and hands them to who listens; refuses to wait.

A listener can neither harm the agent nor fill the memory: one that does not take its events for too long
loses them, is told how many, and hears then all that it has to know from the beginning.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Final

from agent_tui_core.events import (
    Body,
    Event,
    EventsMissed,
    ReasoningDelta,
    TextDelta,
    ToolProgressed,
    ToolUseDelta,
)

MOST_UNREAD: Final = 20_000
"""Events that wait for a listener."""
MOST_UNREAD_CHARACTERS: Final = 32 * 2**20
"""Characters of text, arguments and output in them, about: they are counted now and then."""
_LOOKED_AT: Final = 512
"""After so many events their characters are counted."""

log = logging.getLogger(__name__)


def _nothing() -> Iterable[Event]:
    return ()


class Subscription:
    """The events of one agent that one listener has not taken yet."""

    __slots__ = (
        "_broke",
        "_characters",
        "_missed",
        "_most",
        "_outbox",
        "_past",
        "_pending",
        "_resync",
        "_wake",
    )

    def __init__(
        self,
        outbox: Outbox,
        wake: Callable[[], object] | None,
        *,
        most: int | None = MOST_UNREAD,
        resync: Callable[[], Iterable[Event]] = _nothing,
    ) -> None:
        """`most` events wait, None: any number; beyond that `resync` tells all from the beginning."""
        self._outbox = outbox
        self._pending: list[Event] = []
        self._wake = wake
        self._most = most
        self._resync = resync
        self._characters = 0
        self._missed = 0
        self._past = 0
        """So many of what waits don't count."""
        self._broke = False

    def take(self) -> list[Event]:
        """Return all events since the last call, oldest first; never waits.

        When the first is an `EventsMissed`, forget what came before: the others begin at the beginning.
        """
        taken, self._pending = self._pending, []
        self._characters = self._past = 0
        if self._missed:
            missed, self._missed = self._missed, 0
            return [self._outbox.latest(EventsMissed(missed)), *self._resync()]
        return taken

    def close(self) -> None:
        """Stop listening."""
        self._outbox.drop(self)

    def begin_with(self, past: Iterable[Event]) -> None:
        """Let this come first, whatever its length."""
        before = list(past)
        self._pending, self._past = [*before, *self._pending], len(before)
        self._awaken()

    def push(self, event: Event) -> None:
        """Add an event; wakes the listener when it is the first since it last took."""
        if self._missed:
            self._missed += 1
            return
        self._pending.append(event)
        count = len(self._pending)
        if count == 1:
            self._awaken()
        elif not count % _LOOKED_AT and self._most is not None:
            self._look(self._most)

    def _awaken(self) -> None:
        if self._wake is None:
            return
        try:
            self._wake()
        except Exception:
            if not self._broke:
                self._broke = True
                log.exception("who listens to agent %s broke; the agent goes on", self._outbox.agent_id)

    def _look(self, most: int) -> None:
        self._characters += sum(_characters(event.body) for event in self._pending[-_LOOKED_AT:])
        if len(self._pending) - self._past > most or self._characters > MOST_UNREAD_CHARACTERS:
            self._missed = len(self._pending)
            self._pending = []


def _characters(body: Body) -> int:
    match body:
        case TextDelta(text) | ReasoningDelta(text):
            return len(text)
        case ToolProgressed(output=output):
            return len(output)
        case ToolUseDelta(arguments=arguments):
            return len(arguments)
        case _:
            return 0


class Outbox:
    """Where an agent puts what happened. `append` is a plain call: no await, no copy, no listener's code.

    The one call into a listener is `wake`, which must only set a flag or schedule a callback. What it raises
    is logged, once.
    """

    __slots__ = ("_subscriptions", "agent_id", "run_id", "seq")

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id
        self.run_id: str | None = None
        self.seq = 0
        self._subscriptions: list[Subscription] = []

    def append(self, body: Body) -> Event:
        """Stamp the body and hand it to every subscription."""
        return self._send(self.run_id, time.time(), body)

    def replay(self, run_id: str, at: float, body: Body) -> Event:
        """Hand on something that happened in an earlier life of this agent."""
        return self._send(run_id, at, body)

    def latest(self, body: Body) -> Event:
        """Stamp what one listener is told of the present; it does not count as an event."""
        return Event(self.agent_id, self.run_id, self.seq, time.time(), body)

    def _send(self, run_id: str | None, at: float, body: Body) -> Event:
        self.seq += 1
        event = Event(self.agent_id, run_id, self.seq, at, body)
        for subscription in self._subscriptions:
            subscription.push(event)
        return event

    def subscribe(
        self,
        wake: Callable[[], object] | None = None,
        *,
        most: int | None = MOST_UNREAD,
        resync: Callable[[], Iterable[Event]] = _nothing,
    ) -> Subscription:
        """Listen from now on; `wake` is called when the first untaken event arrives."""
        subscription = Subscription(self, wake, most=most, resync=resync)
        self._subscriptions.append(subscription)
        return subscription

    def drop(self, subscription: Subscription) -> None:
        """Forget a listener; unknown ones are ignored."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
