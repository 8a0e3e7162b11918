"""Owns what is said over the socket on which results come in, one JSON line each way; refuses to move it.

{"call": ID, "result": anything} or {"call": ID, "error": "why"}  →  {"state": …, "words": …}
and, for a call that waits on, {"call": ID, "progress": "how far"}.
"""

from __future__ import annotations

import json
import re
from typing import Final, TypeAlias, get_args

from agent_tui_core.records import dataclass
from agent_tui_core.tools.external import Accepted, Receipt
from agent_tui_core.wire.json_text import too_deep

LINE_LIMIT: Final = 16 * 2**20
"""Bytes of one line at most."""
_CALL_ID: Final = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Result:
    """What a call came to: text, or any JSON value."""

    value: object


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call has no result."""

    why: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is; the call waits on."""

    words: str


Outcome: TypeAlias = Result | Failure | Progress


@dataclass(frozen=True, slots=True)
class Delivery:
    """An answer to one call, on its way."""

    call: str
    outcome: Outcome


class NotUnderstood(ValueError):
    """A line that is not as it should be; the message is for whoever sent it."""


def is_call_id(said: str) -> bool:
    """Whether this can be the id of a call."""
    return _CALL_ID.fullmatch(said) is not None


def delivery_line(delivery: Delivery) -> bytes:
    """A delivery as it is sent and kept; raises `NotUnderstood` when it is too long or no JSON."""
    match delivery.outcome:
        case Result(value):
            said: dict[str, object] = {"result": value}
        case Failure(why):
            said = {"error": why}
        case Progress(words):
            said = {"progress": words}
    try:
        line = json.dumps({"call": delivery.call, **said}).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise NotUnderstood(f"this has no JSON form: {error}") from error
    if len(line) > LINE_LIMIT:
        raise NotUnderstood(f"an answer may have {LINE_LIMIT // 2**20} MiB; this one is larger")
    return line


def read_delivery(line: bytes) -> Delivery:
    """The delivery in a line; raises `NotUnderstood`."""
    said = _object(line)
    call = said.pop("call", None)
    if not isinstance(call, str) or not is_call_id(call):
        raise NotUnderstood('"call" should be the id of a call: 32 hexadecimal digits')
    return Delivery(call, outcome_of(said))


def outcome_of(said: dict[str, object]) -> Outcome:
    """What `{"result": …}`, `{"error": "…"}` or `{"progress": "…"}` says; raises `NotUnderstood`."""
    match said:
        case {"result": value, **rest} if not rest:
            return Result(value)
        case {"error": str(why), **rest} if not rest:
            return Failure(why)
        case {"progress": str(words), **rest} if not rest:
            return Progress(words)
        case _:
            raise NotUnderstood(
                'should be {"result": …}, {"error": "why"} or {"progress": "…"}, and nothing else'
            )


def read_outcome(text: bytes) -> Outcome:
    """The outcome in a JSON text; raises `NotUnderstood`."""
    return outcome_of(_object(text))


def receipt_line(receipt: Receipt) -> bytes:
    """A receipt as it is sent."""
    return json.dumps({"state": receipt.state, "words": receipt.words}).encode() + b"\n"


def read_receipt(line: bytes) -> Receipt:
    """The receipt in a line; raises `NotUnderstood`."""
    said = _object(line)
    state, words = said.get("state"), said.get("words")
    for known in get_args(Accepted):
        if state == known and isinstance(words, str):
            return Receipt(known, words)
    raise NotUnderstood(words if isinstance(words, str) else "the answer makes no sense")


def refusal_line(words: str) -> bytes:
    """What a line gets that was not understood."""
    return json.dumps({"state": "refused", "words": words}).encode() + b"\n"


def _object(line: bytes) -> dict[str, object]:
    try:
        said = None if too_deep(line.decode("latin-1")) else json.loads(line)
    except (ValueError, RecursionError) as error:
        raise NotUnderstood("this is no JSON") from error
    if not isinstance(said, dict):
        raise NotUnderstood("this is no JSON object")
    return said
