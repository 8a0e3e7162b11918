"""Owns where command hooks come from: the settings file, `hooks.json`, a trusted project; runs none.

Refuses to leave one out in silence: what is wrong in the person's own files stops the start, what is wrong in
a project's is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from agent_tui_core.config.equipment import EquipmentSettings, HookPoint, HookSettings
from agent_tui_core.errors import ConfigError
from agent_tui_core.hooks.command import CommandHook
from agent_tui_core.hooks.files import (
    LARGEST_FILE,
    NOT_A_PROJECTS,
    matcher_problem,
    plugin_root_problem,
    read_hooks,
)
from agent_tui_core.regular_file import open_regular

HOOKS_FILE: Final = "hooks.json"
PROJECT_SETTINGS: Final = ".agent-tui/settings.toml"
PROJECT_HOOKS: Final = ".agent-tui/hooks.json"


def own_hooks(
    settings: EquipmentSettings, config_dir: Path, file: str = "settings"
) -> tuple[CommandHook, ...]:
    """The person's own hooks, of the settings file first. Raises `ConfigError`."""
    return (*settings_hooks(settings.hooks, file), *file_hooks(config_dir / HOOKS_FILE))


def settings_hooks(
    table: Mapping[HookPoint, Sequence[HookSettings]], file: str, root: Path | None = None
) -> tuple[CommandHook, ...]:
    """The hooks of a settings file, in its order. Raises `ConfigError`."""
    hooks: list[CommandHook] = []
    for point, listed in table.items():
        for number, said in enumerate(listed, 1):
            key = f"hooks.{point}[{number}]"
            if problem := matcher_problem(said.matcher):
                raise ConfigError(problem, file=file, key=f"{key}.matcher")
            if not said.command.strip() or "\0" in said.command:
                raise ConfigError("should be a command line", file=file, key=f"{key}.command")
            if problem := plugin_root_problem(said.command, said.plugin_root, of_project=root is not None):
                raise ConfigError(problem, file=file, key=f"{key}.plugin_root")
            if said.env_from and root is not None:
                raise ConfigError(NOT_A_PROJECTS, file=file, key=f"{key}.env_from")
            hooks.append(
                CommandHook(
                    point=point,
                    command=said.command,
                    source=f"{file}: {key}",
                    matcher=said.matcher,
                    timeout=said.timeout,
                    on_error=said.on_error,
                    compat=said.compat,
                    environment=said.env_from,
                    plugin_root=said.plugin_root,
                    root=root,
                )
            )
    return tuple(hooks)


def file_hooks(file: Path, plugin_root: str = "") -> tuple[CommandHook, ...]:
    """The hooks of a `hooks.json`, the person's or a plugin's; none without it. Raises `ConfigError`."""
    raw = read_file(file)
    if raw is None:
        return ()
    found = read_hooks(raw, str(file), plugin_root=plugin_root)
    if found.problems:
        raise found.problems[0]
    return tuple(found.hooks)


def project_hooks(
    settings: EquipmentSettings, hooks_json: bytes | None, root: Path
) -> tuple[list[CommandHook], list[str]]:
    """The hooks that a trusted project brings along, and what to tell of those that cannot be used."""
    hooks: list[CommandHook] = []
    problems: list[str] = []
    try:
        hooks += settings_hooks(settings.hooks, PROJECT_SETTINGS, root)
    except ConfigError as error:
        problems.append(str(error))
    if hooks_json is not None:
        try:
            found = read_hooks(hooks_json, PROJECT_HOOKS, root=root)
            hooks += found.hooks
            problems += map(str, found.problems)
        except ConfigError as error:
            problems.append(str(error))
    return hooks, problems


def read_file(file: Path) -> bytes | None:
    """The bytes of a file of hooks; None when there is none. Raises `ConfigError`."""
    try:
        with open_regular(file) as stream:
            return stream.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=str(file)) from error
