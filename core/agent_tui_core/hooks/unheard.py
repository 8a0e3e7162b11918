"""Owns what a hook's output says of a decision where the contract hears none; refuses to guess which one.

A "no" that is not heard is worse than a hook that breaks: behind a byte order mark, a line for a log or the
colours of a terminal, in an array, at the wrong level, under a key in other letters, on the wrong pipe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agent_tui_core.text import safe_text

_INVISIBLE: Final = re.compile("[\x00\ufeff\ufffd\u200b-\u200f\u2060]")
_TEXT: Final = re.compile(
    r"(?P<key>hook_?specific_?output|permission_?decision|\bdecision|\bbehavior|\bcontinue)[\"'\\\s]*[:=][\"'\\\s]*(?P<value>[a-z]+|\{)",
    re.IGNORECASE,
)
_DECISIONS: Final = frozenset(
    {"allow", "approve", "ask", "defer", "deny", "denied", "block", "blocked", "reject", "rejected"}
)
_CONSENT: Final = frozenset({"allow", "approve"})
_SPELT: Final = frozenset({"permissiondecision", "decision", "behavior"})
"""Keys of decisions, in small letters and without what stands between them."""
_FOREIGN: Final = frozenset(
    {"updatedinput", "updatedtooloutput", "updatedmcptooloutput", "toolinput", "toolresponse"}
)
"""Keys whose values are somebody else's words."""
_MOST_LEVELS: Final = 50


def speaks_of_a_decision(output: str) -> str | None:
    """The first words of a text that are a decision, or would be one elsewhere."""
    text = _INVISIBLE.sub("", safe_text(output))
    for found in _TEXT.finditer(text):
        key, value = _plain(found["key"]), found["value"].lower()
        if key == "hookspecificoutput":
            unheard = value == "{"
        elif key == "continue":
            unheard = value == "false"
        else:
            unheard = value in _DECISIONS or (key == "permissiondecision" and value not in {"null", "none"})
        if unheard:
            return " ".join(found[0].split())
    return None


def holds_a_decision(said: Mapping[str, Any], *, beside_allow: bool = False) -> str | None:
    """The first key in an object, at any level, whose value is a decision.

    `beside_allow`: it allows where it is heard, so that only a "no" counts.
    """
    consent = _CONSENT if beside_allow else frozenset[str]()
    return next((key for key, value in _decisions(said, 0) if value not in consent), None)


def _decisions(value: object, level: int) -> Iterator[tuple[str, str]]:
    """Keys and what they decide."""
    if level > _MOST_LEVELS:
        return
    match value:
        case dict():
            for key, each in value.items():
                plain = _plain(str(key))
                if plain in _SPELT and isinstance(each, str) and each.strip().lower() in _DECISIONS:
                    yield str(key), each.strip().lower()
                elif plain == "continue" and (each is False or each == "false"):
                    yield str(key), "false"
                elif plain not in _FOREIGN:
                    yield from _decisions(each, level + 1)
        case list():
            for each in value:
                yield from _decisions(each, level + 1)


def _plain(key: str) -> str:
    return re.sub(r"[^a-z]", "", key.lower())
