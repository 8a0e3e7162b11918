"""Owns what a question covers, as far as the question needs it; refuses to know either."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from textual import events

from agent_tui_core.records import dataclass


async def _nowhere(_key: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Beneath:
    """What a question covers: there goes what was not meant for it."""

    typed: Callable[[events.Key], None] = lambda _key: None
    pasted: Callable[[str], None] = lambda _text: None
    navigate: Callable[[str], Awaitable[bool]] = _nowhere
    """Do what this key is for on the dashboard, if it only leads somewhere; says whether it does."""
