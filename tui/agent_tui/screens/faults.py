"""Owns what becomes of an exception inside the dashboard: it is logged, told in one line, and survived.

Refuses to survive what would only go round in circles: a start that fails, and a frame that fails again and
again while nobody does anything, end the app with one sentence.
"""

from __future__ import annotations

import functools
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from rich.text import Text
from textual import events
from textual._context import active_message_pump
from textual.app import ReturnType
from textual.dom import NoScreen
from textual.driver import Driver
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import WorkerFailed

from agent_tui.keyboard import Keyboard
from agent_tui.panes.painting import QuickApp
from agent_tui.panes.wording import one_line
from agent_tui_core.system_limits import what_broke

MOST: Final = 20
"""Faults within `WITHIN` seconds that nobody caused: the app cannot go on."""
WITHIN: Final = 10.0
CAUSED: Final = 1.0
"""Seconds after a key or a click in which a fault is taken for what that caused."""
TOLD_AGAIN: Final = 5.0
"""Seconds until the same fault is logged and told again: a held key repeats it 30 times a second."""
_MOST_PLACES: Final = 100
_TOLD: Final = 8.0

_log = logging.getLogger(__name__)
_dispatch = MessagePump._dispatch_message


class FaultCount:
    """Tells the faults that somebody caused from those that come by themselves, and new ones from old."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._acted = float("-inf")
        self._uncaused: deque[float] = deque(maxlen=MOST)
        self._told: dict[tuple[object, ...], float] = {}

    def person_acted(self) -> None:
        """A key was pressed, or the like."""
        self._acted = self._clock()

    def goes_on(self, *, caused: bool) -> bool:
        """Note a fault; False when so many came by themselves that the next one surely comes too."""
        now = self._clock()
        if caused or now - self._acted < CAUSED:
            return True
        self._uncaused.append(now)
        return len(self._uncaused) < MOST or now - self._uncaused[0] > WITHIN

    def begin_anew(self) -> None:
        """What caused them all is gone."""
        self._uncaused.clear()

    def is_news(self, error: BaseException) -> bool:
        """Whether this fault, in this place, was not told a moment ago."""
        now, place = self._clock(), _place(error)
        if now - self._told.get(place, float("-inf")) < TOLD_AGAIN:
            return False
        if len(self._told) >= _MOST_PLACES:
            self._told.clear()
        self._told[place] = now
        return True


def _place(error: BaseException) -> tuple[object, ...]:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return type(error), trace and (trace.tb_frame.f_code.co_filename, trace.tb_lineno)


class EnduringApp(QuickApp[ReturnType]):
    """An app that no key, no click and no paste can end by what they break."""

    def __init__(self, keyboard: Keyboard, driver_class: type[Driver] | None = None) -> None:
        super().__init__(keyboard, driver_class)
        _guard()
        self.faults = FaultCount()
        self._endures = False

    def endure(self) -> None:
        """The first frame is on the screen: from now on there is something to lose."""
        self._endures = True

    async def on_event(self, event: events.Event) -> None:
        """Note that the person does something: what fails in the next moment is taken for its effect."""
        if isinstance(event, events.Key | events.Paste | events.MouseDown | events.MouseScrollDown):
            self.faults.person_acted()
        await super().on_event(event)

    def screen_failed(self, screen: Screen[Any]) -> None:
        """This screen could not be shown, and is gone."""

    def fault(self, error: Exception, message: Message | None = None) -> None:
        """Go on after an exception, if that has any sense; `message` is what was being handled."""
        if isinstance(error, WorkerFailed):
            error = error.error if isinstance(error.error, Exception) else error
        news = self.faults.is_news(error)
        if news:
            _log.error("the dashboard failed at %s", _name(message), exc_info=error)
        if self._exit:
            return  # Widgets that come up while all others go down miss their kin; that harms nobody.
        caused = isinstance(message, events.InputEvent | events.Paste)
        goes_on = self._endures and self.faults.goes_on(caused=caused)
        if self.is_headless and self._exception is None:
            self._exception = error  # `run_test` raises it in the end: no test passes over a fault
        failing = self._failing_screen(by_itself=not goes_on) if self._endures else None
        if not goes_on and failing is None:
            self._give_up(error)
            return
        if failing is not None:
            self.faults.begin_anew()
            self.call_later(self._take_down, failing)
        if news:
            words = f"That failed: {what_broke(error)}. The log file has more; all agents go on."
            self.notify(one_line(words), severity="error", timeout=_TOLD, markup=False)

    def _handle_exception(self, error: Exception) -> None:
        """Take what Textual (8.2) caught itself: in timers, layout, painting, workers, and at a mount.

        A private name of Textual's. Its own prints all locals on the terminal: foreign text, secrets.
        """
        self.fault(error)

    def _failing_screen(self, *, by_itself: bool) -> Screen[Any] | None:
        """The screen over the dashboard that fails while it comes up, or `by_itself` again and again."""
        over = self.screen_stack[1:]
        if not over:
            return None
        pump = active_message_pump.get(None)
        try:
            screen = pump.screen if isinstance(pump, Widget) else None
        except NoScreen:
            screen = None
        if screen is over[-1] and not screen.is_mounted:
            return screen
        return over[-1] if by_itself else None

    def _take_down(self, screen: Screen[Any]) -> None:
        if screen is not self.screen or len(self.screen_stack) < 2:
            return
        try:
            screen.dismiss()  # whoever opened it hears that there is no answer
        finally:
            if screen in self.screen_stack:
                self.pop_screen()
            self.screen_failed(screen)

    def _give_up(self, error: Exception) -> None:
        """End with one sentence."""
        self._return_code = 1
        if self._exception is None:
            self._exception = error
        self.panic(
            Text(
                one_line(
                    f"agent-tui had to close its screen: {what_broke(error)}. "
                    "The log file has the details; agent-tui --resume brings every agent back."
                )
            )
        )
        self._exception_event.set()  # a pilot waits for it


def _name(message: Message | None) -> str:
    """The kind of a message; never its content, which may be what a person types."""
    return "work of its own" if message is None else type(message).__name__


@functools.cache
def _guard() -> None:
    """Stand in the place of `MessagePump._dispatch_message`, a private name of Textual's (8.2).

    Every widget, screen and app takes its messages there. Textual ends the pump of the widget that fails, and
    the app with it: an exception must be caught below that loop, or the widget would be deaf ever after.
    """
    setattr(MessagePump, "_dispatch_message", _dispatch_guarded)  # noqa: B010


async def _dispatch_guarded(pump: MessagePump, message: Message) -> None:
    try:
        await _dispatch(pump, message)
    except Exception as error:
        app = pump.app
        # What begins a widget is Textual's to catch: it then starts no pump. Other apps are as they are.
        begins = isinstance(message, events.Compose | events.Mount | events.Load)
        if begins or not isinstance(app, EnduringApp) or not app._running:
            raise
        app.fault(error, message)
