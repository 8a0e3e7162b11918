"""Owns making room: when a conversation outgrows its model, less stands for its oldest part in requests.

That is a summary, or, where no usable one comes, a marker that says what is left out. Refuses to forget:
messages stay in history and in the pane, and a compaction can be undone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from agent_tui_core.agent.context import (
    CHARACTERS_PER_TOKEN,
    as_text,
    estimate,
    first_kept,
    first_kept_turn,
)
from agent_tui_core.agent.conversation import Conversation, left_out_words
from agent_tui_core.agent.journal import Journal
from agent_tui_core.agent.requesting import Requesting
from agent_tui_core.blocks import Text
from agent_tui_core.errors import ProviderError, Unauthorized
from agent_tui_core.events import (
    Compacted,
    CompactionProgressed,
    CompactionStarted,
    Noticed,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolUseDelta,
)
from agent_tui_core.messages import Message, ModelRequest, RequestOptions, Usage, new_id
from agent_tui_core.records import dataclass
from agent_tui_core.wire.accumulator import Accumulator

FULL = 0.8
"""The part of the limit at which room is made before the next request."""
KEPT = 0.25
"""The part of the limit (or of what there is) that stays as it is: the newest messages."""
LEAST = 0.1
"""The part of the limit that has to be gained, or no room is made before the provider demands it."""
LONGEST_SUMMARY = 2_048
"""Tokens that a summary may have at most, however much it replaces."""
MOST_TOO_LOW = 8
"""How many times too low a guess of a message's tokens may be; what is missing beyond that is elsewhere."""
SHORTEST_BOUND = 64
"""Tokens that any summary may have: no third of a few words is worth a quarrel."""
TELL_EVERY = 1.0
"""Seconds between two events that say how far a summary is."""
_INSTRUCTIONS = (
    "You condense the record of a conversation between a user and an agent that works with tools, so that "
    "the agent can go on from your summary alone. Keep: what the user wants and forbade; decisions and "
    "their reasons; files, names, commands and numbers that matter; what was done, what failed and why; "
    "what is still open. Leave out greetings and raw output. Write plain text, as short as that allows."
)


@dataclass(frozen=True, slots=True)
class Room:
    """What came of making room."""

    made: bool
    usage: Usage
    reason: str = ""
    """Why none was made, for a person."""


