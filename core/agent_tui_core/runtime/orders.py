"""Owns what a program may tell a headless run: one JSON object on one line; refuses to carry anything out.

A line is understood as a whole or not at all: an unknown key, a missing one or a wrong type is an error.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from agent_tui_core.agent.approvals import RuleScope
from agent_tui_core.agent.rule import parse_rule
from agent_tui_core.text import safe_line
from agent_tui_core.wire.json_text import too_deep

KINDS: Final = ("prompt", "cancel", "approve", "deny", "form", "quit")
_SHOWN: Final = 200


class _Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """One JSON object whose `type` names the class."""


class Prompt(_Order, frozen=True, tag="prompt"):
    """Give an agent words; a busy one takes them when its run has completed. Without `agent`: all of them."""

    text: str
    agent: str | None = None
    """Its name or id."""


class Cancel(_Order, frozen=True, tag="cancel"):
    """Interrupt an agent's run; without `agent` all runs."""

    agent: str | None = None


class Approve(_Order, frozen=True, tag="approve"):
    """Let the call of an `ApprovalRequested` run."""

    request_id: str
    remember: bool | str = False
    """True saves the rule that the question named, a text that rule."""
    scope: RuleScope = "session"
    """For whom it is saved."""
    input: dict[str, Any] | None = None
    """Runs in place of the model's input."""


class Deny(_Order, frozen=True, tag="deny"):
    """Do not let it run; the model reads the reason."""

    request_id: str
    reason: str = ""
    stop: bool = False
    """End the agent's run as well."""


class FillForm(_Order, frozen=True, tag="form"):
    """Fill in the form of a `FormRequested`."""

    form_id: str
    content: dict[str, str | int | float | bool | list[str] | None] | None = None
    """By the names of its schema; null declines."""


class Quit(_Order, frozen=True, tag="quit"):
    """Interrupt what runs, and end."""


Order: TypeAlias = Prompt | Cancel | Approve | Deny | FillForm | Quit
_DECODER: Final = msgspec.json.Decoder(Order)


def read_order(line: bytes) -> Order:
    """Understand one line; raises ValueError with words for whoever wrote it."""
    try:
        if too_deep(line.decode()):
            raise msgspec.DecodeError("it is nested too deep")
        order: Order = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{safe_line(str(error))[:_SHOWN]}; type is one of {', '.join(KINDS)}") from error
    match order:
        case Prompt(text=text) if not text.strip():
            raise ValueError("the text of a prompt is empty")
        case Approve(remember=remember, input=changed) if remember not in (False, "") and changed is not None:
            raise ValueError("an input that was changed cannot be remembered: say remember or input")
        case Approve(remember=str() as rule):
            parse_rule(rule)
    return order
