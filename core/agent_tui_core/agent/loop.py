"""Owns the order of a run: prompt, request, answer, calls, results, request …, one end; refuses the rest.

Commit, then act: an answer is in the journal before any of its calls is judged. Text leaves as it arrives.
However a run ends, the conversation afterwards is one that a provider accepts.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from agent_tui_core.agent.calls import Answers, CallRunner, ProposedCall, Round
from agent_tui_core.agent.compaction import Compaction
from agent_tui_core.agent.context import CHARACTERS_PER_TOKEN
from agent_tui_core.agent.conversation import Conversation
from agent_tui_core.agent.journal import Journal
from agent_tui_core.blocks import Text, ToolResult
from agent_tui_core.errors import (
    AgentTuiError,
    ContextExceeded,
    HistoryError,
    ProviderError,
    ProviderRefused,
    StreamTruncated,
)
from agent_tui_core.events import (
    Body,
    MessageCommitted,
    PromptReturned,
    RequestRetrying,
    RequestStarted,
    RunEnd,
    RunEnded,
    RunStarted,
    ToolEnded,
    ToolProposed,
)
from agent_tui_core.messages import Message, ModelRequest, StopReason, ToolSpec, Usage, new_id
from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.wire.accumulator import Accumulator

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
LONGEST_RETRY_AFTER = 120.0
"""Seconds. A server that asks for a longer wait is not waited for: the run fails and says so."""


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What one agent asks its model with, and how far a run may go."""

    model: str
    system_prompt: str = ""
    tools: Sequence[ToolSpec] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    max_tool_iterations: int = 25
    """How many rounds of calls one run may make."""
    retries: int = 3
    context_limit: int | None = None
    """Tokens that the model can read; None is unknown: room is made when the provider says it is full."""


@dataclass(slots=True)
class _Run:
    iterations: int = 0
    usage: Usage = field(default_factory=Usage)
    reply: Accumulator = field(default_factory=Accumulator)
    round: Round | None = None
    made_room: bool = False
    """The provider said that the context is full, and room was made: once in a run."""


