"""Owns the rules: what they look like, which layer wins, and the verdict on one call; refuses to ask anyone.

A rule is `Tool` or `Tool(spec)`. Deny is judged before ask, ask before allow, whatever the order of the
lists. What no rule settles is asked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent_tui_core.agent.judgement import Behavior
from agent_tui_core.agent.judgement import Judgement as Judgement
from agent_tui_core.agent.path_rules import PATH_KEYS, PathRule, call_paths, is_protected
from agent_tui_core.agent.shell_alarms import protected_word, removes_too_much
from agent_tui_core.agent.shell_dangers import danger
from agent_tui_core.agent.shell_judging import READS_ONLY, FileTool, LineJudge, OpenPart
from agent_tui_core.agent.shell_lexer import Unreadable
from agent_tui_core.agent.shell_parse import Part, parse
from agent_tui_core.agent.shell_rules import ShellRule, escape_command
from agent_tui_core.blocks import JsonObject
from agent_tui_core.config.modes import Mode
from agent_tui_core.tools.paths import inside

_RULE = re.compile(r"(?P<tool>[A-Za-z0-9_.\-]+)(?:\((?P<spec>.*)\))?\Z", re.DOTALL)
_READERS = frozenset({"Read", "Glob", "Grep"})
_EDITORS = frozenset({"Write", "Edit"})
_LONGEST_REMEMBERED = 400
PROTECTED: Final = "protected names"
REMOVES_TOO_MUCH: Final = "rm of a root, home or workspace"


@dataclass(frozen=True, slots=True)
class _Rule:
    text: str
    tool: str
    spec: ShellRule | PathRule | None

    def covers(self, tool: str, input: JsonObject, cwd: Path, *, widely: bool) -> bool:
        """`widely` when a match forbids. A command line that is no rule itself is allowed by its parts."""
        match self.spec:
            case None:
                return self.tool == tool
            case ShellRule() as spec:
                command = input.get("command")
                if tool != self.tool or not isinstance(command, str):
                    return False
                return spec.touched(command) is not None if widely else spec.is_line(command)
            case PathRule() as spec:
                if widely and tool == "Bash":
                    return any(spec.covers((path,), cwd, widely=True) for path in self._touched(input, cwd))
                return tool in spec.tools and spec.covers(call_paths(tool, input, cwd), cwd, widely=widely)

    def _touched(self, input: JsonObject, cwd: Path) -> Iterator[Path]:
        """The existing files that the words of a command name: `cat` may not read what Read may not."""
        command = input.get("command")
        if self.tool != "Read" or not isinstance(command, str):
            return
        for word in dict.fromkeys(_WORDS.split(_QUOTES.sub("", command[:_LONGEST_LOOKED_AT]))):
            with suppress(OSError, ValueError, RuntimeError):
                path = cwd / Path(word).expanduser()
                if word and path.is_file():
                    yield from {Path(os.path.normpath(path)), path.resolve()}


_QUOTES = re.compile(r"[\"'\\]")
_WORDS = re.compile(r"[\s;&|<>(){}=]+")
_LONGEST_LOOKED_AT = 10_000
_AUTO: Final = Judgement("allow", "the mode auto allows what no rule denies", "mode auto")


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
        return _forbidden([self], tool, input, cwd) or self._by_allow_rules(tool, input, cwd)

    def _by_allow_rules(self, tool: str, input: JsonObject, cwd: Path) -> Judgement:
        if tool == "Bash":
            return _judge_line([self], input, cwd, self._judges_file(cwd), builtin=False)[0]
        if rule := self.find("allow", tool, input, cwd):
            return Judgement("allow", f"the rule {rule} allows it", rule)
        return Judgement("ask", f"no rule allows {tool} here")

    def _judges_file(self, cwd: Path) -> Callable[[FileTool, Path], Judgement]:
        return lambda tool, path: self.judge(tool, {"file_path": str(path)}, cwd=cwd)

    def find(self, behavior: Behavior, tool: str, input: JsonObject, cwd: Path) -> str | None:
        """The first rule of that list which covers the whole call."""
        widely = behavior != "allow"
        covering = (rule for rule in self._lists[behavior] if rule.covers(tool, input, cwd, widely=widely))
        rule = next(covering, None)
        return rule.text if rule else None

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


class Permissions:
    """All layers of one session: built in, what was given, what the person remembered; in one mode."""

    def __init__(self, given: PermissionRules | None = None, *, mode: Mode = "ask") -> None:
        self._layers = [given or PermissionRules(), PermissionRules()]
        self.mode: Mode = mode

    def in_mode(self, mode: Mode) -> Permissions:
        """The same layers, those that are still to come included, in another mode."""
        other = Permissions(mode=mode)
        other._layers = self._layers
        return other

    @property
    def session(self) -> PermissionRules:
        """The layer that a person's "always" goes to; it ends with the session."""
        return self._layers[-1]

    def judge(self, tool: str, input: JsonObject, *, cwd: Path) -> Judgement:
        """Deny rules of all layers, ask rules, what is always asked, mode, allow rules; then the person."""
        if judgement := _forbidden(self._layers, tool, input, cwd):
            return judgement
        if tool == "Bash":
            return self._judge_command(input, cwd)
        paths = call_paths(tool, input, cwd) if tool in PATH_KEYS else ()
        if self.mode == "plan" and tool not in _READERS:
            return _not_while_planning(tool)
        if is_protected(paths, cwd):
            return _protected(paths[-1].name)
        return self._by_mode(tool, paths, cwd) or self._by_allow_rules(tool, input, paths, cwd)

    def open_parts(self, command: str, *, cwd: Path) -> tuple[OpenPart, ...]:
        """What in a command line nothing allows yet; empty also for one that is not judged by its parts."""
        return _judge_line(self._layers, {"command": command}, cwd, self._judges_file(cwd), builtin=True)[1]

    def would_allow(self, rule: str, tool: str, input: JsonObject, *, cwd: Path) -> bool:
        """Say whether the call would run without a question if this rule were added."""
        with_rule = Permissions(mode=self.mode)
        with_rule._layers = [*self._layers, PermissionRules(allow=[rule])]
        return with_rule.judge(tool, input, cwd=cwd).behavior == "allow"

    def _by_mode(self, tool: str, paths: Sequence[Path], cwd: Path) -> Judgement | None:
        if self.mode == "auto":
            return _AUTO
        if self.mode == "accept-edits" and tool in _EDITORS and all(inside(path, cwd) for path in paths):
            return Judgement(
                "allow", "the mode accept-edits allows edits in the workspace", "mode accept-edits"
            )
        return None

    def _by_allow_rules(self, tool: str, input: JsonObject, paths: Sequence[Path], cwd: Path) -> Judgement:
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

    def _judge_command(self, input: JsonObject, cwd: Path) -> Judgement:
        command = input.get("command")
        if not isinstance(command, str):
            return Judgement("ask", "it has no command")
        if self.mode == "plan":
            judgement, _ = _judge_line([], input, cwd, self._judges_file(cwd), builtin=True)
            if judgement.behavior != "allow":
                return _not_while_planning("Bash", judgement)
        if word := protected_word(command):
            return _protected(word)
        if part := removes_too_much(command, cwd):
            return Judgement("ask", f"{part} removes a whole folder", REMOVES_TOO_MUCH, part=part)
        if self.mode == "auto":
            return _doubt(self._layers, command) or _AUTO
        layers = self._layers if self.mode != "plan" else []
        return _judge_line(layers, input, cwd, self._judges_file(cwd), builtin=True)[0]

    def _judges_file(self, cwd: Path) -> Callable[[FileTool, Path], Judgement]:
        return lambda tool, path: self.judge(tool, {"file_path": str(path)}, cwd=cwd)


