"""Owns what a workspace brings along for its agents: rules, hooks, servers, tools, profiles, words.

Refuses to use any of it: all of it is foreign until the person trusted this very content. What is broken is
told and left out; it never stops a start.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from agent_tui_core.config.equipment import HOOK_POINTS, EquipmentSettings, HookPoint, HookSettings
from agent_tui_core.config.models import AgentSettings
from agent_tui_core.config.named_files import TooMuch, named_files
from agent_tui_core.config.project_settings import FOLDER, SETTINGS, ProjectSettings, read_settings
from agent_tui_core.config.repository import Unusable, read_inside
from agent_tui_core.records import dataclass
from agent_tui_core.text import visible_text

HOOKS: Final = f"{FOLDER}/hooks.json"
CONTEXT: Final = "AGENTS.md"
LARGEST_SETTINGS: Final = 2**18
LARGEST_CONTEXT: Final = 2**16


@dataclass(frozen=True, slots=True)
class Project:
    """What one workspace brings along, read once; its texts are foreign."""

    root: Path
    """The workspace, links resolved."""
    hash: str
    """Of all that would count, files that its commands name included."""
    equipment: EquipmentSettings = field(default_factory=EquipmentSettings)
    profiles: Mapping[str, AgentSettings] = field(default_factory=dict)
    hooks_json: bytes | None = None
    """`.agent-tui/hooks.json` as it is: hooks in the shape that other programs know."""
    context: str = ""
    """`AGENTS.md`: words for the system prompt."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """The files in the workspace that its commands name → the SHA-256 of each."""
    would_run: tuple[str, ...] = ()
    """A line for each thing that trust would let in: commands, servers, allow rules, profiles, files."""
    problems: tuple[str, ...] = ()
    """What is broken or not a project's to say; it is told, not used."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that its commands name."""
        return tuple(self.root / name for name in self.digests)


def read_project(root: Path, own: EquipmentSettings) -> Project | None:
    """Read what the workspace brings along; None when that is nothing. Never raises for what it finds.

    Where it defines what the person's `own` settings define, theirs stays.
    """
    root = root.resolve()
    problems: list[str] = []
    contents = {
        SETTINGS: _content(root, SETTINGS, LARGEST_SETTINGS, problems),
        HOOKS: _content(root, HOOKS, LARGEST_SETTINGS, problems),
        CONTEXT: _context(root, problems),
    }
    if not problems and all(content is None for content in contents.values()):
        return None
    said = read_settings(contents[SETTINGS], root, own, problems)
    hooks_json, other_hooks = _hooks(contents[HOOKS], problems)
    commands = [*commands_of(said.equipment), *(command for _, command in other_hooks)]
    digests: Mapping[str, str] = {}
    try:
        digests = named_files(root, commands)
    except TooMuch as error:
        problems.append(f"{error}: its hooks, servers and tools are not used")
        said = ProjectSettings(EquipmentSettings(permissions=said.equipment.permissions), said.agents)
        hooks_json, other_hooks = None, []
    context = (contents[CONTEXT] or b"").decode("utf-8", "replace")
    return Project(
        root=root,
        hash=_hash(contents, digests),
        equipment=said.equipment,
        profiles=said.agents,
        hooks_json=hooks_json,
        context=context,
        digests=digests,
        would_run=tuple(map(_one_line, _would_run(said, other_hooks, context, digests))),
        problems=tuple(map(_one_line, problems)),
    )


def _content(root: Path, name: str, most: int, problems: list[str]) -> bytes | None:
    try:
        found = read_inside(root, name, most + 1)
    except Unusable as error:
        problems.append(f"{name} {error}: it is not used")
        return None
    if found is not None and len(found) > most:
        problems.append(f"{name} is larger than {most // 1024} KiB: it is not used")
        return None
    return found


