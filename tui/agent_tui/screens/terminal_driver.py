"""Owns the terminal from the first byte to the last: it is taken, left, and taken again as it was found.

Refuses to read keys itself (`terminal_input`) and to know how a size is found (`terminal_size`). It stands on
private names of Textual's driver for Unix (8.2): `_size`, `_reader` threads, and the handlers of SIGTSTP,
SIGCONT and SIGWINCH, which take a terminal that was never left for one that was.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any, Final

from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size

from agent_tui.panes.painting import QuickApp
from agent_tui.screens.terminal_input import TerminalReader
from agent_tui.screens.terminal_size import FALLBACK, bounded, terminal_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.app import App
    from textual.message import Message

_WAITS: Final = "agent-tui waits: this terminal has no size yet. Resize it, or leave with ctrl+q."
_STOPS_AGAIN: Final = 0.05
"""Seconds in which a program that goes on in the background may be asked to end: `kill %1` does both."""


class TerminalDriver(LinuxDriver):
    """Textual's driver for Unix, with another wait, one reader at a time, and one idea of the size."""

    came: Callable[[], None]
    """To be called, in the reader's thread, when a key came."""
    _reader: TerminalReader | None = None
    _left = False
    _holds = False
    """The terminal is in the state that this driver put it into."""
    _away = False
    """The terminal was given back for a while."""
    _was_seen = False
    """It had a size at some time."""

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        # Without it the app would ask Rich, whose guess (80x25, also for TERM=dumb) is another than
        # Textual's: two sizes in flight send the screen from one to the other for ever.
        self._size = size or self._get_terminal_size()

    def start_application_mode(self) -> None:
        """Take the terminal; once more when the program is continued, but never after it left.

        A hang-up continues a program as well. What Textual starts then nobody would stop.
        """
        if self._left:
            return
        self._end_reader()
        self._reader, self._away = TerminalReader(self.came), False
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._holds = self._writer_thread is not None
        signal.signal(signal.SIGWINCH, self._size_changed)
        self._look()

    def stop_application_mode(self) -> None:
        """Give the terminal back as it was found.

        A program in the background that ends leaves the attributes to whoever set others since: the shell.
        """
        if not self._holds:
            return
        self._holds = False
        with _as_background():
            if not self._is_in_front():
                self.attrs_before = None
            super().stop_application_mode()

    def run_input_thread(self) -> None:
        """Hand on what comes from the terminal, until `disable_input`."""
        if (reader := self._reader) is not None:
            reader.read(self)

    def disable_input(self) -> None:
        """Wake the thread, and wait until it ended."""
        self._end_reader()
        with _as_background():
            super().disable_input()

    def suspend_application_mode(self) -> None:
        """Give the terminal back until `resume_application_mode`."""
        super().suspend_application_mode()
        self._left, self._away = False, True

    def write(self, data: str) -> None:
        """Write to the terminal; nothing while it is somebody else's. Nobody empties the queue then."""
        if not self._away:
            super().write(data)

    def close(self) -> None:
        """Leave the terminal for good."""
        self._left = True
        self._end_reader()
        super().close()

    def _end_reader(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.end(self._key_thread)

    # --- stopped and continued --------------------------------------------------------------------------
    # Both only tell the loop. A signal comes in the middle of anything, also of a write, which holds a lock
    # that the answer to the signal needs.

    def _sigtstp_application(self, *_: object) -> None:
        self._soon(self._stop_for_now)

    def _sigcont_application(self, *_: object) -> None:
        self._soon(self._go_on)

    def _soon(self, answer: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the terminal was left
            self._loop.call_soon_threadsafe(answer)

    def _stop_for_now(self) -> None:
        if self._auto_restart and not self._left:
            self.suspend_application_mode()
            self._must_signal_resume = True
        os.kill(os.getpid(), signal.SIGSTOP)

    def _go_on(self) -> None:
        """Take the terminal again. After a SIGSTOP it was never left, and its state is anybody's guess."""
        if self._left or not self._auto_restart:
            return
        if not self._is_in_front():
            self._loop.call_later(_STOPS_AGAIN, self._stop_again)
            return
        if self._holds:
            self.suspend_application_mode()
        self.resume_application_mode()
        self._app.call_later(self._app.refresh, layout=True)

    def _stop_again(self) -> None:
        if not self._left and not self._app._exit and not self._is_in_front():
            os.kill(os.getpid(), signal.SIGSTOP)

    def _is_in_front(self) -> bool:
        """Whether the terminal is this program's now, and not the shell's."""
        try:
            return os.tcgetpgrp(self.fileno) == os.getpgrp()
        except OSError:  # it is nobody's
            return True

    # --- its size ---------------------------------------------------------------------------------------

    def _get_terminal_size(self) -> tuple[int, int]:
        return terminal_size() or FALLBACK

    def _size_changed(self, *_: object) -> None:
        if not self._in_band_window_resize:
            self._soon(self._look)

    def _look(self) -> None:
        """Say the size; without one leave all as it is, and draw nothing before the first."""
        size = terminal_size()
        app = self._app
        if size is not None:
            # The way that the size of the start takes as well: an older one must not come last.
            self.send_message(events.Resize(Size(*size), Size(*size)))
            self._see()
        elif isinstance(app, QuickApp) and not self._was_seen:
            app.unseen = True
            self.write(f"\x1b[H{_WAITS}")

    def _see(self) -> None:
        self._was_seen = True
        if isinstance(self._app, QuickApp):
            self._app.see()

    def process_message(self, message: Message) -> None:
        """Take a size that the terminal says in between (mode 2048), if it is one. In the reader's thread."""
        if isinstance(message, events.Resize):
            size = bounded(*message.size)
            if size is None:
                return
            message = events.Resize.from_dimensions(size, message.pixel_size)
            self._soon(self._see)
        super().process_message(message)


@contextlib.contextmanager
def _as_background() -> Iterator[None]:
    """Let nobody stop the program because it is in the background and changes the terminal (SIGTTOU)."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTTOU, before)
