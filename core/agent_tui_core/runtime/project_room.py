"""Owns what a session knows of its workspace's own content: read once, trusted or not, told to a person.

Refuses to use it before the person trusted it, and to ask them.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tui_core.config.profiles import AgentProfile, Plan, request_options
from agent_tui_core.errors import AgentTuiError, ConfigError
from agent_tui_core.runtime.report import ReportRow, ReportSection

if TYPE_CHECKING:
    from agent_tui_core.config.models import AgentSettings
    from agent_tui_core.config.project import Project

REMEDY: Final = "agent-tui trust shows it and asks"
_ROOT: Final = "root"
_NONE: Final = (
    "This workspace brings nothing along. A project may have .agent-tui/settings.toml, .agent-tui/hooks.json "
    "and AGENTS.md; they are used after you trusted them."
)
_PLACES: Final = (".agent-tui", "AGENTS.md")


class ProjectRoom:
    """The project in the workspace of a session; a `Reporter`."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.found: Project | None = None
        self.trusted = False
        """Its content is in use."""

    async def find(self) -> Project | None:
        """Read what the workspace brings along; `trusted` says whether the person trusted that before."""
        root = self._plan.workspace
        if not any((root / name).exists() or (root / name).is_symlink() for name in _PLACES):
            return None
        return await asyncio.to_thread(self._find)

    def _find(self) -> Project | None:
        from agent_tui_core.config.project import read_project
        from agent_tui_core.config.trust import TrustStore

        self.found = read_project(self._plan.workspace, self._plan.equipment)
        self.trusted = self.found is not None and TrustStore(self._plan.data_dir).trusts(self.found)
        return self.found

    async def trust(self, project: Project) -> str | None:
        """Use it from now on, and record that; return why it could not be recorded."""
        from agent_tui_core.config.trust import TrustStore

        self.trusted = True
        try:
            await asyncio.to_thread(TrustStore(self._plan.data_dir).trust, project)
        except ConfigError as error:
            return f"The project is trusted for this session only: {error}"
        return None

    def context(self, workspace: Path) -> str:
        """What agents that work there read of the project, behind their system prompt; empty for others."""
        if not self.trusted or self.found is None or not self.found.context:
            return ""
        if not workspace.is_relative_to(self.found.root):
            return ""
        return (
            "\n\nThe project's AGENTS.md follows. Keep to it where it fits the task; what the person says "
            f"goes before it.\n\n{self.found.context.strip()}"
        )

    def profiles(self, project: Project) -> dict[str, AgentProfile]:
        """The person's profiles, and behind them those of the project whose names are free."""
        known = dict(self._plan.profiles)
        for name, said in project.profiles.items():
            if name not in known:
                known[name] = _profile(name, said, known["default"], project.root)
        return known

    # --- what is told ---------------------------------------------------------------------------------------

    def report(self) -> ReportSection:
        """What is there, whether it is used, and what of it cannot be."""
        if self.found is None:
            return ReportSection("Project", (), _NONE)
        state, detail = ("trusted", "used") if self.trusted else ("not trusted", f"not used; {REMEDY}")
        if not self.found.would_run:
            state, detail = "empty", "nothing in it can be used"
        verb = "forget" if self.trusted and self.found.would_run else ""
        rows = [ReportRow(_ROOT, str(self.found.root), state, detail, verb=verb)]
        rows += [ReportRow(f"runs {index}", line) for index, line in enumerate(self.found.would_run)]
        rows += [ReportRow(f"bad {index}", line, bad=True) for index, line in enumerate(self.found.problems)]
        return ReportSection("Project", tuple(rows), _NONE)

    async def act(self, row_id: str) -> str:
        """Trust the project no longer."""
        from agent_tui_core.config.trust import TrustStore

        if row_id != _ROOT or self.found is None:
            raise AgentTuiError("there is nothing to do here")
        await asyncio.to_thread(TrustStore(self._plan.data_dir).forget, self.found.root)
        return "Forgotten: it is asked about at the next start. Until you quit it stays in use."


def _profile(name: str, said: AgentSettings, default: AgentProfile, root: Path) -> AgentProfile:
    """A project's profile; the server that it asks is the person's."""
    return replace(
        default,
        name=name,
        model=said.model or default.model,
        system_prompt=default.system_prompt if said.system_prompt is None else said.system_prompt,
        tools=said.tools,
        max_tool_iterations=said.max_tool_iterations,
        workspace=root if said.workspace is None else (root / said.workspace).resolve(),
        max_tokens=said.max_tokens,
        options=request_options(said),
        context_limit=said.context_limit,
        mode=said.mode,
        mcp=said.mcp,
        network=said.network,
        progress_timeout=said.progress_timeout,
        profile=name,
    )
