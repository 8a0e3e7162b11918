"""Owns what the agents of a session share beside models: rules, hooks, further tools, the sandbox.

The one room that makes objects of `EquipmentSettings`; refuses to know an agent's life and to ask a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui_core.config.equipment import EquipmentSettings
from agent_tui_core.config.models import BUILTIN_TOOLS
from agent_tui_core.config.profiles import AgentProfile, Plan
from agent_tui_core.errors import ConfigError
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.runtime.forms import Forms
from agent_tui_core.runtime.learned_rules import LearnedRules
from agent_tui_core.runtime.outside import Outside
from agent_tui_core.runtime.project_room import ProjectRoom
from agent_tui_core.runtime.report import Reporter
from agent_tui_core.runtime.rules import Rules
from agent_tui_core.runtime.sandboxing import LeftBehind, Sandboxing
from agent_tui_core.runtime.session_hooks import SessionHooks
from agent_tui_core.runtime.session_servers import SessionServers
from agent_tui_core.text import safe_line

if TYPE_CHECKING:
    from agent_tui_core.agent.permissions import Permissions
    from agent_tui_core.agent.policy import Policy
    from agent_tui_core.config.trusted_files import TrustedFiles
    from agent_tui_core.tools.base import Tool
    from agent_tui_core.tools.registry import ToolRegistry


class Equipment:
    """What one session's agents are equipped with."""

    def __init__(
        self, plan: Plan, hooks: Hooks, policy: Policy | None = None, tools: Sequence[Tool] = ()
    ) -> None:
        """`tools` are a program's own. Raises `ConfigError` when one has the name of another."""
        self._own = tuple(tools)
        _check_names(self._own, plan)
        self.hooks = hooks
        self.policy = policy
        self.forms = Forms()
        self.outside = Outside(plan.data_dir, self.forms)
        self.outside.add(plan.equipment.tools, plan.config_dir)
        self._plan = plan
        self.progress_timeout = plan.progress_timeout
        """What the command line said of it, for all agents; None when it said nothing."""
        self.rules = Rules(plan, policy)
        self.learned = LearnedRules(self.rules, plan.workspace)
        self.project = ProjectRoom(plan)
        self.sandbox = Sandboxing(plan, lambda: self.rules.permissions.book.files)
        self.left = LeftBehind()
        self.command_hooks = SessionHooks(plan, self.forms)
        self.servers = SessionServers(plan, self.forms, attended=self.attended)

    @property
    def permissions(self) -> Permissions:
        """The rules that hold in this session, for all agents; made at first use, after the first frame."""
        return self.rules.permissions

    @property
    def attended(self) -> bool:
        """A person, or a program in their place, can be asked."""
        return self.policy is None or self.policy.rest == "ask"

    @property
    def reporters(self) -> Sequence[Reporter]:
        """The rooms that can be looked at, in the order in which a person reads them."""
        rooms: tuple[Reporter, ...] = (self.project, self.rules, self.learned, self.command_hooks)
        return (*rooms, self.servers, self.outside, self.sandbox, self.left)

    def tools(self, profile: AgentProfile) -> ToolRegistry:
        """The tools of an agent of this profile; called in a thread, and may import."""
        from agent_tui_core.tools.registry import ToolRegistry, builtin_tools

        self.permissions.book.doubt = self.servers.doubt
        taken = {tool.name for tool in self._own}
        outside = (tool for tool in self.outside.tools(profile.workspace) if tool.name not in taken)
        tools = (*builtin_tools(), *self._own, *outside)
        return ToolRegistry(
            (tool for tool in tools if profile.tools is None or tool.name in profile.tools),
            self.servers.of(profile),
        )

    async def start(self) -> None:
        """Begin what lives as long as the session: before its agents are made. Raises `ConfigError`."""
        self.rules.read()
        self.command_hooks.read()

    async def use_project(
        self,
        settings: EquipmentSettings,
        hooks_json: bytes | None,
        root: Path,
        trusted: TrustedFiles | None = None,
    ) -> None:
        """Add what a trusted project brings along: after `start`, once, and before the first prompt.

        `hooks_json` is `.agent-tui/hooks.json` as it is. Only agents that work in `root` may meet any of it.
        What runs files that are not as they were `trusted` does not start.
        """
        self.rules.use_project(settings.permissions, root, trusted=True)
        self.command_hooks.use_project(settings, hooks_json, root, trusted)
        self.servers.use_project(settings.mcp, root)
        self.outside.add(settings.tools, root, root, trusted)

    async def leave(self, agent_id: str) -> None:
        """End what belonged to an agent that goes, and keep nothing of it."""
        await self.left.end(agent_id)
        await self.sandbox.leave(agent_id)
        self.command_hooks.leave(agent_id)
        self.rules.leave(agent_id)

    async def close(self) -> None:
        """End all of it: called after the last agent ended."""
        await self.left.end()
        await self.sandbox.close()
        await self.servers.close()
        await self.outside.close()
        await self.rules.close()
        self.command_hooks.close()


def _check_names(tools: Sequence[Tool], plan: Plan) -> None:
    taken = {*BUILTIN_TOOLS, *plan.equipment.tools}
    for tool in tools:
        if tool.name in taken or tool.name.startswith("mcp__"):
            raise ConfigError(f"there is another tool of the name {safe_line(tool.name)}", key="tools")
        taken.add(tool.name)
