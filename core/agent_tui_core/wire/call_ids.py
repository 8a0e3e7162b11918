"""Owns the ids of calls in one request, where a protocol is stricter than the one that made them.

Refuses to change an id that can be sent as it is: providers want theirs back (P6).
"""

from __future__ import annotations

import hashlib
import re


class CallIds:
    """Gives each call of a conversation an id that a protocol takes, and its result the same one.

    Ids may hold what a protocol forbids (`functions.Bash:0`), may be too long, and may repeat over turns,
    which Anthropic refuses: "`tool_use` ids must be unique". A result belongs to the latest call with its id.
    """

    def __init__(self, legal: re.Pattern[str]) -> None:
        """`legal` matches an id that can be sent unchanged."""
        self._legal = legal
        self._sent: set[str] = set()
        self._latest: dict[str, str] = {}

    def of_call(self, call_id: str) -> str:
        """The id to send for the next call of the conversation."""
        sent = call_id if self._legal.fullmatch(call_id) else _digest(call_id, 0)
        number = 0
        while sent in self._sent:
            number += 1
            sent = _digest(call_id, number)
        self._sent.add(sent)
        self._latest[call_id] = sent
        return sent

    def of_result(self, call_id: str) -> str:
        """The id that the call of this result was sent with."""
        return self._latest.get(call_id, call_id if self._legal.fullmatch(call_id) else _digest(call_id, 0))


def _digest(call_id: str, number: int) -> str:
    digest = hashlib.sha256(f"{number}:{call_id}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"call_{digest[:24]}"
