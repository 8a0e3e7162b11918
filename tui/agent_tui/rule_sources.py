"""Owns where rules come from, for commands that show and try them: each file, and what it holds.

Refuses to change any of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui_core.config.load import load_settings
from agent_tui_core.config.models import Settings
from agent_tui_core.config.paths import absolute, config_dir, data_dir, settings_file
from agent_tui_core.config.rules_file import RULE_LISTS, RememberedRule, RuleList, read_rules, rules_file
from agent_tui_core.config.words import dotted
from agent_tui_core.errors import ConfigError
from agent_tui_core.records import dataclass
from agent_tui_core.text import visible_text

if TYPE_CHECKING:
    from agent_tui_core.agent.permissions import Permissions
    from agent_tui_core.agent.rule_layer import PermissionRules
    from agent_tui_core.config.equipment import PermissionSettings
    from agent_tui_core.config.project import Project


@dataclass(frozen=True, slots=True)
class Sources:
    """Where rules come from, for one folder."""

    folder: Path
    settings: Settings
    settings_file: Path
    remembered: tuple[RememberedRule, ...]
    rules_file: Path
    data_dir: Path
    project: Project | None
    trusted: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One rule, as a person is told of it."""

    behavior: RuleList
    rule: str
    layer: str
    place: str


def find_sources(workspace: Path | None, config: Path | None, said_data: Path | None) -> Sources:
    """Read all files that rules may stand in. Raises `ConfigError`."""
    from agent_tui_core.config.equipment import EquipmentSettings
    from agent_tui_core.config.project import read_project
    from agent_tui_core.config.trust import TrustStore

    folder = (absolute(workspace) if workspace is not None else Path.cwd()).resolve()
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {plain_line(str(folder))}", key="--workspace")
    settings = load_settings(config, environ=os.environ)
    own = EquipmentSettings(
        permissions=settings.permissions, hooks=settings.hooks, mcp=settings.mcp, tools=settings.tools
    )
    project = read_project(folder, own)
    data = absolute(said_data) if said_data is not None else data_dir(os.environ)
    file = rules_file(config_dir(os.environ))
    return Sources(
        folder=folder,
        settings=settings,
        settings_file=absolute(config) if config is not None else settings_file(os.environ),
        remembered=read_rules(file),
        rules_file=file,
        data_dir=data,
        project=project,
        trusted=project is not None and TrustStore(data).trusts(project),
    )


def permissions_of(found: Sources, said: PermissionRules) -> Permissions:
    """All rules that hold there, and those that were said just now."""
    from agent_tui_core.agent.permissions import Permissions
    from agent_tui_core.agent.rule_book import RuleBook
    from agent_tui_core.runtime.remembered import layers_of
    from agent_tui_core.runtime.rules import YOUR_SETTINGS, layer_of, project_layer

    given = [layer_of(found.settings.permissions, YOUR_SETTINGS), said]
    book = RuleBook(given, lambda: layers_of(found.remembered))
    if (project := found.project) is not None:
        rules = project.equipment.permissions
        book.project = (project_layer(rules, project.root, trusted=found.trusted),)
        book.files = frozenset(project.files) if found.trusted else frozenset()
    book.folders = frozenset({found.rules_file.parent.resolve(), found.data_dir.resolve()})
    return Permissions(book)


def rows_of(found: Sources, *, everywhere: bool) -> Iterator[Row]:
    """Every rule, by its layer; with those remembered for other folders if `everywhere`."""
    from agent_tui_core.runtime.rules import THE_PROJECT, YOUR_SETTINGS, told_scope

    yield from _rows_of(found.settings.permissions, YOUR_SETTINGS, str(found.settings_file))
    for rule in found.remembered:
        if everywhere or rule.workspace in {None, found.folder}:
            when = f" ({rule.added[:10]})" if rule.added else ""
            layer = f"remembered, {told_scope(rule)}{when}"
            yield Row(rule.behavior, rule.rule, layer, str(found.rules_file))
    if (project := found.project) is not None:
        from agent_tui_core.config.project_settings import SETTINGS

        for row in _rows_of(project.equipment.permissions, THE_PROJECT, str(project.root / SETTINGS)):
            if row.behavior == "allow" and not found.trusted:
                row = Row(row.behavior, row.rule, f"{THE_PROJECT}, not trusted: not used", row.place)
            yield row


def _rows_of(rules: PermissionSettings, layer: str, file: str) -> Iterator[Row]:
    for behavior in RULE_LISTS:
        texts: tuple[str, ...] = getattr(rules, behavior)
        for index, text in enumerate(texts):
            yield Row(behavior, text, layer, f"{file}: {dotted(('permissions', behavior, index))}")


def told_rule(rule: RememberedRule) -> str:
    """A remembered rule, and for whom it holds."""
    from agent_tui_core.runtime.rules import told_scope

    return f"{rule.behavior} {plain_line(rule.rule)}, {plain_line(told_scope(rule))}"


def plain_line(text: str) -> str:
    """Foreign text as one line of a terminal, with nothing hidden."""
    return visible_text(text).replace("\n", "\\n")
