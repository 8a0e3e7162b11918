"""Owns one tool call from proposal to its one result, and several of them together; refuses to know the loop.

Whatever happens — broken arguments, a deny, a crash, a time-out, an interrupt — each call has exactly one
`ToolEnded` and one result. What may run is committed to the journal before it runs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from agent_tui_core.agent.conversation import CANCELLED
from agent_tui_core.agent.gate import Gate
from agent_tui_core.agent.journal import Journal
from agent_tui_core.agent.judging import Allowed, Judging, Refused
from agent_tui_core.agent.turns import Turns
from agent_tui_core.blocks import JsonObject, ToolResult, ToolUse
from agent_tui_core.errors import HistoryError, ToolError
from agent_tui_core.events import CallOutcome, ToolEnded, ToolJudged, ToolProgressed, ToolStarted
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.hooks.points import PostToolUseEvent
from agent_tui_core.messages import Message
from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
from agent_tui_core.tools.registry import ToolRegistry

MAX_RESULT_CHARACTERS = 100_000
"""What a model reads of one result at most; built-in tools stay below it by themselves."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A whole call of a committed message, with our key."""

    key: str
    call: ToolUse


@dataclass(slots=True)
class Round:
    """The calls of one message on their way to their results."""

    calls: Sequence[ProposedCall]
    history: tuple[Message, ...]
    results: dict[str, ToolResult] = field(default_factory=dict)
    unrecorded: list[ToolEnded] = field(default_factory=list)
    """Ends that an interrupt left to be committed together with the results."""
    stopped: str | None = None
    """Why the run shall end after this round."""
    handed: bool = False
    """Calls wait for the caller: the run ends here, and their results come with the next one."""
    started: dict[str, float] = field(default_factory=dict)

    def message(self) -> Message:
        """The results in call order; a call without one was cancelled."""
        return Message(
            "tool",
            tuple(
                self.results.get(each.key) or ToolResult(each.call.id, CANCELLED, is_error=True)
                for each in self.calls
            ),
        )


@dataclass(frozen=True, slots=True)
class Answers:
    """What became of calls that a run left to its caller: the next run begins with it."""

    message: Message
    """The results of all calls of the last answer, in call order."""
    ends: tuple[ToolEnded, ...]
    """Of those that the caller had."""
    stopped: str | None = None
    """Why the run shall end before the model is asked."""


class CallRunner(Protocol):
    """What a loop gives the calls of an answer to."""

    async def run(self, round_: Round) -> None:
        """Fill `round_.results`, or set `round_.handed`; cancelling leaves a result for every call."""
        ...


class Calls:
    """Runs the calls of one agent."""

    def __init__(
        self, tools: ToolRegistry, hooks: Hooks, gate: Gate, journal: Journal, context: ToolContext
    ) -> None:
        self._tools = tools
        self._hooks = hooks
        self._journal = journal
        self._context = context
        self._judging = Judging(tools, hooks, gate, journal, context)
        self._turns = Turns()

    async def run(self, round_: Round) -> None:
        """Judge and run all calls, and fill `round_.results`.

        Raises `HistoryError` when a decision cannot be kept. Cancelling ends every call and leaves its
        result in the round; cancelling again hurries what the calls do to end.
        """
        tasks: list[asyncio.Task[None]] = []
        together = asyncio.create_task(self._all(round_, tasks))
        try:
            await _waited_for(together, tasks)
        except BaseExceptionGroup as group:
            raise _telling(group) from group
        finally:
            for each in round_.calls:
                cancel_if_open(each, round_)

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
                    async with self._turns.take(alone=verdict.tool.writes):
                        reason = await self._judging.outdated(verdict)
                        if reason is None:
                            await self._run(proposed, verdict, round_)
                            return

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

    async def _run(self, proposed: ProposedCall, allowed: Allowed, round_: Round) -> None:
        await self._journal.commit(
            ToolJudged(
                proposed.key, True, allowed.by, allowed.reason, allowed.rule, allowed.input, allowed.waited
            ),
            ToolStarted(proposed.key, allowed.input),
        )
        began = round_.started[proposed.key] = time.monotonic()
        output, outcome = await self._execute(proposed.key, allowed.tool, allowed.input)
        seconds = time.monotonic() - began
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
        result = replace(verdict.result, tool_use_id=proposed.call.id)
        ended = ToolEnded(proposed.key, result, outcome, seconds, output.preview)
        await self._journal.commit(ended)
        round_.results[proposed.key] = result
        if verdict.stop:
            round_.stopped = "a hook stopped the agent"

    async def _execute(self, key: str, tool: Tool, input: JsonObject) -> tuple[ToolOutput, CallOutcome]:
        def report(output: str) -> None:
            self._journal.emit(ToolProgressed(key, output))

        context = replace(self._context, call_key=key, report=report)
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
            words = f"{tool.name} failed: {type(error).__name__}: {error}"
            return ToolOutput(words, is_error=True), "error"
        return output, "error" if output.is_error else "ok"


def cancel_if_open(proposed: ProposedCall, round_: Round) -> None:
    """Answer a call that has no result yet as cancelled."""
    if proposed.key in round_.results:
        return
    began = round_.started.get(proposed.key)
    seconds = 0.0 if began is None else time.monotonic() - began
    result = ToolResult(proposed.call.id, CANCELLED, is_error=True)
    round_.results[proposed.key] = result
    round_.unrecorded.append(ToolEnded(proposed.key, result, "cancelled", seconds))


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
