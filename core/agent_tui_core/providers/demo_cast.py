"""Owns who plays in the demo and where: the agents, their first prompts, the sample workspace.

Refuses what they say (`demo_script`) and how it is sent (`demo`): the first frame needs neither.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

import msgspec

DEMO_BASE_URL = "http://demo.invalid/v1"
_T = TypeVar("_T")


class DemoAgent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the agents that the demo starts with."""

    name: str
    model: str
    system_prompt: str
    prompt: str
    """The first prompt, sent by itself."""


class _Agents(msgspec.Struct, frozen=True):
    agent: tuple[DemoAgent, ...]


class _Workspace(msgspec.Struct, frozen=True):
    files: dict[str, str]


@cache
def demo_agents() -> tuple[DemoAgent, ...]:
    """The four agents of the demo, in the order of their panes."""
    return load("agents", _Agents).agent


def copy_workspace(to: Path) -> None:
    """Write the sample workspace into the folder `to`; files that are there already are kept."""
    for path, text in load("workspace", _Workspace).files.items():
        target = to / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            target.write_text(text, encoding="utf-8")


def load(name: str, kind: type[_T]) -> _T:
    """Read a file of `demo_data`."""
    written = (files("agent_tui_core.providers") / "demo_data" / f"{name}.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(written), kind)
