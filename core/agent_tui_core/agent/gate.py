"""Owns the step from a judged call to a permission: rules first, a person (or nobody) after them.

Refuses to run anything. `Gate` is what `calls` sees; `PersonGate` asks at the desk; for runs without a person
there is `policy.PolicyGate`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from agent_tui_core.agent.approvals import ApprovalDesk, DenyCall, Settlement
from agent_tui_core.agent.judgement import Judgement
from agent_tui_core.agent.permissions import PermissionRules, Permissions
from agent_tui_core.agent.suggestions import suggest_rule
from agent_tui_core.blocks import JsonObject
from agent_tui_core.events import ApprovalPreview, ApprovalRequest
from agent_tui_core.messages import new_id
from agent_tui_core.records import dataclass
from agent_tui_core.tools.names_child import NamesLooker


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """Who asks: what an approval says of the agent."""

    id: str
    name: str
    model: str
    workspace: Path
    branch: Callable[[], str | None] = lambda: None


async def look_at_names(permissions: Permissions, tool: str, input: JsonObject, cwd: Path) -> None:
    """Have looked at the names that the judgement of a command depends on."""
    looker = permissions.look
    if tool == "Bash" and isinstance(looker, NamesLooker):
        await looker.look_for(lambda: permissions.judge(tool, input, cwd=cwd), cwd)


class Gate(Protocol):
    """Judges calls by rules, and settles what the rules leave open."""

    async def look(self, tool: str, input: JsonObject) -> None:
        """Find out what the next judgement of this call wants to know of files."""
        ...

    def judge(self, tool: str, input: JsonObject) -> Judgement:
        """What the rules say now."""
        ...

    def settle(self, judgement: Judgement, tool: str, input: JsonObject) -> Judgement:
        """What becomes of what rules and hooks say together; only what is still "ask" will be asked."""
        ...

    def question(
        self, tool: str, input: JsonObject, preview: ApprovalPreview, reason: str, *, firm: bool
    ) -> ApprovalRequest:
        """What a person will be shown; a `firm` question (an ask rule, a hook) cannot be remembered."""
        ...

    async def ask(self, request: ApprovalRequest, *, firm: bool) -> Settlement:
        """Wait for the answer. Cancelling withdraws the question."""
        ...


class OpenGate:
    """Allows what its rules do not forbid and never asks: for scripts that gave no permissions."""

    def __init__(self, rules: PermissionRules | None, cwd: Path) -> None:
        self._rules = rules
        self._cwd = cwd

    async def look(self, tool: str, input: JsonObject) -> None:
        """Rules of a script want to know nothing."""

    def judge(self, tool: str, input: JsonObject) -> Judgement:
        """Without rules everything is allowed; with rules, what they say."""
        if self._rules is None:
            return Judgement("allow", "no permissions were set")
        return self._rules.judge(tool, input, cwd=self._cwd)

    def settle(self, judgement: Judgement, tool: str, input: JsonObject) -> Judgement:  # noqa: ARG002
        """What rules and hooks leave open is denied: a hook's word has counted by now."""
        if judgement.behavior != "ask" or judgement.by == "hook":
            return judgement
        words = f"nobody is there to ask, and {judgement.reason}; add an allow rule, for example {tool}"
        return replace(judgement, behavior="deny", reason=words)

    def question(
        self,
        tool: str,
        input: JsonObject,
        preview: ApprovalPreview,
        reason: str,
        *,
        firm: bool,  # noqa: ARG002 - the protocol's
    ) -> ApprovalRequest:
        """A question that `ask` will answer at once."""
        return ApprovalRequest(
            new_id(), "", "", "", str(self._cwd), None, tool, input, preview, reason, None, time.time()
        )

    async def ask(self, request: ApprovalRequest, *, firm: bool) -> Settlement:  # noqa: ARG002
        """Deny: there is no person."""
        return DenyCall(f"nobody is there to ask: {request.reason}", by="policy")


class PersonGate:
    """Rules of the session, then the person at the desk."""

    def __init__(self, agent: AgentIdentity, permissions: Permissions, desk: ApprovalDesk) -> None:
        self._agent = agent
        self._permissions = permissions
        self._desk = desk

    async def look(self, tool: str, input: JsonObject) -> None:
        """Look at names, where a command reads whole folders."""
        await look_at_names(self._permissions, tool, input, self._agent.workspace)

    def judge(self, tool: str, input: JsonObject) -> Judgement:
        """What all layers of rules say now."""
        return self._permissions.judge(tool, input, cwd=self._agent.workspace)

    def settle(self, judgement: Judgement, tool: str, input: JsonObject) -> Judgement:  # noqa: ARG002
        """What is open stays open: a person decides."""
        return judgement

    def question(
        self, tool: str, input: JsonObject, preview: ApprovalPreview, reason: str, *, firm: bool
    ) -> ApprovalRequest:
        """The request as the modal shows it."""
        agent = self._agent
        return ApprovalRequest(
            id=new_id(),
            agent_id=agent.id,
            agent_name=agent.name,
            model=agent.model,
            workspace=str(agent.workspace),
            branch=agent.branch(),
            tool=tool,
            input=input,
            preview=preview,
            reason=reason,
            remember=None
            if firm
            else suggest_rule(tool, input, cwd=agent.workspace, permissions=self._permissions),
            asked_at=time.time(),
        )

    async def ask(self, request: ApprovalRequest, *, firm: bool) -> Settlement:
        """Sleep at the desk."""

        def still_asks() -> bool:
            return firm or self.judge(request.tool, request.input).behavior != "allow"

        return await self._desk.ask(request, still_asks)
