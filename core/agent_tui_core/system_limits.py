"""Owns the words for what a system runs out of: threads, open files, memory, disk; refuses to free any.

These are no mistakes of a program: wherever an exception is told, `what_broke` says which of both it is.
"""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterator

_WORDS = {
    errno.EMFILE: "too many open files: this program may have {files} at once. "
    "Close some agents, or raise the limit (ulimit -n) and start again",
    errno.ENFILE: "the whole system has too many open files: end some programs, then try again",
    errno.ENOMEM: "the system has no memory left: end some programs or agents, then try again",
    errno.ENOSPC: "the disk is full: free some space, then try again",
    errno.EDQUOT: "your share of the disk is used up: free some space, then try again",
}
_SQLITE = {7: errno.ENOMEM, 13: errno.ENOSPC}
"""SQLITE_NOMEM and SQLITE_FULL."""
_NO_THREAD = (
    "the system starts no more threads or processes for you: end some programs or agents, or raise the limit "
    "(ulimit -u, or the pids limit of the container), then try again"
)


def system_limit(error: BaseException) -> str | None:
    """What the system has too little of, and what helps; None when the error says nothing of the kind."""
    for each in _causes(error):
        match each:
            case MemoryError():
                return _WORDS[errno.ENOMEM]
            case RuntimeError() if "can't start new thread" in str(each):
                return _NO_THREAD
            case BlockingIOError() if each.errno == errno.EAGAIN:
                return _NO_THREAD  # what fork says; sockets keep theirs to themselves
            case OSError() if each.errno in _WORDS:
                return _WORDS[each.errno].format(files=_most_files())
            case _ if known := _SQLITE.get(getattr(each, "sqlite_errorcode", 0) & 0xFF):
                return _WORDS[known]
            case _:
                pass
    return None


def what_broke(error: BaseException) -> str:
    """An exception as a person reads it: a limit of the system, else a mistake with its type and words."""
    return system_limit(error) or f"{type(error).__name__}: {error}"


def how_a_run_broke(error: BaseException) -> str:
    """The same as the end of a run."""
    limit = system_limit(error)
    return limit or f"a bug ended the run: {type(error).__name__}: {error} (the log file has the details)"


def _most_files() -> str:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return "only so many" if most == resource.RLIM_INFINITY else f"{most:,}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what it groups and what it came from; causes may form a circle."""
    left, seen = [error], set[int]()
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, BaseExceptionGroup):
            left.extend(each.exceptions)
        left.extend(cause for cause in (each.__cause__, each.__context__) if cause is not None)
