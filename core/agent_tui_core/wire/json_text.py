"""Owns the decoding of a server's JSON: fast where it is usual, patient where it is odd; refuses NaN.

Nothing is promised about the strings: a half of a character in them is for `surrogates` to mend.
"""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

import msgspec

from agent_tui_core.blocks import Json

DEEPEST_DOCUMENT: Final = 500
"""Levels. How many a parser takes differs by Python: 1,000 in 3.11, 10,000 in 3.13. What walks over its value
in Python ends at 1,000 in each."""

_PLACE: Final = re.compile(r"[0-9]{1,9}")
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


def too_deep(text: str, most: int = DEEPEST_DOCUMENT) -> bool:
    """Whether a JSON text has more than `most` levels; linear in its length, at once where it is short."""
    if len(text) <= most or text.count("[") + text.count("{") <= most:
        return False
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > most:
                return True
        elif token[0] in "]}":
            depth -= 1
    return False


def decoded(text: str) -> Json:
    """Decode a JSON document; raises ValueError, also for what is nested too deep.

    msgspec refuses lone surrogates and numbers beyond its range, which are JSON: json reads those.
    """
    if too_deep(text):
        raise ValueError("it is nested too deep")
    try:
        usual: Json = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return _odd(text)
    return usual


def place_in(value: Json) -> int | None:
    """Return a number that says where something stands, also where it is a string; None if it is none.

    It is a name for what came before under the same number, so that a huge one allocates nothing.
    """
    if isinstance(value, str):
        return int(value) if _PLACE.fullmatch(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _odd(text: str) -> Json:
    try:
        odd: Json = json.loads(text, parse_constant=_no_constant)
    except RecursionError:  # called from far down
        raise ValueError("it is nested too deep") from None
    return odd


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")
