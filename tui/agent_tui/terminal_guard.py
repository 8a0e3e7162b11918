"""Owns what is left to do when the program can do nothing any more: the terminal is given back.

Refuses all else. A fault in a library written in C, or a kill, leaves no moment to tidy up; whoever typed the
command would sit before a terminal that shows nothing of what they type. So a second process waits beside the
first: it is forked before there are threads, shares its memory, sleeps on a pipe, and looks once at the end.
"""

from __future__ import annotations

import contextlib
import os
import signal
import termios
from collections.abc import Iterator
from typing import Any, Final

from agent_tui.signals import ENDING

_INPUT: Final = 0
_OUTPUT: Final = 2
_LOCAL_FLAGS: Final = 3
_RAW: Final = termios.ICANON | termios.ECHO | termios.ISIG
"""What the dashboard switches off. A shell that edits a line leaves ISIG on: that is not taken for ours."""
_RESTORE: Final = b"".join(
    (
        *(b"\x1b[?%dl" % mode for mode in (2004, 2048, 1000, 1003, 1015, 1006, 1016, 1004)),
        b"\x1b[?7h",  # lines wrap
        b"\x1b[<u",  # the keyboard's modes, of this screen: before it is left
        b"\x1b[?1049l\x1b[?25h\x1b[0m",
    )
)


@contextlib.contextmanager
def guarded_terminal() -> Iterator[None]:
    """While it is entered, the terminal is given back even if this process dies at once.

    To be entered before the first thread is started, by a program that is alone with its terminal.
    """
    try:
        before = termios.tcgetattr(_INPUT)
    except (termios.error, OSError):
        yield
        return
    waits_here, ours = os.pipe()
    guard = os.fork()
    if guard == 0:
        try:
            os.close(ours)
            _wait(waits_here)
            _restore(before)
        finally:
            os._exit(0)
    os.close(waits_here)
    try:
        yield
    finally:
        if not _is_raw():
            os.kill(guard, signal.SIGKILL)  # nothing to do: it may even be stopped, and would not end itself
        os.close(ours)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(guard, 0)


def _wait(pipe: int) -> None:
    """Until nobody holds the other end; whatever else happens to the program's group."""
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    for number in (*ENDING, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    while os.read(pipe, 1):
        pass


def _restore(before: list[Any]) -> None:
    """Do what the driver does when it leaves, if it did not."""
    if not _is_raw():
        return
    with contextlib.suppress(termios.error, OSError):
        termios.tcsetattr(_INPUT, termios.TCSANOW, before)
    with contextlib.suppress(OSError):
        os.write(_OUTPUT, _RESTORE)


def _is_raw() -> bool:
    try:
        return not termios.tcgetattr(_INPUT)[_LOCAL_FLAGS] & _RAW
    except (termios.error, OSError):
        return False  # it is gone
