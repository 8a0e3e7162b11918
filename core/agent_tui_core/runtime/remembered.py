"""Owns the remembered rules while a session runs: read anew when the file changed, kept when added.

Refuses to lose an answer: a rule that cannot be written holds until the session ends, and that is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tui_core.config.rules_file import RememberedRule, add_rule, read_rules, remove_rules
from agent_tui_core.errors import ConfigError
from agent_tui_core.text import safe_line

if TYPE_CHECKING:
    from agent_tui_core.agent.rule_layer import PermissionRules

log = logging.getLogger(__name__)


class Remembered:
    """The rules in one file, and those on their way into it. Methods are called from the loop's thread."""

    layer: Final = "remembered"

    def __init__(self, file: Path) -> None:
        self.file = file
        self._seen: tuple[int, int, int] | None = None
        self._rules: tuple[RememberedRule, ...] = ()
        self._unwritten: list[RememberedRule] = []
        self._layers: tuple[PermissionRules, ...] | None = None
        self._writing: set[asyncio.Task[None]] = set()

    def read(self) -> None:
        """Read the file now; raises `ConfigError`."""
        self._seen = self._state()
        self._rules = read_rules(self.file)
        self._layers = None

    @property
    def rules(self) -> tuple[RememberedRule, ...]:
        """What holds now."""
        self._look()
        return (*self._rules, *(rule for rule in self._unwritten if rule not in self._rules))

    def layers(self) -> Sequence[PermissionRules]:
        """The same as layers, one for each scope."""
        self._look()
        if self._layers is None:
            self._layers = layers_of(self.rules)
        return self._layers

    def add(self, rule: RememberedRule, failed: Callable[[str], None]) -> None:
        """Let a rule hold from now on and write it; `failed` hears why it cannot be written."""
        self._unwritten.append(rule)
        self._layers = None
        task = asyncio.create_task(self._write(rule, failed), name="remember a rule")
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def forget(self, rule: RememberedRule) -> None:
        """Let a rule hold no longer; raises `ConfigError` when the file cannot be written."""
        self._unwritten = [each for each in self._unwritten if each.about != rule.about]
        self._layers = None
        await asyncio.to_thread(remove_rules, self.file, lambda each: each.about == rule.about)

    async def close(self) -> None:
        """Finish writing."""
        while self._writing:
            await asyncio.wait(self._writing)

    async def _write(self, rule: RememberedRule, failed: Callable[[str], None]) -> None:
        try:
            await asyncio.to_thread(add_rule, self.file, rule)
        except ConfigError as error:
            log.warning("a rule was not written: %s", error)
            failed(str(error))
            return
        self._look()
        self._unwritten = [each for each in self._unwritten if each.about != rule.about]
        self._layers = None

    def _look(self) -> None:
        if self._state() == self._seen:
            return
        try:
            self.read()
        except ConfigError as error:
            log.warning("what was remembered before still holds: %s", safe_line(str(error)))

    def _state(self) -> tuple[int, int, int] | None:
        try:
            found = self.file.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size


def layers_of(rules: Sequence[RememberedRule]) -> tuple[PermissionRules, ...]:
    """Remembered rules as layers, one for each scope."""
    from agent_tui_core.agent.rule_layer import PermissionRules

    scopes: dict[tuple[Path | None, str | None], dict[str, list[str]]] = {}
    for rule in rules:
        lists = scopes.setdefault((rule.workspace, rule.agent), {"allow": [], "ask": [], "deny": []})
        lists[rule.behavior].append(rule.rule)
    return tuple(
        PermissionRules(
            lists["allow"], lists["ask"], lists["deny"], layer=Remembered.layer, root=root, agent=agent
        )
        for (root, agent), lists in scopes.items()
    )