def suggest_rule(
    tool: str, input: JsonObject, *, cwd: Path, permissions: Permissions | None = None
) -> str | None:
    """The narrowest rule that "always" would save for this call; None when it cannot be remembered safely.

    Of a command line that is the one part that nothing allows yet.
    """
    if tool == "Bash":
        command = input.get("command")
        return (
            _suggest_command(command, cwd, permissions or Permissions()) if isinstance(command, str) else None
        )
    if tool not in PATH_KEYS:
        return tool
    paths = call_paths(tool, input, cwd)
    if len(paths) != 1 or not inside(paths[0], cwd) or is_protected(paths, cwd):
        return None
    return PathRule.exactly("Edit" if tool in _EDITORS else "Read", paths[0], cwd)


def _suggest_command(command: str, cwd: Path, permissions: Permissions) -> str | None:
    line = command.strip(" \t\n")
    if len(line) > _LONGEST_REMEMBERED:
        return None
    read = parse(line)
    if isinstance(read, Unreadable):
        rule: str | None = None if "\n" in line else f"Bash({escape_command(line)})"
    else:
        found = permissions.open_parts(line, cwd=cwd)
        if len(found) != 1:
            return None
        if found[0].tool == "Bash":
            rule = f"Bash({escape_command(found[0].text)})"
        else:
            rule = suggest_rule(found[0].tool, {"file_path": found[0].text}, cwd=cwd)
    if rule is None or not permissions.would_allow(rule, "Bash", {"command": command}, cwd=cwd):
        return None
    return rule


