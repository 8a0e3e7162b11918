"""Owns the plan of a session that a program opens: what it says, and no settings file unless it names one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent_tui_core.config.load import load_settings
from agent_tui_core.config.models import Settings
from agent_tui_core.config.modes import Mode
from agent_tui_core.config.profiles import AgentProfile, Flags, Plan, plan
from agent_tui_core.wire.protocols import WireProtocol


def session_plan(
    agents: Sequence[str] = ("agent-1",),
    *,
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    protocol: WireProtocol = "chat",
    system_prompt: str | None = None,
    tools: Sequence[str] | None = None,
    mode: Mode | None = None,
    workspace: Path | str | None = None,
    data_dir: Path | str | None = None,
    settings: Path | str | None = None,
    demo: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Plan:
    """Say what `open_session` shall open, in the words of `AgentOptions`.

    `agents` are names, each with its own conversation; with `settings`, `NAME=PROFILE` takes a profile of
    that file. Without it no file is read: no hooks, servers or rules of the person's dashboard hold. `tools`
    names what is offered, of the built-in tools and of those given to `open_session`; None offers all.
    `api_key` belongs to `base_url` (without one, to OpenAI) and is stored nowhere. Without `data_dir` the
    session stands in the person's own history. Without a server, the environment (`OPENAI_BASE_URL`,
    `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`), then local servers are asked.

    Raises `ConfigError` for what cannot be used.
    """
    said = os.environ if environ is None else environ
    read = Settings() if settings is None else load_settings(Path(settings), environ=said)
    flags = Flags(
        agents=tuple(agents),
        model=model,
        base_url=base_url,
        api_key=api_key,
        protocol=protocol,
        workspace=None if workspace is None else Path(workspace),
        data_dir=None if data_dir is None else Path(data_dir),
        demo=demo,
    )
    made = plan(read, flags, said)

    def as_said(profile: AgentProfile) -> AgentProfile:
        return replace(
            profile,
            system_prompt=profile.system_prompt if system_prompt is None else system_prompt,
            tools=profile.tools if tools is None else tuple(tools),
            mode=profile.mode if mode is None else mode,
        )

    profiles = {name: as_said(profile) for name, profile in made.profiles.items()}
    return replace(made, agents=tuple(map(as_said, made.agents)), profiles=profiles)
