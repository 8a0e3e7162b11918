"""Owns the calls that a caller runs by hand: judged before they are handed over, answered afterwards.

Refuses to run a tool. A call that its arguments, a hook or a rule forbid is answered here, with the reason,
and the caller never sees it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import field, replace

from agent_tui_core.agent.calls import Answers
from agent_tui_core.agent.gate import Gate
from agent_tui_core.agent.journal import Journal
from agent_tui_core.agent.judging import HOOK_STOPPED, Allowed, Judging, Refused
from agent_tui_core.agent.round import Round, cancel_if_open
from agent_tui_core.blocks import JsonObject, ToolResult, ToolUse
from agent_tui_core.events import Body, CallOutcome, ToolEnded, ToolJudged
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.hooks.points import PostToolUseEvent
from agent_tui_core.messages import Message, new_id
from agent_tui_core.records import dataclass
from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
from agent_tui_core.tools.registry import ToolRegistry

UNANSWERED = "not answered: the caller went on without a result"


@dataclass(slots=True)
class _HandedCall:
    """One call of the last answer, on its way to its result."""

    key: str
    call: ToolUse
    input: JsonObject
    """What hooks made of the model's input."""
    context: tuple[str, ...] = ()
    """What hooks want the model to read with the result."""
    stop: str | None = None
    """Why a hook wants the agent to stop after it."""
    handed_at: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    refused: ToolResult | None = None
    given: ToolOutput | None = None


class CallsByHand:
    """Judges the calls of an answer and hands those that may run to the caller."""

    def __init__(
        self, tools: ToolRegistry, hooks: Hooks, gate: Gate, journal: Journal, context: ToolContext
    ) -> None:
        self._tools = tools
        self._hooks = hooks
        self._gate = gate
        self._journal = journal
        self._context = context
        self._open: list[_HandedCall] = []

    @property
    def waiting(self) -> tuple[str, ...]:
        """The ids of the calls that still want a result, in call order."""
        return tuple(each.call.id for each in self._open if each.refused is None and each.given is None)

    def adopt(self, calls: Iterable[ToolUse]) -> None:
        """Forget what waited; these calls wait now, as they are."""
        self._open = [_HandedCall(new_id(), call, call.input) for call in calls]

    def answer(self, call_id: str, output: ToolOutput) -> None:
        """Keep a result; raises ValueError when no call with this id waits."""
        same = [each for each in self._open if each.call.id == call_id]
        free = next((each for each in same if each.refused is None and each.given is None), None)
        if free is not None:
            free.given, free.seconds = output, time.monotonic() - free.handed_at
            return
        if same:
            raise ValueError(f"the call {call_id!r} already has its result")
        known = ", ".join(self.waiting) or "none"
        raise ValueError(f"no call with the id {call_id!r} waits for a result; waiting: {known}")

    async def run(self, round_: Round) -> None:
        """Judge the calls, in order; answer those that may not run, and leave the others to the caller.

        `round_.handed` says that there are some. Cancelling answers every call as cancelled, and hands none
        over.
        """
        judging = Judging(self._known(round_), self._hooks, self._gate, self._journal, self._context)
        verdicts: list[Allowed | Refused] = []
        try:
            for each in round_.calls:
                verdict = await judging.judge(
                    each.key, each.call, round_.history, agent_id=self._context.agent_id
                )
                verdicts.append(verdict)
                if isinstance(verdict, Refused) and verdict.stop:
                    round_.stopped = verdict.reason or HOOK_STOPPED
                    break
        except BaseException:
            for each in round_.calls:
                cancel_if_open(each, round_)
            raise
        await self._hand_over(round_, verdicts)

    async def settle(self, history: tuple[Message, ...]) -> Answers | None:
        """What became of the calls that were handed over, after the PostToolUse hooks; None: there were none.

        Changes nothing: `adopt` forgets the calls when their answers were taken.
        """
        if not self._open:
            return None
        results: list[ToolResult] = []
        ends: list[ToolEnded] = []
        stopped: str | None = None
        for each in self._open:
            if each.refused is not None:
                results.append(each.refused)
                continue
            if each.given is None:
                result = ToolResult(each.call.id, UNANSWERED, is_error=True)
                ends.append(ToolEnded(each.key, result, "not_run", 0.0))
            else:
                result, why = await self._after_hooks(each, each.given, history)
                stopped = stopped or why
                outcome: CallOutcome = "error" if each.given.is_error else "ok"
                ends.append(ToolEnded(each.key, result, outcome, each.seconds, each.given.preview))
            results.append(result)
        return Answers(Message("tool", tuple(results)), tuple(ends), stopped)

    async def _hand_over(self, round_: Round, verdicts: list[Allowed | Refused]) -> None:
        bodies: list[Body] = []
        opened: list[_HandedCall] = []
        for each, verdict in zip(round_.calls, verdicts, strict=False):
            match verdict:
                case Refused(by=by, reason=reason, told=told, outcome=outcome):
                    result = round_.results[each.key] = ToolResult(each.call.id, told, is_error=True)
                    bodies += (
                        ToolJudged(each.key, False, by, reason, verdict.rule, verdict.input, verdict.waited),
                        ToolEnded(each.key, result, outcome, 0.0),
                    )
                    opened.append(_HandedCall(each.key, each.call, verdict.input, refused=result))
                case Allowed(by=by, reason=reason) if round_.stopped is None:
                    round_.handed = True
                    bodies.append(
                        ToolJudged(each.key, True, by, reason, verdict.rule, verdict.input, verdict.waited)
                    )
                    opened.append(
                        _HandedCall(each.key, each.call, verdict.input, verdict.context, verdict.stop)
                    )
        if round_.stopped is not None:
            for each in round_.calls:
                cancel_if_open(each, round_)
        await self._journal.commit(*bodies)
        self._open = opened if round_.handed else []

    async def _after_hooks(
        self, each: _HandedCall, output: ToolOutput, history: tuple[Message, ...]
    ) -> tuple[ToolResult, str | None]:
        content = "\n\n".join((output.content, *each.context))
        event = PostToolUseEvent(
            each.call.name,
            each.input,
            each.call.id,
            ToolResult(each.call.id, content, output.is_error, output.images),
            history,
            self._context.agent_id,
        )
        verdict = await self._hooks.on_result(event)
        why = verdict.reason or HOOK_STOPPED if verdict.stop else each.stop
        return replace(verdict.result, tool_use_id=each.call.id), why

    def _known(self, round_: Round) -> ToolRegistry:
        """The tools to judge by. Where none were given, the caller alone knows what the calls mean."""
        if self._tools.names:
            return self._tools
        names = dict.fromkeys(each.call.name for each in round_.calls)
        return ToolRegistry(Tool(name, name, {"type": "object"}, _not_ours) for name in names if name)


def _not_ours(_input: JsonObject) -> str:
    raise NotImplementedError("the caller runs this tool")
