"""Owns the calls that are under way at one server: their time, their progress, the questions they lead to.

Refuses to outlive its caller: when a call ends, whatever the reason, the server is told and its questions are
withdrawn.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agent_tui_core.errors import ToolError
from agent_tui_core.text import safe_line, safe_text
from agent_tui_core.tools.base import ToolContext
from agent_tui_core.tools.mcp_names import without_patterns
from agent_tui_core.tools.mcp_values import Ask, Question, ServerSpec

if TYPE_CHECKING:
    from mcp.client.context import ClientRequestContext
    from mcp_types import ElicitRequestParams, ElicitResult

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

CANCEL_GRACE: Final = 0.2
"""Seconds in which the server is told that nobody waits any more."""
MOST_QUESTIONS: Final = 4
"""Of one server at a time; further ones are declined."""

_PROGRESS_EVERY = 0.1
_PROGRESS_BUDGET = 20_000
_LONGEST_PROGRESS = 200
_LONGEST_QUESTION = 4_000
_LARGEST_FORM = 20_000
_MOST_FIELDS = 40
_WORDS = 400


class ServerGone(ToolError):
    """The connection ended while the call was under way."""

    def __init__(self, why: str, *, unheard: bool = False) -> None:
        super().__init__(why)
        self.unheard = unheard
        """The server refused the call before it was one: it can be made again."""


class CallTimedOut(ToolError):
    """The server did not answer in time."""


@dataclass(eq=False, slots=True)
class ActiveCall:
    """One call and its clock, which stands still while a person thinks."""

    context: ToolContext
    limit: asyncio.Timeout
    asking: set[asyncio.Task[Mapping[str, Any] | None]] = field(default_factory=set)
    left: float = 0.0
    reported_at: float = 0.0
    budget: int = _PROGRESS_BUDGET

    def pause(self, question: asyncio.Task[Mapping[str, Any] | None]) -> None:
        if not self.asking and (until := self.limit.when()) is not None:
            self.left = until - asyncio.get_running_loop().time()
            self.limit.reschedule(None)
        self.asking.add(question)

    def resume(self, question: asyncio.Task[Mapping[str, Any] | None], *, running: bool) -> None:
        self.asking.discard(question)
        if running and not self.asking:
            self.limit.reschedule(asyncio.get_running_loop().time() + self.left)

    def goes_on(self, seconds: float) -> None:
        """It gave a sign of life that counts: it has so many seconds for the next one."""
        if self.asking:
            self.left = seconds
        elif self.limit.when() is not None:
            self.limit.reschedule(asyncio.get_running_loop().time() + seconds)

    async def progressed(self, progress: float, total: float | None, message: str | None) -> None:
        """Show how far the server is, now and then."""
        now = asyncio.get_running_loop().time()
        if now < self.reported_at + _PROGRESS_EVERY:
            return
        self.reported_at = now
        amount = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        self.told(f"{amount}: {message}" if message else amount)

    def told(self, words: str) -> None:
        """Show a line of foreign words; all of them together are bounded."""
        if self.budget > 0:
            line = f"{safe_line(words[: 4 * _LONGEST_PROGRESS])[:_LONGEST_PROGRESS]}\n"
            self.budget -= len(line)
            self.context.report(line)


_current: contextvars.ContextVar[ActiveCall | None] = contextvars.ContextVar("mcp call", default=None)


class ActiveCalls:
    """The calls of one connection."""

    def __init__(self, spec: ServerSpec, ask: Ask | None) -> None:
        self._spec = spec
        self._ask = ask
        self._tasks: set[asyncio.Task[Any]] = set()
        self._running: set[ActiveCall] = set()
        self._asking: set[asyncio.Task[Mapping[str, Any] | None]] = set()

    @property
    def asks(self) -> bool:
        """There is somebody who can be asked."""
        return self._ask is not None

    async def run(
        self, request: Callable[[ActiveCall], Coroutine[Any, Any, Answer]], context: ToolContext
    ) -> Answer:
        """Make a request. Raises `ToolError`, and `ServerGone` when the connection ended meanwhile."""
        call = ActiveCall(context, asyncio.timeout(self._spec.timeout))
        values = contextvars.copy_context()
        values.run(_current.set, call)
        task = asyncio.create_task(request(call), name=f"mcp {self._spec.name} call", context=values)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        self._running.add(call)
        try:
            async with call.limit:
                await asyncio.wait({task})
        except TimeoutError:
            raise CallTimedOut(
                f"the MCP server {self._spec.name} did not answer within {self._spec.timeout:g} s"
            ) from None
        finally:
            self._running.discard(call)
            self._withdraw(call)
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=CANCEL_GRACE)
        return self._result(task)

    async def end(self) -> None:
        """Cancel everything that is under way, and wait for it."""
        tasks = [*self._tasks, *self._asking]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # looked at: its caller may be gone

    def _result(self, task: asyncio.Task[Answer]) -> Answer:
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        if task.cancelled():
            raise ServerGone("it was stopped")
        error = task.exception()
        if error is None:
            return task.result()
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            raise ServerGone(told(error)) from error
        if isinstance(error, ToolError):
            raise error
        raise ToolError(f"the MCP server {self._spec.name} answered: {told(error)}") from error

    # --- questions ------------------------------------------------------------------------------------------

    async def elicit(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the SDK's protocol
        params: ElicitRequestParams,
    ) -> ElicitResult:
        """Let a person answer what the server asks during a call."""
        from mcp_types import ElicitResult

        calls = self._asked_by()
        question = self._question(params, calls)
        if self._ask is None or question is None or len(self._asking) >= MOST_QUESTIONS:
            return ElicitResult(action="decline")
        if not calls:
            return ElicitResult(action="cancel")
        task = asyncio.ensure_future(self._ask(question))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
        for call in calls:
            call.pause(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            for call in calls:
                call.resume(task, running=call in self._running)
        if task.cancelled():
            return ElicitResult(action="cancel")
        if (error := task.exception()) is not None:
            log.warning("a question of the MCP server %s failed: %s", self._spec.name, error)
            return ElicitResult(action="cancel")
        content = task.result()
        if content is None:
            return ElicitResult(action="decline")
        filled = ElicitResult.model_validate({"action": "accept", "content": dict(content)})
        return filled if params.mode == "form" else ElicitResult(action="accept")

    def _asked_by(self) -> list[ActiveCall]:
        """The calls that a question may belong to: older servers do not say which."""
        call = _current.get()
        return [call] if call in self._running and call is not None else list(self._running)

    def _question(self, params: ElicitRequestParams, calls: list[ActiveCall]) -> Question | None:
        """None when it is no form that a person could fill in."""
        message = safe_text(params.message[: 2 * _LONGEST_QUESTION])[:_LONGEST_QUESTION]
        only = calls[0].context if len(calls) == 1 else None
        agent_id, key = (only.agent_id, only.call_key) if only else ("", "")
        if params.mode == "url":
            address = safe_line(params.url[:_LONGEST_QUESTION])
            words = f"{message}\n\nIt asks you to open this address yourself; nothing was opened:\n{address}"
            empty: Mapping[str, Any] = {"type": "object", "properties": {}}
            return Question(self._spec.name, words, empty, agent_id, key)
        schema = params.requested_schema
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or len(properties) > _MOST_FIELDS:
            return None
        if len(json.dumps(schema)) > _LARGEST_FORM:
            return None
        return Question(self._spec.name, message, without_patterns(schema), agent_id, key)

    def _withdraw(self, call: ActiveCall) -> None:
        """A call ended: what only it led to is asked no longer."""
        for task in call.asking:
            if not any(task in other.asking for other in self._running):
                task.cancel()


def told(error: BaseException) -> str:
    """The words of an error that a server or its connection caused, on one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    words = safe_line(str(error)[: 4 * _WORDS]) or type(error).__name__
    return words if len(words) <= _WORDS else f"{words[: _WORDS - 1]}…"
