"""Owns all layers of rules of one session, those that come later included; refuses to judge by them.

Where a rule stands does not matter: deny goes before ask, ask before allow, across all layers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from agent_tui_core.agent.rule_layer import PermissionRules

SESSION: Final = "this session"
THIS_AGENT: Final = "this session, this agent"


class RuleBook:
    """The layers that all agents of a session share."""

    def __init__(
        self,
        given: Iterable[PermissionRules] = (),
        remembered: Callable[[], Sequence[PermissionRules]] = tuple,
    ) -> None:
        """`given` holds from the start; `remembered` is asked for each judgement: another program may add."""
        self._given = tuple(given)
        self._remembered = remembered
        self.project: tuple[PermissionRules, ...] = ()
        """What the workspace brings along."""
        self.files: frozenset[Path] = frozenset()
        """Files that run unasked when something happens: hooks. Writing to one is always asked about."""
        self.doubt: Callable[[str, Path], str | None] = lambda _tool, _cwd: None
        """Why a tool is not what it was when rules allowed it: it is asked about whatever they say."""
        self.folders: frozenset[Path] = frozenset()
        """Folders of ours: settings, rules, trust, history. Touching them is always asked about."""
        self.session = PermissionRules(layer=SESSION)
        self._agents: dict[str, PermissionRules] = {}

    def of_agent(self, agent_id: str) -> PermissionRules:
        """The layer of one agent, which ends with it."""
        if agent_id not in self._agents:
            self._agents[agent_id] = PermissionRules(layer=THIS_AGENT, agent=agent_id)
        return self._agents[agent_id]

    def forget(self, agent_id: str) -> None:
        """Drop the layer of an agent that is gone."""
        self._agents.pop(agent_id, None)

    def layers(self) -> tuple[PermissionRules, ...]:
        """All of them, for whomever they hold."""
        return (*self._given, *self._remembered(), *self.project, self.session, *self._agents.values())

    def holding(self, agent: Collection[str], cwd: Path) -> list[PermissionRules]:
        """Those that hold for an agent of these names (its id is one) that works in `cwd`."""
        return [layer for layer in self.layers() if layer.holds(agent, cwd)]
