"""Owns which signals end a program that does nothing about them; refuses to handle one."""

from __future__ import annotations

import signal
from typing import Final

_HARMLESS: Final = ("CHLD", "CLD", "CONT", "URG", "WINCH", "INFO", "STOP", "TSTP", "TTIN", "TTOU")
_OF_PYTHON: Final = ("PIPE", "XFSZ")
"""Python ignores them, and raises OSError in the place that earned them."""
_CRASHES: Final = ("SEGV", "BUS", "FPE", "ILL", "TRAP", "SYS", "ABRT", "IOT", "EMT")
"""Nothing can go on after them, not even to end in order: `faulthandler` writes down where it was."""
_SPARED: Final = {f"SIG{name}" for name in (*_HARMLESS, *_OF_PYTHON, *_CRASHES, "KILL")}

ENDING: Final = tuple(
    sorted(number for number in signal.valid_signals() if getattr(number, "name", "") not in _SPARED)
)
"""Each of them would end the program at once: no history closed, no child ended, the terminal left raw.

SIGINT, SIGTERM and SIGHUP, but also SIGQUIT, SIGUSR1, SIGALRM and the like, and the real-time ones.
"""


def name_of(number: int) -> str:
    """The name of a signal; those between SIGRTMIN and SIGRTMAX have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
