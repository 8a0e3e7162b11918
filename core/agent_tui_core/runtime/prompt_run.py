"""Owns what came of one prompt, for whoever gave it: something to wait for, with a message, an end and usage.

Refuses to run anything. Each prompt's run ends exactly once: also that of one which was blocked, taken back,
or left in the queue by an agent that went.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator

from agent_tui_core.agent.received import LastRun, last_run
from agent_tui_core.events import RunEnd, RunEnded
from agent_tui_core.messages import Message, Usage


class PromptRun:
    """A prompt on its way: `await` it for how it ended."""

    __slots__ = ("_ended", "_iterations", "_over", "_usage", "prompt_id")

    def __init__(self, prompt_id: str) -> None:
        self.prompt_id = prompt_id
        """Of the prompt, while it waits in the queue, and of its message."""
        self._ended: LastRun | None = None
        self._over = asyncio.Event()
        self._usage = Usage()
        self._iterations = 0

    def __await__(self) -> Generator[object, None, LastRun]:
        """Wait for the end: of the run, and of what Stop hooks made the agent go on with.

        Raises nothing of the run's: `end`, `reason` and `error` say what went wrong. Cancelling the wait
        changes nothing.
        """
        return self._wait().__await__()

    @property
    def done(self) -> bool:
        """It has ended."""
        return self._ended is not None

    @property
    def end(self) -> RunEnd | None:
        """How it ended: "completed", "interrupted", "failed" or "limit"; None while it has not."""
        return None if self._ended is None else self._ended.end

    @property
    def reason(self) -> str:
        """The end in words, for a person; empty when completed, and before the end."""
        return "" if self._ended is None else self._ended.reason

    @property
    def message(self) -> Message | None:
        """The last answer, also when it broke off; None when none came, and before the end."""
        return None if self._ended is None else self._ended.message

    @property
    def usage(self) -> Usage:
        """Tokens of all answers together, as far as the server counted them; all at the end."""
        return self._usage

    async def _wait(self) -> LastRun:
        await self._over.wait()
        assert self._ended is not None
        return self._ended

    def count(self, ended: RunEnded) -> None:
        """One run of the agent ended; another may follow, because a Stop hook wants it."""
        self._usage = self._usage.plus(ended.usage)
        self._iterations += ended.iterations

    def finish(self, end: RunEnd, reason: str, came: tuple[Message, ...] = ()) -> None:
        """It is over, once; `came` is what it added to the conversation."""
        if self._ended is None:
            self._ended = last_run(RunEnded(end, reason, self._iterations, self._usage), came, None)
            self._over.set()


class PromptRuns:
    """The runs of one agent's prompts that have not ended."""

    def __init__(self) -> None:
        self._open: dict[str, PromptRun] = {}

    def begin(self, prompt_id: str) -> PromptRun:
        """A prompt was given."""
        run = self._open[prompt_id] = PromptRun(prompt_id)
        return run

    def count(self, prompt_id: str, ended: RunEnded) -> None:
        """One run of the agent ended that belongs to this prompt."""
        if (run := self._open.get(prompt_id)) is not None:
            run.count(ended)

    def finish(self, prompt_id: str, end: RunEnd, reason: str, came: tuple[Message, ...] = ()) -> None:
        """That prompt's run is over; others, and those of an earlier life, are none of ours."""
        if (run := self._open.pop(prompt_id, None)) is not None:
            run.finish(end, reason, came)

    def finish_all(self, end: RunEnd, reason: str) -> None:
        """The agent goes."""
        for prompt_id in list(self._open):
            self.finish(prompt_id, end, reason)
