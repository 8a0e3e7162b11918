"""Owns a call that a server runs as a task: begun, asked after, its result fetched; refuses to leave one.

These are the tasks of protocol 2025-11-25 (MCP specification, "Tasks"). A tool that requires them fails when
it is called in any other way.
"""

from __future__ import annotations

import asyncio
import itertools
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from agent_tui_core.errors import ToolError
from agent_tui_core.text import safe_line
from agent_tui_core.tools.mcp_calls import CANCEL_GRACE, ActiveCall
from agent_tui_core.tools.mcp_streams import TASK

if TYPE_CHECKING:
    from mcp.client.client import Client
    from mcp_types import CallToolResult, Task

LONGEST_TASK: Final = 60.0
"""Times the time-out of a call: a task has that long again after each sign of progress, and this at most."""

_GOES_ON = ("working", "input_required")
_USUAL_INTERVAL = 0.5
_INTERVALS = (0.05, 10.0)
"""Seconds between two questions after a task; a server names its own, within these bounds."""
_GRACE = 0.8 * CANCEL_GRACE
_numbers = itertools.count(1)


class TaskCalls:
    """The tasks of one connection."""

    def __init__(self, server: str, timeout: float) -> None:
        self._server = server
        self._timeout = timeout
        self._calls: dict[str, ActiveCall] = {}
        """By the token under which a server reports progress, which goes on behind the answer to the call."""

    async def run(
        self, client: Client, tool: str, arguments: dict[str, Any], call: ActiveCall
    ) -> CallToolResult:
        """Call a tool as a task and wait for its end; cancelling cancels the task. Raises `ToolError`."""
        from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult, TaskMetadata

        token = f"agent-tui-{next(_numbers)}"
        ttl = int(1_000 * LONGEST_TASK * self._timeout)
        params = CallToolRequestParams(
            name=tool, arguments=arguments, task=TaskMetadata(ttl=ttl), _meta={"progress_token": token}
        )
        self._calls[token] = call
        try:
            answer = await client.session.send_request(CallToolRequest(params=params), CallToolResult)
            begun = (answer.meta or {}).get(TASK)
            if begun is None:
                return answer
            return await self._follow(client, _task(begun), call)
        finally:
            del self._calls[token]

    async def progressed(
        self, token: object, progress: float, total: float | None, words: str | None
    ) -> None:
        """A server reports progress under a token of ours, or of nobody's."""
        if isinstance(token, str) and (call := self._calls.get(token)) is not None:
            await call.progressed(progress, total, words)

    async def _follow(self, client: Client, task: Task, call: ActiveCall) -> CallToolResult:
        fetching: asyncio.Task[CallToolResult] | None = None
        if task.status_message:
            call.told(task.status_message)
        try:
            async with asyncio.timeout(LONGEST_TASK * self._timeout):
                while task.status in _GOES_ON:
                    if task.status == "input_required" and fetching is None:
                        # What it asks a person for comes while its result is waited for.
                        fetching = asyncio.create_task(_result_of(client, task))
                    if await _ended_within(_interval(task), fetching):
                        break
                    before, task = task, await _asked_after(client, task)
                    if _moved(before, task):
                        call.goes_on(self._timeout)
                    if task.status_message and task.status_message != before.status_message:
                        call.told(task.status_message)
                return await (fetching or _result_of(client, task))
        except TimeoutError:
            raise ToolError(f"the MCP server {self._server} did not end its task in time") from None
        except Exception as error:
            if task.status in _GOES_ON:
                raise
            why = safe_line((task.status_message or str(error))[:400])
            raise ToolError(f"the MCP server {self._server}: the task {task.status}: {why}") from error
        finally:
            if fetching is not None:
                fetching.cancel()
                await asyncio.wait({fetching}, timeout=_GRACE)
            if task.status in _GOES_ON and not (fetching and fetching.done() and not fetching.cancelled()):
                await _cancel(client, task)


async def _ended_within(seconds: float, fetching: asyncio.Task[CallToolResult] | None) -> bool:
    if fetching is None:
        await asyncio.sleep(seconds)
        return False
    done, _ = await asyncio.wait({fetching}, timeout=seconds)
    return bool(done)


def _moved(before: Task, now: Task) -> bool:
    def said(task: Task) -> tuple[object, ...]:
        return task.status, task.status_message, task.last_updated_at

    return said(before) != said(now)


def _task(said: Any) -> Task:
    from mcp_types import Task

    try:
        return Task.model_validate(said, by_name=False)
    except ValueError as error:
        raise ToolError("the server answered with a task that is none") from error


def _interval(task: Task) -> float:
    least, most = _INTERVALS
    seconds = _USUAL_INTERVAL if task.poll_interval is None else task.poll_interval / 1_000
    return min(most, max(least, seconds))


async def _asked_after(client: Client, task: Task) -> Task:
    from mcp_types import GetTaskRequest, GetTaskRequestParams, GetTaskResult

    request = GetTaskRequest(params=GetTaskRequestParams(task_id=task.task_id))
    return await client.session.send_request(request, GetTaskResult)


async def _result_of(client: Client, task: Task) -> CallToolResult:
    from mcp_types import CallToolResult, GetTaskPayloadRequest, GetTaskPayloadRequestParams

    request = GetTaskPayloadRequest(params=GetTaskPayloadRequestParams(task_id=task.task_id))
    return await client.session.send_request(request, CallToolResult)


async def _cancel(client: Client, task: Task) -> None:
    """Nobody waits for it any more."""
    from mcp_types import CancelTaskRequest, CancelTaskRequestParams, CancelTaskResult

    request = CancelTaskRequest(params=CancelTaskRequestParams(task_id=task.task_id))
    with suppress(Exception):
        async with asyncio.timeout(_GRACE):
            await client.session.send_request(request, CancelTaskResult)
