"""Owns the way out of an agent: stamps bodies into events and hands them to who listens; refuses to wait."""

from __future__ import annotations

import time
from collections.abc import Callable

from agent_tui_core.events import Body, Event


class Subscription:
    """The events of one agent that one listener has not taken yet; nothing in it is ever dropped."""

    __slots__ = ("_outbox", "_pending", "_wake")

    def __init__(self, outbox: Outbox, wake: Callable[[], None] | None) -> None:
        self._outbox = outbox
        self._pending: list[Event] = []
        self._wake = wake

    def take(self) -> list[Event]:
        """Return all events since the last call, oldest first; never waits."""
        taken, self._pending = self._pending, []
        return taken

    def close(self) -> None:
        """Stop listening."""
        self._outbox.drop(self)

    def push(self, event: Event) -> None:
        """Add an event; wakes the listener when it is the first since it last took."""
        self._pending.append(event)
        if self._wake is not None and len(self._pending) == 1:
            self._wake()


class Outbox:
    """Where an agent puts what happened. `append` is a plain call: no await, no copy, no listener's code.

    The one call into a listener is `wake`, which must only set a flag or schedule a callback.
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

    def subscribe(self, wake: Callable[[], None] | None = None) -> Subscription:
        """Listen from now on; `wake` is called when the first untaken event arrives."""
        subscription = Subscription(self, wake)
        self._subscriptions.append(subscription)
        return subscription

    def drop(self, subscription: Subscription) -> None:
        """Forget a listener; unknown ones are ignored."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
