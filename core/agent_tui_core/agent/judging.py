"""Owns the order in which a call is judged: schema, hooks, rules, person; refuses to run it.

`deny > ask > allow`, and rules speak on the original and on the rewritten input. What a person was shown is
kept, so that a file that changed while the question was open is asked about again.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Final, Literal

from agent_tui_core.agent.approvals import (
    AllowAlways,
    AllowEdited,
    AllowOnce,
    Covered,
    DenyCall,
    RuleScope,
    Settlement,
)
from agent_tui_core.agent.gate import Gate
from agent_tui_core.agent.journal import Journal
from agent_tui_core.agent.judgement import EDITED, Judgement
from agent_tui_core.agent.scripts import Scripts, look_at_scripts, what_changed
from agent_tui_core.blocks import JsonObject, ToolResult, ToolUse
from agent_tui_core.errors import ToolError
from agent_tui_core.events import (
    ApprovalPreview,
    ApprovalRequest,
    ApprovalRequested,
    ApprovalSettled,
    CallOutcome,
    DecidedBy,
)
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.hooks.points import PreToolUseEvent
from agent_tui_core.hooks.verdicts import CallVerdict
from agent_tui_core.messages import Message
from agent_tui_core.records import dataclass
from agent_tui_core.tools.base import Tool, ToolContext
from agent_tui_core.tools.previews import preview_call, preview_changed
from agent_tui_core.tools.registry import ToolRegistry

_SCOPES: Final[dict[RuleScope, str]] = {
    "agent": "this agent",
    "session": "this session",
    "project": "this workspace",
}

HOOK_STOPPED: Final = "a hook stopped the agent"
_RESULT_OF: Final = "{} has run; this is its result. Allow: the model reads it. Deny: it does not."


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may run, with this input."""

    tool: Tool
    input: JsonObject
    by: DecidedBy
    reason: str
    rule: str | None = None
    waited: float = 0.0
    context: tuple[str, ...] = ()
    shown: ApprovalPreview | None = None
    """What the person saw when they allowed it."""
    scripts: Scripts | None = None
    """What the files that it runs held when somebody was asked; None: nobody was."""
    stop: str | None = None
    """Why a hook wants the agent to stop after this call."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The call does not run."""

    input: JsonObject
    by: DecidedBy
    reason: str
    told: str
    """What the model reads."""
    outcome: CallOutcome = "denied"
    rule: str | None = None
    waited: float = 0.0
    stop: bool = False


