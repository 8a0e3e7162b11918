"""Owns one tool call from proposal to its one result, and several of them together; refuses to know the loop.

Whatever happens — broken arguments, a deny, a crash, a time-out, an interrupt — each call has exactly one
`ToolEnded` and one result. What may run is committed to the journal before it runs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Protocol

from agent_tui_core.agent.gate import Gate
from agent_tui_core.agent.journal import Journal
from agent_tui_core.agent.judging import HOOK_STOPPED, Allowed, Judging, Refused
from agent_tui_core.agent.outside import WaitsOutside
from agent_tui_core.agent.round import ProposedCall, Round, cancel_if_open
from agent_tui_core.agent.turns import Turns
from agent_tui_core.blocks import JsonObject, ToolResult
from agent_tui_core.errors import HistoryError, ToolError
from agent_tui_core.events import (
    ApprovalPreview,
    CallOutcome,
    ToolEnded,
    ToolJudged,
    ToolProgressed,
    ToolSpawned,
    ToolStarted,
)
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.hooks.points import PostToolUseEvent
from agent_tui_core.hooks.verdicts import ResultVerdict, withhold
from agent_tui_core.messages import Message
from agent_tui_core.records import dataclass
from agent_tui_core.system_limits import what_broke
from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
from agent_tui_core.tools.registry import ToolRegistry

UNKEPT = "stopped: the program could not write down what happens"
"""What the model reads for a call that ended because the history of its run failed."""
MAX_RESULT_CHARACTERS = 100_000
"""What a model reads of one result at most; built-in tools stay below it by themselves."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answers:
    """What became of calls that a run left to its caller: the next run begins with it."""

    message: Message
    """The results of all calls of the last answer, in call order."""
    ends: tuple[ToolEnded, ...]
    """Of those that the caller had."""
    stopped: str | None = None
    """Why the run shall end before the model is asked."""


@dataclass(frozen=True, slots=True)
class _Ran:
    """What came of a tool, after the hooks that look at results."""

    verdict: ResultVerdict
    outcome: CallOutcome
    seconds: float
    preview: ApprovalPreview | None


WaitAgain = Callable[[str, JsonObject, ToolContext], Awaitable[ToolOutput]]
"""Wait for the result of a call that an earlier life started: tool, input, context with key and `until`."""


class CallRunner(Protocol):
    """What a loop gives the calls of an answer to."""

    async def run(self, round_: Round) -> None:
        """Fill `round_.results`, or set `round_.handed`; cancelling leaves a result for every call."""
        ...


