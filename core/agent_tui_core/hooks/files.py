"""Owns the JSON shape in which hooks are written down, ours and other programs': reading it and adding to it.

Refuses to run one and to write a file. What cannot be used is told with its place and a remedy, never
dropped in silence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from agent_tui_core.errors import ConfigError
from agent_tui_core.hooks.command import (
    DEFAULT_TIMEOUT,
    PLUGIN_ROOT,
    CommandHook,
    OnError,
    names_plugin_root,
)
from agent_tui_core.hooks.contract import POINTS, Point
from agent_tui_core.hooks.matcher import matches
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line

LARGEST_FILE: Final = 2**20
NOT_A_PROJECTS: Final = "variables of yours are not a project's to ask for; say it in your own settings"
NO_PLUGIN_ROOT: Final = (
    f"should be the folder of the plugin that this hook is from, as a whole path: its command means it by "
    f"${{{PLUGIN_ROOT}}}"
)
NO_PLUGIN_OF_PROJECT: Final = (
    "a project's hooks name their scripts by ${CLAUDE_PROJECT_DIR}: "
    "trust is in the files of the folder, not in those of a plugin"
)
_ANY: Final = "/"
LONGEST_TIMEOUT: Final = 86_400
_ON_ERROR: Final[tuple[OnError, ...]] = ("ask", "deny", "allow")
_CHANGES_IT: Final = ("args", "shell", "if", "async", "asyncRewake", "once")
"""Keys of other programs that would make it another hook; without them it would not do what was meant."""


@dataclass(slots=True)
class HooksFile:
    """What a file has of hooks."""

    hooks: list[CommandHook] = field(default_factory=list)
    problems: list[ConfigError] = field(default_factory=list)
    """What cannot be used, each with file, key and remedy."""


def read_hooks(raw: bytes, file: str, *, root: Path | None = None, plugin_root: str = "") -> HooksFile:
    """Read all hooks of such a file; what cannot be used is among `problems`.

    Raises `ConfigError` when the file as a whole is none. With `root` only agents in that folder meet them.
    `plugin_root` is the folder of the plugin that the file is from, for those that do not say it themselves.
    """
    found = HooksFile()
    table = parse_table(raw, file).get("hooks", {})
    if plugin_root:
        for _, _, entry in _entries(table if isinstance(table, dict) else {}):
            entry.setdefault("plugin_root", plugin_root)
    if not isinstance(table, dict):
        raise ConfigError("should be an object: point → list of groups", file=file, key="hooks")
    for point, groups in table.items():
        where = f"hooks.{safe_line(point)[:60]}"
        known = next((each for each in POINTS if each == point), None)
        if known is None:
            words = f"there is no such point here; there is: {', '.join(POINTS)}"
            found.problems.append(ConfigError(words, file=file, key=where))
            continue
        try:
            _read_groups(known, groups, where, file, root, found)
        except ConfigError as error:
            found.problems.append(error)
    return found


def without_plugin_root(raw: bytes, file: str) -> list[str]:
    """The commands of hooks that mean a plugin's folder and do not say which. Raises `ConfigError`."""
    found = read_hooks(raw, file, plugin_root=_ANY)
    return list(
        dict.fromkeys(
            hook.command
            for hook in found.hooks
            if hook.plugin_root == _ANY and names_plugin_root(hook.command)
        )
    )


def parse_table(raw: bytes, file: str) -> dict[str, Any]:
    """The object in a JSON file. Raises `ConfigError`."""
    if len(raw) > LARGEST_FILE:
        raise ConfigError("a file of hooks has at most 1 MiB", file=file)
    try:
        table = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"this is not valid JSON: {safe_line(str(error))}", file=file) from error
    if not isinstance(table, dict):
        raise ConfigError('should be an object, like {"hooks": {"PreToolUse": [ … ]}}', file=file)
    return table


def _read_groups(
    point: Point, groups: object, where: str, file: str, root: Path | None, found: HooksFile
) -> None:
    for number, group in enumerate(_listed(groups, where, file), 1):
        key = f"{where}[{number}]"
        if not isinstance(group, dict):
            found.problems.append(ConfigError("should be an object", file=file, key=key))
            continue
        matcher = group.get("matcher")
        if problem := matcher_problem(matcher):
            found.problems.append(ConfigError(problem, file=file, key=f"{key}.matcher"))
            continue
        entries = enumerate(_listed(group.get("hooks"), f"{key}.hooks", file), 1)
        for index, entry in entries:
            place = f"{key}.hooks[{index}]"
            try:
                found.hooks.append(_hook(point, matcher, entry, place, file, root))
            except ConfigError as error:
                found.problems.append(error)


def _listed(value: object, key: str, file: str) -> list[object]:
    if isinstance(value, list):
        return value
    raise ConfigError("should be a list", file=file, key=key)


def matcher_problem(matcher: object) -> str | None:
    """Why this is no matcher; None: it is one."""
    if matcher is not None and not isinstance(matcher, str):
        return "should be text: a name, names with | between them, or a regular expression"
    try:
        matches(matcher, "")
    except re.error as error:
        return f"is no regular expression ({safe_line(str(error))}); names are written like Edit|Write"
    except (OverflowError, RecursionError):
        return "is no regular expression that can be used: it is too large"
    return None


