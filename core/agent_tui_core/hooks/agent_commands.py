"""Owns what one agent's command hooks hear at each point, and that all that match run in parallel.

Refuses to weigh their answers. A hook that breaks is told in the agent's pane at once, and counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from agent_tui_core.hooks.command import CommandHook, HookRun, run_hook
from agent_tui_core.hooks.commands import CommandHooks
from agent_tui_core.hooks.contract import Point
from agent_tui_core.hooks.folding import (
    complaint,
    conflict,
    fold_call,
    fold_permission,
    fold_prompt,
    fold_result,
    fold_start,
    fold_stop,
)
from agent_tui_core.hooks.payload import HookedAgent, call_facts, payload, result_facts
from agent_tui_core.hooks.points import PostToolUseEvent, PreToolUseEvent, UserPromptSubmitEvent
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

PERMISSION: Final = "permission_prompt"
ELICITATION: Final = "elicitation_dialog"
"""What waits, in the words of the contract."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class AgentCommands:
    """The command hooks that one agent meets."""

    def __init__(self, commands: CommandHooks, agent: HookedAgent) -> None:
        self.agent = agent
        self._commands = commands
        self._problems_told = 0
        self._notifying: set[asyncio.Task[list[HookRun]]] = set()

    def listens(self, point: Point, subject: str = "") -> bool:
        """Whether there is a hook that would hear of this."""
        return bool(self._commands.matching(point, subject, self.agent.workspace))

    async def hear(
        self, point: Point, subject: str, facts: dict[str, Any], history: Sequence[Message] | None
    ) -> list[HookRun]:
        """Tell all that match, in parallel, and wait for them; in the order of the configuration.

        Cancelling ends all of their processes; cancelling again gives those no time to end by themselves.
        """
        self._tell_problems()
        hooks = self._commands.matching(point, subject, self.agent.workspace)
        if not hooks:
            return []
        agent = self.agent
        transcript = self._commands.transcripts.update(agent, history)
        given = payload(agent, point, transcript, facts)
        tasks = [asyncio.create_task(self._one(hook, given)) for hook in hooks]
        await _ended(tasks)
        return [task.result() for task in tasks]

    def _tell_problems(self) -> None:
        for words in self._commands.problems[self._problems_told :]:
            self.agent.tell("warning", f"A hook of the project is not used: {words}")
        self._problems_told = len(self._commands.problems)

    # --- the points -----------------------------------------------------------------------------------------

    async def on_prompt(self, event: UserPromptSubmitEvent, verdict: PromptVerdict) -> PromptVerdict:
        """What UserPromptSubmit hooks make of a prompt of which callables said `verdict`."""
        runs = await self.hear("UserPromptSubmit", "", {"prompt": event.prompt}, event.history)
        return fold_prompt(verdict, runs, attended=self.agent.attended)

    async def on_call(self, event: PreToolUseEvent, verdict: CallVerdict) -> CallVerdict:
        """What PreToolUse hooks make of a call of which callables said `verdict`."""
        facts = call_facts(self.agent, event)
        runs = await self.hear("PreToolUse", event.tool_name, facts, event.history)
        if words := conflict(runs):
            log.warning("agent %s: %s", self.agent.id, words)
            self.agent.tell("warning", words)
        return fold_call(verdict, runs, attended=self.agent.attended)

    async def on_permission(self, event: PreToolUseEvent) -> PermissionVerdict:
        """What PermissionRequest hooks say before a person is asked; nothing where nobody can be."""
        if not self.agent.attended:
            return PermissionVerdict()
        facts = {**call_facts(self.agent, event), "permission_suggestions": []}
        runs = await self.hear("PermissionRequest", event.tool_name, facts, event.history)
        return fold_permission(runs, attended=True)

    async def on_result(self, event: PostToolUseEvent, verdict: ResultVerdict) -> ResultVerdict:
        """What PostToolUse hooks (PostToolUseFailure for an error) make of a result."""
        point: Point = "PostToolUseFailure" if event.result.is_error else "PostToolUse"
        runs = await self.hear(point, event.tool_name, result_facts(self.agent, event), event.history)
        return fold_result(verdict, runs, attended=self.agent.attended) if runs else verdict

    def on_question(self, message: str, history: Sequence[Message] | None, kind: str = PERMISSION) -> None:
        """Tell the Notification hooks that a question waits for a person; never waits."""
        if not self.agent.attended or not self.listens("Notification", kind):
            return
        facts = {"message": message, "title": self.agent.name, "notification_type": kind}
        task = asyncio.create_task(self.hear("Notification", kind, facts, history))
        self._notifying.add(task)
        task.add_done_callback(self._notifying.discard)

    def on_form(self, message: str) -> None:
        """Tell them that a form waits for a person; never waits."""
        self.on_question(message, None, ELICITATION)

    async def quiet(self) -> None:
        """End the notifications under way; cancelling hurries them and is delivered when they are gone."""
        for task in (tasks := list(self._notifying)):
            task.cancel()
        await _ended(tasks)

    async def on_start(self, source: str, history: Sequence[Message]) -> StartVerdict:
        """What SessionStart hooks say before the agent's first prompt."""
        facts = {"source": source, "model": self.agent.model}
        return fold_start(await self.hear("SessionStart", source, facts, history))

    async def on_stop(self, last: str, history: Sequence[Message], *, again: bool) -> StopVerdict:
        """What Stop hooks say when the agent is done."""
        facts = {"stop_hook_active": again, "last_assistant_message": last}
        return fold_stop(await self.hear("Stop", "", facts, history))

    async def on_end(self, reason: str, history: Sequence[Message]) -> None:
        """Tell the SessionEnd hooks."""
        await self.hear("SessionEnd", reason, {"reason": reason}, history)

    # --- one hook -------------------------------------------------------------------------------------------

    async def _one(self, hook: CommandHook, given: bytes) -> HookRun:
        agent = self.agent
        try:
            doubt = await asyncio.to_thread(self._commands.doubt, hook) if hook.root is not None else ""
            run = HookRun(hook, failure=doubt) if doubt else await run_hook(hook, given, agent.workspace)
        except Exception as bug:  # a mistake of ours: the hook did not speak, and silence is no consent
            log.exception("the hook %s could not be run", hook.name)
            run = HookRun(hook, failure=f"it could not be run: {what_broke(bug)}")
        self._commands.health.add(run)
        if run.failure is not None:
            words = complaint(run, attended=agent.attended)
            log.warning("agent %s: %s", agent.id, words)
            agent.tell("warning", words)
        elif run.answer.message:
            agent.tell("info", f"{hook.name}: {run.answer.message}")
        elif run.output.strip():
            log.info("the %s hook %s said: %s", hook.point, hook.name, run.output[:2000])
        return run


async def _ended(tasks: Sequence[asyncio.Task[T]]) -> None:
    """Wait until all have ended. A cancellation cancels them all first, and each further one again."""
    cancelled = False
    while waiting := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(waiting)
        except asyncio.CancelledError:
            cancelled = True
            for task in waiting:
                task.cancel()
    if cancelled:
        raise asyncio.CancelledError
