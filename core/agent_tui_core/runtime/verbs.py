"""Owns what a program may tell a session: each verb as a value, read strictly; refuses to carry one out.

A verb is understood as a whole or not at all: an unknown name, an unknown key, a missing one or a wrong type
is refused with words. Headless runs read them from lines; whoever serves a session reads them from frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, TypeAlias

import msgspec

from agent_tui_core.agent.approvals import RuleScope
from agent_tui_core.agent.rule import parse_rule
from agent_tui_core.config.modes import Mode
from agent_tui_core.text import safe_line

ErrorCode: TypeAlias = Literal["not_understood", "unknown", "too_late", "busy", "forbidden", "failed"]
MOST_MESSAGES: Final = 1_000
_SHOWN: Final = 200


class VerbRefused(Exception):
    """A verb that was not carried out and changed nothing; `str(error)` is a sentence for its sender."""

    def __init__(self, code: ErrorCode, words: str) -> None:
        super().__init__(words)
        self.code = code


class _Verb(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: ClassVar[str]


class Prompt(_Verb, frozen=True):
    """Give an agent words; a busy one takes them when its run has completed, or `now`. No `agent`: all."""

    name = "prompt"
    text: str
    agent: str | None = None
    """Its name or id, here and below."""
    now: bool = False


class Unqueue(_Verb, frozen=True):
    """Take a prompt back that waits."""

    name = "unqueue"
    prompt_id: str
    agent: str | None = None
    """Without it, the only one; here and below, unless all are meant."""


class EditQueued(_Verb, frozen=True):
    """Change the words of a prompt that waits."""

    name = "edit_queued"
    prompt_id: str
    text: str
    agent: str | None = None


class MoveQueued(_Verb, frozen=True):
    """Let a prompt wait at another place, counted from 0."""

    name = "move_queued"
    prompt_id: str
    index: int
    agent: str | None = None


class Interrupt(_Verb, frozen=True):
    """Interrupt an agent's run; without `agent` all runs."""

    name = "interrupt"
    agent: str | None = None


class InterruptAll(_Verb, frozen=True):
    """Interrupt all runs."""

    name = "interrupt_all"


class GoOn(_Verb, frozen=True):
    """Send the oldest prompt that waits."""

    name = "go_on"
    agent: str | None = None


class Compact(_Verb, frozen=True):
    """Summarise the oldest part of the conversation for its model."""

    name = "compact"
    agent: str | None = None


class UndoCompaction(_Verb, frozen=True):
    """Let the model read again what the last summary stands for."""

    name = "undo_compaction"
    agent: str | None = None


class ChangeMode(_Verb, frozen=True):
    """Change what runs without a question."""

    name = "mode"
    mode: Mode
    agent: str | None = None


class Always(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Allow, and save a rule: the one that the question named, or another that covers its call."""

    rule: str | None = None
    scope: RuleScope = "session"


class Edited(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Allow with this input in place of the model's."""

    input: dict[str, Any]


class Denied(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Do not allow; the model reads the reason. `stop` ends the run as well."""

    reason: str = ""
    stop: bool = False


class Answer(_Verb, frozen=True):
    """Answer the question of an `ApprovalRequested`: exactly one of once, always, edited and deny."""

    name = "answer"
    request_id: str
    once: bool = False
    always: Always | None = None
    edited: Edited | None = None
    deny: Denied | None = None


class FillForm(_Verb, frozen=True):
    """Fill in what a server or a tool asks for; null declines."""

    name = "form"
    form_id: str
    content: dict[str, str | int | float | bool | list[str] | None] | None = None
    """By the names of its schema."""


class CheckRule(_Verb, frozen=True):
    """Ask why a rule could not be saved for a question's call."""

    name = "rule_check"
    request_id: str
    rule: str


class Rules(_Verb, frozen=True):
    """Tell the rules that hold."""

    name = "rules"


class Look(_Verb, frozen=True):
    """Tell what the rooms of the session hold: project, rules, hooks, servers, tools, sandbox."""

    name = "look"


class Act(_Verb, frozen=True):
    """Do what a row of a room offers: its `verb` says what that is."""

    name = "act"
    reporter: str
    """The title of the room."""
    row: str
    """The id of the row."""


class AddAgent(_Verb, frozen=True):
    """Make an agent of a profile; `name` is what it is called."""

    name = "add_agent"
    profile: str | None = None
    called: str | None = msgspec.field(name="name", default=None)


class RemoveAgent(_Verb, frozen=True):
    """End an agent; its conversation stays in the history."""

    name = "remove_agent"
    agent: str


class ListAgents(_Verb, frozen=True):
    """Tell the agents, the open questions and the open forms."""

    name = "list"


class TellHistory(_Verb, frozen=True):
    """Tell the last messages of a conversation, or the last ones before that message."""

    name = "history"
    agent: str | None = None
    before: str | None = None
    count: int = 50


class Ping(_Verb, frozen=True):
    """Say that somebody is there."""

    name = "ping"


class StopSession(_Verb, frozen=True):
    """Interrupt what runs, and end."""

    name = "stop_session"


Verb: TypeAlias = (
    Prompt
    | Unqueue
    | EditQueued
    | MoveQueued
    | Interrupt
    | InterruptAll
    | GoOn
    | Compact
    | UndoCompaction
    | ChangeMode
    | Answer
    | FillForm
    | CheckRule
    | Rules
    | Look
    | Act
    | AddAgent
    | RemoveAgent
    | ListAgents
    | TellHistory
    | Ping
    | StopSession
)
VERBS: Final[Mapping[str, type[Verb]]] = {kind.name: kind for kind in Verb.__args__}


def read_verb(name: object, args: object) -> Verb:
    """Understand one verb; `VerbRefused` with words for whoever sent it."""
    kind = VERBS.get(name) if isinstance(name, str) else None
    if kind is None:
        shown = safe_line(str(name))[:_SHOWN]
        raise VerbRefused("not_understood", f"there is no verb {shown!r}; there is: {', '.join(VERBS)}")
    try:
        verb: Verb = msgspec.convert(args, kind, strict=True)
        _check(verb)
    except (ValueError, RecursionError) as error:  # what msgspec raises is a ValueError
        raise VerbRefused("not_understood", f"{name}: {safe_line(str(error))[:_SHOWN]}") from error
    return verb


def _check(verb: Verb) -> None:
    match verb:
        case Prompt(text=text) | EditQueued(text=text) if not text.strip():
            raise ValueError("the text of a prompt is empty")
        case Answer(once=once, always=always, edited=edited, deny=deny):
            if sum([once, always is not None, edited is not None, deny is not None]) != 1:
                raise ValueError("say one of once, always, edited and deny")
            if always is not None and always.rule is not None:
                parse_rule(always.rule)
        case CheckRule(rule=rule):
            parse_rule(rule)
        case TellHistory(count=count) if not 1 <= count <= MOST_MESSAGES:
            raise ValueError(f"count should be from 1 to {MOST_MESSAGES}")
        case MoveQueued(index=index) if index < 0:
            raise ValueError("index counts from 0")
        case _:
            pass
