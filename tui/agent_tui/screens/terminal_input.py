"""Owns the wait for keys: the thread that reads the terminal sleeps until something comes.

Refuses to read keys itself: that is Textual's, whose thread wakes ten times a second, all day long.
"""

from __future__ import annotations

import logging
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


_log = logging.getLogger(__name__)


class TerminalReader:
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
                else:
                    text = ""
                try:
                    for event in parser.feed(text, time.monotonic()) if text else ():
                        driver.process_message(event)
                    for event in parser.tick(time.monotonic()):
                        driver.process_message(event)
                except Exception:  # noqa: BLE001 - a terminal may say anything; Textual would end the app
                    _log.exception("what the terminal said could not be read")
                    parser = KeyParser(driver._debug)

    def end(self, thread: threading.Thread | None) -> None:
        """Let the thread end, and wait for it."""
        self.over = True
        os.write(self._wake, b".")
        if thread is not None and thread.ident is not None:
            thread.join()
        os.close(self._wake)
        os.close(self.woken)


def _read(descriptor: int) -> bytes:
    """What was typed; nothing when the terminal is gone."""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""


def quiet_driver(came: Callable[[], None]) -> type[Driver] | None:
    """The driver for this terminal, which says in its thread when a key came; None where Textual chooses."""
    if sys.platform == "win32" or os.environ.get("TEXTUAL_DRIVER"):
        return None
    from agent_tui.screens.terminal_driver import TerminalDriver

    return type("QuietDriver", (TerminalDriver,), {"came": staticmethod(came)})
