"""Owns the wait for keys: the thread that reads the terminal sleeps until something comes.

Refuses to read keys itself: that is Textual's, whose thread wakes ten times a second, all day long.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from agent_tui.screens.terminal_keys import UNFINISHED, KeyParser

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.driver import Driver
    from textual.drivers.linux_driver import LinuxDriver


class _Reader:
    """One thread that reads, and the pipe that wakes it."""

    def __init__(self, came: Callable[[], None]) -> None:
        self.over = False
        self._came = came
        self.woken, self._wake = os.pipe()

    def read(self, driver: LinuxDriver) -> None:
        """Hand on what comes, until `end`."""
        import selectors
        from codecs import getincrementaldecoder

        parser = KeyParser(driver._debug)
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(driver.fileno, selectors.EVENT_READ)
            selector.register(self.woken, selectors.EVENT_READ)
            while not self.over:
                ready = {key.fd for key, _ in selector.select(UNFINISHED if parser.waits else None)}
                if driver.fileno in ready and not self.over:
                    self._came()  # first: to read is to wait for the event loop's thread once more
                    said = _read(driver.fileno)
                    if not said:
                        os.kill(os.getpid(), signal.SIGHUP)  # what the kernel says to most
                        return
                    text = decode(said)
                    for event in parser.feed(text, time.monotonic()):
                        driver.process_message(event)
                for event in parser.tick(time.monotonic()):
                    driver.process_message(event)

    def end(self, thread: threading.Thread | None) -> None:
        """Let the thread end, and wait for it."""
        self.over = True
        os.write(self._wake, b".")
        if thread is not None and thread.ident is not None:
            thread.join()
        os.close(self._wake)
        os.close(self.woken)


def quiet_driver(came: Callable[[], None]) -> type[Driver] | None:
    """The driver for this terminal, which says in its thread when a key came; None where Textual chooses."""
    if sys.platform == "win32" or os.environ.get("TEXTUAL_DRIVER"):
        return None
    from textual.drivers.linux_driver import LinuxDriver

    class QuietDriver(LinuxDriver):
        """Textual's driver for Unix, with another wait, and one reader at a time."""

        _reader: _Reader | None = None
        _left = False

        def start_application_mode(self) -> None:
            """Take the terminal; once more when the program is continued, but never after it left.

            A hang-up continues a program as well. What Textual starts then nobody would stop.
            """
            if self._left:
                return
            self._end_reader()
            self._reader = _Reader(came)
            super().start_application_mode()  # type: ignore[no-untyped-call]

        def run_input_thread(self) -> None:
            """Hand on what comes from the terminal, until `disable_input`."""
            if (reader := self._reader) is not None:
                reader.read(self)

        def disable_input(self) -> None:
            """Wake the thread, and wait until it ended."""
            self._end_reader()
            super().disable_input()

        def suspend_application_mode(self) -> None:
            """Give the terminal back until `resume_application_mode`."""
            super().suspend_application_mode()
            self._left = False

        def close(self) -> None:
            """Leave the terminal for good."""
            self._left = True
            self._end_reader()
            super().close()

        def _end_reader(self) -> None:
            reader, self._reader = self._reader, None
            if reader is not None:
                reader.end(self._key_thread)

    return QuietDriver


def _read(descriptor: int) -> bytes:
    """What was typed; nothing when the terminal is gone."""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
