"""Owns the matcher grammar of hooks; refuses to know a hook."""

from __future__ import annotations

import re
from functools import lru_cache

_NAMES = re.compile(r"[A-Za-z0-9_\- ,|]*\Z")


@lru_cache(maxsize=256)
def _pattern(matcher: str) -> re.Pattern[str]:
    return re.compile(matcher)


def matches(matcher: str | None, tool_name: str) -> bool:
    """Say whether a hook with this matcher wants to hear of this tool.

    Absent, empty or `*`, also in a list, is every tool; letters, digits, `_`, `-`, spaces, `,` and `|` are
    a list of exact names; anything else is an unanchored regular expression. Raises `re.error` for one that
    is none.
    """
    if matcher is None or matcher.strip() in {"", "*"}:
        return True
    if _NAMES.match(matcher):
        return tool_name in _names(matcher)
    if "*" in _names(matcher):
        return True
    return _pattern(matcher).search(tool_name) is not None


def _names(matcher: str) -> set[str]:
    return {name.strip() for name in re.split(r"[|,]", matcher)}
