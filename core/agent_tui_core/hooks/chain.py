"""Owns the order of hooks and what their answers amount to; refuses rules, people and tools.

Hooks of one point run one after another, each on what those before it rewrote. A deny ends the chain. A hook
that breaks, hangs or answers nonsense denies: silence must never be taken for consent.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeVar

from agent_tui_core.blocks import JsonObject, ToolResult
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

HOOK_TIMEOUT = 60.0
"""Seconds that one Python hook may take."""

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class PromptVerdict:
    """What the UserPromptSubmit hooks made of a prompt."""

    prompt: str
    blocked: str | None = None
    """The reason why it is not sent."""
    context: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """What the PreToolUse hooks made of a call."""

    input: JsonObject
    behavior: Literal["none", "allow", "ask", "deny"] = "none"
    reason: str = ""
    context: tuple[str, ...] = ()
    stop: bool = False


@dataclass(frozen=True, slots=True)
class ResultVerdict:
    """What the PostToolUse hooks made of a result."""

    result: ToolResult
    stop: bool = False


class Hooks:
    """Python callables at the three points, in the order in which they were added."""

    def __init__(self, *, timeout: float = HOOK_TIMEOUT) -> None:
        """`timeout` is in seconds, for each hook."""
        self._timeout = timeout
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
        return verdict

    async def on_call(self, event: PreToolUseEvent) -> CallVerdict:
        """Run the PreToolUse hooks that match; `deny > ask > allow`."""
        verdict = CallVerdict(event.tool_input)
        for matcher, hook in self._pre:
            if not matches(matcher, event.tool_name):
                continue
            decision = await self._call(hook, replace(event, tool_input=verdict.input))
            verdict = _fold(verdict, decision)
            if verdict.behavior == "deny":
                break
        return verdict

    async def on_result(self, event: PostToolUseEvent) -> ResultVerdict:
        """Run the PostToolUse hooks that match; a deny replaces the result by its reason, as an error."""
        result, stop = event.result, False
        for matcher, hook in self._post:
            if not matches(matcher, event.tool_name):
                continue
            decision = await self._call(hook, replace(event, result=result))
            stop = stop or decision.stop
            if decision.behavior == "deny":
                words = decision.reason or "a hook withheld the result"
                result = replace(result, content=words, is_error=True, images=())
            elif decision.result is not None:
                result = replace(result, content=decision.result)
            if decision.context:
                result = replace(result, content=f"{result.content}\n\n{decision.context}")
        return ResultVerdict(result, stop)

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
            return HookDecision.deny(f"the hook {name} broke: {type(error).__name__}: {error}")
        if decision is None:
            return HookDecision()
        if not isinstance(decision, HookDecision):
            answered = type(decision).__name__
            return HookDecision.deny(f"the hook {name} answered {answered}, not a HookDecision")
        return decision


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
        reason=decision.reason if stronger else verdict.reason,
        context=(*verdict.context, decision.context) if decision.context else verdict.context,
        stop=verdict.stop or decision.stop,
    )