def _hook(
    point: Point, matcher: str | None, entry: object, place: str, file: str, root: Path | None
) -> CommandHook:
    if not isinstance(entry, dict):
        raise ConfigError("should be an object", file=file, key=place)
    kind = entry.get("type", "command")
    if kind != "command":
        words = f"hooks of the type {safe_line(str(kind))[:40]!r} do not run here, only commands; take it out"
        raise ConfigError(words, file=file, key=f"{place}.type")
    command = entry.get("command")
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise ConfigError("should be a command line", file=file, key=f"{place}.command")
    for key in _CHANGES_IT:
        if entry.get(key):
            words = "is not supported here, and without it this would be another hook; take it out"
            raise ConfigError(words, file=file, key=f"{place}.{key}")
    timeout = entry.get("timeout", DEFAULT_TIMEOUT)
    right = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not right or not 0.1 <= timeout <= LONGEST_TIMEOUT:
        words = f"should be seconds, from 0.1 to {LONGEST_TIMEOUT}"
        raise ConfigError(words, file=file, key=f"{place}.timeout")
    on_error = entry.get("on_error")
    if on_error is not None and on_error not in _ON_ERROR:
        raise ConfigError('should be "ask", "deny" or "allow"', file=file, key=f"{place}.on_error")
    compat = entry.get("compat", False)
    if not isinstance(compat, bool):
        raise ConfigError("should be true or false", file=file, key=f"{place}.compat")
    if compat and on_error is not None:
        words = "compat says what a broken hook counts for; leave out one of them"
        raise ConfigError(words, file=file, key=f"{place}.on_error")
    plugin_root = entry.get("plugin_root", "")
    if problem := plugin_root_problem(command, plugin_root, of_project=root is not None):
        raise ConfigError(problem, file=file, key=f"{place}.plugin_root")
    return CommandHook(
        point=point,
        command=command,
        source=f"{file}: {place}",
        matcher=matcher,
        timeout=float(timeout),
        on_error=on_error,
        compat=compat,
        environment=_environment(entry.get("env_from", []), f"{place}.env_from", file, root),
        plugin_root=plugin_root,
        root=root,
    )


def plugin_root_problem(command: str, plugin_root: object, *, of_project: bool) -> str | None:
    """Why this is not the folder of the plugin that a hook is from; None: it is, or nothing needs it."""
    if of_project and (plugin_root or names_plugin_root(command)):
        return NO_PLUGIN_OF_PROJECT
    if not isinstance(plugin_root, str) or "\0" in plugin_root:
        return NO_PLUGIN_ROOT
    if plugin_root and not plugin_root.startswith("/"):
        return NO_PLUGIN_ROOT
    return NO_PLUGIN_ROOT if names_plugin_root(command) and not plugin_root else None


def _environment(names: object, key: str, file: str, root: Path | None) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        words = 'should be a list of names of variables, like ["DBUS_SESSION_BUS_ADDRESS"]'
        raise ConfigError(words, file=file, key=key)
    if names and root is not None:
        raise ConfigError(NOT_A_PROJECTS, file=file, key=key)
    return tuple(names)


def add_hooks(table: Mapping[str, Any], hooks: Sequence[CommandHook]) -> tuple[dict[str, Any], int]:
    """A file's object with these hooks behind its own, and how many were new to it."""
    groups = {point: list(listed) for point, listed in dict(table.get("hooks", {})).items()}
    there = {_same(point, matcher, entry) for point, matcher, entry in _entries(groups)}
    added = 0
    for hook in hooks:
        entry: dict[str, Any] = {"type": "command", "command": hook.command, "timeout": _number(hook.timeout)}
        if hook.on_error is not None:
            entry["on_error"] = hook.on_error
        if hook.compat:
            entry["compat"] = True
        if hook.environment:
            entry["env_from"] = list(hook.environment)
        if hook.plugin_root:
            entry["plugin_root"] = hook.plugin_root
        key = _same(hook.point, hook.matcher, entry)
        if key not in there:
            there.add(key)
            added += 1
            group = {} if hook.matcher is None else {"matcher": hook.matcher}
            groups.setdefault(hook.point, []).append({**group, "hooks": [entry]})
    return {**table, "hooks": groups}, added


def _entries(groups: Mapping[str, Any]) -> Iterator[tuple[str, object, Any]]:
    for point, listed in groups.items():
        for group in listed if isinstance(listed, list) else ():
            if isinstance(group, dict) and isinstance(group.get("hooks"), list):
                for entry in group["hooks"]:
                    if isinstance(entry, dict):
                        yield point, group.get("matcher"), entry


def _same(point: str, matcher: object, entry: Mapping[str, Any]) -> tuple[str, ...]:
    named = "" if matcher is None else str(matcher)
    plugin = str(entry.get("plugin_root", ""))
    return point, "" if named == "*" else named, str(entry.get("command")), plugin


def _number(seconds: float) -> float | int:
    return int(seconds) if seconds == int(seconds) else seconds
