"""Owns what of today's settings counts for an agent that comes back, and the words for it; refuses to act.

Its folder, its provider and its model are its own: they change when the command line says so. All else is
that of its profile as it is now, if the profile is still there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Final
from urllib.parse import urlsplit

from agent_tui_core.blocks import JsonObject
from agent_tui_core.config.profiles import AgentProfile, Plan, Said
from agent_tui_core.errors import ConfigError
from agent_tui_core.runtime.connections import Connection
from agent_tui_core.text import safe_line

_OWN: Final = frozenset({"name", "provider", "model", "workspace", "profile"})
"""What an agent keeps whatever becomes of its profile."""


def check_resumed(plan: Plan, *, demo: bool) -> None:
    """Raise `ConfigError` for what the command line says and cannot count in a session that comes back."""
    if demo and plan.said != Said():
        raise ConfigError(
            "that session is a demo, with its own model and server: leave out -m and --base-url"
        )
    if plan.demo and not demo:
        raise ConfigError("that session is no demo: leave out --demo, or --resume")


def resumed_profile(
    stored: AgentProfile, profiles: Mapping[str, AgentProfile]
) -> tuple[AgentProfile, Sequence[str]]:
    """The profile that an agent goes on with, and the names of its settings that changed."""
    now = profiles.get(stored.profile)
    if now is None:
        return stored, ()
    settings = [field.name for field in fields(AgentProfile) if field.name not in _OWN]
    changed = {name: getattr(now, name) for name in settings if getattr(now, name) != getattr(stored, name)}
    return replace(stored, **changed), tuple(changed)


def changed_words(
    stored: JsonObject, connection: Connection, profile: AgentProfile, changed: Sequence[str]
) -> str | None:
    """What a person has to know of an agent that does not go on as it was left; None when it does."""
    now = []
    if (connection.model, connection.base_url) != (stored.get("model"), stored.get("base_url")):
        host = urlsplit(connection.base_url).netloc or connection.name
        now.append(f"model {safe_line(connection.model)} at {safe_line(host)}")
    if changed:
        names = ", ".join(name.replace("_", " ") for name in changed)
        now.append(f"{names} as the profile {safe_line(profile.profile)!r} has {_it(changed)} now")
    return f"Now {'; '.join(now)}: from the next request on." if now else None


def _it(changed: Sequence[str]) -> str:
    return "it" if len(changed) == 1 else "them"