class UnusableSummary(Exception):
    """The model answered, but not with a summary that saves room; says why."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where a conversation is cut."""

    kept_from: int
    before: int
    """Tokens of the whole, with what each request has besides its messages."""
    replaced: int
    """Tokens of what is before the cut, by our own guess."""
    gained: int
    """The same as the provider would count them."""

    @property
    def bound(self) -> int:
        """Tokens that a summary of it may have."""
        return max(SHORTEST_BOUND, min(self.gained // 4, LONGEST_SUMMARY))


class Compaction:
    """Makes room in one conversation."""

    def __init__(
        self,
        requesting: Requesting,
        conversation: Conversation,
        journal: Journal,
        model: str,
        overhead: Callable[[], int],
        options: RequestOptions,
    ) -> None:
        """`overhead` makes a guess of the tokens that every request has besides its messages.

        `options` are those of the agent: where its requests may go and how they are answered is said in them.
        """
        self._requesting = requesting
        self._conversation = conversation
        self._journal = journal
        self._model = model
        self._overhead = overhead
        self._options = replace(options, stop=())

    def is_due(self, limit: int | None) -> bool:
        """Whether the next request comes near the limit, in tokens, and room can be made; else never."""
        if limit is None or self._conversation.size(self._overhead()) < FULL * limit:
            return False
        cut = self._cut(limit)
        return cut is not None and cut.gained >= LEAST * limit

    async def make_room(self, limit: int | None, *, needed: bool = True) -> Room:
        """Let a summary stand for the oldest part; where none comes that can be used, leave that part out.

        Unless room is `needed`: then nothing changes without a summary. Raises `ProviderError` when the
        model could not be asked.
        """
        cut = self._cut(limit)
        if cut is None:
            return Room(False, Usage(), "there is nothing that could be summarised")
        summary = _Summary(cut.bound, self._journal.emit)
        try:
            words = await self._ask(summary, cut, limit)
        except (UnusableSummary, ProviderError) as problem:
            if isinstance(problem, ProviderError) and (
                problem.retryable or isinstance(problem, Unauthorized)
            ):
                raise
            if not needed:
                return Room(False, summary.usage, f"no summary came that could be used: {problem}")
            await self._leave_out(cut.kept_from, cut.before, str(problem))
            return Room(True, summary.usage)
        await self._commit(words, cut.kept_from, cut.before)
        return Room(True, summary.usage)

    async def leave_out_more(self, limit: int | None) -> bool:
        """Leave out all that can be: a summary made too little room. False when nothing was left."""
        messages = self._conversation.visible()
        kept_from = first_kept(messages, 0)
        if kept_from <= (1 if self._conversation.compaction else 0):
            return False
        before = min(self._conversation.size(self._overhead()), limit or 2**62)
        await self._leave_out(kept_from, before, "the model's server still finds it too long")
        return True

    def _cut(self, limit: int | None) -> _Cut | None:
        """Where to cut; None when nothing can be."""
        overhead = self._overhead()
        before = self._conversation.size(overhead)
        messages = self._conversation.visible()
        room, guessed = min(before, limit or before) - overhead, estimate(messages)
        counts_for = guessed / max(before - overhead, guessed, 1)  # of a token, where a guess is too low
        kept_from = first_kept(messages, int(KEPT * max(room, 0) * counts_for))
        if kept_from == 0:
            return None
        replaced = estimate(messages[:kept_from])
        return _Cut(kept_from, before, replaced, int(replaced / max(counts_for, 1 / MOST_TOO_LOW)))

    async def _ask(self, summary: _Summary, cut: _Cut, limit: int | None) -> str:
        allowed = int(FULL * (limit or cut.before)) * CHARACTERS_PER_TOKEN // 2
        record = as_text(self._conversation.visible()[: cut.kept_from], allowed)
        words = cut.bound // 2  # half a word a token: what heeds it ends well before its bound
        asked = Message("user", (Text(f"Condense this record in at most {words} words:\n\n{record}"),))
        request = ModelRequest(
            self._model,
            [asked],
            system_prompt=_INSTRUCTIONS,
            max_tokens=cut.bound,
            options=self._options,
        )
        attempt = 0
        while True:
            self._journal.emit(CompactionStarted(cut.before))
            try:
                await self._requesting.once(request, summary.begin(), summary.count)
                return summary.words(cut.replaced)
            except ProviderError as error:
                attempt = await self._requesting.wait_after(error, attempt)

    async def _leave_out(self, kept_from: int, before: int, reason: str) -> None:
        """Let a marker stand for the oldest turns. An earlier summary and the last prompt stay readable."""
        messages = self._conversation.visible()
        kept_from = first_kept_turn(messages, kept_from)
        earlier = self._conversation.compaction
        gone = messages[1 if earlier else 0 : kept_from]
        staged = self._conversation.staged
        prompted = staged is not None or any(message.role == "user" for message in messages[kept_from:])
        words = left_out_words(earlier, gone, prompted)
        left_out = len(gone) + (earlier.left_out if earlier else 0)
        self._journal.emit(Noticed("info", f"No room could be made by a summary: {reason}."))
        await self._commit(words, kept_from, before, left_out=left_out)

    async def _commit(self, words: str, kept_from: int, before: int, *, left_out: int = 0) -> None:
        messages = self._conversation.visible()
        rest: Sequence[Message] = messages[kept_from:]
        after = self._overhead() + estimate([Message("user", (Text(words),)), *rest])
        compacted = Compacted(new_id(), words, messages[kept_from - 1].id, before, after, left_out)
        await self._journal.commit(compacted)
        self._conversation.compact(compacted)


class _Summary:
    """A summary that is being written: counted while it comes, because a server may not heed a bound."""

    def __init__(self, bound: int, tell: Callable[[CompactionProgressed], None]) -> None:
        self._bound = bound
        self._tell = tell
        self._told_at = float("-inf")
        self._reply = Accumulator()
        self._spent = Usage()
        self._characters = 0

    def begin(self) -> Accumulator:
        """Another attempt; what the one before it cost stays counted."""
        self._spent, self._reply = self.usage, Accumulator()
        self._characters, self._told_at = 0, float("-inf")
        return self._reply

    @property
    def usage(self) -> Usage:
        """What all attempts cost, as far as the provider said."""
        return self._spent.plus(self._reply.usage)

    @property
    def _tokens(self) -> int:
        return max(self._characters // CHARACTERS_PER_TOKEN, self._reply.usage.output_tokens or 0)

    def count(self, event: StreamEvent) -> None:
        """Take the next event; raises `UnusableSummary` past the bound, which hangs up."""
        match event:
            case TextDelta(text) | ReasoningDelta(text):
                self._characters += len(text)
            case ToolUseDelta(arguments=arguments):
                self._characters += len(arguments)
            case _:
                pass
        if self._characters // CHARACTERS_PER_TOKEN > self._bound:
            raise UnusableSummary(f"it did not end within {self._bound:,} tokens")
        now = time.monotonic()
        if now - self._told_at >= TELL_EVERY:
            self._told_at = now
            self._tell(CompactionProgressed(self._tokens))

    def words(self, replaced: int) -> str:
        """The whole summary of what had so many tokens; raises `UnusableSummary`."""
        ended, answer = self._reply.ended, self._reply.message()
        if ended is not None and ended.stop_reason == "length":
            raise UnusableSummary(f"it was cut at {self._bound:,} tokens, before its end")
        text = "" if answer is None else answer.text.strip()
        if not text or ended is None or ended.stop_reason not in {"end", "tool_use"}:
            raise UnusableSummary("the model gave none")
        if len(text) // CHARACTERS_PER_TOKEN > max(replaced // 3, SHORTEST_BOUND):
            raise UnusableSummary("it is longer than a third of what it would replace")
        return text
