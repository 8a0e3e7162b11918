"""Owns what all layers together say of a call: what one of them forbids, which parts of a line they allow.

Refuses to know modes and what is built in beside rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from agent_tui_core.agent.forbidden_words import forbidden_word
from agent_tui_core.agent.judgement import Behavior, Judgement
from agent_tui_core.agent.rule import parse_rule
from agent_tui_core.agent.shell_dangers import danger
from agent_tui_core.agent.shell_judging import READS_ONLY, FileTool, LineJudge, LooksBelow, OpenPart
from agent_tui_core.agent.shell_parse import Part, parse
from agent_tui_core.agent.shell_rules import ShellRule, has_star
from agent_tui_core.agent.shell_words import Unreadable
from agent_tui_core.blocks import JsonObject
from agent_tui_core.tools.names_below import Below


class Layer(Protocol):
    """One layer of rules, as the judgement of all of them needs it."""

    @property
    def layer(self) -> str:
        """Where it is from."""
        ...

    @property
    def forbids_commands(self) -> bool:
        """Whether a deny or ask rule looks into command lines."""
        ...

    @property
    def forbidden_commands(self) -> tuple[str, ...]:
        """The patterns of command lines that a deny or ask rule forbids."""
        ...

    def find(self, behavior: Behavior, tool: str, input: JsonObject, cwd: Path) -> str | None:
        """The first rule of that list which covers the whole call."""
        ...

    def find_part(self, part: Part, *, alone: bool) -> str | None:
        """The first allow rule that covers a part of a command line."""
        ...


def nobody_looked(below: Below) -> str:
    """Stands where nobody can look at names."""
    return f"nobody looked at what is below {below.folder}"


def forbidden(layers: Sequence[Layer], tool: str, input: JsonObject, cwd: Path) -> Judgement | None:
    """What a deny rule of any layer says, else an ask rule of any."""
    for behavior in ("deny", "ask"):
        for layer in layers:
            if rule := layer.find(behavior, tool, input, cwd):
                reason = f"the rule {rule}{of(layer)} says {behavior}"
                return Judgement(behavior, reason, rule, part=_met(rule, input), layer=layer.layer)
    return None


def of(layer: Layer) -> str:
    """Where a rule is from, behind its text."""
    return f" ({layer.layer})" if layer.layer else ""


def doubt(layers: Sequence[Layer], command: str) -> Judgement | None:
    """Ask about what may hide a command while a rule forbids some commands: it may be one of them."""
    if not any(layer.forbids_commands for layer in layers):
        return None
    read = parse(command.strip(" \t\n"))
    if isinstance(read, Unreadable):
        return Judgement("ask", f"{read.reason}, and a rule forbids some commands", part=read.part)
    for part in read:
        if found := danger(part.argv):
            return Judgement("ask", f"{found.reason}, and a rule forbids some commands", part=part.text)
    return named(layers, command)


def named(layers: Sequence[Layer], command: str) -> Judgement | None:
    """Ask about a line in which a word is the name or the path of a program that a rule forbids."""
    for layer in layers:
        if program := forbidden_word(command, layer.forbidden_commands):
            return Judgement("ask", f"{program} stands in it, which a rule{of(layer)} forbids in some form")
    return None


def judge_line(
    layers: Sequence[Layer],
    input: JsonObject,
    cwd: Path,
    judges_file: Callable[[FileTool, Path], Judgement],
    looks_below: LooksBelow = nobody_looked,
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
            hidden = doubt(layers, command) if rule.strip() in {"Bash", "Bash()", "Bash(*)"} else None
            words = f"the rule {rule}{of(layer)} allows it"
            return hidden or Judgement("allow", words, rule, layer=layer.layer), ()
    read = parse(line)
    if isinstance(read, Unreadable):
        return Judgement("ask", read.reason, part=read.part), ()
    spoke: dict[str, None] = {}

    def allows(part: Part, alone: bool) -> str | None:
        for layer in layers:
            if rule := layer.find_part(part, alone=alone):
                spoke.update({layer.layer: None} if layer.layer else {})
                return rule
        return None

    judge = LineJudge(cwd, allows, judges_file, looks_below, builtin)
    found = judge.judge(read)
    if found:
        worst = next((each for each in found if each.judgement.behavior == "deny"), found[0])
        return worst.judgement, found
    if any(has_star(rule) for rule in judge.rules) and (hidden := named(layers, line)):
        return hidden, ()
    rules, where = ", ".join(dict.fromkeys(judge.rules)), ", ".join(spoke)
    if rules == READS_ONLY:
        return Judgement("allow", "it only reads, inside the workspace", rules), ()
    reason = f"allowed by {rules} ({where})" if where else f"allowed by {rules}"
    return Judgement("allow", reason, rules, layer=where), ()


def _met(rule: str, input: JsonObject) -> str:
    """The part of a command line that meets a rule."""
    spec, command = parse_rule(rule).spec, input.get("command")
    if not isinstance(spec, ShellRule) or not isinstance(command, str):
        return ""
    return spec.touched(command) or ""
