"""Owns what a glob means, as a regular expression; refuses to look at files and to import anything heavy."""

from __future__ import annotations

import re

_BRACES = 64


def glob_regex(pattern: str, *, anywhere: bool) -> re.Pattern[str]:
    """Translate a glob: `**` spans folders, `*` and `?` do not, `{a,b}` are alternatives.

    With `anywhere` a pattern without a slash matches the name of a file in any folder.
    """
    alternatives = []
    for plain in _without_braces(pattern):
        parts = [part for part in plain.split("/") if part not in ("", ".")]
        if anywhere and len(parts) == 1 and parts != ["**"]:
            parts.insert(0, "**")
        alternatives.append(_translated(parts))
    return re.compile(f"(?s:{'|'.join(alternatives)})")


def _without_braces(pattern: str) -> list[str]:
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        current = waiting.pop()
        found = re.search(r"\{([^{}]*,[^{}]*)\}", current)
        if not found or len(done) + len(waiting) >= _BRACES:
            done.append(current)
            continue
        options = found[1].split(",")
        waiting += [current[: found.start()] + option + current[found.end() :] for option in options]
    return done


def _translated(parts: list[str]) -> str:
    pieces = []
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == "**":
            if index and parts[index - 1] == "**":
                continue
            pieces.append(".+" if last else "(?:[^/]+/)*")
        else:
            pieces.append(_segment(part) + ("" if last else "/"))
    return "".join(pieces)


def _segment(part: str) -> str:
    out = []
    at = 0
    while at < len(part):
        char = part[at]
        end = part.find("]", at + 2) if char == "[" else -1
        if char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif end > 0:
            inner = part[at + 1 : end]
            negated = inner[0] in "!^"
            inner = re.sub(r"([\\\[&~|])", r"\\\1", inner[1:] if negated else inner)
            out.append(f"[{'^/' if negated else ''}{inner}]")
            at = end
        else:
            out.append(re.escape(char))
        at += 1
    return "".join(out)
