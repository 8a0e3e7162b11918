"""Owns the difference between an answer and typing: when a question listens, and to what.

Refuses to know any question: `Arming` sees keys and times only, and `ArmedScreen` leaves the answers to
those who inherit it. A question is deaf when it opens and until keys have been quiet for a while. Then one
key chooses, and only if no other key follows at once is it taken: words are never an answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Literal, TypeVar

from textual import events
from textual.screen import ModalScreen
from textual.widget import Widget

from agent_tui.panes.painting import QuickScreen

QUIET = 0.4
"""Seconds without any key before a question listens."""
GRACE = 0.2
"""Seconds that a chosen key waits for a second one, which would make both of them typing."""
HELD = 0.08
"""A key that comes again within this many seconds is held down."""
TICK = 0.02
SETTLED_TICKS = 3
"""So many ticks after its time is over a key is taken, or a question listens: after a stall of the loop the
clock has run on, but what was typed meanwhile is still on its way, and comes before a few more ticks do."""

Hearing = Literal["deaf", "armed", "chosen"]
ResultT = TypeVar("ResultT")


class Arming:
    """The state machine, without a clock of its own."""

    def __init__(self, now: float) -> None:
        self.chosen: events.Key | None = None
        self._armed_at: float | None = None
        self._quiet_since = now
        self._ticks = 0
        self._held = ""
        """The answer that is being held down: its repeats are neither answers nor text."""

    @property
    def hearing(self) -> Hearing:
        """deaf: keys are typing; armed: a key can choose; chosen: one did, and waits out its grace."""
        if self.chosen is not None:
            return "chosen"
        return "deaf" if self._armed_at is None else "armed"

    def press(self, key: events.Key, at: float, *, answers: bool) -> list[events.Key]:
        """Take a key that was pressed `at`; return the keys that turn out to be typing."""
        before, again = self.chosen, at - self._quiet_since < HELD
        if before is None and self._held == key.key and again:
            self.noise(at)
            return []
        self._held = ""
        if before is None and answers and self._armed_at is not None and at >= self._armed_at:
            self.chosen = key
            self._quiet_since = at
            self._ticks = 0
            return []
        self.noise(at)
        if before is None:
            return [key]
        if before.key == key.key and again:
            self._held = key.key
            return []
        return [before, key]

    def noise(self, at: float) -> None:
        """Something was pressed that is neither an answer nor text: be deaf until it is quiet again."""
        self.chosen = None
        self._armed_at = None
        self._quiet_since = max(at, self._quiet_since)
        self._ticks = 0

    def tick(self, now: float) -> events.Key | None:
        """Let time pass; return the chosen key once its grace is over."""
        if now - self._quiet_since < (QUIET if self.chosen is None else GRACE):
            return None
        self._ticks += 1
        if self._ticks < SETTLED_TICKS:
            return None
        taken = self.chosen
        if taken is not None:
            self.noise(now)
        elif self._armed_at is None:
            self._armed_at = now
        return taken


class ArmedScreen(ModalScreen[ResultT], QuickScreen[ResultT]):
    """A modal that takes single keys as answers, and no typing. Nothing on it has the focus at first."""

    AUTO_FOCUS = ""
    ESCAPE_TO_MINIMIZE = False
    ANSWERS: ClassVar[frozenset[str]] = frozenset()
    """The keys that can answer; each is a single printable character, or escape."""

    def __init__(
        self,
        *,
        on_typed: Callable[[events.Key], None] | None = None,
        on_pasted: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_typed` and `on_pasted` get what was meant for the prompt, so that nothing typed is lost."""
        super().__init__()
        self._on_typed = on_typed
        self._on_pasted = on_pasted
        self._clock = clock
        self._arming = Arming(clock())

    def on_mount(self) -> None:
        """Start to wait for quiet now that the question is on the screen. Textual calls this one as well as
        the `on_mount` of a class that inherits it."""
        self._arming = Arming(self._clock())
        self._ticker = self.set_interval(TICK, self.tick)
        self.show_hearing()

    @property
    def hearing(self) -> Hearing:
        """Whether a key answers now."""
        return self._arming.hearing

    def tick(self) -> None:
        """Let the question notice that time has passed."""
        if not self.is_active:
            self._arming.noise(self._clock())
            return
        before = self.hearing
        taken = self._arming.tick(self._clock())
        if taken is not None:
            self.choose(taken.key)
        if self.hearing != before:
            self.show_hearing()
        if self.hearing == "armed":
            self._ticker.pause()

    def on_key(self, event: events.Key) -> None:
        """Tell answers from typing. What a focused input leaves over goes to `key_beside_input`."""
        if self.focused is not None:
            self.key_beside_input(event)
            return
        at = self._clock() - max(0.0, time.monotonic() - event.time)
        if event.key in self.ANSWERS or event.is_printable or event.key == "backspace":
            event.stop()
            listens = event.key in self.ANSWERS and self.takes(event.key)
            self._typed(self._arming.press(event, at, answers=listens))
        elif not self.scroll_by_key(event.key) or self.hearing != "armed":
            self._arming.noise(at)
        self._ticker.resume()
        self.show_hearing()

    def on_paste(self, event: events.Paste) -> None:
        """A paste is never an answer."""
        if self.focused is None:
            self.be_deaf()
            if self._on_pasted is not None:
                self._on_pasted(event.text)

    def on_mouse_down(self) -> None:
        """A press that began before the question listened is no answer either."""
        if self.hearing != "armed":
            self.be_deaf()

    def settle(self, outcome: ResultT) -> None:
        """Close with this outcome, unless something else has closed or covered the question already."""
        if self.is_active:
            self.dismiss(outcome)

    def be_deaf(self) -> None:
        """Wait for quiet again."""
        self._arming.noise(self._clock())
        self._ticker.resume()
        self.show_hearing()

    def click(self, key: str) -> None:
        """A labelled button was clicked: as good as its key, once the question listens."""
        if self.hearing == "armed" and self.takes(key):
            self.be_deaf()
            self.choose(key)

    def _typed(self, keys: list[events.Key]) -> None:
        for key in keys:
            if key.key != "escape":
                self.typed(key)

    def typed(self, key: events.Key) -> None:
        """Hand a key back that was meant for the prompt."""
        if self._on_typed is not None:
            self._on_typed(key)

    def takes(self, key: str) -> bool:
        """Whether this answer can be given now."""
        return key in self.ANSWERS

    def choose(self, key: str) -> None:
        """Act on an answer."""
        raise NotImplementedError

    def show_hearing(self) -> None:
        """Show whether the question listens."""
        raise NotImplementedError

    def scroll_by_key(self, key: str) -> bool:
        """Scroll, if that is what the key is for."""
        return key == ""

    @staticmethod
    def scroll_part(part: Widget, key: str) -> bool:
        """Scroll `part` by a line, a page or to its end, if that is what the key is for."""
        scrolls = {
            "up": part.scroll_up,
            "down": part.scroll_down,
            "pageup": part.scroll_page_up,
            "pagedown": part.scroll_page_down,
            "home": part.scroll_home,
            "end": part.scroll_end,
        }
        if (scroll := scrolls.get(key)) is None:
            return False
        scroll(animate=False)
        return True

    def key_beside_input(self, event: events.Key) -> None:
        """A key that a focused input did not want."""
