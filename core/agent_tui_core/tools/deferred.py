"""Owns results that somebody else delivers: calls that sleep until they are completed, failed or cancelled.

Refuses a second answer, and to keep an entry after its wait ended. A tool that takes the context calls
`registry.register(context)`, hands over `context.call_key`, and returns `await registry.wait(context)`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from threading import Lock
from typing import Final

from agent_tui_core.records import dataclass
from agent_tui_core.tools.base import ToolContext, ToolOutput, as_output

log = logging.getLogger(__name__)

DEFAULT_TIMEOUT = 300.0
NO_RESULT = "(no result)"
NO_REASON = "it failed without a reason"
CANCELLED = "it was cancelled"
MOST_EARLY_PROGRESS: Final = 100
"""Pieces of progress that are kept until somebody waits; of more the newest."""


@dataclass(slots=True)
class _Entry:
    """One call: open, then settled, then collected by the wait that removes it."""

    outcome: ToolOutput | None = None
    loop: asyncio.AbstractEventLoop | None = None
    """The loop of the one who waits; None while nobody does."""
    settled: asyncio.Event | None = None
    owner: str = ""
    report: Callable[[str], None] | None = None
    """Hears of progress, in the loop of the one who waits."""
    early: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_EARLY_PROGRESS))
    """Progress from before somebody waited."""


class AsyncToolRegistry:
    """Calls that wait for their result. Whoever has it may be in any task or thread; the first one wins."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._lock = Lock()

    @property
    def pending(self) -> tuple[str, ...]:
        """The ids that still want an answer, oldest first."""
        with self._lock:
            return tuple(call_id for call_id, entry in self._entries.items() if entry.outcome is None)

    def pending_of(self, owner: str) -> tuple[str, ...]:
        """Those of one owner, oldest first."""
        with self._lock:
            return tuple(
                call_id
                for call_id, entry in self._entries.items()
                if entry.outcome is None and entry.owner == owner
            )

    def register(self, call: str | ToolContext, *, owner: str = "") -> None:
        """Make the call known before anyone waits, so that an early answer is kept for the wait.

        Do it before the id is handed over: a thread may answer at once. `call` and `owner` are as in `wait`.
        Raises ValueError when the id is known already. Follow it with `wait`, or with `forget`.
        """
        if isinstance(call, ToolContext):
            owner, call = owner or call.agent_id, call.call_key
        call_id = call
        with self._lock:
            if call_id in self._entries:
                raise ValueError(f"the call {call_id!r} is registered already")
            self._entries[call_id] = _Entry(owner=owner)

    def forget(self, call_id: str) -> bool:
        """Drop a registered call that nobody waits for; False when there is none."""
        with self._lock:
            entry = self._entries.get(call_id)
            if entry is None or entry.loop is not None:
                return False
            del self._entries[call_id]
            return True

    async def wait(
        self,
        call: str | ToolContext,
        timeout: float | None = DEFAULT_TIMEOUT,
        *,
        owner: str = "",
        report: Callable[[str], None] | None = None,
    ) -> ToolOutput:
        """Register the id, unless `register` did, and sleep until its answer; then it is unknown again.

        `call` is the id or, simplest, the context that the tool was given: then the agent is the owner (a
        name for `cancel_all`), and progress is shown in its pane. A failure, a `cancel` and the end of the
        time (in seconds; None is without limit) are error results with words for the model. The cancellation
        of this task is passed on. Raises ValueError when somebody waits for the id already.
        """
        if isinstance(call, ToolContext):
            owner, report = owner or call.agent_id, report or call.report
            call = call.call_key
        call_id = call
        settled = asyncio.Event()
        entry = self._claim(call_id, settled, owner, report)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await settled.wait()
        finally:
            with self._lock:
                self._entries.pop(call_id, None)
                outcome = entry.outcome  # an answer that was accepted counts, even in the last moment
        late = f"no result came within {timeout or 0:g} s"
        return outcome or ToolOutput(late, is_error=True, outcome="timed_out")

    def complete(self, call_id: str, value: object = None) -> bool:
        """Deliver a result (text, JSON data or a `ToolOutput`); False when no such call is open.

        Raises `ToolError` when the value cannot be made into text; the call stays open then.
        """
        output = as_output(value)
        empty = not output.content and not output.images
        return self._settle(call_id, ToolOutput(NO_RESULT, output.is_error) if empty else output)

    def fail(self, call_id: str, why: str = "") -> bool:
        """Deliver an error that the model reads; False when no such call is open."""
        return self._settle(call_id, ToolOutput(why.strip() or NO_REASON, is_error=True))

    def progress(self, call_id: str, output: str) -> bool:
        """Show a piece of what happens meanwhile; False when no such call is open.

        What comes before somebody waits is kept for then, up to a bound.
        """
        with self._lock:
            entry = self._entries.get(call_id)
            if entry is None or entry.outcome is not None:
                return False
            if entry.loop is None:
                entry.early.append(output)
            elif not entry.loop.is_closed():
                entry.loop.call_soon_threadsafe(_report, entry, output)
            return True

    def cancel(self, call_id: str, words: str = CANCELLED) -> bool:
        """End the wait with an error result that says so; False when no such call is open."""
        return self._settle(call_id, ToolOutput(words, is_error=True, outcome="cancelled"))

    def cancel_all(self, owner: str | None = None, words: str = CANCELLED) -> int:
        """End all waits, or those of one owner, with an error result that says so; return how many."""
        calls = self.pending if owner is None else self.pending_of(owner)
        return sum(self.cancel(call_id, words) for call_id in calls)

    def _claim(
        self, call_id: str, settled: asyncio.Event, owner: str, report: Callable[[str], None] | None
    ) -> _Entry:
        with self._lock:
            entry = self._entries.setdefault(call_id, _Entry())
            if entry.loop is not None:
                raise ValueError(f"somebody waits for the call {call_id!r} already")
            entry.loop = asyncio.get_running_loop()
            entry.settled = settled
            entry.owner = owner or entry.owner
            entry.report = report
            if entry.outcome is not None:
                settled.set()
            early, entry.early = entry.early, deque()
        for output in early:
            _report(entry, output)
        return entry

    def _settle(self, call_id: str, outcome: ToolOutput) -> bool:
        with self._lock:
            entry = self._entries.get(call_id)
            if entry is None or entry.outcome is not None:
                return False
            if entry.loop is not None and entry.settled is not None:
                if entry.loop.is_closed():
                    return False
                entry.loop.call_soon_threadsafe(entry.settled.set)
            entry.outcome = outcome
            return True


def _report(entry: _Entry, output: str) -> None:
    if entry.report is None:
        return
    try:
        entry.report(output)
    except Exception:
        log.exception("who hears of a call's progress broke; the call goes on")
        entry.report = None
