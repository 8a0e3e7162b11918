"""Owns one layer of rules: its lists, where it is from, for whom it holds; refuses modes and people."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from agent_tui_core.agent.judgement import Behavior, Judgement
from agent_tui_core.agent.line_judging import forbidden, judge_line
from agent_tui_core.agent.path_rules import PathRule
from agent_tui_core.agent.rule import Rule, parse_rule
from agent_tui_core.agent.shell_judging import FileTool
from agent_tui_core.agent.shell_parse import Part
from agent_tui_core.agent.shell_rules import ShellRule
from agent_tui_core.blocks import JsonObject

_FORBIDDING: Final[tuple[Behavior, ...]] = ("deny", "ask")


class PermissionRules:
    """One layer of rules. `judge` goes by these lists alone."""

    def __init__(
        self,
        allow: Iterable[str] = (),
        ask: Iterable[str] = (),
        deny: Iterable[str] = (),
        *,
        layer: str = "",
        root: Path | None = None,
        below: bool = False,
        agent: str | None = None,
        trusted: bool = True,
    ) -> None:
        """Raises ValueError for a rule that cannot be read.

        `layer` says where the rules are from. With a `root` they hold for agents that work there (or `below`
        it, too), and patterns of files are counted from it; with an `agent` for the one of that id or name.
        """
        self.layer = layer
        self.trusted = trusted
        """Whether it may make a mode milder: rules that nobody trusted only forbid."""
        self._root = root
        self._below = below
        self.agent = agent
        self._added: set[str] = set()
        self._lists: Mapping[Behavior, list[Rule]] = {
            "deny": [parse_rule(text) for text in deny],
            "ask": [parse_rule(text) for text in ask],
            "allow": [parse_rule(text) for text in allow],
        }

    def __iter__(self) -> Iterator[tuple[Behavior, str]]:
        """Every rule with the name of its list."""
        return ((behavior, rule.text) for behavior, rules in self._lists.items() for rule in rules)

    def add_allow(self, rule: str) -> None:
        """Allow what this rule covers from now on; raises ValueError for a rule that cannot be read."""
        self._lists["allow"].append(parse_rule(rule))
        self._added.add(rule)

    def added(self, rule: str) -> bool:
        """Say whether this rule came by `add_allow`."""
        return rule in self._added

    def remove_allow(self, rule: str) -> bool:
        """Forget a rule that was added; False when none was."""
        if rule not in self._added:
            return False
        self._added.discard(rule)
        self._lists["allow"][:] = [kept for kept in self._lists["allow"] if kept.text != rule]
        return True

    def holds(self, agent: Collection[str], cwd: Path) -> bool:
        """Say whether these rules are about an agent of these names (its id is one) that works in `cwd`."""
        if self.agent is not None and self.agent not in agent:
            return False
        if self._root is None:
            return True
        place = cwd.resolve()
        return place == self._root or (self._below and place.is_relative_to(self._root))

    def judge(self, tool: str, input: JsonObject, *, cwd: Path) -> Judgement:
        """Judge one call; what no rule settles is "ask" with `rule` None."""
        return forbidden([self], tool, input, cwd) or self._by_allow_rules(tool, input, cwd)

    def _by_allow_rules(self, tool: str, input: JsonObject, cwd: Path) -> Judgement:
        if tool == "Bash":
            return judge_line([self], input, cwd, self._judges_file(cwd), builtin=False)[0]
        if rule := self.find("allow", tool, input, cwd):
            return Judgement("allow", f"the rule {rule} allows it", rule, layer=self.layer)
        return Judgement("ask", f"no rule allows {tool} here")

    def _judges_file(self, cwd: Path) -> Callable[[FileTool, Path], Judgement]:
        return lambda tool, path: self.judge(tool, {"file_path": str(path)}, cwd=cwd)

    def find(self, behavior: Behavior, tool: str, input: JsonObject, cwd: Path) -> str | None:
        """The first rule of that list which covers the whole call."""
        widely, base = behavior != "allow", self._root or cwd
        covering = (r for r in self._lists[behavior] if r.covers(tool, input, cwd, base, widely=widely))
        rule = next(covering, None)
        return rule.text if rule else None

    def unreadable(self, tool: str, cwd: Path) -> tuple[tuple[Path, str, bool], ...]:
        """The patterns of files that this tool may not show, where each counts from, whether it denies."""
        return tuple(
            (*rule.spec.counted_from(self._root or cwd), behavior == "deny")
            for behavior in ("deny", "ask")
            for rule in self._lists[behavior]
            if isinstance(rule.spec, PathRule) and tool in rule.spec.tools
        )

    def find_part(self, part: Part, *, alone: bool) -> str | None:
        """The first allow rule that covers a part of a command line."""
        for rule in self._lists["allow"]:
            if isinstance(rule.spec, ShellRule) and rule.spec.allows(part, alone=alone):
                return rule.text
        return None

    @property
    def forbids_commands(self) -> bool:
        """Whether a deny or ask rule looks into command lines."""
        return any(
            rule.spec is not None and rule.tool in {"Bash", "Read"}
            for behavior in ("deny", "ask")
            for rule in self._lists[behavior]
        )

    @property
    def forbidden_commands(self) -> tuple[str, ...]:
        """The patterns of command lines that a deny or ask rule forbids."""
        return tuple(
            rule.spec.pattern
            for behavior in _FORBIDDING
            for rule in self._lists[behavior]
            if isinstance(rule.spec, ShellRule)
        )
