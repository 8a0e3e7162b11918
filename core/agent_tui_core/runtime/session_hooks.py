"""Owns a session's command hooks: read at its start, a trusted project's added, shown to a person.

Refuses to know an agent. Where no file has hooks nothing of them is imported.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui_core.config.equipment import EquipmentSettings
from agent_tui_core.config.profiles import Plan
from agent_tui_core.errors import AgentTuiError
from agent_tui_core.runtime.forms import Forms
from agent_tui_core.runtime.report import ReportSection

if TYPE_CHECKING:
    from agent_tui_core.config.trusted_files import TrustedFiles
    from agent_tui_core.hooks.agent_commands import AgentCommands
    from agent_tui_core.hooks.commands import CommandHooks

HOOKS_FILE = "hooks.json"
NO_HOOKS = (
    "No command hooks. Add [[hooks.PreToolUse]] to the settings file, or take over those you have with "
    "agent-tui hooks import FILE."
)


class SessionHooks:
    """The command hooks of a session; a `Reporter`."""

    def __init__(self, plan: Plan, forms: Forms) -> None:
        self.commands: CommandHooks | None = None
        """All layers in their order; None while there are none."""
        self._plan = plan
        self._forms = forms
        self._agents: dict[str, AgentCommands] = {}
        self._told: set[str] = set()
        """The forms that Notification hooks heard of."""
        forms.watch(self._tell_of_forms)

    def meet(self, agent: AgentCommands) -> None:
        """An agent hears hooks from now on: those of forms that wait for it, too."""
        self._agents[agent.agent.id] = agent

    def leave(self, agent_id: str) -> None:
        """An agent that is gone hears nothing any more, and nothing of it is kept for hooks to read."""
        self._agents.pop(agent_id, None)
        if self.commands is not None:
            self.commands.transcripts.forget(agent_id)

    def _tell_of_forms(self) -> None:
        pending = self._forms.pending
        self._told &= {form.id for form in pending}
        for form in pending:
            if form.urgent and form.id not in self._told and (agent := self._agents.get(form.agent_id)):
                self._told.add(form.id)
                agent.on_form(f"{form.source} asks: {form.message}")

    def read(self) -> None:
        """Read the person's own. Raises `ConfigError`."""
        if self._plan.equipment.hooks or (self._plan.config_dir / HOOKS_FILE).exists():
            from agent_tui_core.hooks.commands import CommandHooks
            from agent_tui_core.runtime.hook_layers import own_hooks

            self.commands = CommandHooks(own_hooks(self._plan.equipment, self._plan.config_dir))

    def use_project(
        self,
        settings: EquipmentSettings,
        hooks_json: bytes | None,
        root: Path,
        trusted: TrustedFiles | None = None,
    ) -> None:
        """Add a trusted project's, for agents in `root`; what of them cannot be used is told in the panes."""
        if not settings.hooks and hooks_json is None:
            return
        from agent_tui_core.hooks.commands import CommandHooks
        from agent_tui_core.runtime.hook_layers import project_hooks

        hooks, problems = project_hooks(settings, hooks_json, root)
        if self.commands is None:
            self.commands = CommandHooks()
        self.commands.add(hooks)
        if trusted is not None:
            self.commands.doubt = lambda hook: trusted.doubt(hook.command)
        self.commands.problems += problems

    def close(self) -> None:
        """Delete what hooks were given to read."""
        if self.commands is not None:
            self.commands.close()

    def report(self) -> ReportSection:
        """Each hook with its place, its last run and its last failure."""
        if self.commands is None:
            return ReportSection("Hooks", (), NO_HOOKS)
        from agent_tui_core.runtime.hook_report import hook_rows

        return ReportSection("Hooks", hook_rows(self.commands), NO_HOOKS)

    async def act(self, row_id: str) -> str:  # noqa: ARG002 - the protocol's
        """Nothing can be done with a hook here."""
        raise AgentTuiError("hooks are changed in the files that they come from")
