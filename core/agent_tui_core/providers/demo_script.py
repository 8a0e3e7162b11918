"""Owns what the demo model says next: it walks a scenario, given nothing but the conversation so far.

Refuses to remember anything: the same conversation gives the same answer, so a resumed agent goes on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, replace
from functools import cache
from typing import TypeAlias

import msgspec

from agent_tui_core.providers.demo_cast import DemoAgent, demo_agents, load
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line

MAX_QUOTE = 120
_DENIED = re.compile(r"Denied by the user(?::\s*(?P<reason>.*))?", re.DOTALL)
_CUT = re.compile(r"cancelled by|interrupted|not executed", re.IGNORECASE)
_REFUSED = re.compile(r"Denied by|error", re.IGNORECASE)
_BEGIN = re.compile(
    r"\W*(re)?(start|run|play|begin)( over| again)?( the)?( demo| scenario| script| scene)?\W*", re.IGNORECASE
)
_GO_ON = re.compile(r"\W*(please )?(go on|continue|carry on|resume|proceed|next)( please)?\W*", re.IGNORECASE)

Input: TypeAlias = dict[str, str | int | bool]


class Call(msgspec.Struct, frozen=True):
    """A tool call that a step makes."""

    tool: str
    input: Input


class Match(msgspec.Struct, frozen=True):
    """Go to the step `go` when `pattern` is found in the results; its named groups become words."""

    pattern: str
    go: str


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer of the model, and where its results lead; an empty place falls back to `next`."""

    id: str
    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    matches: tuple[Match, ...] = ()
    expect: str = ""
    """What the results hold when all went well; without it, anything that ran went well."""
    error: str = ""
    denied: str = ""
    reason: str = ""
    """After a deny with a reason."""
    next: str = ""
    """Empty: the scenario is over."""


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The steps of one demo agent; the first one is where it begins."""

    step: tuple[Step, ...]

    def find(self, id: str) -> Step | None:
        """The step with this id; None for the end."""
        return next((step for step in self.step if step.id == id), None)


class FreeReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer to a prompt that no scenario knows: the first whose pattern is found."""

    pattern: str
    text: str
    calls: tuple[Call, ...] = ()


class FreeReplies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that the demo model says outside its scenarios."""

    reply: tuple[FreeReply, ...]
    after: str
    after_denied: str
    after_reason: str
    after_error: str
    over: str
    no_tool: str


class _Part(msgspec.Struct):
    text: str = ""


class WireMessage(msgspec.Struct):
    """A message as it stands in a request."""

    role: str
    content: str | list[_Part] | None = None
    tool_calls: list[dict[str, msgspec.Raw]] | None = None

    @property
    def text(self) -> str:
        """Its words, without pictures."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


@dataclass(frozen=True, slots=True)
class Speech:
    """What the model says now."""

    text: str
    reasoning: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(slots=True)
class _Answered:
    """An earlier answer and what came of its calls."""

    calls: bool
    results: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Turn:
    """One prompt and the answers to it so far."""

    prompt: str
    answers: list[_Answered] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a scenario stands; no step: it is over."""

    step: Step | None
    words: dict[str, str] = field(default_factory=dict)


def next_speech(model: str, messages: Sequence[WireMessage], tools: Sequence[str]) -> Speech:
    """Return what the demo model answers to this conversation."""
    agent = next((agent for agent in demo_agents() if agent.model == model), None)
    turns = _turns(messages)
    place: _Place | None = None
    scripted = False
    for turn in turns:
        begins = agent is not None and (
            agent.prompt.strip() in turn.prompt or bool(_BEGIN.fullmatch(turn.prompt))
        )
        scripted = begins or (place is not None and bool(_GO_ON.fullmatch(turn.prompt)))
        if agent is not None and scripted:
            place = _Place(_scenario(agent).step[0]) if begins or place is None else place
            for answer in turn.answers:
                place = _advance(_scenario(agent), place, answer)
    if scripted and place is not None:
        speech = _say(place.step, place.words) if place.step else Speech(_free().over.strip())
    else:
        speech = _free_speech(turns[-1] if turns else _Turn(""))
    if missing := next((call.tool for call in speech.calls if call.tool not in tools), None):
        return replace(speech, text=f"{speech.text}\n\n{_fill(_free().no_tool, {'tool': missing})}", calls=())
    return speech


def _scenario(agent: DemoAgent) -> Scenario:
    return _read_scenario(agent.model.removeprefix("demo/"))


@cache
def _read_scenario(name: str) -> Scenario:
    return load(name, Scenario)


@cache
def _free() -> FreeReplies:
    return load("free", FreeReplies)


def _turns(messages: Sequence[WireMessage]) -> list[_Turn]:
    turns: list[_Turn] = []
    for message in messages:
        match message.role:
            case "user":
                turns.append(_Turn(message.text))
            case "assistant" if turns:
                turns[-1].answers.append(_Answered(bool(message.tool_calls)))
            case "tool" if turns and turns[-1].answers:
                turns[-1].answers[-1].results.append(message.text)
    return turns


def _advance(scenario: Scenario, place: _Place, answer: _Answered) -> _Place:
    step = place.step
    if step is None or (step.calls and not answer.calls):
        return place  # over, or cut off before it could call: it is said again
    for result in answer.results:
        if (denied := _DENIED.match(result)) is not None:
            reason = quote(denied["reason"] or "")
            go = (step.reason if reason else "") or step.denied or step.next
            return _Place(scenario.find(go), {"reason": reason})
    told = "\n".join(answer.results)
    if any(_CUT.match(result) for result in answer.results):
        return place
    for each in step.matches:
        if (found := re.search(each.pattern, told)) is not None:
            return _Place(scenario.find(each.go), {k: quote(v or "") for k, v in found.groupdict().items()})
    wrong = any(_REFUSED.match(result) for result in answer.results)
    if step.expect:
        wrong = re.search(step.expect, told) is None
    return _Place(scenario.find((step.error if wrong else "") or step.next), {"result": quote(told)})


def _say(step: Step, words: dict[str, str]) -> Speech:
    return Speech(_fill(step.text, words), _fill(step.reasoning, words), step.calls)


def _fill(text: str, words: dict[str, str]) -> str:
    for name, word in words.items():
        text = text.replace("{" + name + "}", word)
    return text.strip()


def _free_speech(turn: _Turn) -> Speech:
    free = _free()
    if not turn.answers or not turn.answers[-1].results:
        reply = next(reply for reply in free.reply if re.search(reply.pattern, turn.prompt, re.IGNORECASE))
        return Speech(_fill(reply.text, {"quote": quote(turn.prompt)}), calls=reply.calls)
    told = "\n".join(turn.answers[-1].results)
    if (denied := _DENIED.match(told)) is not None:
        reason = quote(denied["reason"] or "")
        return Speech(_fill(free.after_reason if reason else free.after_denied, {"reason": reason}))
    refused = _REFUSED.match(told) or _CUT.match(told)
    return Speech(_fill(free.after_error if refused else free.after, {"result": quote(told)}))


def quote(foreign: str) -> str:
    """Return foreign words short, on one line, and without what Markdown would make of them."""
    line = re.sub(r"[`*\[\]<>|]", "", safe_line(foreign))
    return line if len(line) <= MAX_QUOTE else f"{line[: MAX_QUOTE - 1]}…"