def _context(root: Path, problems: list[str]) -> bytes | None:
    try:
        found = read_inside(root, CONTEXT, LARGEST_CONTEXT + 1)
    except Unusable as error:
        problems.append(f"{CONTEXT} {error}: it is not used")
        return None
    if found is not None and len(found) > LARGEST_CONTEXT:
        problems.append(f"of {CONTEXT} only the first {LARGEST_CONTEXT // 1024} KiB are used")
        return found[:LARGEST_CONTEXT]
    return found if found and found.strip() else None


# --- hooks.json ---------------------------------------------------------------------------------------------


def _hooks(raw: bytes | None, problems: list[str]) -> tuple[bytes | None, list[tuple[str, str]]]:
    """The file, if it can be read at all, and every command in it with its point, wherever it stands."""
    if raw is None:
        return None, []
    try:
        found = json.loads(raw)
        return raw, list(dict.fromkeys(_commands_in(found, "")))
    except (ValueError, RecursionError):
        problems.append(f"{HOOKS} is not valid JSON: it is not used")
        return None, []


def _commands_in(value: object, point: str) -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            entries: dict[str, Any] = value
            for name, each in entries.items():
                if name == "command" and isinstance(each, str):
                    yield point, each
                else:
                    yield from _commands_in(each, name if name in HOOK_POINTS else point)
        case list():
            for each in value:
                yield from _commands_in(each, point)


# --- what trust would mean ----------------------------------------------------------------------------------


def commands_of(equipment: EquipmentSettings) -> Iterator[str]:
    """Every command that these settings would start by themselves."""
    for hooks in equipment.hooks.values():
        yield from (hook.command for hook in hooks)
    for server in equipment.mcp.servers.values():
        yield " ".join((server.command or "", *server.args, *server.env.values()))
    for tool in equipment.tools.values():
        yield " ".join(tool.command)


def _would_run(
    said: ProjectSettings, other_hooks: list[tuple[str, str]], context: str, digests: Mapping[str, str]
) -> Iterator[str]:
    points: Mapping[HookPoint, tuple[HookSettings, ...]] = said.equipment.hooks
    for point, hooks in points.items():
        for hook in hooks:
            about = f" ({hook.matcher})" if hook.matcher else ""
            yield f"hook {point}{about} runs: {hook.command}"
    for place, command in other_hooks:
        yield f"hook {place} runs: {command}  ({HOOKS})"
    for name, server in said.equipment.mcp.servers.items():
        if server.url is not None:
            yield f"MCP server {name} calls: {server.url}"
        else:
            given = [f"{key}={value}" for key, value in server.env.items()]
            yield f"MCP server {name} runs: {' '.join((*given, server.command or '', *server.args))}"
    for name, tool in said.equipment.tools.items():
        yield f"tool {name} runs: {' '.join(tool.command) or '(nothing: somebody answers)'}"
    for rule in said.equipment.permissions.allow:
        yield f"allows without a question: {rule}"
    for name, agent in said.agents.items():
        more = [f"mode {agent.mode}"] if agent.mode != "ask" else []
        more += [f"model {agent.model}"] if agent.model else []
        yield f"profile {name}" + (f": {', '.join(more)}" if more else "")
    if context:
        lines = len(context.splitlines())
        yield f"{CONTEXT} is read by every agent: {lines} line{'' if lines == 1 else 's'}"
    for name in digests:
        yield f"file that these commands name: {name}"


def _one_line(text: str) -> str:
    """Fit for a screen, and one line whatever it holds: a line cannot pretend to be two."""
    return visible_text(text).replace("\n", "\\n")


def _hash(contents: Mapping[str, bytes | None], digests: Mapping[str, str]) -> str:
    import hashlib  # most folders bring nothing along

    found = hashlib.sha256(b"agent-tui project 1\n")
    for name, content in contents.items():
        digest = "none" if content is None else hashlib.sha256(content).hexdigest()
        found.update(f"{name}\0{digest}\n".encode())
    for name, digest in sorted(digests.items()):
        found.update(f"{name}\0{digest}\n".encode("utf-8", "surrogateescape"))
    return found.hexdigest()