class Calls:
    """Runs the calls of one agent."""

    def __init__(
        self,
        tools: ToolRegistry,
        hooks: Hooks,
        gate: Gate,
        journal: Journal,
        context: ToolContext,
        wait_again: WaitAgain | None = None,
    ) -> None:
        self._tools = tools
        self._hooks = hooks
        self._journal = journal
        self._context = context
        self._wait_again = wait_again
        self._judging = Judging(tools, hooks, gate, journal, context)
        self._turns = Turns()

    async def run(self, round_: Round) -> None:
        """Judge and run all calls, and fill `round_.results`; what waits outside is waited for again.

        Raises `HistoryError` when a decision cannot be kept. Cancelling ends every call and leaves its
        result in the round; cancelling again hurries what the calls do to end.
        """
        tasks: list[asyncio.Task[None]] = []
        together = asyncio.create_task(self._all(round_, tasks))
        words: str | None = None
        try:
            await _waited_for(together, tasks)
        except BaseExceptionGroup as group:
            error = _telling(group)
            words = UNKEPT if isinstance(error, HistoryError) else words
            raise error from group
        finally:
            for each in round_.calls:
                if not (round_.left and each.key in round_.outside):
                    cancel_if_open(each, round_, words)

    async def _all(self, round_: Round, tasks: list[asyncio.Task[None]]) -> None:
        async with asyncio.TaskGroup() as group:
            tasks += [group.create_task(self._one(each, round_, tasks)) for each in round_.calls]

    async def _one(self, proposed: ProposedCall, round_: Round, siblings: list[asyncio.Task[None]]) -> None:
        await self._judge_and_run(proposed, round_)
        if round_.stopped is not None:
            for task in siblings:
                if task is not asyncio.current_task():
                    task.cancel()

    async def _judge_and_run(self, proposed: ProposedCall, round_: Round) -> None:
        if proposed.key in round_.results:
            return
        if (waits := round_.outside.get(proposed.key)) is not None:
            await self._take_up(proposed, waits, round_)
            return
        reason: str | None = None
        while True:
            verdict = await self._judging.judge(
                proposed.key, proposed.call, round_.history, agent_id=self._context.agent_id, again=reason
            )
            match verdict:
                case Refused():
                    await self._refuse(proposed, verdict, round_)
                    return
                case Allowed():
                    ran: _Ran | None = None
                    async with self._turn(verdict.tool):
                        reason = await self._judging.outdated(verdict)
                        if reason is None:
                            ran = await self._run(proposed, verdict, round_)
                    if ran is not None:
                        await self._conclude(proposed, verdict, ran, round_)
                        return

    def _turn(self, tool: Tool) -> AbstractAsyncContextManager[None]:
        """What somebody outside does neither waits for the other calls nor holds them up."""
        return nullcontext() if tool.outside is not None else self._turns.take(alone=tool.writes)

    async def _take_up(self, proposed: ProposedCall, waits: WaitsOutside, round_: Round) -> None:
        """Wait on for a call that was judged and started in an earlier life."""
        name = proposed.call.name

        async def run(input: JsonObject, context: ToolContext) -> ToolOutput:
            if self._wait_again is None:
                raise ToolError(f"nobody can wait for the result of {name} here")
            return await self._wait_again(name, input, context)

        again = Tool(name, "", {"type": "object"}, run, takes_context=True, timeout=None)
        allowed = Allowed(again, waits.input, "loop", "it was started before")
        round_.started[proposed.key] = time.monotonic() - max(0.0, time.time() - waits.since)
        await self._conclude(proposed, allowed, await self._ran(proposed, allowed, round_), round_)

    async def _refuse(self, proposed: ProposedCall, refused: Refused, round_: Round) -> None:
        judged = ToolJudged(
            proposed.key, False, refused.by, refused.reason, refused.rule, refused.input, refused.waited
        )
        result = ToolResult(proposed.call.id, refused.told, is_error=True)
        ended = ToolEnded(proposed.key, result, refused.outcome, 0.0)
        await self._journal.commit(judged, ended)
        round_.results[proposed.key] = result
        if refused.stop:
            round_.stopped = refused.reason or "denied and stopped by you"

    async def _run(self, proposed: ProposedCall, allowed: Allowed, round_: Round) -> _Ran:
        outside, since = allowed.tool.outside, time.time()
        until = None if outside is None else since + outside
        await self._journal.commit(
            ToolJudged(
                proposed.key, True, allowed.by, allowed.reason, allowed.rule, allowed.input, allowed.waited
            ),
            ToolStarted(proposed.key, allowed.input, until),
        )
        round_.started[proposed.key] = time.monotonic()
        if until is not None:
            round_.outside[proposed.key] = WaitsOutside(allowed.input, since, until)
        return await self._ran(proposed, allowed, round_)

    async def _ran(self, proposed: ProposedCall, allowed: Allowed, round_: Round) -> _Ran:
        waits = round_.outside.get(proposed.key)
        report, spawned = partial(self._report, proposed.key), partial(self._spawned, proposed.key)
        context = replace(self._context, call_key=proposed.key, report=report, spawned=spawned)
        if waits is not None:
            context = replace(context, since=waits.since, until=waits.until)
        output, outcome = await self._execute(allowed.tool, allowed.input, context)
        seconds = time.monotonic() - round_.started[proposed.key]
        content = _bounded(output.content)
        if allowed.context:
            content = "\n\n".join((content, *allowed.context))
        result = ToolResult(proposed.call.id, content, output.is_error, output.images)
        verdict = await self._hooks.on_result(
            PostToolUseEvent(
                allowed.tool.name,
                allowed.input,
                proposed.call.id,
                result,
                round_.history,
                self._context.agent_id,
            )
        )
        return _Ran(verdict, outcome, seconds, output.preview)

    async def _conclude(self, proposed: ProposedCall, allowed: Allowed, ran: _Ran, round_: Round) -> None:
        """Give the call its result; where a hook could not look at it a person says whether it is read."""
        verdict, result = ran.verdict, ran.verdict.result
        if verdict.question and not await self._judging.may_be_read(
            proposed.key, allowed.tool, allowed.input, result, round_.history, verdict.question
        ):
            result = withhold(result, verdict.question)
        result = replace(result, tool_use_id=proposed.call.id)
        ended = ToolEnded(proposed.key, result, ran.outcome, ran.seconds, ran.preview)
        round_.results[proposed.key] = result
        try:
            await self._journal.commit(ended)
        except HistoryError:
            round_.unrecorded.append(ended)
            raise
        if verdict.stop:
            round_.stopped = verdict.reason or HOOK_STOPPED
        elif allowed.stop is not None:
            round_.stopped = allowed.stop

    def _report(self, key: str, output: str) -> None:
        self._journal.emit(ToolProgressed(key, output))

    def _spawned(self, key: str, pid: int) -> None:
        self._journal.emit(ToolSpawned(key, pid))

    async def _execute(
        self, tool: Tool, input: JsonObject, context: ToolContext
    ) -> tuple[ToolOutput, CallOutcome]:
        limit = asyncio.timeout(tool.timeout)
        try:
            async with limit:
                output = await tool.execute(input, context)
        except ToolError as error:
            return ToolOutput(str(error), is_error=True), "error"
        except TimeoutError as error:
            if limit.expired():
                words = f"{tool.name} took longer than its limit of {tool.timeout:g} s and was stopped"
                return ToolOutput(words, is_error=True), "timed_out"
            return ToolOutput(f"{tool.name} failed: {error or 'time-out'}", is_error=True), "error"
        except Exception as error:
            log.exception("the tool %s broke", tool.name)
            words = f"{tool.name} failed: {what_broke(error)}"
            return ToolOutput(words, is_error=True), "error"
        return output, output.outcome or ("error" if output.is_error else "ok")


async def _waited_for(together: asyncio.Task[None], tasks: list[asyncio.Task[None]]) -> None:
    """Wait for a group's task. A TaskGroup that is ending keeps further cancellations to itself."""
    cancelled = False
    while not together.done():
        try:
            await asyncio.wait({together})
        except asyncio.CancelledError:
            for task in tasks if cancelled else [together]:
                task.cancel()
            cancelled = True
    if not together.cancelled():
        together.result()
    if cancelled:
        raise asyncio.CancelledError


def _bounded(content: str) -> str:
    if len(content) <= MAX_RESULT_CHARACTERS:
        return content
    half = MAX_RESULT_CHARACTERS // 2
    return f"{content[:half]}\n… {len(content) - 2 * half} characters left out …\n{content[-half:]}"


def _telling(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one exception that says what happened: a history that cannot be written comes first."""
    broken, rest = group.split(HistoryError)
    chosen: BaseException = broken or rest or group
    while isinstance(chosen, BaseExceptionGroup):
        chosen = chosen.exceptions[0]
    return chosen