class Judging:
    """Judges the calls of one agent."""

    def __init__(
        self, tools: ToolRegistry, hooks: Hooks, gate: Gate, journal: Journal, context: ToolContext
    ) -> None:
        self._tools = tools
        self._hooks = hooks
        self._gate = gate
        self._journal = journal
        self._context = context

    async def judge(
        self,
        key: str,
        call: ToolUse,
        history: tuple[Message, ...],
        *,
        agent_id: str,
        again: str | None = None,
    ) -> Allowed | Refused:
        """Judge one call. `again` is the reason why an earlier permission no longer holds."""
        tool = self._tools.get(call.name)
        if tool is None or call.broken is not None:
            return self._unusable(call)
        if problem := self._tools.check(tool, call.input):
            return Refused(call.input, "loop", problem, problem, "error")
        event = PreToolUseEvent(call.name, call.input, call.id, history, agent_id)
        heard = self._hooks.hears_calls(call.name)
        scripts = await self._look(tool, call.input) if heard else None
        verdict = await self._hooks.on_call(event)
        decided = await self._decide(key, tool, call, event, verdict, again)
        if isinstance(decided, Allowed) and decided.by == "hook" and decided.scripts is None:
            same = verdict.input == call.input
            decided = replace(decided, scripts=scripts if same else await self._look(tool, decided.input))
        if verdict.stop and isinstance(decided, Allowed):
            return replace(decided, stop=verdict.reason or HOOK_STOPPED)
        return decided

    async def _decide(
        self,
        key: str,
        tool: Tool,
        call: ToolUse,
        event: PreToolUseEvent,
        verdict: CallVerdict,
        again: str | None,
    ) -> Allowed | Refused:
        """What comes after the hooks: rules, then hooks in the person's place, then the person."""
        if verdict.behavior == "deny":
            told = f"Denied by a hook: {verdict.reason}"
            return Refused(verdict.input, "hook", verdict.reason, told, stop=verdict.stop)
        if problem := self._tools.check(tool, verdict.input):
            words = f"a hook rewrote the input, and now {problem}"
            return Refused(verdict.input, "hook", words, words, "error")
        await self._gate.look(tool.name, verdict.input)
        try:
            judgement = self._gate.settle(self._by_rules(call, verdict), tool.name, verdict.input)
        except ToolError as unusable:  # a path that is none: with a NUL in it, or without an end
            return Refused(verdict.input, "loop", str(unusable), str(unusable), "error")
        if judgement.behavior == "deny":
            return _denied_by_rule(verdict.input, judgement)
        if judgement.behavior == "allow" and again is None:
            by, rule = judgement.by, judgement.rule
            return Allowed(tool, verdict.input, by, judgement.reason, rule, context=verdict.context)
        firm = judgement.rule is not None
        scripts = await self._look(tool, verdict.input)
        settled = await self._by_permission_hooks(
            tool, replace(event, tool_input=verdict.input), verdict, firm
        )
        if isinstance(settled, Allowed) and settled.input == verdict.input:
            return replace(settled, scripts=scripts)
        if settled is not None:
            return settled
        return await self._ask(key, tool, verdict, event.history, again or judgement.reason, firm=firm)

    async def may_be_read(
        self,
        key: str,
        tool: Tool,
        input: JsonObject,
        result: ToolResult,
        history: tuple[Message, ...],
        reason: str,
    ) -> bool:
        """Ask a person whether the model may read this result: a hook that was to look at it broke."""
        shown = f"{_RESULT_OF.format(tool.name)}\n\n{result.content}"
        preview = ApprovalPreview("text", shown)
        words = f"it has run, and the model waits for the result; {reason}"
        request = self._gate.question(tool.name, input, preview, words, firm=True)
        answer, _ = await self._answer(key, request, history, firm=True)
        return not isinstance(answer, DenyCall)

    async def outdated(self, allowed: Allowed) -> str | None:
        """Say why a permission no longer holds: what was shown is not what would happen now."""
        if allowed.scripts is not None:
            now = await self._look(allowed.tool, allowed.input)
            if words := what_changed(allowed.scripts, now, self._context.workspace):
                return words
        if allowed.shown is None:
            return None
        if not await preview_changed(allowed.tool, allowed.input, self._context, allowed.shown):
            return None
        return "what it would change is not what was shown: a file changed while the question was open"

    async def _look(self, tool: Tool, input: JsonObject) -> Scripts:
        return await look_at_scripts(tool.name, input, self._context.workspace)

    def _unusable(self, call: ToolUse) -> Refused:
        if call.broken is not None:
            told = f"The arguments of {call.name} could not be read: {call.broken}. Nothing was run."
            return Refused(call.input, "loop", call.broken, told, "error")
        told = self._tools.unknown(call.name)
        return Refused(call.input, "loop", told, told, "error")

    def _by_rules(self, call: ToolUse, verdict: CallVerdict) -> Judgement:
        final = self._gate.judge(call.name, verdict.input)
        if final.behavior == "deny":
            return final
        if verdict.input != call.input:
            original = self._gate.judge(call.name, call.input)
            if original.behavior == "deny" or (original.behavior == "ask" and original.rule is not None):
                return original
        if final.behavior == "ask" and final.rule is not None:
            return final
        if verdict.behavior == "ask":
            return Judgement("ask", verdict.reason or "a hook asks", "hook", by="hook")
        if verdict.behavior == "allow":
            return Judgement("allow", verdict.reason or "a hook allowed it", by="hook")
        return final

    async def _by_permission_hooks(
        self, tool: Tool, event: PreToolUseEvent, verdict: CallVerdict, firm: bool
    ) -> Allowed | Refused | None:
        """What hooks say in the person's place; a rule or a hook that asks is not theirs to answer."""
        said = await self._hooks.on_permission(event)
        if said.behavior == "deny":
            told = f"Denied by a hook: {said.reason}"
            return Refused(verdict.input, "hook", said.reason, told, stop=said.stop)
        if said.behavior == "none" or firm:
            return None
        final = verdict.input if said.input is None else said.input
        if problem := self._tools.check(tool, final):
            words = f"a hook rewrote the input, and now {problem}"
            return Refused(final, "hook", words, words, "error")
        if final != verdict.input:
            judgement = self._gate.judge(tool.name, final)
            if judgement.behavior == "deny":
                return _denied_by_rule(final, judgement)
            if judgement.behavior == "ask" and judgement.rule is not None:
                return None
        return Allowed(tool, final, "hook", said.reason, context=verdict.context)

    async def _ask(
        self,
        key: str,
        tool: Tool,
        verdict: CallVerdict,
        history: tuple[Message, ...],
        reason: str,
        *,
        firm: bool,
    ) -> Allowed | Refused:
        input_, waited = verdict.input, 0.0
        while True:
            try:
                preview = await preview_call(tool, input_, self._context)
            except ToolError as error:
                return Refused(input_, "loop", str(error), str(error), "error", waited=waited)
            allowed = Allowed(tool, input_, "person", "", context=verdict.context, shown=preview)
            allowed = replace(allowed, scripts=await self._look(tool, input_))
            request = self._gate.question(tool.name, input_, preview, reason, firm=firm)
            answer, seconds = await self._answer(key, request, history, firm=firm)
            waited += seconds
            match answer:
                case AllowOnce():
                    return replace(allowed, reason="allowed once", waited=waited)
                case AllowAlways(rule, scope):
                    words = f"allowed, and remembered for {_SCOPES[scope]}"
                    return replace(allowed, reason=words, rule=rule, waited=waited)
                case Covered(rule):
                    words = "covered by a rule that was remembered for another call"
                    return replace(allowed, by="rule", reason=words, rule=rule, waited=waited)
                case AllowEdited(edited):
                    judged = await self._edited(replace(allowed, waited=waited), edited)
                    if not isinstance(judged, str):
                        return judged
                    reason = judged
                case DenyCall(words, stop, by):
                    told = "Denied by the user" if by == "person" else "Denied"
                    told = f"{told}: {words}" if words else told
                    return Refused(input_, by, words or "denied", told, waited=waited, stop=stop)

    async def _answer(
        self, key: str, request: ApprovalRequest, history: tuple[Message, ...], *, firm: bool
    ) -> tuple[Settlement, float]:
        """The answer, and the seconds until it came. Whatever happens, the question is settled once."""
        self._journal.emit(ApprovalRequested(key, request))
        self._hooks.on_question(f"{request.agent_name} needs your permission to use {request.tool}", history)
        began = time.monotonic()
        settled: ApprovalSettled = ApprovalSettled(key, request.id, "withdrawn")
        try:
            answer = await self._gate.ask(request, firm=firm)
            settled = ApprovalSettled(key, request.id, _word(answer))
        finally:
            self._journal.emit(settled)
        return answer, time.monotonic() - began

    async def _edited(self, shown: Allowed, edited: JsonObject) -> Allowed | Refused | str:
        """What becomes of an input that the person wrote, where `shown` is what they were asked about."""
        tool = shown.tool
        if problem := self._tools.check(tool, edited):
            return f"the edited input cannot be used: {problem}"
        judgement = self._gate.judge(tool.name, edited)
        if judgement.behavior == "deny":
            return _denied_by_rule(edited, judgement)
        now = await self._look(tool, edited)
        if changed := what_changed(*_of_both(shown.scripts or {}, now), self._context.workspace):
            return changed
        try:
            preview = await preview_call(tool, edited, self._context)
        except ToolError as error:
            return f"the edited input cannot be used: {error}"
        told = (
            f"The user changed the input of {tool.name} before it ran. What ran: "
            f"{json.dumps(edited, ensure_ascii=False, default=str)}"
        )
        context = (*shown.context, told)
        return replace(shown, input=edited, reason=EDITED, context=context, shown=preview, scripts=now)


def _of_both(before: Scripts, now: Scripts) -> tuple[Scripts, Scripts]:
    """What is known of the same files: an edited command may run others."""
    names = before.keys() & now.keys()
    return {name: before[name] for name in names}, {name: now[name] for name in names}


def _denied_by_rule(input: JsonObject, judgement: Judgement) -> Refused:
    told = f"Denied: {judgement.reason}"
    return Refused(input, judgement.by, judgement.reason, told, rule=judgement.rule)


def _word(answer: object) -> Literal["allowed", "remembered", "denied", "covered"]:
    match answer:
        case AllowAlways():
            return "remembered"
        case Covered():
            return "covered"
        case DenyCall():
            return "denied"
        case _:
            return "allowed"
