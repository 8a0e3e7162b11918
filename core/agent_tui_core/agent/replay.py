"""Owns the judging of calls of the past by the rules of today, with a rule more or without; runs none.

History does not say why a call was asked about. So each is judged as the mode ask does, with files as they
are now; what a hook would say is left out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from agent_tui_core.agent.judgement import EDITED, Behavior, Judgement
from agent_tui_core.agent.permissions import Permissions
from agent_tui_core.agent.rule_layer import PermissionRules
from agent_tui_core.blocks import JsonObject
from agent_tui_core.history.decisions import PastCall
from agent_tui_core.records import dataclass
from agent_tui_core.tools.names_below import Looked, look_here

SECONDS_OF_LOOKING: Final = 5.0
"""How long names are looked at for all calls together, where commands read whole folders."""

Progress: TypeAlias = Callable[[int, int], None]
"""Hears how many of how many calls are done."""


def no_progress(_done: int, _all: int) -> None:
    """Nobody waits for it."""


@dataclass(frozen=True, slots=True)
class Question:
    """Calls of the past that are the same, and what a person said to each."""

    tool: str
    input: JsonObject
    agent_name: str
    cwd: Path
    allowed: int
    denied: int

    @property
    def times(self) -> int:
        """How often it was asked."""
        return self.allowed + self.denied

    @property
    def shown(self) -> str:
        """The call as one text. Foreign."""
        for key in ("command", "file_path"):
            if isinstance(text := self.input.get(key), str):
                return text if self.tool == "Bash" else f"{self.tool} {text}"
        return f"{self.tool} {json.dumps(self.input, ensure_ascii=False, default=str)}"


def questions_of(calls: Sequence[PastCall]) -> tuple[Question, ...]:
    """What a person was asked; a call that they changed before it ran counts as one that they denied."""
    found: dict[tuple[str, str, str, str], Question] = {}
    for call in calls:
        if call.by != "person":
            continue
        edited = call.allowed and call.reason == EDITED
        asked = call.proposed if edited else call.input
        key = (call.tool, json.dumps(asked, sort_keys=True, default=str), call.agent_name, call.workspace)
        said_yes = call.allowed and not edited
        same = found.get(key) or Question(
            call.tool, asked, call.agent_name, Path(call.workspace or "/"), 0, 0
        )
        found[key] = replace(same, allowed=same.allowed + said_yes, denied=same.denied + (not said_yes))
    return tuple(found.values())


class Replay:
    """Judges calls of the past. Names are looked at once, and not for ever."""

    def __init__(self, permissions: Permissions) -> None:
        self._permissions = permissions
        self._looked: dict[Looked, str] = {}
        self._looking = 0.0
        self._of_agents: dict[tuple[str, tuple[tuple[Behavior, str], ...]], Permissions] = {}

    def permissions(self, agent_name: str, more: Collection[tuple[Behavior, str]] = ()) -> Permissions:
        """The rules that hold for an agent of this name, and these."""
        key = (agent_name, tuple(more))
        if key not in self._of_agents:
            found = self._permissions.of_agent("ask", agent_name)
            found.look = self._look
            if more:
                lists: dict[Behavior, list[str]] = {"allow": [], "ask": [], "deny": []}
                for behavior, rule in more:
                    lists[behavior].append(rule)
                found = found.with_rules(PermissionRules(lists["allow"], lists["ask"], lists["deny"]))
            self._of_agents[key] = found
        return self._of_agents[key]

    def judge(
        self,
        tool: str,
        input: JsonObject,
        agent_name: str,
        cwd: Path,
        more: Collection[tuple[Behavior, str]] = (),
    ) -> Judgement:
        """The verdict on a call, by the rules of today and these."""
        try:
            return self.permissions(agent_name, more).judge(tool, input, cwd=cwd)
        except (OSError, ValueError) as error:  # a path with a NUL in it
            return Judgement("ask", str(error), "unusable")

    def question(self, question: Question, allow: Collection[str] = ()) -> Judgement:
        """The verdict on a question, by the rules of today and these."""
        more: list[tuple[Behavior, str]] = [("allow", rule) for rule in allow]
        return self.judge(question.tool, question.input, question.agent_name, question.cwd, more)

    def _look(self, looked: Looked) -> str:
        if looked not in self._looked:
            if self._looking > SECONDS_OF_LOOKING:
                return "enough was looked at"
            began = time.monotonic()
            self._looked[looked] = look_here(looked)
            self._looking += time.monotonic() - began
        return self._looked[looked]


@dataclass(frozen=True, slots=True)
class Effect:
    """What one more rule would have changed."""

    behavior: Behavior
    calls: int
    """How many there were: for an allow rule the questions, for the others the calls that ran."""
    changed: int
    against: int = 0
    """How many of the questions that it would have answered a person denied."""
    unasked: int = 0
    """How many of the calls that an ask rule would have asked about ran without a question."""


def effect_of(
    rule: str,
    behavior: Behavior,
    calls: Sequence[PastCall],
    replay: Replay,
    *,
    agent: str | None = None,
    progress: Progress = no_progress,
) -> Effect:
    """Judge calls of the past with a rule more and without. With an `agent` it holds for that one alone."""
    heard = [call for call in calls if agent is None or call.agent_name == agent]
    if behavior == "allow":
        return _effect_of_allow(rule, questions_of(heard), replay, progress)
    ran = [call for call in heard if call.allowed]
    changed = unasked = 0
    for number, call in enumerate(ran):
        progress(number, len(ran))
        cwd = Path(call.workspace or "/")
        now = replay.judge(call.tool, call.input, call.agent_name, cwd, [(behavior, rule)])
        if now.behavior == behavior and now.rule == rule:
            changed += 1
            unasked += call.by != "person"
    return Effect(behavior, len(ran), changed, unasked=unasked)


def _effect_of_allow(rule: str, questions: Sequence[Question], replay: Replay, progress: Progress) -> Effect:
    changed = against = 0
    for number, question in enumerate(questions):
        progress(number, len(questions))
        answered = replay.question(question, [rule]).behavior == "allow"
        if answered and replay.question(question).behavior == "ask":
            changed += question.times
            against += question.denied
    return Effect("allow", sum(question.times for question in questions), changed, against)
