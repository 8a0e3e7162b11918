"""Owns the difference between an answer and typing: a state machine over keys and times, without a clock.

Refuses to know any question. Each key either acts or is given back as typing: none is eaten, but for the
repeats of an answer that is held down.

* A question that opened by itself is deaf until keys have been quiet for a while; one that a person opened
  listens at once. Typing makes either of them deaf again.
* Once it listens, what can be taken back acts at once.
* What decides has to meet a question that has stood still for a while. Then it is chosen, and taken only if
  no other key follows at once: words are never an answer.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from textual.events import Key

from agent_tui_core.records import dataclass

QUIET: Final = 0.4
"""Seconds without any key before a question that opened by itself listens."""
STILL: Final = 0.4
"""Seconds that a question has to stand on the screen before a key can decide it."""
GRACE: Final = 0.2
"""Seconds that a deciding key waits for a second one, which would make both of them typing."""
HELD: Final = 0.08
"""A key that comes again within this many seconds is held down."""
TICK: Final = 0.02
SETTLED_TICKS: Final = 3
"""So many ticks after its time is over a key is taken, or a question listens: after a stall of the loop the
clock has run on, but what was typed meanwhile is still on its way, and comes before a few more ticks do."""

Hearing: TypeAlias = Literal["deaf", "armed", "chosen"]
Weight: TypeAlias = Literal["text", "at once", "decides"]
"""What a key would do: write a letter, something that can be taken back, or what cannot."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a press comes to."""

    typed: tuple[Key, ...] = ()
    """Keys that turn out to be typing, in their order."""
    acts: Key | None = None
    """The key that acts now."""


class Guard:
    """Tells answers from typing, for one question."""

    def __init__(self, now: float, *, listens: bool, held: str = "") -> None:
        """`listens`: a person opened it. `held` is the key that answered the question before this one."""
        self.chosen: Key | None = None
        self._listens = _Wait(now, 0.0 if listens else QUIET)
        if listens:
            self._listens.since = now
        self._still = _Wait(now, STILL)
        self._grace = _Wait(now, GRACE)
        self._last_at = now
        self._acted = held
        """The key that acted or was chosen last: its repeats are neither answers nor text."""

    @property
    def hearing(self) -> Hearing:
        """deaf: not every key acts yet; armed: every key does; chosen: one waits out its grace."""
        if self.chosen is not None:
            return "chosen"
        return "deaf" if self._listens.since is None or self._still.since is None else "armed"

    def press(self, key: Key, at: float, weight: Weight) -> Heard:
        """Take a key that was pressed `at`."""
        if key.key != self._acted:
            self._acted = ""
        since_last = at - self._last_at
        held = bool(self._acted) and since_last < HELD
        self._last_at = max(at, self._last_at)
        before = self.chosen
        if held:
            self._be_deaf(at)
            return Heard()
        if before is not None:
            self._be_deaf(at)
            return Heard((before, key))
        if weight == "text" or not self._listens.over(at):
            self._be_deaf(at)
            return Heard((key,))
        if weight == "at once":
            self._acted = key.key
            return Heard(acts=key)
        if not self._still.over(at) or since_last < GRACE:
            self._be_deaf(at)
            return Heard((key,))
        self.chosen, self._acted = key, key.key
        self._grace = _Wait(at, GRACE)
        return Heard()

    def interrupt(self, at: float) -> tuple[Key, ...]:
        """Something was pressed that is neither an answer nor text: wait for quiet; a choice was typing."""
        before, self._acted = self.chosen, ""
        self._last_at = max(at, self._last_at)
        self._be_deaf(at)
        return () if before is None else (before,)

    def show(self, now: float) -> None:
        """The question stands on the screen from now on, or anew."""
        self._still = _Wait(now, STILL)

    def tick(self, now: float) -> Key | None:
        """Let time pass; return the chosen key once its grace is over."""
        self._listens.tick(now)
        self._still.tick(now)
        if self.chosen is None or not self._grace.tick(now):
            return None
        taken, self.chosen = self.chosen, None
        self._listens = _Wait(now, QUIET)
        return taken

    def _be_deaf(self, at: float) -> None:
        self.chosen = None
        self._listens = _Wait(max(at, self._listens.begun), QUIET)


class _Wait:
    """A time that has to pass, and a few ticks after it."""

    __slots__ = ("_seconds", "_ticks", "begun", "since")

    def __init__(self, begun: float, seconds: float) -> None:
        self.begun = begun
        self.since: float | None = None
        """When it was over; None while it is not."""
        self._seconds = seconds
        self._ticks = 0

    def tick(self, now: float) -> bool:
        """Let time pass; says whether it is over."""
        if self.since is None and now - self.begun >= self._seconds:
            self._ticks += 1
            if self._ticks >= SETTLED_TICKS:
                self.since = now
        return self.since is not None

    def over(self, at: float) -> bool:
        """Whether it was over then: what was pressed before comes late."""
        return self.since is not None and at >= self.since
