"""Owns which HTTP headers a person may add to requests, and their values; refuses those of the connection."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OURS: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_SECRET: Final = re.compile(r"auth|api-?key|token|secret|password|cookie|signature|credential", re.IGNORECASE)
_LONGEST_VALUE: Final = 8_192


def header_name_problem(name: str) -> str | None:
    """Why this cannot be a header of ours to add, or None."""
    if not _NAME.fullmatch(name):
        return "is no name of an HTTP header, like Authorization"
    if name.lower() in _OURS:
        return "is a header that the connection sets by itself; leave it out"
    return None


def header_value_problem(value: object) -> str | None:
    """Why this cannot be the value of a header, or None; never repeats it."""
    if not isinstance(value, str) or not value.strip():
        return "should be a text that is not empty"
    if not (value.isascii() and value.isprintable()) or value != value.strip():
        return "holds characters that no header has (line ends, blanks around it or the like)"
    return f"has more than {_LONGEST_VALUE} characters" if len(value) > _LONGEST_VALUE else None


def sounds_secret(name: str) -> bool:
    """Whether a header of this name holds what belongs in an environment variable."""
    return _SECRET.search(name) is not None
