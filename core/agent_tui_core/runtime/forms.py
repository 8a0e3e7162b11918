"""Owns the questions that are no approvals: what a server or a tool wants a person to fill in.

Refuses to know who asks and who shows it. First in, first out; each is answered at most once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal, TypeAlias

from agent_tui_core.agent.watchers import Watchers
from agent_tui_core.blocks import JsonObject
from agent_tui_core.messages import new_id
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line

FormKind: TypeAlias = Literal["elicitation", "tool-result"]


@dataclass(frozen=True, slots=True)
class Form:
    """Something to fill in. All texts are foreign."""

    kind: FormKind
    """What a server asks for, or a call whose result a person may give in the place of somebody else."""
    source: str
    """Who asks: "MCP server git", "tool deploy"."""
    message: str
    schema: JsonObject
    """A flat JSON Schema of an object: strings, numbers, booleans, enums."""
    agent_id: str = ""
    call_key: str = ""
    urgent: bool = True
    """It opens by itself, as approvals do; others wait until a person looks for them."""
    id: str = field(default_factory=new_id)
    asked_at: float = field(default_factory=time.time)
    """Unix time."""


class Forms:
    """The forms of all agents that wait for a person."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[Form, asyncio.Future[JsonObject | None]]] = {}
        self._watchers: Watchers[[]] = Watchers()

    @property
    def pending(self) -> tuple[Form, ...]:
        """The oldest first."""
        return tuple(form for form, _ in self._waiting.values())

    async def ask(self, form: Form) -> JsonObject | None:
        """Wait for a person; None when they decline. Cancelling withdraws the form."""
        answer: asyncio.Future[JsonObject | None] = asyncio.get_running_loop().create_future()
        self._waiting[form.id] = (form, answer)
        self._changed()
        try:
            return await answer
        finally:
            self._waiting.pop(form.id, None)
            self._changed()

    def answer(self, form_id: str, content: JsonObject | None) -> bool:
        """Give what was filled in, or None to decline; False when it was too late."""
        found = self._waiting.pop(form_id, None)
        if found is None or found[1].done():
            return False
        found[1].set_result(content)
        self._changed()
        return True

    def problem(self, form_id: str, content: JsonObject | None) -> str | None:
        """Why this is no answer to a form that waits, for a program that gives it; None when it is one."""
        if (found := self._waiting.get(form_id)) is None:
            return "no such form is open: it was filled in or withdrawn"
        properties = found[0].schema.get("properties", {})
        required = found[0].schema.get("required", ())
        if content is None or not isinstance(properties, Mapping):
            return None
        if unknown := [key for key in content if key not in properties]:
            return f"the form has no field {safe_line(unknown[0])[:60]!r}; it has: {', '.join(properties)}"
        missing = [key for key in required if key not in content] if isinstance(required, Sequence) else []
        return f"the field {missing[0]!r} is missing" if missing else None

    def watch(self, wake: Callable[[], object]) -> None:
        """Call `wake` after every change; it must only set a flag or schedule."""
        self._watchers.add(wake)

    def _changed(self) -> None:
        self._watchers.tell()
