"""Owns the order of hooks, Python callables before commands; refuses rules, people and tools.

Callables of one point run one after another, each on what those before it rewrote, and a deny ends the chain.
One that breaks, hangs or answers nonsense denies: silence must never be taken for consent.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Self, TypeVar

from agent_tui_core.errors import HookError
from agent_tui_core.hooks.matcher import matches
from agent_tui_core.hooks.points import (
    Answer,
    HookDecision,
    PostToolUseEvent,
    PostToolUseHook,
    PreToolUseEvent,
    PreToolUseHook,
    UserPromptSubmitEvent,
    UserPromptSubmitHook,
)
from agent_tui_core.hooks.verdicts import (
    CallVerdict,
    PermissionVerdict,
    PromptVerdict,
    ResultVerdict,
    StartVerdict,
    StopVerdict,
)
from agent_tui_core.messages import Message
from agent_tui_core.system_limits import what_broke

if TYPE_CHECKING:
    from agent_tui_core.hooks.agent_commands import AgentCommands

HOOK_TIMEOUT = 60.0
"""Seconds that one Python hook may take."""

E = TypeVar("E")


class Hooks:
    """Python callables at the three points, in the order in which they were added; commands after them."""

    def __init__(self, *, timeout: float = HOOK_TIMEOUT) -> None:
        """`timeout` is in seconds, for each callable."""
        self._timeout = timeout
        self._find: Callable[[], AgentCommands | None] = _no_commands
        self._found: AgentCommands | None = None
        self._prompt: list[UserPromptSubmitHook] = []
        self._pre: list[tuple[str | None, PreToolUseHook]] = []
        self._post: list[tuple[str | None, PostToolUseHook]] = []

    def add_user_prompt_submit(self, hook: UserPromptSubmitHook) -> Self:
        """Hear of every prompt before it is sent."""
        self._prompt.append(hook)
        return self

    def add_pre_tool_use(self, hook: PreToolUseHook, matcher: str | None = None) -> Self:
        """Hear of every call (of the tools that `matcher` names) before it is judged."""
        matches(matcher, "")
        self._pre.append((matcher, hook))
        return self

    def add_post_tool_use(self, hook: PostToolUseHook, matcher: str | None = None) -> Self:
        """Hear of every result before the model reads it."""
        matches(matcher, "")
        self._post.append((matcher, hook))
        return self

    def with_commands(self, find: Callable[[], AgentCommands | None]) -> Hooks:
        """The same callables, those that are added later included, and after them an agent's commands.

        `find` is asked when a hook may be heard, until there are some.
        """
        both = copy(self)
        both._find = find
        return both

    @property
    def _commands(self) -> AgentCommands | None:
        if self._found is None:
            self._found = self._find()
        return self._found

    async def on_prompt(self, event: UserPromptSubmitEvent) -> PromptVerdict:
        """Run the UserPromptSubmit hooks."""
        verdict = PromptVerdict(event.prompt)
        for hook in self._prompt:
            decision = await self._call(hook, replace(event, prompt=verdict.prompt))
            if decision.behavior == "deny":
                return replace(verdict, blocked=decision.reason or "a hook blocked the prompt")
            if decision.prompt is not None:
                verdict = replace(verdict, prompt=decision.prompt)
            if decision.context:
                verdict = replace(verdict, context=(*verdict.context, decision.context))
        if (commands := self._commands) is None:
            return verdict
        return await commands.on_prompt(replace(event, prompt=verdict.prompt), verdict)

    def hears_calls(self, tool_name: str) -> bool:
        """Whether there are PreToolUse hooks that want to hear of this tool."""
        if any(matches(matcher, tool_name) for matcher, _ in self._pre):
            return True
        commands = self._commands
        return commands is not None and commands.listens("PreToolUse", tool_name)

    async def on_call(self, event: PreToolUseEvent) -> CallVerdict:
        """Run the PreToolUse hooks that match; `deny > defer > ask > allow`."""
        verdict = CallVerdict(event.tool_input)
        for matcher, hook in self._pre:
            if not matches(matcher, event.tool_name):
                continue
            decision = await self._call(hook, replace(event, tool_input=verdict.input))
            verdict = _fold(verdict, decision)
            if verdict.behavior == "deny":
                return verdict
        if (commands := self._commands) is None:
            return verdict
        return await commands.on_call(replace(event, tool_input=verdict.input), verdict)

    async def on_result(self, event: PostToolUseEvent) -> ResultVerdict:
        """Run the PostToolUse hooks that match; a deny replaces the result by its reason, as an error."""
        result, stop, why = event.result, False, ""
        for matcher, hook in self._post:
            if not matches(matcher, event.tool_name):
                continue
            decision = await self._call(hook, replace(event, result=result))
            stop, why = stop or decision.stop, why or (decision.reason if decision.stop else "")
            if decision.behavior == "deny":
                words = decision.reason or "a hook withheld the result"
                result = replace(result, content=words, is_error=True, images=())
            elif decision.result is not None:
                result = replace(result, content=decision.result)
            if decision.context:
                result = replace(result, content=f"{result.content}\n\n{decision.context}")
        verdict = ResultVerdict(result, stop, why)
        if (commands := self._commands) is None:
            return verdict
        return await commands.on_result(replace(event, result=result), verdict)

    # --- points that commands alone hear of -----------------------------------------------------------------

    async def on_permission(self, event: PreToolUseEvent) -> PermissionVerdict:
        """Run the PermissionRequest hooks that match, before a person is asked."""
        commands = self._commands
        return await commands.on_permission(event) if commands else PermissionVerdict()

    def on_question(self, message: str, history: tuple[Message, ...]) -> None:
        """Tell the Notification hooks that a question waits; never waits."""
        if (commands := self._commands) is not None:
            commands.on_question(message, history)

    async def on_start(self, source: str, history: tuple[Message, ...]) -> StartVerdict:
        """Run the SessionStart hooks: `source` is "startup" or "resume"."""
        commands = self._commands
        return await commands.on_start(source, history) if commands else StartVerdict()

    async def on_stop(self, last: str, history: tuple[Message, ...], *, again: bool) -> StopVerdict:
        """Run the Stop hooks after the agent's last words; `again`: such a hook made it go on already."""
        commands = self._commands
        return await commands.on_stop(last, history, again=again) if commands else StopVerdict()

    @property
    def hears_stop(self) -> bool:
        """Whether there are Stop hooks to wait for."""
        commands = self._commands
        return commands is not None and commands.listens("Stop")

    async def on_end(self, reason: str, history: tuple[Message, ...]) -> None:
        """Run the SessionEnd hooks; the caller bounds their time."""
        if (commands := self._commands) is not None:
            await commands.on_end(reason, history)

    async def quiet(self) -> None:
        """End what still tells of questions."""
        if (commands := self._commands) is not None:
            await commands.quiet()

    # --- one callable ---------------------------------------------------------------------------------------

    async def _call(self, hook: Callable[[E], Answer], event: E) -> HookDecision:
        name = getattr(hook, "__qualname__", None) or type(hook).__name__
        try:
            async with asyncio.timeout(self._timeout):
                decision = await _invoke(hook, event)
        except TimeoutError:
            return HookDecision.deny(f"the hook {name} took longer than {self._timeout:g} s")
        except HookError as error:
            return HookDecision.deny(f"the hook {name} broke: {error}")
        except Exception as error:  # noqa: BLE001 - whatever a stranger's hook raises, it denies
            return HookDecision.deny(f"the hook {name} broke: {what_broke(error)}")
        if decision is None:
            return HookDecision()
        if not isinstance(decision, HookDecision):
            answered = type(decision).__name__
            return HookDecision.deny(f"the hook {name} answered {answered}, not a HookDecision")
        return decision


def _no_commands() -> None:
    return None


async def _invoke(hook: Callable[[E], Answer], event: E) -> object:
    if inspect.iscoroutinefunction(hook):
        return await hook(event)
    answer = await asyncio.to_thread(hook, event)
    return await answer if inspect.isawaitable(answer) else answer


_RANK = {"none": 0, "allow": 1, "ask": 2, "deny": 3}


def _fold(verdict: CallVerdict, decision: HookDecision) -> CallVerdict:
    stronger = _RANK[decision.behavior] > _RANK[verdict.behavior]
    return CallVerdict(
        input=verdict.input if decision.input is None else decision.input,
        behavior=decision.behavior if stronger else verdict.behavior,
        reason=decision.reason if stronger or (decision.stop and not verdict.stop) else verdict.reason,
        context=(*verdict.context, decision.context) if decision.context else verdict.context,
        stop=verdict.stop or decision.stop,
    )
