"""Owns what a question does with each key: it answers, scrolls, leads elsewhere, or goes to the prompt.

Refuses to know any question: `Guard` tells answers from typing, and `ArmedScreen` leaves the answers to those
who inherit it. Nothing that is typed is lost: what a question does not take goes to what it covers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import ClassVar, TypeVar

from textual import events
from textual.screen import ModalScreen
from textual.widget import Widget

from agent_tui.keyboard import is_text
from agent_tui.modals.guard import TICK, Guard, Hearing, Weight
from agent_tui.modals.preview import Preview
from agent_tui.panes.beneath import Beneath
from agent_tui.panes.painting import QuickScreen

TYPED = "That was typing: it went to the prompt. Nothing was answered"

ResultT = TypeVar("ResultT")


class ArmedScreen(ModalScreen[ResultT], QuickScreen[ResultT]):
    """A modal that takes single keys as answers, and no typing. Nothing on it has the focus at first."""

    AUTO_FOCUS = ""
    ESCAPE_TO_MINIMIZE = False
    DECIDES: ClassVar[frozenset[str]] = frozenset()
    """The keys that decide: single printable characters, and enter where it means no."""
    AT_ONCE: ClassVar[frozenset[str]] = frozenset()
    """The keys whose effect can be taken back. Escape, the safe answer, always acts at once."""

    def __init__(
        self,
        beneath: Beneath | None = None,
        *,
        opened_by_key: bool = True,
        held: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """A question that opened by itself is deaf at first; `held` is the key that answered the last one."""
        super().__init__()
        self._beneath = beneath or Beneath()
        self._listens_at_once = opened_by_key
        self._held = held
        self._clock = clock
        self.answered_with = ""
        """The key that decided last: it may be held down still when the next question opens."""
        self._said = ""
        """What became of the last key, until the question listens again."""
        self._guard = Guard(clock(), listens=opened_by_key, held=held)

    def on_mount(self) -> None:
        """Begin to stand still now that the question is on the screen. Textual calls this one as well as the
        `on_mount` of a class that inherits it."""
        self._guard = Guard(self._clock(), listens=self._listens_at_once, held=self._held)
        self._ticker = self.set_interval(TICK, self.tick)
        self.call_after_refresh(self._stand)
        self.show_hearing()

    def _stand(self) -> None:
        self._guard.show(self._clock())

    @property
    def hearing(self) -> Hearing:
        """Whether a key answers now."""
        return self._guard.hearing

    def tick(self) -> None:
        """Let the question notice that time has passed."""
        if not self.is_active:
            self._typed(self._guard.interrupt(self._clock()))
            self._guard.show(self._clock())
            return
        before = self.hearing
        taken = self._guard.tick(self._clock())
        if taken is not None:
            self.answered_with = taken.key
            self.choose(taken.key)
        if self.hearing != before:
            self.show_hearing()
        if self.hearing == "armed":
            self._ticker.pause()

    async def on_key(self, event: events.Key) -> None:
        """Tell answers from typing. What a focused input leaves over goes to `key_beside_input`."""
        if self.focused is not None:
            self.key_beside_input(event)
            if event.key != "escape" and not is_text(event) and await self._beneath.navigate(event.key):
                event.stop()
            return
        at = self._clock() - max(0.0, time.monotonic() - event.time)
        if event.key == "escape":
            event.stop()
            self._typed(self._guard.interrupt(at))
            self.choose("escape")
        elif (weight := self._weight(event)) is not None:
            event.stop()
            heard = self._guard.press(event, at, weight)
            self._typed(heard.typed)
            if heard.acts is not None:
                self.choose(heard.acts.key)
        elif not self.scroll_by_key(event.key):
            self._typed(self._guard.interrupt(at))
            if await self._beneath.navigate(event.key):
                event.stop()
        elif self._guard.chosen is not None:
            self._typed(self._guard.interrupt(at))
        if self.is_active:
            self._ticker.resume()
            self.show_hearing()

    def _weight(self, event: events.Key) -> Weight | None:
        if event.key in self.DECIDES and self.takes(event.key):
            return "decides"
        if event.key in self.AT_ONCE and self.takes(event.key):
            return "at once"
        return "text" if is_text(event) or event.key == "backspace" else None

    def on_paste(self, event: events.Paste) -> None:
        """A paste is never an answer."""
        if self.focused is None:
            self.be_deaf()
            self._beneath.pasted(event.text)

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
        self._typed(self._guard.interrupt(self._clock()))
        self._ticker.resume()
        self.show_hearing()

    def look_anew(self) -> None:
        """What is asked looks different now, by the person's own key: it has to stand still again."""
        self._guard.show(self._clock())
        self._ticker.resume()
        self.show_hearing()

    def reads_on(self, preview: Preview, key: str) -> bool:
        """Whether a yes comes too early: the end was not on the screen yet. Then it shows the next page."""
        if preview.end_seen:
            return False
        preview.scroll_page_down(animate=False)
        self._said = f"Not all of it was on the screen: {key} reads on, End shows the end"
        self.be_deaf()
        return True

    def click(self, key: str) -> None:
        """A labelled button was clicked: as good as its key, once the question listens."""
        if self.hearing == "armed" and self.takes(key):
            self.be_deaf()
            self.choose(key)

    def _typed(self, keys: Iterable[events.Key]) -> None:
        for key in keys:
            if is_text(key) or key.key == "backspace":
                self._beneath.typed(key)
                self._said = TYPED

    def takes(self, key: str) -> bool:
        """Whether this answer can be given now."""
        return key in self.DECIDES | self.AT_ONCE

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
