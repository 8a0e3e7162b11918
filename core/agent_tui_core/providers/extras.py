"""Owns what one server is told besides its protocol and key: headers, fields, patience; refuses to ask.

The values of `secret_headers` go to that server and nowhere else: they are in no text, log or recording.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from agent_tui_core.blocks import JsonObject
from agent_tui_core.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerExtras:
    """What is sent to one server besides."""

    headers: Mapping[str, str] = field(default_factory=dict)
    secret_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: JsonObject = field(default_factory=dict)
    """Fields of every request; what an agent adds goes before them."""
    idle_timeout: float | None = None
    """Seconds without a byte; None leaves it to the client."""

    def over(self, own: Mapping[str, str]) -> dict[str, str]:
        """Our headers, and these in the place of those that have the same name in any case."""
        more = {**self.headers, **self.secret_headers}
        taken = {name.lower() for name in more}
        return {**{name: value for name, value in own.items() if name.lower() not in taken}, **more}

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be shown."""
        return tuple(self.secret_headers.values())
