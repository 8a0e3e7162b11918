"""Owns what the demo is played with: its sample workspace and its agents' parts; refuses to run them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

from agent_tui_core.config.profiles import AgentProfile

_COUNTED = re.compile(r"agent-\d+")
"""A name that nobody chose."""
DEMO_GREETING = (
    "This is the built-in demo: scripted agents, real tools, a sample workspace. "
    "Connect a model: start Ollama or LM Studio, or set OPENAI_API_KEY or OPENAI_BASE_URL."
)


class DemoStage:
    """The sample workspace of one session, made when it is needed, and who acts in it."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """The sample workspace, which all demo agents share."""
        if self._folder is None:
            self._folder = new_demo_workspace()
        return self._folder

    def take_up(self, folder: Path) -> None:
        """Go on in the workspace of an earlier session."""
        self._folder = folder

    def opening(
        self, wanted: Sequence[AgentProfile], default: AgentProfile
    ) -> Iterator[tuple[AgentProfile, str]]:
        """The agents of a new demo and how each begins; one of `wanted` keeps a name that was chosen."""
        from agent_tui_core.providers.demo_cast import demo_agents

        roles = demo_agents()
        for index, role in enumerate(islice(cycle(roles), len(wanted) or len(roles))):
            base = wanted[index] if wanted else default
            name = base.name if wanted and not _COUNTED.fullmatch(base.name) else role.name
            yield replace(self._in_role(base, index), name=name), role.prompt

    def another(self, profile: AgentProfile, index: int) -> AgentProfile:
        """An agent that joins as the one of that index."""
        from agent_tui_core.providers.demo_cast import demo_agents

        roles = demo_agents()
        return replace(self._in_role(profile, index), name=roles[index % len(roles)].name)

    def _in_role(self, profile: AgentProfile, index: int) -> AgentProfile:
        from agent_tui_core.providers.demo_cast import demo_agents

        roles = demo_agents()
        role = roles[index % len(roles)]
        return replace(
            profile, model=role.model, system_prompt=role.system_prompt, workspace=self.folder, provider=None
        )


def new_demo_workspace() -> Path:
    """Copy the sample workspace into a fresh private temporary folder."""
    import tempfile

    from agent_tui_core.providers.demo_cast import copy_workspace

    folder = Path(tempfile.mkdtemp(prefix="agent-tui-demo-")).resolve()
    copy_workspace(folder)
    return folder
