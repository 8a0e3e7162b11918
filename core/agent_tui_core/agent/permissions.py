"""Owns the rules: what they look like, which layer wins, and the verdict on one call; refuses to ask anyone.

A rule is `Tool` or `Tool(spec)`. Deny is judged before ask, ask before allow, whatever the order of the
lists. What no rule settles is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from agent_tui_core.agent.path_rules import PATH_KEYS, PathRule, call_paths, is_protected
from agent_tui_core.agent.shell_rules import ShellRule, escape_command
from agent_tui_core.blocks import JsonObject
from agent_tui_core.tools.paths import inside

Behavior: TypeAlias = Literal["allow", "ask", "deny"]

_RULE = re.compile(r"(?P<tool>[A-Za-z0-9_.\-]+)(?:\((?P<spec>.*)\))?\Z", re.DOTALL)
_READERS = frozenset({"Read", "Glob", "Grep"})
_LONGEST_REMEMBERED = 400


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the rules say of one call."""

    behavior: Behavior
    reason: str
    rule: str | None = None
    """The rule that decided; None when no rule spoke."""
    by: Literal["rule", "hook", "policy"] = "rule"
    """Who says so."""


@dataclass(frozen=True, slots=True)
class _Rule:
    text: str
    tool: str
    spec: ShellRule | PathRule | None

    def covers(self, tool: str, input: JsonObject, cwd: Path, *, widely: bool) -> bool:
        """`widely` when a match forbids: in doubt it matches; otherwise in doubt it does not."""
        match self.spec:
            case None:
                return self.tool == tool
            case ShellRule() as spec:
                command = input.get("command")
                if tool != self.tool or not isinstance(command, str):
                    return False
                return spec.touches(command) if widely else spec.allows(command)
            case PathRule() as spec:
                return tool in spec.tools and spec.covers(call_paths(tool, input, cwd), cwd, widely=widely)


def parse_rule(text: str) -> _Rule:
    """Read a rule; raises ValueError with the remedy when it is none."""
    found = _RULE.match(text.strip())
    if found is None:
        raise ValueError(f"not a rule: {text!r}; write Tool or Tool(pattern), for example Bash(git status *)")
    tool, spec = found["tool"], found["spec"]
    if spec is None or spec.strip() in {"", "*"}:
        return _Rule(text, tool, None)
    if tool == "Bash":
        return _Rule(text, tool, ShellRule(spec))
    if tool in PATH_KEYS:
        return _Rule(text, tool, PathRule(tool, spec))
    raise ValueError(
        f"the rule {text!r} has a pattern, but only Bash and the file tools take one; write {tool}"
    )


class PermissionRules:
    """One layer of rules. `judge` goes by these lists alone."""

    def __init__(self, allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = ()) -> None:
        """Raises ValueError for a rule that cannot be read."""
        self._lists: Mapping[Behavior, list[_Rule]] = {
            "deny": [parse_rule(text) for text in deny],
            "ask": [parse_rule(text) for text in ask],
            "allow": [parse_rule(text) for text in allow],
        }

    def add_allow(self, rule: str) -> None:
        """Allow what this rule covers from now on; raises ValueError for a rule that cannot be read."""
        self._lists["allow"].append(parse_rule(rule))

    def judge(self, tool: str, input: JsonObject, *, cwd: Path) -> Judgement:
        """Judge one call; what no rule settles is "ask" with `rule` None."""
        for behavior in ("deny", "ask", "allow"):
            if rule := self.find(behavior, tool, input, cwd):
                return Judgement(behavior, f"the rule {rule} says {behavior}", rule)
        return Judgement("ask", f"no rule allows {tool} here")

    def find(self, behavior: Behavior, tool: str, input: JsonObject, cwd: Path) -> str | None:
        """The first rule of that list which covers the call."""
        widely = behavior != "allow"
        for rule in self._lists[behavior]:
            if rule.covers(tool, input, cwd, widely=widely):
                return rule.text
        return None


class Permissions:
    """All layers of one session: built in, what was given, what the person remembered."""

    def __init__(self, given: PermissionRules | None = None) -> None:
        self._layers = [given or PermissionRules(), PermissionRules()]

    @property
    def session(self) -> PermissionRules:
        """The layer that a person's "always" goes to; it ends with the session."""
        return self._layers[-1]

    def judge(self, tool: str, input: JsonObject, *, cwd: Path) -> Judgement:
        """Deny rules of all layers, ask rules, protected names, allow rules; then the person."""
        for behavior in ("deny", "ask"):
            for layer in self._layers:
                if rule := layer.find(behavior, tool, input, cwd):
                    return Judgement(behavior, f"the rule {rule} says {behavior}", rule)
        paths = call_paths(tool, input, cwd) if tool in PATH_KEYS else ()
        if is_protected(paths, cwd):
            return Judgement(
                "ask", f"{paths[-1].name} is a protected name: it is always asked about", "protected names"
            )
        for layer in self._layers:
            if rule := layer.find("allow", tool, input, cwd):
                return Judgement("allow", f"the rule {rule} allows it", rule)
        if not paths:
            return Judgement("ask", f"no rule allows {tool}")
        if not inside(paths[-1], cwd):
            return Judgement("ask", f"{paths[-1]} is outside the workspace")
        if tool in _READERS:
            return Judgement("allow", "reading inside the workspace is allowed", f"{tool}(./**)")
        return Judgement("ask", f"no rule allows {tool} on this file")


def suggest_rule(tool: str, input: JsonObject, *, cwd: Path) -> str | None:
    """The narrowest rule that "always" would save for this call; None when it cannot be remembered safely."""
    if tool == "Bash":
        command = input.get("command")
        if not isinstance(command, str) or "\n" in command.strip() or len(command) > _LONGEST_REMEMBERED:
            return None
        return f"Bash({escape_command(command)})"
    if tool not in PATH_KEYS:
        return tool
    paths = call_paths(tool, input, cwd)
    if len(paths) != 1 or not inside(paths[0], cwd) or is_protected(paths, cwd):
        return None
    return PathRule.exactly("Edit" if tool in {"Write", "Edit"} else "Read", paths[0], cwd)
