"""Owns how one agent is put together from its parts, and how its profile is stored; refuses to run it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tui_core.agent.approvals import ApprovalDesk
from agent_tui_core.agent.conversation import Conversation
from agent_tui_core.blocks import JsonObject
from agent_tui_core.config.modes import MODES
from agent_tui_core.config.profiles import AgentProfile
from agent_tui_core.events import Noticed
from agent_tui_core.history.store import History
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.records import dataclass
from agent_tui_core.runtime.agent_mode import AgentMode
from agent_tui_core.runtime.branch import current_branch
from agent_tui_core.runtime.connections import Connection
from agent_tui_core.runtime.equipment import Equipment
from agent_tui_core.runtime.journal import WorkerJournal
from agent_tui_core.runtime.later import LaterRunner, Makings
from agent_tui_core.runtime.outbox import Outbox
from agent_tui_core.runtime.prompt_queue import PromptQueue
from agent_tui_core.runtime.runner import Runner
from agent_tui_core.runtime.worker import Worker, WorkerIdentity
from agent_tui_core.wire.protocols import PROTOCOLS, WireProtocol
from agent_tui_core.wire.request_options import as_json, from_json

if TYPE_CHECKING:
    from agent_tui_core.agent.permissions import Permissions
    from agent_tui_core.hooks.agent_commands import AgentCommands
    from agent_tui_core.tools.base import ToolContext

UNATTENDED_PROGRESS_TIMEOUT: Final = 1_800.0
"""Seconds: where nobody looks, a model that says nothing for so long is not waited for."""


@dataclass(frozen=True, slots=True)
class Birth:
    """All that is special to one agent."""

    identity: WorkerIdentity
    profile: AgentProfile
    connection: Connection
    conversation_id: str


class Assembly:
    """Makes agents that share a session's history, desk and equipment.

    Without a policy, and with one that asks, open calls go to the desk.
    """

    def __init__(
        self,
        history: History,
        desk: ApprovalDesk,
        equipment: Equipment,
    ) -> None:
        self._history = history
        self._desk = desk
        self._equipment = equipment
        self._makings = Makings()

    def worker(self, birth: Birth) -> Worker:
        """Put an agent together; it does nothing yet."""
        who = birth.identity
        outbox = Outbox(who.id)
        journal = WorkerJournal(outbox, partial(self._history.record, birth.conversation_id))
        conversation = Conversation()
        branch = partial(current_branch, who.workspace)
        mode = AgentMode(birth.profile.mode)
        hooks = self._equipment.hooks.with_commands(partial(self._commands, birth, outbox, journal, mode))
        make = partial(self._loop, birth, conversation, journal, branch, mode, hooks)
        runner = LaterRunner(make, self._makings, who.workspace)
        queue = PromptQueue(
            partial(self._history.keep_queue, birth.conversation_id), attended=self._equipment.attended
        )
        return Worker(who, conversation, outbox, journal, runner, hooks, branch, mode, queue)

    def _commands(
        self, birth: Birth, outbox: Outbox, journal: WorkerJournal, mode: AgentMode
    ) -> AgentCommands | None:
        """The command hooks that this agent meets; None while the session has none."""
        commands = self._equipment.command_hooks.commands
        if commands is None:
            return None
        from agent_tui_core.hooks.agent_commands import AgentCommands
        from agent_tui_core.hooks.payload import HookedAgent

        who = birth.identity
        hooked = HookedAgent(
            id=who.id,
            name=who.name,
            model=who.model,
            workspace=who.workspace,
            session_id=birth.conversation_id,
            attended=self._equipment.attended,
            mode=lambda: mode.now,
            run_id=lambda: outbox.run_id,
            tell=lambda level, words: journal.emit(Noticed(level, words)),
        )
        agent = AgentCommands(commands, hooked)
        self._equipment.command_hooks.meet(agent)
        return agent

    def _loop(
        self,
        birth: Birth,
        conversation: Conversation,
        journal: WorkerJournal,
        branch: Callable[[], str | None],
        mode: AgentMode,
        hooks: Hooks,
    ) -> Runner:
        """Make what runs the prompts; its imports are what a first frame would wait for."""
        from agent_tui_core.agent.calls import Calls
        from agent_tui_core.agent.gate import AgentIdentity, Gate, PersonGate
        from agent_tui_core.agent.loop import Loop, LoopSettings
        from agent_tui_core.agent.policy import PolicyGate

        who, profile = birth.identity, birth.profile
        registry = self._equipment.tools(profile)
        asks = AgentIdentity(who.id, who.name, who.model, who.workspace, branch)
        permissions = self._equipment.permissions.of_agent(mode.now, who.id, who.name)
        from agent_tui_core.tools.names_child import NamesLooker

        permissions.look = NamesLooker()
        mode.follow(partial(setattr, permissions, "mode"))
        context = self._context(who, profile, mode, permissions, journal)
        if context.sandbox is not None:
            permissions.unboxed = context.sandbox.trouble
        gate: Gate = PersonGate(asks, permissions, self._desk)
        policy = self._equipment.policy
        if policy is not None and policy.rest != "ask":
            gate = PolicyGate(asks, permissions, policy)
        calls = Calls(registry, hooks, gate, journal, context, self._equipment.outside.wait_again)
        settings = LoopSettings(
            model=who.model,
            system_prompt=_system_prompt(profile) + self._equipment.project.context(profile.workspace),
            tools=registry,
            max_tokens=profile.max_tokens,
            options=profile.options,
            max_tool_iterations=profile.max_tool_iterations,
            context_limit=profile.context_limit,
            progress_timeout=self._progress_timeout(birth),
            key_name=birth.connection.key_name,
        )
        if birth.connection.retries is not None:
            settings = replace(settings, retries=birth.connection.retries)
        return Loop(birth.connection.provider, conversation, calls, journal, settings)

    def _progress_timeout(self, birth: Birth) -> float | None:
        """What is said first: for all agents, the profile, the provider; without a dashboard half an hour."""
        said = (
            self._equipment.progress_timeout,
            birth.profile.progress_timeout,
            birth.connection.progress_timeout,
        )
        unsaid = 0.0 if self._equipment.policy is None else UNATTENDED_PROGRESS_TIMEOUT
        return next((each for each in said if each is not None), unsaid) or None

    def _context(
        self,
        who: WorkerIdentity,
        profile: AgentProfile,
        mode: AgentMode,
        permissions: Permissions,
        journal: WorkerJournal,
    ) -> ToolContext:
        """What its tools may know; finds out whether the sandbox works."""
        from agent_tui_core.tools.base import ToolContext

        sandbox = self._equipment.sandbox
        return ToolContext(
            who.workspace,
            who.id,
            warn=lambda words: journal.emit(Noticed("warning", words)),
            environment=sandbox.environment,
            sandbox=sandbox.of_agent(who.id, who.workspace, profile, lambda: mode.now == "auto"),
            background=self._equipment.left.of_agent(who.id, who.name),
            unreadable=partial(permissions.unreadable, cwd=who.workspace),
            agent_name=who.name,
        )


def free_name(wanted: str, taken: Collection[str]) -> str:
    """A name that no other agent has; those that have none of their own are counted."""
    stem = "agent" if wanted == "default" else wanted
    if stem != "agent" and stem not in taken:
        return stem
    first = 1 if stem == "agent" else 2
    names = (f"{stem}-{number}" for number in range(first, len(taken) + 3))
    return next(name for name in names if name not in taken)


def stored_profile(profile: AgentProfile, connection: Connection) -> JsonObject:
    """What history keeps of a profile: enough to make the agent again, and no key."""
    return {
        "provider": connection.name,
        "base_url": connection.base_url,
        "model": connection.model,
        "protocol": connection.protocol,
        "think_tags": connection.think_tags,
        "thinking": connection.thinking,
        "system_prompt": profile.system_prompt,
        "tools": None if profile.tools is None else list(profile.tools),
        "max_tool_iterations": profile.max_tool_iterations,
        "context_limit": profile.context_limit,
        "workspace": str(profile.workspace),
        "mode": profile.mode,
        "max_tokens": profile.max_tokens,
        "options": as_json(profile.options),
        "mcp": None if profile.mcp is None else list(profile.mcp),
        "network": profile.network,
        "progress_timeout": profile.progress_timeout,
        "profile": profile.profile,
    }


def profile_from(name: str, stored: JsonObject) -> AgentProfile:
    """The profile that `stored_profile` kept; what is missing or odd falls back to what is built in."""
    return AgentProfile(
        name=name,
        provider=_text(stored, "provider"),
        model=_text(stored, "model"),
        system_prompt=_text(stored, "system_prompt") or "",
        tools=_texts(stored, "tools"),
        max_tool_iterations=_whole(stored, "max_tool_iterations") or 25,
        context_limit=_whole(stored, "context_limit"),
        workspace=Path(_text(stored, "workspace") or "."),
        mode=next((mode for mode in MODES if mode == stored.get("mode")), "ask"),
        max_tokens=_whole(stored, "max_tokens"),
        options=from_json(stored.get("options"), _protocol(stored)),
        mcp=_texts(stored, "mcp"),
        progress_timeout=_seconds(stored, "progress_timeout"),
        network=network if isinstance(network := stored.get("network"), bool) else None,
        profile=_text(stored, "profile") or "",
    )


def _system_prompt(profile: AgentProfile) -> str:
    return f"{profile.system_prompt}\n\nThe workspace is {profile.workspace}.".strip()


def _protocol(stored: JsonObject) -> WireProtocol:
    return next((known for known in PROTOCOLS if known == stored.get("protocol")), "chat")


def _text(stored: Mapping[str, object], key: str) -> str | None:
    value = stored.get(key)
    return value if isinstance(value, str) else None


def _texts(stored: Mapping[str, object], key: str) -> tuple[str, ...] | None:
    value = stored.get(key)
    return tuple(str(one) for one in value) if isinstance(value, list | tuple) else None


def _seconds(stored: Mapping[str, object], key: str) -> float | None:
    value = stored.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _whole(stored: Mapping[str, object], key: str) -> int | None:
    value = stored.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
