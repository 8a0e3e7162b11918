"""Owns the way of a prompt past the hooks to a message, and what hooks make of an agent that is done.

Refuses to run a model and to keep a queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from agent_tui_core.agent.conversation import Conversation
from agent_tui_core.agent.prompts import with_words
from agent_tui_core.blocks import Text
from agent_tui_core.events import Noticed, PromptReturned, RunEnded
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.hooks.points import UserPromptSubmitEvent
from agent_tui_core.messages import Message, QueuedPrompt
from agent_tui_core.runtime.journal import WorkerJournal

MOST_TIMES_ON: Final = 5
"""So often Stop hooks can make an agent go on after one prompt."""
ENDING_TIME: Final = 1.5
"""Seconds that SessionEnd hooks have together."""


class Prompting:
    """What one agent's prompts go through."""

    def __init__(
        self, agent_id: str, conversation: Conversation, journal: WorkerJournal, hooks: Hooks
    ) -> None:
        self.resumed = False
        """It has a past in another run of the program."""
        self.refusal = ""
        """Why a prompt was kept back; whoever tells of it empties this."""
        self._agent_id = agent_id
        self._conversation = conversation
        self._journal = journal
        self._hooks = hooks
        self._started = False
        self._opening: tuple[str, ...] = ()
        """What SessionStart hooks want the model to read with the first prompt that it gets."""
        self._opened_with: str | None = None
        """The id of the message that has it."""
        self._times_on = 0

    async def submit(self, prompt: QueuedPrompt) -> Message | None:
        """Make a message of a prompt; None when a hook keeps it back: then it was returned and told."""
        history, text = self._conversation.messages, prompt.text
        if not self._started:
            start = await self._hooks.on_start("resume" if self.resumed else "startup", history)
            if start.blocked is not None:
                self._give_back(text, start.blocked)
                return None
            self._started, self._opening = True, start.context
        verdict = await self._hooks.on_prompt(UserPromptSubmitEvent(text, history, self._agent_id))
        if verdict.blocked is not None:
            self._give_back(text, verdict.blocked)
            return None
        self._times_on = 0
        blocks = prompt.blocks or (Text(text),)
        if verdict.prompt != text:
            blocks = with_words(blocks, verdict.prompt)
        if not verdict.prompt.strip() and not prompt.blocks:
            self._give_back(text, "a hook left nothing of it")
            return None
        more = (Text(part) for part in (*self._opening, *verdict.context))
        message = Message("user", (*blocks, *more), id=prompt.id)
        self._opened_with = message.id
        return message

    def _give_back(self, text: str, reason: str) -> None:
        self.refusal = f"blocked by a hook: {reason}"
        self._journal.emit(PromptReturned(text, f"blocked by a hook: {reason}"))
        self._journal.emit(Noticed("warning", f"The prompt was not sent: {reason}"))

    async def after(self, ended: RunEnded, working: Callable[[], None]) -> Message | None:
        """What the agent goes on with, because a Stop hook wants it to; None: it rests.

        `working` is called before hooks run that take time.
        """
        history = self._conversation.messages
        if self._opening and any(message.id == self._opened_with for message in history):
            self._opening = ()
        if ended.end == "interrupted":
            await self._hooks.quiet()
        if ended.end != "completed" or not self._hooks.hears_stop:
            return None
        working()
        last = next((message.text for message in reversed(history) if message.role == "assistant"), "")
        said = await self._hooks.on_stop(last, history, again=self._times_on > 0)
        if said.stopped is not None:
            self._journal.emit(Noticed("info", f"A hook ended it: {said.stopped}"))
        if said.go_on is None:
            return None
        if self._times_on >= MOST_TIMES_ON:
            words = f"A Stop hook wants it to go on, and has had that {MOST_TIMES_ON} times: it rests now."
            self._journal.emit(Noticed("warning", words))
            return None
        self._times_on += 1
        count = f"{self._times_on} of at most {MOST_TIMES_ON}"
        self._journal.emit(Noticed("info", f"A Stop hook makes it go on ({count})."))
        return Message("user", (Text(said.go_on),))

    async def end(self) -> None:
        """Tell the SessionEnd hooks, in a bounded time, and end what hooks still do."""
        await self._hooks.quiet()
        if self._started:
            try:
                async with asyncio.timeout(ENDING_TIME):
                    await self._hooks.on_end("other", self._conversation.messages)
            except TimeoutError:
                words = f"SessionEnd hooks took longer than {ENDING_TIME:g} s and were ended."
                self._journal.emit(Noticed("warning", words))
