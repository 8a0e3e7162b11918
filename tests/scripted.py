"""One scripted model at the edge of the tests: answers are lists of stream events; refuses to guess."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from agent_tui_core.errors import ProviderError
from agent_tui_core.events import AnswerEnded, Body, StreamEvent, TextDelta, ToolUseDelta
from agent_tui_core.messages import ModelRequest

Step: TypeAlias = StreamEvent | ProviderError | asyncio.Event
"""An event is waited for before the next step."""
Answer: TypeAlias = Sequence[Step]


def says(*pieces: str) -> list[Step]:
    """An answer that is text alone."""
    return [*(TextDelta(piece) for piece in pieces), AnswerEnded("end")]


def call(name: str, input: dict[str, object], *, id: str = "c1", place: int = 0) -> ToolUseDelta:
    """A whole tool call."""
    return ToolUseDelta(place, id, name, json.dumps(input))


def calls(*wanted: ToolUseDelta, text: str = "") -> list[Step]:
    """An answer that calls tools."""
    opening: list[Step] = [TextDelta(text)] if text else []
    return [*opening, *wanted, AnswerEnded("tool_use")]


@dataclass
class Scripted:
    """A provider that gives its answers in order and keeps what it was asked."""

    answers: list[Answer] = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)
    closed: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.requests.append(request)
        self.asked.set()
        try:
            for step in self.answers.pop(0):
                match step:
                    case asyncio.Event():
                        await step.wait()
                    case ProviderError():
                        raise step
                    case _:
                        yield step
        finally:
            self.closed += 1

    async def models(self) -> list[str]:
        return ["scripted"]

    async def aclose(self) -> None:
        pass


@dataclass
class Recorder:
    """A journal that keeps everything in order, and what was committed apart."""

    bodies: list[Body] = field(default_factory=list)
    committed: list[Body] = field(default_factory=list)
    owed: list[Body] = field(default_factory=list)
    on_commit: Callable[[Sequence[Body]], None] = lambda _bodies: None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def commit(self, *bodies: Body) -> None:
        self.on_commit(bodies)
        self.committed += bodies
        for body in bodies:
            self.emit(body)

    def owe(self, *bodies: Body) -> None:
        self.owed += bodies
        for body in bodies:
            self.emit(body)

    def emit(self, body: Body) -> None:
        self.bodies.append(body)
        self._changed.set()

    async def until(self, kind: type, count: int = 1) -> None:
        """Wait until so many bodies of that kind came."""
        async with asyncio.timeout(10):
            while len(self.of(kind)) < count:
                self._changed.clear()
                await self._changed.wait()

    def of(self, kind: type) -> list[Body]:
        return [body for body in self.bodies if isinstance(body, kind)]

    def names(self, *, without: Iterable[str] = ()) -> list[str]:
        return [name for body in self.bodies if (name := type(body).__name__) not in set(without)]
