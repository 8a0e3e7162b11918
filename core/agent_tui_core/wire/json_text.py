"""Owns the decoding of a server's JSON: fast where it is usual, patient where it is odd; refuses NaN.

Nothing is promised about the strings: a half of a character in them is for `surrogates` to mend.
"""

from __future__ import annotations

import json
from typing import NoReturn

import msgspec

from agent_tui_core.blocks import Json


def decoded(text: str) -> Json:
    """Decode a JSON document; raises ValueError, also for what is nested too deep.

    msgspec refuses lone surrogates and numbers beyond its range, which are JSON: json reads those.
    """
    try:
        usual: Json = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return _odd(text)
    return usual


def _odd(text: str) -> Json:
    try:
        odd: Json = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return odd


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")
