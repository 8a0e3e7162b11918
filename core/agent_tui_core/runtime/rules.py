"""Owns the rules of one session: the layers they are made from, what a person adds, what is told of them.

Refuses to judge a call (`Permissions` does) and to write a file that a person wrote.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tui_core.agent.approvals import AllowAlways
from agent_tui_core.config.equipment import PermissionSettings
from agent_tui_core.config.profiles import Plan
from agent_tui_core.config.rules_file import RememberedRule, rules_file
from agent_tui_core.errors import AgentTuiError, ConfigError
from agent_tui_core.events import ApprovalRequest
from agent_tui_core.runtime.remembered import Remembered
from agent_tui_core.runtime.report import ReportRow, ReportSection
from agent_tui_core.runtime.session_hooks import HOOKS_FILE

if TYPE_CHECKING:
    from agent_tui_core.agent.permissions import Permissions
    from agent_tui_core.agent.policy import Policy
    from agent_tui_core.agent.rule_book import RuleBook
    from agent_tui_core.agent.rule_layer import PermissionRules

log = logging.getLogger(__name__)

YOUR_SETTINGS: Final = "your settings"
THE_PROJECT: Final = "the project"
_FORGET: Final = "forget"
_NONE: Final = (
    "No rules yet. Press a in a question to remember one, or write [permissions] in the settings file; "
    "agent-tui rules --help says more."
)


class Rules:
    """What holds for the agents of a session."""

    def __init__(self, plan: Plan, policy: Policy | None = None) -> None:
        self._plan = plan
        self._policy = policy
        self.remembered = Remembered(rules_file(plan.config_dir))
        self._permissions: Permissions | None = None
        self._later: list[Callable[[RuleBook], None]] = []
        self._permitting = threading.Lock()

    def read(self) -> None:
        """Read what was remembered; raises `ConfigError`."""
        self.remembered.read()

    @property
    def permissions(self) -> Permissions:
        """The rules for all agents; made at first use, after the first frame."""
        with self._permitting:
            if self._permissions is None:
                from agent_tui_core.agent.permissions import Permissions
                from agent_tui_core.agent.rule_book import RuleBook

                self._permissions = Permissions(RuleBook(self._given(), self.remembered.layers))
                self._permissions.book.folders = frozenset(
                    folder.resolve() for folder in (self._plan.config_dir, self._plan.data_dir)
                )
                self._permissions.book.files = self._own_files()
                for change in self._later:
                    change(self._permissions.book)
            return self._permissions

    def _change(self, change: Callable[[RuleBook], None]) -> None:
        """Change the book when it is made: a start does not wait for its imports."""
        with self._permitting:
            self._later.append(change)
            if self._permissions is not None:
                change(self._permissions.book)

    def _given(self) -> Iterator[PermissionRules]:
        yield layer_of(self._plan.equipment.permissions, YOUR_SETTINGS)
        if self._policy is not None:
            yield self._policy.rules()

    def _own_files(self) -> frozenset[Path]:
        """The files in the workspace that the person's own hooks, servers and tools run."""
        from agent_tui_core.config.named_files import TooMuch, named_files
        from agent_tui_core.config.project import commands_of

        root = self._plan.workspace
        try:
            named = named_files(root, (*commands_of(self._plan.equipment), *self._hook_commands()))
        except TooMuch as error:
            log.warning("not every file that your settings run is protected: %s", error)
            return frozenset()
        return frozenset(root / name for name in named)

    def _hook_commands(self) -> Iterator[str]:
        """Those of the person's `hooks.json`; one that cannot be read has stopped the start."""
        file = self._plan.config_dir / HOOKS_FILE
        if file.exists():
            from agent_tui_core.runtime.hook_layers import file_hooks

            with suppress(ConfigError):
                yield from (hook.runs for hook in file_hooks(file))

    # --- what comes later -----------------------------------------------------------------------------------

    def use_project(self, settings: PermissionSettings, root: Path, *, trusted: bool) -> None:
        """Let a project's rules hold in its folder; those that nobody trusted only forbid."""

        def use(book: RuleBook) -> None:
            book.project = (project_layer(settings, root, trusted=trusted),)

        self._change(use)

    def protect(self, files: Iterable[Path]) -> None:
        """Always ask before one of these files is written: it runs when something happens."""

        def protect(book: RuleBook) -> None:
            book.files = book.files.union(files)

        self._change(protect)

    def remember(self, request: ApprovalRequest, answer: AllowAlways, failed: Callable[[str], None]) -> None:
        """Save what a person chose, in its scope; `failed` hears why it could not be written."""
        match answer.scope:
            case "agent":
                self.permissions.book.of_agent(request.agent_id).add_allow(answer.rule)
            case "session":
                self.permissions.session.add_allow(answer.rule)
            case "project":
                rule = RememberedRule(answer.rule, workspace=Path(request.workspace).resolve())
                self.remembered.add(rule, failed)

    def problem(self, request: ApprovalRequest, rule: str) -> str | None:
        """Why this rule, as a person edited it, cannot be saved for that call; None when it can."""
        from agent_tui_core.agent.suggestions import remembering_problem

        return remembering_problem(
            rule,
            request.tool,
            request.input,
            cwd=Path(request.workspace),
            permissions=self.permissions.of_agent("ask", request.agent_id, request.agent_name),
        )

    def leave(self, agent_id: str) -> None:
        """Drop the rules of an agent that is gone."""
        if self._permissions is not None:
            self._permissions.book.forget(agent_id)

    async def close(self) -> None:
        """Finish writing."""
        await self.remembered.close()

    # --- what is told ---------------------------------------------------------------------------------------

    def report(self) -> ReportSection:
        """Every rule that holds, by its layer."""
        rows = [
            ReportRow(f"remembered {index}", rule.rule, rule.behavior, told_scope(rule), verb=_FORGET)
            for index, rule in enumerate(self.remembered.rules)
        ]
        for layer in self.permissions.book.layers():
            if layer.layer != self.remembered.layer:
                rows += [
                    ReportRow(
                        f"{layer.layer} {layer.agent or ''} {rule}",
                        rule,
                        behavior,
                        layer.layer,
                        verb=_FORGET if layer.added(rule) else "",
                    )
                    for behavior, rule in layer
                ]
        return ReportSection("Rules", tuple(rows), _NONE)

    async def act(self, row_id: str) -> str:
        """Forget a rule that was remembered."""
        for index, rule in enumerate(self.remembered.rules):
            if row_id == f"remembered {index}":
                await self.remembered.forget(rule)
                return f"Forgotten: {rule.rule}"
        for layer in self.permissions.book.layers():
            for _, text in layer:
                if row_id == f"{layer.layer} {layer.agent or ''} {text}" and layer.remove_allow(text):
                    return f"Forgotten: {text}"
        raise AgentTuiError("that rule is gone already")


def layer_of(settings: PermissionSettings, name: str) -> PermissionRules:
    """A layer of settings; raises ValueError for a rule that cannot be read."""
    from agent_tui_core.agent.rule_layer import PermissionRules

    return PermissionRules(settings.allow, settings.ask, settings.deny, layer=name)


def project_layer(settings: PermissionSettings, root: Path, *, trusted: bool) -> PermissionRules:
    """A layer of a project's rules; those that nobody trusted only forbid."""
    from agent_tui_core.agent.rule_layer import PermissionRules

    allow = settings.allow if trusted else ()
    return PermissionRules(
        allow, settings.ask, settings.deny, layer=THE_PROJECT, root=root, below=True, trusted=trusted
    )


def told_scope(rule: RememberedRule) -> str:
    """For whom a remembered rule holds, in words."""
    where = "everywhere" if rule.workspace is None else f"in {rule.workspace}"
    return f"{where}, for {rule.agent}" if rule.agent is not None else where