class Loop:
    """Runs one conversation. One run at a time: whoever owns it sees to that."""

    def __init__(
        self,
        provider: ModelProvider,
        conversation: Conversation,
        calls: CallRunner,
        journal: Journal,
        settings: LoopSettings,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`jitter` gives numbers in [0, 1) for the delays between retries."""
        self._provider = provider
        self._conversation = conversation
        self._calls = calls
        self._journal = journal
        self._settings = settings
        self._jitter = jitter
        overhead = len(settings.system_prompt) + sum(len(str(spec)) for spec in settings.tools)
        self._compaction = Compaction(
            provider, conversation, journal, settings.model, overhead // CHARACTERS_PER_TOKEN
        )
        self.ended: RunEnded | None = None
        """How the last run ended; None while one is going on, and after a bug."""
        self.failure: AgentTuiError | None = None
        """The error that made the last run fail."""

    async def run(self, prompt: Message | None, answers: Answers | None = None) -> RunEnded:
        """Run to one of the four ends and return it; the journal has it as well.

        `answers` are the results of the calls that the run before left to its caller.
        Cancelling interrupts: the connection is closed, calls are ended, what came so far is kept. When the
        journal cannot keep what happened the run fails, and nothing was done that it does not know. A bug is
        raised after the run was ended.
        """
        run = _Run()
        self.ended = self.failure = None
        self._conversation.staged = prompt
        try:
            self.ended = await self._to_its_end(run, prompt, answers)
        except HistoryError as error:
            self.failure = error
            for ended in run.round.unrecorded if run.round is not None else ():
                self._journal.emit(ended)
            self._return_prompt(str(error))
            self.ended = RunEnded("failed", str(error), run.iterations, run.usage)
            self._journal.emit(self.ended)
        return self.ended

    async def _to_its_end(self, run: _Run, prompt: Message | None, answers: Answers | None) -> RunEnded:
        end: RunEnd
        try:
            await self._journal.commit(RunStarted(prompt))
            if answers is not None and (stopped := await self._take(answers)):
                end, reason = "interrupted", stopped
                self._return_prompt(reason)
            else:
                end, reason = await self._rounds(run)
        except asyncio.CancelledError:
            end, reason = "interrupted", "by you"
            await self._keep_partial(run, "interrupted", reason)
        except ProviderError as error:
            end, reason, self.failure = "failed", str(error), error
            await self._keep_partial(run, "error", reason)
        except HistoryError:
            raise
        except Exception as bug:
            reason = f"a bug ended the run: {type(bug).__name__}: {bug}"
            await self._keep_partial(run, "error", reason)
            await self._end(run, "failed", reason)
            raise
        return await self._end(run, end, reason)

    async def _rounds(self, run: _Run) -> tuple[RunEnd, str]:
        rounds = 0
        while True:
            run.iterations += 1
            if self._compaction.is_due(self._settings.context_limit):
                await self._make_room(run)
            answer, proposed = await self._ask(run)
            stop = answer.stop_reason
            if stop in {"length", "content_filter", "error"}:
                await self._answer_unrun(run, proposed, "not executed: the answer was cut off")
                return _cut_end(stop)
            if not proposed:
                return "completed", ""
            if rounds >= self._settings.max_tool_iterations:
                await self._answer_unrun(run, proposed, "not executed: limit")
                count = self._settings.max_tool_iterations
                return "limit", f"{count} rounds of tool calls; send a prompt to go on"
            rounds += 1
            if end := await self._run_calls(run, proposed):
                return end

    # --- one request ----------------------------------------------------------------------------------------

    async def _ask(self, run: _Run) -> tuple[Message, list[ProposedCall]]:
        await self._stream(run)
        answer = run.reply.message()
        if answer is None:
            raise ProviderRefused("the server sent an empty answer")
        run.usage = run.usage.plus(run.reply.usage)
        proposed = [ProposedCall(new_id(), call) for call in answer.tool_uses]
        bodies: list[Body] = [ToolProposed(each.key, each.call, answer.id) for each in proposed]
        await self._commit_answer(answer, bodies)
        run.reply = Accumulator()
        return answer, proposed

    async def _stream(self, run: _Run) -> None:
        attempt = 0
        while True:
            run.reply = Accumulator()
            self._journal.emit(RequestStarted(self._settings.model, run.iterations))
            try:
                async with aclosing(self._provider.stream(self._request())) as events:
                    async for event in events:
                        run.reply.add(event)
                        self._journal.emit(event)
                if run.reply.ended is None:
                    raise StreamTruncated("the answer stopped before it was whole")
                return
            except ContextExceeded:
                if run.reply.started or run.made_room or not await self._make_room(run):
                    raise
                run.made_room = True
            except ProviderError as error:
                delay = self._delay(error, attempt)
                if run.reply.started or delay is None:
                    raise
                attempt += 1
                self._journal.emit(RequestRetrying(attempt, self._settings.retries, delay, str(error)))
                await asyncio.sleep(delay)

    async def compact(self) -> RunEnded:
        """Summarise the oldest part of the conversation now, as a run of its own without a prompt."""
        run = _Run()
        await self._journal.commit(RunStarted(None))
        try:
            made = await self._make_room(run)
        except asyncio.CancelledError:
            return await self._end(run, "interrupted", "by you")
        if not made:
            return await self._end(run, "failed", "there was nothing to summarise, or no summary came")
        return await self._end(run, "completed", "")

    async def _make_room(self, run: _Run) -> bool:
        room = await self._compaction.make_room(self._settings.context_limit)
        run.usage = run.usage.plus(room.usage)
        return room.made

    def _request(self) -> ModelRequest:
        settings = self._settings
        return ModelRequest(
            model=settings.model,
            messages=self._conversation.for_request(),
            system_prompt=settings.system_prompt,
            tools=settings.tools,
            max_tokens=settings.max_tokens,
            temperature=settings.temperature,
        )

    def _delay(self, error: ProviderError, attempt: int) -> float | None:
        """Seconds until the next attempt; None when there shall be none."""
        if not error.retryable or attempt >= self._settings.retries:
            return None
        asked = error.retry_after if isinstance(error, ProviderRefused) else None
        if asked is not None:
            return asked if asked <= LONGEST_RETRY_AFTER else None
        ceiling: float = min(LONGEST_DELAY, FIRST_DELAY * 2**attempt)
        return self._jitter() * ceiling

    # --- one round of calls ---------------------------------------------------------------------------------

    async def _run_calls(self, run: _Run, proposed: list[ProposedCall]) -> tuple[RunEnd, str] | None:
        run.round = round_ = Round(proposed, self._conversation.messages)
        await self._calls.run(round_)
        if not round_.handed:
            await self._commit_results(round_)
        run.round = None
        if round_.stopped:
            return "interrupted", round_.stopped
        return ("completed", "") if round_.handed else None

    async def _take(self, answers: Answers) -> str | None:
        await self._journal.commit(*answers.ends, MessageCommitted(answers.message))
        self._conversation.append(answers.message)
        return answers.stopped

    async def _commit_results(self, round_: Round) -> None:
        message = round_.message()
        await self._journal.commit(*round_.unrecorded, MessageCommitted(message))
        self._conversation.append(message)

    async def _answer_unrun(self, run: _Run, proposed: list[ProposedCall], words: str) -> None:
        if not proposed:
            return
        run.round = round_ = Round(proposed, self._conversation.messages)
        for each in proposed:
            result = round_.results[each.key] = ToolResult(each.call.id, words, is_error=True)
            round_.unrecorded.append(ToolEnded(each.key, result, "not_run", 0.0))
        await self._commit_results(round_)
        run.round = None

    # --- ends -----------------------------------------------------------------------------------------------

    async def _commit_answer(self, answer: Message, also: list[Body]) -> None:
        staged = self._conversation.staged
        opening = [] if staged is None else [staged]
        committed: list[Body] = [MessageCommitted(message) for message in (*opening, answer)]
        await self._journal.commit(*committed, *also)
        for message in (*opening, answer):
            self._conversation.append(message)

    async def _end(self, run: _Run, end: RunEnd, reason: str) -> RunEnded:
        ended = RunEnded(end, reason, run.iterations, run.usage)
        await self._journal.commit(ended)
        return ended

    async def _keep_partial(self, run: _Run, stop: StopReason, reason: str) -> None:
        if run.round is not None:
            await self._commit_results(run.round)
            return
        partial = run.reply.message(stop_reason=stop)
        if partial is not None:
            run.usage = run.usage.plus(run.reply.usage)
            await self._commit_answer(partial, [])
        else:
            self._return_prompt(reason)

    def _return_prompt(self, reason: str) -> None:
        staged, self._conversation.staged = self._conversation.staged, None
        if staged is not None:
            written = next((block.text for block in staged.blocks if isinstance(block, Text)), "")
            self._journal.emit(PromptReturned(written, reason))


def _cut_end(stop: StopReason) -> tuple[RunEnd, str]:
    if stop == "length":
        return "limit", "the answer reached the model's output limit"
    if stop == "content_filter":
        return "failed", "the provider's content filter stopped the answer"
    return "failed", "the provider ended the answer with an error"
