"""Owns the order of a run: prompt, request, answer, calls, results, request …, one end; refuses the rest.

Commit, then act: an answer is in the journal before any of its calls is judged. Text leaves as it arrives.
However a run ends, the conversation afterwards is one that a provider accepts.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, Literal, TypeAlias

from agent_tui_core.agent.calls import Answers, CallRunner
from agent_tui_core.agent.compaction import Compaction
from agent_tui_core.agent.conversation import CUT_OFF, PROGRAM_ENDED, Conversation
from agent_tui_core.agent.failures import failure_words
from agent_tui_core.agent.journal import Journal
from agent_tui_core.agent.outside import LeftCalls
from agent_tui_core.agent.requesting import Requesting
from agent_tui_core.agent.round import ProposedCall, Round
from agent_tui_core.agent.run import LoopSettings as LoopSettings
from agent_tui_core.agent.run import Run
from agent_tui_core.blocks import Text, ToolResult
from agent_tui_core.errors import (
    AgentTuiError,
    ContextExceeded,
    HistoryError,
    ProviderError,
    ProviderRefused,
    without_frames,
)
from agent_tui_core.events import (
    Body,
    MessageCommitted,
    Noticed,
    PromptReturned,
    RequestStarted,
    RunEnd,
    RunEnded,
    RunStarted,
    ToolEnded,
    ToolProposed,
)
from agent_tui_core.messages import Message, StopReason, new_id
from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.system_limits import how_a_run_broke
from agent_tui_core.wire.accumulator import Accumulator

_CUT: Final[dict[StopReason | None, tuple[RunEnd, str]]] = {
    "length": ("limit", "the answer reached the model's output limit"),
    "content_filter": ("failed", "the provider's content filter stopped the answer"),
    "error": ("failed", "the provider ended the answer with an error"),
}
"""How a run ends whose answer is not whole."""

Work: TypeAlias = Callable[[], Awaitable[tuple[RunEnd, str]]]
"""What a run does between its start and its end, and how it ended."""


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
        self._conversation = conversation
        self._calls = calls
        self._journal = journal
        self._settings = settings
        self._requesting = Requesting(provider, journal, settings.retries, settings.progress_timeout, jitter)
        self._compaction = Compaction(
            self._requesting, conversation, journal, settings.model, settings.overhead, settings.options
        )
        self._current: Run | None = None
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
        run = Run()
        self.ended = self.failure = None
        self._conversation.staged = prompt
        return await self._live(run, prompt, lambda: self._answered(run, answers))

    async def take_up(self, left: LeftCalls) -> RunEnded:
        """Go on with a run that was left while calls waited outside: with their results, as `run` does."""
        calls = [ProposedCall(key, call) for key, call in left.calls]
        outside, results = dict(left.outside), dict(left.results)
        run = Run(left.iterations, left.usage, begun=True)
        run.round = Round(calls, self._conversation.messages, results, outside=outside)
        self.ended = self.failure = None
        return await self._live(run, None, lambda: self._taken_up(run))

    async def compact(self) -> RunEnded:
        """Summarise the oldest part of the conversation now, as a run of its own without a prompt."""
        run = Run()
        self.ended = self.failure = None
        return await self._live(run, None, lambda: self._only_room(run))

    def leave(self) -> bool:
        """The program ends: let the run stop without an end, to be taken up later; cancel it then.

        False unless a call waits outside: it ends as interrupted, but by nobody.
        """
        if self._current is not None:
            self._current.left = True
        round_ = None if self._current is None else self._current.round
        if round_ is not None:
            round_.cut = CUT_OFF
        if round_ is None or not round_.waits_outside:
            return False
        round_.left = True
        return True

    async def _live(self, run: Run, prompt: Message | None, work: Work) -> RunEnded:
        self._current = run
        try:
            self.ended = await self._to_its_end(run, prompt, work)
        except HistoryError as error:
            self.failure = without_frames(error)
            self.ended = self._end_unkept(run, str(error))
        finally:
            self._current = None
        return self.ended

    async def _to_its_end(self, run: Run, prompt: Message | None, work: Work) -> RunEnded:
        end: RunEnd
        try:
            if not run.begun:
                await self._journal.commit(RunStarted(prompt))
                run.begun = True
            end, reason = await work()
        except asyncio.CancelledError:
            if run.round is not None and run.round.left:
                await self._journal.commit(*run.round.unrecorded)
                raise
            end, reason = "interrupted", PROGRAM_ENDED if run.left else "by you"
            await self._keep_partial(run, "interrupted", reason)
        except ProviderError as error:
            end, reason = "failed", failure_words(error, self._settings.key_name)
            self.failure = without_frames(error)
            await self._keep_partial(run, "error", reason)
        except HistoryError:
            raise
        except Exception as bug:
            reason = how_a_run_broke(bug)
            await self._keep_partial(run, "error", reason)
            await self._end(run, "failed", reason)
            raise
        return await self._end(run, end, reason)

    async def _answered(self, run: Run, answers: Answers | None) -> tuple[RunEnd, str]:
        if answers is not None and (stopped := await self._take(answers)):
            self._return_prompt(stopped)
            return "interrupted", stopped
        return await self._rounds(run)

    async def _taken_up(self, run: Run) -> tuple[RunEnd, str]:
        ended = await self._finish_calls(run, run.round) if run.round else None
        return ended or await self._rounds(run)

    async def _only_room(self, run: Run) -> tuple[RunEnd, str]:
        reason = await self._make_room(run, needed=False)
        return ("failed", reason) if reason else ("completed", "")

    async def _rounds(self, run: Run) -> tuple[RunEnd, str]:
        rounds = run.iterations
        while True:
            run.iterations += 1
            await self._settings.tools.ready(self._tell)
            if self._compaction.is_due(self._settings.context_limit):
                await self._make_room_early(run)
            answer, proposed = await self._ask(run)
            if (stop := answer.stop_reason) in _CUT:
                await self._answer_unrun(run, proposed, "not executed: the answer was cut off")
                return _CUT[stop]
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

    async def _ask(self, run: Run) -> tuple[Message, list[ProposedCall]]:
        await self._stream(run)
        answer = run.reply.message()
        if answer is None:
            raise ProviderRefused("the server sent an empty answer")
        proposed = [ProposedCall(new_id(), call) for call in answer.tool_uses]
        bodies: list[Body] = [ToolProposed(each.key, each.call, answer.id) for each in proposed]
        ended = None
        if not proposed and answer.stop_reason not in _CUT:
            ended = RunEnded("completed", "", run.iterations, run.usage.plus(run.reply.usage))
        await self._commit_answer(run, answer, bodies if ended is None else [ended])
        run.ended = ended
        return answer, proposed

    async def _stream(self, run: Run) -> None:
        attempt = rooms = 0
        while True:
            run.usage, run.reply = run.usage.plus(run.reply.usage), Accumulator()
            self._journal.emit(RequestStarted(self._settings.model, run.iterations))
            try:
                request = self._settings.request(self._conversation.for_request())
                await self._requesting.once(request, run.reply, self._journal.emit)
                return
            except ContextExceeded:
                if run.reply.started or not await self._make_more_room(run, rooms):
                    raise
                rooms += 1
            except ProviderError as error:
                if run.reply.spoken:  # of calls nothing ran: the answer was not whole
                    raise
                attempt = await self._requesting.wait_after(error, attempt)

    async def _make_room(self, run: Run, *, needed: bool = True) -> str:
        """Make room; return why none was made."""
        room = await self._compaction.make_room(self._settings.context_limit, needed=needed)
        run.usage = run.usage.plus(room.usage)
        return room.reason

    async def _make_room_early(self, run: Run) -> None:
        """Make room before the provider demands it; without a summary the request may still fit."""
        try:
            await self._make_room(run)
        except ProviderError as error:
            self._tell("warning", f"No room could be made: {error}")

    async def _make_more_room(self, run: Run, rooms: int) -> bool:
        """The provider says that the request is too long: at first with a summary, then without."""
        if rooms == 0:
            return not await self._make_room(run)
        return rooms == 1 and await self._compaction.leave_out_more(self._settings.context_limit)

    def _tell(self, level: Literal["info", "warning"], text: str) -> None:
        self._journal.emit(Noticed(level, text))

    # --- one round of calls ---------------------------------------------------------------------------------

    async def _run_calls(self, run: Run, proposed: list[ProposedCall]) -> tuple[RunEnd, str] | None:
        return await self._finish_calls(run, Round(proposed, self._conversation.messages))

    async def _finish_calls(self, run: Run, round_: Round) -> tuple[RunEnd, str] | None:
        run.round = round_
        await self._calls.run(round_)
        if not round_.handed:
            await self._commit_results(run, round_)
        run.round = None
        if round_.stopped:
            return "interrupted", round_.stopped
        return ("completed", "") if round_.handed else None

    async def _take(self, answers: Answers) -> str | None:
        await self._journal.commit(*answers.ends, MessageCommitted(answers.message))
        self._conversation.append(answers.message)
        return answers.stopped

    async def _commit_results(self, run: Run, round_: Round) -> None:
        message = round_.message()
        await self._journal.commit(*round_.unrecorded, MessageCommitted(message))
        self._conversation.append(message)
        run.round = None

    async def _answer_unrun(self, run: Run, proposed: list[ProposedCall], words: str) -> None:
        if not proposed:
            return
        run.round = round_ = Round(proposed, self._conversation.messages)
        for each in proposed:
            result = round_.results[each.key] = ToolResult(each.call.id, words, is_error=True)
            round_.unrecorded.append(ToolEnded(each.key, result, "not_run", 0.0))
        await self._commit_results(run, round_)

    # --- ends -----------------------------------------------------------------------------------------------

    async def _commit_answer(self, run: Run, answer: Message, also: list[Body]) -> None:
        messages = self._with_prompt(answer)
        await self._journal.commit(*map(MessageCommitted, messages), *also)
        for message in messages:
            self._conversation.append(message)
        run.usage, run.reply = run.usage.plus(run.reply.usage), Accumulator()

    def _with_prompt(self, answer: Message) -> list[Message]:
        staged = self._conversation.staged
        return [answer] if staged is None else [staged, answer]

    async def _end(self, run: Run, end: RunEnd, reason: str) -> RunEnded:
        ended = run.ended or RunEnded(end, reason, run.iterations, run.usage)
        if run.ended is None:
            await self._journal.commit(ended)
        return ended

    async def _keep_partial(self, run: Run, stop: StopReason, reason: str) -> None:
        if run.round is not None:
            await self._commit_results(run, run.round)
            return
        partial = run.reply.message(stop_reason=stop)
        if partial is not None:
            await self._commit_answer(run, partial, [])
        else:
            self._return_prompt(reason)

    def _end_unkept(self, run: Run, reason: str) -> RunEnded:
        """History failed: the conversation has all the same what happened, and history has it before more."""
        messages: list[Message] = []
        if run.begun and run.round is not None:
            messages = [run.round.message()]
        elif run.begun and (partial := run.reply.message(stop_reason="error")) is not None:
            messages = self._with_prompt(partial)
            run.usage = run.usage.plus(run.reply.usage)
        ends = run.round.unrecorded if run.round is not None else []
        for message in messages:
            self._conversation.append(message)
        self._return_prompt(reason)
        ended = RunEnded("failed", reason, run.iterations, run.usage)
        if run.begun:
            self._journal.owe(*ends, *map(MessageCommitted, messages), ended)
        else:
            self._journal.emit(ended)
        return ended

    def _return_prompt(self, reason: str) -> None:
        staged, self._conversation.staged = self._conversation.staged, None
        if staged is not None:
            written = next((block.text for block in staged.blocks if isinstance(block, Text)), "")
            self._journal.emit(PromptReturned(written, reason))
