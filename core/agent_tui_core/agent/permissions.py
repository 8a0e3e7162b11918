"""Owns the verdict on one call: all layers of rules, the mode, what is built in; refuses to ask anyone.

A rule is `Tool` or `Tool(spec)`. Deny is judged before ask, ask before allow, whatever the order of the
lists. What no rule settles is asked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from agent_tui_core.agent.judgement import Judgement as Judgement
from agent_tui_core.agent.line_judging import doubt, forbidden, judge_line, of
from agent_tui_core.agent.path_rules import (
    EDITORS,
    PATH_KEYS,
    SECRETS,
    call_paths,
    is_protected,
    is_run_by_itself,
)
from agent_tui_core.agent.removals import removes_too_much
from agent_tui_core.agent.rule_book import RuleBook
from agent_tui_core.agent.rule_layer import PermissionRules as PermissionRules
from agent_tui_core.agent.shell_alarms import (
    named_file,
    protected_name_in,
    protected_word,
    texts_in,
    word_inside,
)
from agent_tui_core.agent.shell_judging import FileTool, LooksBelow, OpenPart
from agent_tui_core.agent.unseen_programs import unseen
from agent_tui_core.agent.written_names import written_name
from agent_tui_core.blocks import JsonObject
from agent_tui_core.config.modes import Mode
from agent_tui_core.tools.names_below import Kept, Look, Looked, look_here
from agent_tui_core.tools.paths import inside

_READERS: Final = frozenset({"Read", "Glob", "Grep"})
PROTECTED: Final = "protected names"
CHANGED: Final = "a server that changed"
REMOVES_TOO_MUCH: Final = "rm of a root, home or workspace"
_OURS: Final = "is where agent-tui keeps its own files"
_RUNS: Final = "runs as a hook, a server or a tool"
_BY_ITSELF: Final = "runs, or steers what runs, without anybody starting it"
_AUTO: Final = Judgement("allow", "the mode auto allows it in the sandbox and the workspace", "mode auto")


class Permissions:
    """What one agent may do: the layers that hold for it, in its mode."""

    def __init__(
        self,
        given: PermissionRules | RuleBook | None = None,
        *,
        mode: Mode = "ask",
        agent: Collection[str] = (),
    ) -> None:
        """`agent` is its id and its name, for rules that hold for one agent alone."""
        if not isinstance(given, RuleBook):
            given = RuleBook([given] if given is not None else [])
        self.book = given
        self.mode: Mode = mode
        self.unboxed: Callable[[], str] = lambda: "nobody said that there is one"
        """Why commands run without a sandbox; empty: they run in one, and the mode auto may trust in it."""
        self.look: Look = look_here
        """How names are looked at where a command reads whole folders."""
        self._agent = frozenset(agent)
        self._more: tuple[PermissionRules, ...] = ()

    def in_mode(self, mode: Mode) -> Permissions:
        """The same layers, those that are still to come included, in another mode."""
        other = Permissions(self.book, mode=mode, agent=self._agent)
        other.unboxed = self.unboxed
        other.look = self.look
        return other

    def of_agent(self, mode: Mode, *names: str) -> Permissions:
        """The same layers, for the agent of this id and name, in its mode."""
        return Permissions(self.book, mode=mode, agent=names)

    @property
    def session(self) -> PermissionRules:
        """The layer that a person's "always" goes to; it ends with the session."""
        return self.book.session

    def judge(self, tool: str, input: JsonObject, *, cwd: Path) -> Judgement:
        """Deny rules of all layers, ask rules, what is always asked, mode, allow rules; then the person."""
        judgement = self._judged(tool, input, cwd)
        if self.mode == "auto" and judgement.behavior == "ask" and judgement.rule is None and self.unboxed():
            words = f"{judgement.reason}; the mode auto allows only in a sandbox: {self.unboxed()}"
            return replace(judgement, reason=words)
        return judgement

    def _judged(self, tool: str, input: JsonObject, cwd: Path) -> Judgement:
        layers = self._layers(cwd)
        if judgement := forbidden(layers, tool, input, cwd):
            mild = judgement.behavior == "ask" and self.mode == "plan" and not self._trusted(judgement)
            return (self._denied_while_planning(tool, input, cwd) if mild else None) or judgement
        if denied := self._denied_while_planning(tool, input, cwd):
            return denied
        if words := self.book.doubt(tool, cwd):
            return Judgement("ask", words, CHANGED)
        if tool == "Bash":
            return self._judge_command(layers, input, cwd)
        paths = call_paths(tool, input, cwd) if tool in PATH_KEYS else ()
        if tool not in PATH_KEYS and (word := self._names_protected(input, cwd)):
            return _protected(word)
        if is_protected(paths, cwd):
            return _protected(paths[-1].name)
        if any(path.is_relative_to(folder) for path in paths for folder in self.book.folders):
            return _protected(paths[-1].name, _OURS)
        if tool in EDITORS and not self.book.files.isdisjoint(paths):
            return _protected(paths[-1].name, _RUNS)
        if tool in EDITORS and is_run_by_itself(paths, cwd):
            return _protected(paths[-1].name, _BY_ITSELF)
        return self._by_mode(tool, paths, cwd) or self._by_allow_rules(layers, tool, input, paths, cwd)

    def open_parts(self, command: str, *, cwd: Path) -> tuple[OpenPart, ...]:
        """What in a command line nothing allows yet; empty also for one that is not judged by its parts."""
        layers = self._layers(cwd)
        return judge_line(
            layers, {"command": command}, cwd, self._judges_file(cwd), self._looks_below(cwd), builtin=True
        )[1]

    def unreadable(self, tool: str, *, cwd: Path) -> tuple[tuple[Path, str, bool], ...]:
        """What a search must leave out: what a rule keeps from `Read`, a search may not show either."""
        return tuple(found for layer in self._layers(cwd) for found in layer.unreadable(tool, cwd))

    def would_allow(self, rule: str, tool: str, input: JsonObject, *, cwd: Path) -> bool:
        """Say whether the call would run without a question if this rule were added."""
        return self.with_rules(PermissionRules(allow=[rule])).judge(tool, input, cwd=cwd).behavior == "allow"

    def with_rules(self, rules: PermissionRules) -> Permissions:
        """The same layers and one more, for trying what it would say."""
        other = self.in_mode(self.mode)
        other._more = (*self._more, rules)
        return other

    def _layers(self, cwd: Path) -> list[PermissionRules]:
        return [*self.book.holding(self._agent, cwd), *self._more]

    def _trusted(self, judgement: Judgement) -> bool:
        return all(layer.trusted for layer in self.book.project if layer.layer == judgement.layer)

    def _denied_while_planning(self, tool: str, input: JsonObject, cwd: Path) -> Judgement | None:
        if self.mode != "plan" or tool in _READERS:
            return None
        if tool != "Bash":
            return _not_while_planning(tool)
        if not isinstance(input.get("command"), str):
            return None
        judgement, _ = judge_line(
            [], input, cwd, self._judges_file(cwd), self._looks_below(cwd), builtin=True
        )
        return _not_while_planning("Bash", judgement) if judgement.behavior != "allow" else None

    def _by_mode(self, tool: str, paths: Sequence[Path], cwd: Path) -> Judgement | None:
        if not paths or not all(inside(path, cwd) for path in paths):
            return None
        if self.mode == "auto" and not self.unboxed():
            return _AUTO
        if self.mode == "accept-edits" and tool in EDITORS:
            return Judgement(
                "allow", "the mode accept-edits allows edits in the workspace", "mode accept-edits"
            )
        return None

    def _by_allow_rules(
        self,
        layers: Sequence[PermissionRules],
        tool: str,
        input: JsonObject,
        paths: Sequence[Path],
        cwd: Path,
    ) -> Judgement:
        for layer in layers:
            if rule := layer.find("allow", tool, input, cwd):
                return Judgement("allow", f"the rule {rule}{of(layer)} allows it", rule, layer=layer.layer)
        if not paths:
            return Judgement("ask", f"no rule allows {tool}")
        if not inside(paths[-1], cwd):
            return Judgement("ask", f"{paths[-1]} is outside the workspace")
        if tool in _READERS:
            return Judgement("allow", "reading inside the workspace is allowed", f"{tool}(./**)")
        return Judgement("ask", f"no rule allows {tool} on this file")

    def _judge_command(self, layers: Sequence[PermissionRules], input: JsonObject, cwd: Path) -> Judgement:
        command = input.get("command")
        if not isinstance(command, str):
            return Judgement("ask", "it has no command")
        if word := protected_word(command):
            return _protected(word)
        if part := removes_too_much(command, cwd):
            return Judgement("ask", f"{part} removes a whole folder", REMOVES_TOO_MUCH, part=part)
        if word := word_inside(command, self.book.folders, cwd):
            return _protected(word, _OURS)
        if self.book.files and (word := named_file(command, self.book.files)):
            reads, _ = judge_line(
                [], input, cwd, self._judges_file(cwd), self._looks_below(cwd), builtin=True
            )
            if reads.behavior != "allow":
                return _protected(word, _RUNS)
        if self.mode == "auto" and not self.unboxed():
            if word := written_name(command):
                return _protected(word, _BY_ITSELF)
            return doubt(layers, command) or _unseen(command) or _AUTO
        held = layers if self.mode != "plan" else []
        return judge_line(held, input, cwd, self._judges_file(cwd), self._looks_below(cwd), builtin=True)[0]

    def _names_protected(self, input: JsonObject, cwd: Path) -> str | None:
        """The first word in the input of a tool of another's making that names something protected."""
        for text in texts_in(input):
            if word := protected_name_in(text) or word_inside(text, self.book.folders, cwd):
                return word
        return None

    def _judges_file(self, cwd: Path) -> Callable[[FileTool, Path], Judgement]:
        return lambda tool, path: self.judge(tool, {"file_path": str(path)}, cwd=cwd)

    def _looks_below(self, cwd: Path) -> LooksBelow:
        return lambda below: self.look(Looked(below, self._kept(cwd)))

    def _kept(self, cwd: Path) -> Kept:
        """What no reader of whole folders may come to."""
        patterns = tuple(
            (os.path.realpath(base), text, firm) for base, text, firm in self.unreadable("Read", cwd=cwd)
        )
        folders = tuple(sorted(os.path.realpath(folder) for folder in self.book.folders))
        return Kept(os.path.realpath(cwd), SECRETS.pattern, patterns, folders)


def _protected(name: str, why: str = "is a protected name") -> Judgement:
    return Judgement("ask", f"{name} {why}: it is always asked about", PROTECTED)


def _unseen(command: str) -> Judgement | None:
    """Ask about a line of which nobody can say that it does not remove the whole."""
    reason = unseen(command)
    return (
        Judgement("ask", f"{reason}, and might remove a whole folder", REMOVES_TOO_MUCH) if reason else None
    )


def _not_while_planning(tool: str, why: Judgement | None = None) -> Judgement:
    more = f" ({why.reason})" if why else ""
    part = why.part if why else ""
    return Judgement(
        "deny", f"the mode is plan, which only reads: {tool} is not allowed{more}", "mode plan", part=part
    )
