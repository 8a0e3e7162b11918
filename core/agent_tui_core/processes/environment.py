"""Owns which variables of ours a child inherits; refuses every other one, and any key of a provider."""

from __future__ import annotations

from collections.abc import Collection, Mapping

_INHERITED = ("PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL")
_FIXED = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
}


def child_environment(environ: Mapping[str, str], names: Collection[str] = ()) -> dict[str, str]:
    """Return what a child inherits: a short list, what `names` adds, and no key of a provider, ever."""
    allowed = {
        name: value
        for name, value in environ.items()
        if (name in _INHERITED or name.startswith("LC_") or name in names)
        and not name.upper().endswith("API_KEY")
    }
    return allowed | _FIXED
