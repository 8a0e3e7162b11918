"""Owns the lines that a program writes to a headless run: a verb on each; refuses to carry anything out.

The verbs are those of `verbs`. Some older names are understood as well, for programs that were written for
them.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from agent_tui_core.agent.approvals import RuleScope
from agent_tui_core.records import dataclass
from agent_tui_core.runtime.verbs import (
    VERBS,
    Always,
    Answer,
    Denied,
    Edited,
    Interrupt,
    StopSession,
    Verb,
    VerbRefused,
    read_verb,
)
from agent_tui_core.text import safe_line
from agent_tui_core.wire.json_text import too_deep

_SHOWN: Final = 200
_LONGEST_ID: Final = 200

OrderId: TypeAlias = str | int


class Cancel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`interrupt`."""

    agent: str | None = None


class Approve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`answer` with once, always or edited."""

    request_id: str
    remember: bool | str = False
    """True saves the rule that the question named, a text that rule."""
    scope: RuleScope = "session"
    input: dict[str, Any] | None = None


class Deny(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`answer` with deny."""

    request_id: str
    reason: str = ""
    stop: bool = False


class Quit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`stop_session`."""


Alias: TypeAlias = Cancel | Approve | Deny | Quit
ALIASES: Final[dict[str, type[Alias]]] = {"cancel": Cancel, "approve": Approve, "deny": Deny, "quit": Quit}
OLD_NAMES: Final = {
    "close": "remove_agent",
    "new": "add_agent",
}
"""Other names of verbs, with the same fields."""
KINDS: Final = (*VERBS, *OLD_NAMES, *ALIASES)


@dataclass(frozen=True, slots=True)
class Order:
    """One line that was understood."""

    verb: Verb
    id: OrderId | None = None
    """Whoever wrote it wants a reply with this."""


class OrderRefused(VerbRefused):
    """A line that was not understood; `id` is whom to reply to, where even that could be read."""

    def __init__(self, words: str, id: OrderId | None = None) -> None:
        super().__init__("not_understood", words)
        self.id = id


def read_order(line: bytes) -> Order:
    """Understand one line; raises `OrderRefused` with words for whoever wrote it."""
    fields = _object(line)
    kind, given = fields.pop("type", None), fields.pop("id", None)
    order_id = given if _is_id(given) else None
    try:
        if given is not None and order_id is None:
            raise ValueError(f"id should be a text of at most {_LONGEST_ID} characters, or a whole number")
        if kind is None:
            raise ValueError("the key type is missing")
        alias = ALIASES.get(kind) if isinstance(kind, str) else None
        if alias is not None:
            return Order(_verb_of(msgspec.convert(fields, alias, strict=True)), order_id)
        name = OLD_NAMES.get(kind, kind) if isinstance(kind, str) else kind
        return Order(read_verb(name, fields), order_id)
    except (ValueError, VerbRefused, RecursionError) as error:
        raise OrderRefused(safe_line(str(error))[: 4 * _SHOWN], order_id) from error


def _object(line: bytes) -> dict[str, Any]:
    try:
        if too_deep(line.decode()):
            raise ValueError("it is nested too deep")
        fields = msgspec.json.decode(line)
    except (ValueError, RecursionError) as error:
        raise OrderRefused(f"this is no JSON: {safe_line(str(error))[:_SHOWN]}") from error
    if not isinstance(fields, dict):
        raise OrderRefused("a line should be one JSON object")
    return fields


def _is_id(given: object) -> bool:
    if isinstance(given, str):
        return 0 < len(given) <= _LONGEST_ID
    return isinstance(given, int) and not isinstance(given, bool)


def _verb_of(alias: Alias) -> Verb:
    match alias:
        case Cancel(agent=agent):
            return Interrupt(agent)
        case Approve(request_id=request_id, remember=remember, scope=scope, input=changed):
            if remember not in (False, "") and changed is not None:
                raise ValueError("an input that was changed cannot be remembered: say remember or input")
            if changed is not None:
                return _checked(Answer(request_id, edited=Edited(changed)))
            if remember in (False, ""):
                return Answer(request_id, once=True)
            rule = remember if isinstance(remember, str) else None
            return _checked(Answer(request_id, always=Always(rule, scope)))
        case Deny(request_id=request_id, reason=reason, stop=stop):
            return Answer(request_id, deny=Denied(reason, stop))
        case Quit():
            return StopSession()


def _checked(answer: Answer) -> Verb:
    return read_verb("answer", msgspec.to_builtins(answer))