# --- what all layers have in common -------------------------------------------------------------------------


def _forbidden(
    layers: Sequence[PermissionRules], tool: str, input: JsonObject, cwd: Path
) -> Judgement | None:
    for behavior in ("deny", "ask"):
        for layer in layers:
            if rule := layer.find(behavior, tool, input, cwd):
                return Judgement(behavior, f"the rule {rule} says {behavior}", rule, part=_met(rule, input))
    return None


def _met(rule: str, input: JsonObject) -> str:
    """The part of a command line that meets a rule."""
    spec, command = parse_rule(rule).spec, input.get("command")
    if not isinstance(spec, ShellRule) or not isinstance(command, str):
        return ""
    return spec.touched(command) or ""


def _doubt(layers: Sequence[PermissionRules], command: str) -> Judgement | None:
    """Ask about what may hide a command while a rule forbids some commands: it may be one of them."""
    if not any(layer.forbids_commands for layer in layers):
        return None
    read = parse(command.strip(" \t\n"))
    if isinstance(read, Unreadable):
        return Judgement("ask", f"{read.reason}, and a rule forbids some commands", part=read.part)
    for part in read:
        if found := danger(part.argv):
            return Judgement("ask", f"{found.reason}, and a rule forbids some commands", part=part.text)
    return None


def _judge_line(
    layers: Sequence[PermissionRules],
    input: JsonObject,
    cwd: Path,
    judges_file: Callable[[FileTool, Path], Judgement],
    *,
    builtin: bool,
) -> tuple[Judgement, tuple[OpenPart, ...]]:
    """Hold a command line against the allow rules of these layers, and say what is open."""
    command = input.get("command")
    if not isinstance(command, str):
        return Judgement("ask", "it has no command"), ()
    line = command.strip(" \t\n")
    for layer in layers:
        if rule := layer.find("allow", "Bash", input, cwd):
            doubt = _doubt(layers, command) if rule.strip() in {"Bash", "Bash()", "Bash(*)"} else None
            return doubt or Judgement("allow", f"the rule {rule} allows it", rule), ()
    read = parse(line)
    if isinstance(read, Unreadable):
        return Judgement("ask", read.reason, part=read.part), ()

    def allows(part: Part, alone: bool) -> str | None:
        return next((rule for layer in layers if (rule := layer.find_part(part, alone=alone))), None)

    judge = LineJudge(cwd, allows, judges_file, builtin)
    found = judge.judge(read)
    if found:
        worst = next((each for each in found if each.judgement.behavior == "deny"), found[0])
        return worst.judgement, found
    rules = ", ".join(dict.fromkeys(judge.rules))
    reason = "it only reads, inside the workspace" if rules == READS_ONLY else f"allowed by {rules}"
    return Judgement("allow", reason, rules), ()


def _protected(name: str) -> Judgement:
    return Judgement("ask", f"{name} is a protected name: it is always asked about", PROTECTED)


def _not_while_planning(tool: str, why: Judgement | None = None) -> Judgement:
    more = f" ({why.reason})" if why else ""
    part = why.part if why else ""
    return Judgement(
        "deny", f"the mode is plan, which only reads: {tool} is not allowed{more}", "mode plan", part=part
    )
