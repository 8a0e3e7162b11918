"""Owns what stands in for a person in a run that has none: what is allowed, and what the model is told.

Refuses to ask and to wait. The rules always speak first; a policy settles only what they leave open, and
never allows what is always asked about: ask rules, protected names, hooks that ask.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from agent_tui_core.agent.approvals import DenyCall, Settlement
from agent_tui_core.agent.gate import AgentIdentity, look_at_names
from agent_tui_core.agent.judgement import Judgement
from agent_tui_core.agent.path_rules import EDITORS, PATH_KEYS, PathRule, call_paths
from agent_tui_core.agent.permissions import PermissionRules, Permissions
from agent_tui_core.agent.rule import parse_rule
from agent_tui_core.agent.suggestions import suggest_rule
from agent_tui_core.blocks import JsonObject
from agent_tui_core.errors import ConfigError
from agent_tui_core.events import ApprovalPreview, ApprovalRequest
from agent_tui_core.messages import new_id
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line, visible_text
from agent_tui_core.tools.paths import inside

OpenCalls: TypeAlias = Literal["deny", "all", "ask"]

TOOLS: Final = ("Bash", "Read", "Write", "Edit", "Glob", "Grep")
OPTION: Final = "--approve"
ASKING: Final = "--json --approve ask"
NOBODY: Final = "nobody is there to ask"


@dataclass(frozen=True, slots=True)
class Policy:
    """What happens to the calls that a session's rules do not settle."""

    rest: OpenCalls = "deny"
    """"ask" sends them to the desk, where a program answers."""
    allow: tuple[str, ...] = ()
    """Rules that allow, for this session."""

    def rules(self) -> PermissionRules:
        """The rules as a layer."""
        return PermissionRules(allow=self.allow, layer=OPTION)


def read_policy(said: Sequence[str], tools: Sequence[str] = ()) -> Policy:
    """Make a policy of what was said: one of deny, all and ask, and any number of allow rules.

    `tools` are the names of a program's own tools, which rules may name, too. Raises `ConfigError` for what
    is neither, and for two words that contradict each other.
    """
    rest: list[OpenCalls] = []
    rules: list[str] = []
    for words in said:
        match words.strip():
            case "deny" | "all" | "ask" as chosen:
                rest.append(chosen)
            case rule:
                rules.append(_checked(rule, (*TOOLS, *tools)))
    if len(set(rest)) > 1:
        raise ConfigError(f"{rest[0]} and {rest[1]} contradict each other", key=OPTION)
    return Policy(rest[0] if rest else "deny", tuple(rules))


def _checked(rule: str, tools: Sequence[str]) -> str:
    remedy = 'say deny, all, ask, or a rule like "Bash(git status *)"'
    try:
        tool = parse_rule(rule).tool
    except ValueError as error:
        raise ConfigError(f"{safe_line(str(error))}; {remedy}", key=OPTION) from error
    if tool not in tools and not tool.startswith("mcp__"):
        raise ConfigError(
            f"there is no tool '{tool}'; {remedy}; the tools are {', '.join(tools)}", key=OPTION
        )
    return rule


class PolicyGate:
    """Rules of the session, then the policy."""

    def __init__(self, agent: AgentIdentity, permissions: Permissions, policy: Policy) -> None:
        self._agent = agent
        self._permissions = permissions
        self._policy = policy

    async def look(self, tool: str, input: JsonObject) -> None:
        """Look at names, where a command reads whole folders."""
        await look_at_names(self._permissions, tool, input, self._agent.workspace)

    def judge(self, tool: str, input: JsonObject) -> Judgement:
        """What all layers of rules say."""
        return self._permissions.judge(tool, input, cwd=self._agent.workspace)

    def settle(self, judgement: Judgement, tool: str, input: JsonObject) -> Judgement:
        """Allow or deny what is still to be asked; a denial says how to allow the call next time."""
        if judgement.behavior != "ask":
            return judgement
        if judgement.rule is None and self._policy.rest == "all":
            return Judgement("allow", f"{OPTION} all: {judgement.reason}", by="policy")
        how = self._how_to_allow(judgement, tool, input)
        reason = f"{judgement.reason}, and {NOBODY}. {how}"
        return replace(judgement, behavior="deny", reason=reason, by="policy")

    def question(
        self,
        tool: str,
        input: JsonObject,
        preview: ApprovalPreview,
        reason: str,
        *,
        firm: bool,  # noqa: ARG002 - the protocol's
    ) -> ApprovalRequest:
        """A question that `ask` answers at once; `settle` leaves none open."""
        who, folder = self._agent, str(self._agent.workspace)
        return ApprovalRequest(
            new_id(),
            who.id,
            who.name,
            who.model,
            folder,
            None,
            tool,
            input,
            preview,
            reason,
            None,
            time.time(),
        )

    async def ask(self, request: ApprovalRequest, *, firm: bool) -> Settlement:  # noqa: ARG002
        """Deny."""
        return DenyCall(f"{request.reason}, and {NOBODY}", by="policy")

    def _how_to_allow(self, judgement: Judgement, tool: str, input: JsonObject) -> str:
        if judgement.rule is not None:
            return f"No {OPTION} rule covers this; a program can answer such questions: {ASKING}."
        cwd = self._agent.workspace
        rule = suggest_rule(tool, input, cwd=cwd, permissions=self._permissions)
        if rule is None and tool != "Bash":
            rule = _narrow_rule(tool, input, cwd)
        if rule is None or not _can_be_copied(rule) or not self._would_allow(rule, tool, input):
            return f"To have it asked: {ASKING}; to allow all that no rule forbids: {OPTION} all."
        return f"Who starts this run can allow it: {OPTION} {shlex.quote(rule)}"

    def _would_allow(self, rule: str, tool: str, input: JsonObject) -> bool:
        with_it = Permissions(PermissionRules(allow=(*self._policy.allow, rule)))
        return with_it.judge(tool, input, cwd=self._agent.workspace).behavior == "allow"


def _narrow_rule(tool: str, input: JsonObject, cwd: Path) -> str:
    """The rule for this one file outside the workspace; for any other call the tool."""
    paths = call_paths(tool, input, cwd) if tool in PATH_KEYS else ()
    if not paths or inside(paths[-1], cwd):
        return tool
    return PathRule.exactly_outside("Edit" if tool in EDITORS else "Read", paths[-1])


def _can_be_copied(rule: str) -> bool:
    """A person sees all of it, and a line of text holds it unchanged."""
    return visible_text(rule) == rule == safe_line(rule)
