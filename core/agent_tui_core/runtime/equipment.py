"""Owns what the agents of a session share beside models: rules, hooks, further tools, the sandbox.

The one room that makes objects of `EquipmentSettings`; refuses to know an agent's life and to ask a person.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_tui_core.config.profiles import AgentProfile, Plan
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.runtime.forms import Forms
from agent_tui_core.runtime.report import Reporter

if TYPE_CHECKING:
    from agent_tui_core.agent.permissions import Permissions
    from agent_tui_core.agent.policy import Policy
    from agent_tui_core.tools.registry import ToolRegistry


class Equipment:
    """What one session's agents are equipped with."""

    def __init__(self, plan: Plan, hooks: Hooks, policy: Policy | None = None) -> None:
        self.hooks = hooks
        self.policy = policy
        self.forms = Forms()
        self._plan = plan
        self._permissions: Permissions | None = None
        self._permitting = threading.Lock()

    @property
    def permissions(self) -> Permissions:
        """The rules that hold in this session, for all agents; made at first use, after the first frame."""
        with self._permitting:
            if self._permissions is None:
                from agent_tui_core.agent.permissions import Permissions

                self._permissions = Permissions(self.policy.rules() if self.policy else None)
            return self._permissions

    @property
    def reporters(self) -> Sequence[Reporter]:
        """The rooms that can be looked at, in the order in which a person reads them."""
        return ()

    def tools(self, profile: AgentProfile) -> ToolRegistry:
        """The tools of an agent of this profile; called in a thread, and may import."""
        from agent_tui_core.tools.registry import ToolRegistry, builtin_tools

        return ToolRegistry(
            tool for tool in builtin_tools() if profile.tools is None or tool.name in profile.tools
        )

    async def start(self) -> None:
        """Begin what lives as long as the session: called before its agents are made."""

    async def close(self) -> None:
        """End all of it: called after the last agent ended."""
