"""Owns the library's way to one conversation: send, receive, interrupt; refuses to keep it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from agent_tui_core.agent.calls import Calls
from agent_tui_core.agent.conversation import Conversation
from agent_tui_core.agent.gate import OpenGate
from agent_tui_core.agent.loop import Loop, LoopSettings
from agent_tui_core.agent.permissions import PermissionRules
from agent_tui_core.blocks import ContentBlock, Image, Reasoning, Text, ToolResult
from agent_tui_core.errors import AgentTuiError, PromptBlocked
from agent_tui_core.events import (
    Body,
    Event,
    MessageCommitted,
    ReasoningDelta,
    RunEnd,
    RunEnded,
    TextDelta,
)
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.hooks.points import UserPromptSubmitEvent
from agent_tui_core.messages import Message, StopReason, Usage, new_id
from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.openai import OpenAIProvider
from agent_tui_core.tools.base import Tool, ToolContext
from agent_tui_core.tools.registry import ToolRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """What a `Client` works with. Raises ValueError for what cannot work."""

    model: str
    base_url: str = "http://localhost:11434/v1"
    api_key: str | None = field(default=None, repr=False)
    """Sent to `base_url` and nowhere else; "not-needed" and None send none."""
    system_prompt: str = ""
    tools: Sequence[Tool] = ()
    hooks: Hooks = field(default_factory=Hooks)
    permissions: PermissionRules | None = None
    """None allows every tool that was given; with rules, what they do not allow is denied."""
    auto_execute_tools: bool = False
    max_tool_iterations: int = 25
    max_tokens: int | None = None
    temperature: float | None = None
    connect_timeout: float = 10.0
    """Seconds."""
    idle_timeout: float = 300.0
    """Seconds without a byte from the server."""
    retries: int = 3
    workspace: Path | None = None
    """Where tools work; None is the current folder."""
    provider: ModelProvider | None = None
    """Answers in place of the server at `base_url`."""

    def __post_init__(self) -> None:
        """Check what can be checked without a server."""
        if not self.model:
            raise ValueError("model: name the model that shall answer")
        if self.provider is None and not self.base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url: should begin with http:// or https://, not {self.base_url!r}")
        if self.max_tool_iterations < 1 or self.retries < 0:
            raise ValueError("max_tool_iterations should be at least 1, retries at least 0")


@dataclass(frozen=True, slots=True)
class LastRun:
    """How the last run of a client ended."""

    end: RunEnd
    stop_reason: StopReason | None
    """Why the last answer ended."""
    usage: Usage
    message: Message | None
    """The last answer."""
    error: AgentTuiError | None
    iterations: int


class _ClientJournal:
    """Keeps nothing; hands events to whoever receives."""

    def __init__(self) -> None:
        self.agent_id = new_id()
        self.run_id: str | None = None
        self.seq = 0
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()

    async def commit(self, *bodies: Body) -> None:
        """Show."""
        for body in bodies:
            self.emit(body)

    def emit(self, body: Body) -> None:
        """Show."""
        self.seq += 1
        self.events.put_nowait(Event(self.agent_id, self.run_id, self.seq, time.time(), body))


class Client:
    """One conversation with a model. Use it as an async context manager, or call `aclose`."""

    def __init__(self, options: AgentOptions) -> None:
        self.options = options
        self.last_run: LastRun | None = None
        self._conversation = Conversation()
        self._journal = _ClientJournal()
        self._registry = ToolRegistry(options.tools)
        self._http: httpx.AsyncClient | None = None
        self._loop: Loop | None = None
        self._task: asyncio.Task[RunEnded] | None = None
        self._event_loop: asyncio.AbstractEventLoop | None = None
        self._results: dict[str, ToolResult] = {}
        self._ready: list[ContentBlock] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def history(self) -> tuple[Message, ...]:
        """The whole messages so far, oldest first."""
        return self._conversation.messages

    def get_tool(self, name: str) -> Tool | None:
        """The tool of that name, when it was given."""
        return self._registry.get(name)

    def clear_history(self) -> None:
        """Begin anew. Raises RuntimeError while a run is going on."""
        self._refuse_while_running()
        self._conversation.clear()
        self._results.clear()

    def add_tool_result(self, call_id: str, content: str, *, is_error: bool = False) -> None:
        """Answer a call of the last message, then `send()`.

        Raises ValueError when no call with this id waits, or when it was answered before.
        """
        self._refuse_while_running()
        waiting = {call.id for call in self._conversation.unanswered()}
        if call_id not in waiting:
            known = ", ".join(sorted(waiting)) or "none"
            raise ValueError(f"no call with the id {call_id!r} waits for a result; waiting: {known}")
        if call_id in self._results:
            raise ValueError(f"the call {call_id!r} already has its result")
        self._results[call_id] = ToolResult(call_id, content, is_error)

    async def send(self, prompt: str | Sequence[Text | Image] | None = None) -> None:
        """Begin a run: with a prompt, or without one to go on after tool results.

        Raises `PromptBlocked` when a hook refuses the prompt, ValueError when there is nothing to send,
        RuntimeError while a run is going on. Returns at once; `receive` has the answer.
        """
        self._refuse_while_running()
        message = await self._message(prompt)
        self._take_results()
        last = self._conversation.messages[-1:]
        if message is None and (not last or last[0].role != "tool"):
            raise ValueError("there is nothing to send: give a prompt, or answer the calls first")
        self._ready.clear()
        self._journal.events = asyncio.Queue()
        self._journal.run_id = new_id()
        self._event_loop = asyncio.get_running_loop()
        loop = self._made_loop()
        loop.ended = loop.failure = None
        self._task = asyncio.create_task(loop.run(message))
        self._task.add_done_callback(partial(_end_of, self._journal.events))

    async def receive(self) -> ContentBlock | None:
        """The next piece of the answer; None at the end of the run.

        Text and reasoning come in pieces as they arrive, tool uses whole. An interrupt is a normal end.
        Raises the `ProviderError` that ended the run, after all that came before it.
        """
        while not self._ready:
            event = await self._next_event()
            if event is None:
                await self._finish()
                return None
            self._ready += _blocks(event.body)
        return self._ready.pop(0)

    async def events(self, prompt: str | Sequence[Text | Image] | None = None) -> AsyncGenerator[Event, None]:
        """Run and yield every event, live. An error ends the run, as `RunEnded` says; it is not raised."""
        await self.send(prompt)
        try:
            while (event := await self._next_event()) is not None:
                yield event
        finally:
            self.interrupt()
            with contextlib.suppress(AgentTuiError):
                await self._finish()

    def interrupt(self) -> bool:
        """Stop the run, from any task or thread; False when there is none."""
        task, loop = self._task, self._event_loop
        if task is None or task.done() or loop is None:
            return False
        loop.call_soon_threadsafe(task.cancel)
        return True

    async def aclose(self) -> None:
        """Stop and release the connection."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    # --- one run --------------------------------------------------------------------------------------------

    async def _next_event(self) -> Event | None:
        if self._task is None:
            raise RuntimeError("nothing was sent: call send() first")
        if self._task.done() and self._journal.events.empty():
            return None
        return await self._journal.events.get()

    async def _finish(self) -> None:
        if self._task is None or self._loop is None:
            return
        await asyncio.wait({self._task})
        ended = self._loop.ended
        if ended is None:
            if not self._task.cancelled():
                self._task.result()
            ended = RunEnded("interrupted", "by you", 0, Usage())
        answer = next((m for m in reversed(self.history) if m.role == "assistant"), None)
        self.last_run = LastRun(
            ended.end,
            answer.stop_reason if answer else None,
            ended.usage,
            answer,
            self._loop.failure,
            ended.iterations,
        )
        if self._loop.failure is not None:
            raise self._loop.failure

    async def _message(self, prompt: str | Sequence[Text | Image] | None) -> Message | None:
        if prompt is None:
            return None
        blocks = (Text(prompt),) if isinstance(prompt, str) else tuple(prompt)
        text = "".join(block.text for block in blocks if isinstance(block, Text))
        if not text.strip() and not any(isinstance(block, Image) for block in blocks):
            raise ValueError("the prompt is empty")
        verdict = await self.options.hooks.on_prompt(
            UserPromptSubmitEvent(text, self.history, self._journal.agent_id)
        )
        if verdict.blocked is not None:
            raise PromptBlocked(verdict.blocked)
        if verdict.prompt != text:
            blocks = (Text(verdict.prompt), *(block for block in blocks if isinstance(block, Image)))
        return Message("user", (*blocks, *(Text(context) for context in verdict.context)))

    def _take_results(self) -> None:
        calls = self._conversation.unanswered()
        if not calls:
            return
        missing = "not answered: the caller went on without a result"
        self._conversation.append(
            Message(
                "tool",
                tuple(self._results.get(call.id) or ToolResult(call.id, missing, True) for call in calls),
            )
        )
        self._results.clear()

    def _made_loop(self) -> Loop:
        if self._loop is not None:
            return self._loop
        options = self.options
        workspace = (options.workspace or Path.cwd()).resolve()
        calls = Calls(
            self._registry,
            options.hooks,
            OpenGate(options.permissions, workspace),
            self._journal,
            ToolContext(workspace, self._journal.agent_id),
        )
        settings = LoopSettings(
            model=options.model,
            system_prompt=options.system_prompt,
            tools=self._registry.specs,
            max_tokens=options.max_tokens,
            temperature=options.temperature,
            auto_execute_tools=options.auto_execute_tools,
            max_tool_iterations=options.max_tool_iterations,
            retries=options.retries,
        )
        self._loop = Loop(self._provider(), self._conversation, calls, self._journal, settings)
        return self._loop

    def _provider(self) -> ModelProvider:
        options = self.options
        if options.provider is not None:
            return options.provider
        self._http = http_client(connect_timeout=options.connect_timeout, idle_timeout=options.idle_timeout)
        key = None if options.api_key in {None, "", "not-needed"} else options.api_key
        return OpenAIProvider(self._http, options.base_url, key)

    def _refuse_while_running(self) -> None:
        if self._task is not None and not self._task.done():
            raise RuntimeError("a run is going on: receive it to its end, or interrupt it first")


async def query(prompt: str, options: AgentOptions) -> AsyncGenerator[ContentBlock, None]:
    """Ask once, without history; yield the blocks of the answer as they arrive. Raises `ProviderError`."""
    async with Client(options) as client:
        await client.send(prompt)
        while (block := await client.receive()) is not None:
            yield block


def _end_of(events: asyncio.Queue[Event | None], _task: asyncio.Task[RunEnded]) -> None:
    events.put_nowait(None)


def _blocks(body: Body) -> Sequence[ContentBlock]:
    match body:
        case TextDelta(text):
            return (Text(text),)
        case ReasoningDelta(text) if text:
            return (Reasoning(text),)
        case MessageCommitted(message) if message.role == "assistant":
            return message.tool_uses
        case _:
            return ()
