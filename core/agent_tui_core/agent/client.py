"""Owns the library's way to one conversation: send, receive, answer calls, interrupt; refuses to keep it.

What happened is in `history` as long as the client lives; whoever wants it longer stores it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from agent_tui_core.agent.by_hand import CallsByHand
from agent_tui_core.agent.calls import Calls
from agent_tui_core.agent.conversation import Conversation
from agent_tui_core.agent.gate import OpenGate
from agent_tui_core.agent.loop import Loop, LoopSettings
from agent_tui_core.agent.options import AgentOptions
from agent_tui_core.agent.permissions import PermissionRules
from agent_tui_core.agent.prompts import Prompt, user_message
from agent_tui_core.agent.received import LastRun, Received, last_run
from agent_tui_core.agent.validity import problem_in
from agent_tui_core.blocks import ContentBlock
from agent_tui_core.errors import AgentTuiError
from agent_tui_core.events import Event, RunEnded
from agent_tui_core.messages import Message, Usage
from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.providers.choice import make_provider
from agent_tui_core.providers.direct import reads_certificates
from agent_tui_core.providers.http import http_client
from agent_tui_core.tools.base import Tool, ToolContext, as_output
from agent_tui_core.tools.registry import ToolRegistry, is_warm, warm_up

__all__ = ["AgentOptions", "Client", "LastRun", "Prompt", "query"]


class Client:
    """One conversation with a model. Use it as an async context manager, or call `aclose`.

    One run at a time: `send` begins it, `receive` follows it to its end. With `auto_execute_tools` a run goes
    on until the model calls no more tools. Without it a run ends when the caller is to run tools: `receive`
    gives the calls that hooks and permissions let through, with the input that hooks made of it,
    `add_tool_result` answers them, and the next `send` goes on. Calls that were denied or cannot be run are
    answered by the client itself; when all calls of an answer were, the run goes on by itself.
    """

    def __init__(self, options: AgentOptions) -> None:
        """Connects to nothing yet. Raises ValueError when two tools have one name."""
        self._options = options
        self._last_run: LastRun | None = None
        self._conversation = Conversation()
        self._received = Received(by_hand=not options.auto_execute_tools)
        self._registry = ToolRegistry(options.tools)
        workspace = (options.workspace or Path.cwd()).resolve()
        rules = options.permissions or PermissionRules()
        parts = (
            self._registry,
            options.hooks,
            OpenGate(options.permissions, workspace),
            self._received,
            ToolContext(
                workspace, self._received.agent_id, unreadable=partial(rules.unreadable, cwd=workspace)
            ),
        )
        self._by_hand = CallsByHand(*parts)
        self._calls = Calls(*parts) if options.auto_execute_tools else self._by_hand
        self._http: httpx.AsyncClient | None = None
        self._loop: Loop | None = None
        self._task: asyncio.Task[RunEnded] | None = None
        self._event_loop: asyncio.AbstractEventLoop | None = None
        self._sending = False
        self._stopped: asyncio.Task[RunEnded] | None = None
        """The run that an interrupt was asked for."""
        self._cancelled: asyncio.Task[RunEnded] | None = None
        self._told = False
        """The error of the run was raised."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def options(self) -> AgentOptions:
        """What this client was made with; another client is made for others."""
        return self._options

    @property
    def history(self) -> tuple[Message, ...]:
        """The whole messages so far, oldest first; changed by the methods below alone."""
        return self._conversation.messages

    @property
    def last_run(self) -> LastRun | None:
        """How the last run ended; None before the first end."""
        return self._last_run

    def get_tool(self, name: str) -> Tool | None:
        """The tool of that name, when it was given."""
        return self._registry.get(name)

    def clear_history(self) -> None:
        """Begin anew. Raises RuntimeError while a run is going on."""
        self._replace_history(())

    def load_history(self, messages: Iterable[Message]) -> None:
        """Go on from these messages, for example `history` of another client; what was there is forgotten.

        The calls of a last assistant message wait for `add_tool_result`, in automatic mode too. Raises
        ValueError, and changes nothing, when a provider would not accept them: each call has one result, in
        call order, right after its message, and no message is empty. RuntimeError while a run is going on.
        """
        loaded = tuple(messages)
        if (problem := problem_in(loaded)) is not None:
            raise ValueError(f"not a history: {problem}")
        self._replace_history(loaded)

    def keep_prompts(self, count: int) -> int:
        """Forget the oldest messages, all but the last `count` prompts and what came of them.

        Returns how many messages were forgotten; a call is never separated from its result. Raises ValueError
        when `count` is negative, RuntimeError while a run is going on.
        """
        if count < 0:
            raise ValueError("keep_prompts: the count should be 0 or more")
        history = self.history
        prompts = [index for index, message in enumerate(history) if message.role == "user"]
        if len(prompts) <= count:
            return 0
        first = prompts[-count] if count else len(history)
        self._refuse_while_running()
        self._replace_history(history[first:])
        return first

    def add_tool_result(self, call_id: str, content: object, *, is_error: bool = False) -> None:
        """Answer a call of the last answer; `send()` goes on when all have theirs.

        `content` is text, JSON data or a `ToolOutput`. PostToolUse hooks see it in the next `send`, before
        the model does; a call that still has no result then is answered as an error that says so. Raises
        ValueError when no call with this id waits, or when it was answered before; `ToolError` for content
        that is no JSON; RuntimeError while a run is going on.
        """
        self._refuse_while_running()
        output = as_output(content)
        self._by_hand.answer(call_id, replace(output, is_error=True) if is_error else output)

    async def send(self, prompt: Prompt | None = None) -> None:
        """Begin a run: with a prompt, or without one to go on after tool results.

        Runs the UserPromptSubmit hooks on the prompt and the PostToolUse hooks on the results that were
        added, and returns when the run has begun. After an interrupt it waits for that run's end, and drops
        what of it was not received. When it raises, nothing was sent and nothing is lost: `PromptBlocked`
        when a hook refuses the prompt, ValueError when there is nothing to send, RuntimeError while a run is
        going on, `ConfigError` when the address or key cannot be used.
        """
        async with self._one_at_a_time():
            message = None
            if prompt is not None:
                hooks, agent_id = self._options.hooks, self._received.agent_id
                message = await user_message(prompt, hooks, self.history, agent_id)
            last = self._conversation.messages[-1:]
            answers = await self._by_hand.settle(self.history)
            if message is None and answers is None and (not last or last[0].role == "assistant"):
                raise ValueError("there is nothing to send: give a prompt, or answer the calls first")
            loop = await self._made_loop()
            self._by_hand.adopt(())
            self._received.begin()
            self._told = False
            self._event_loop = asyncio.get_running_loop()
            began = len(self.history)
            self._task = asyncio.create_task(loop.run(message, answers))
            self._task.add_done_callback(lambda task: self._run_ended(task, loop, began))

    async def receive(self) -> ContentBlock | None:
        """The next piece of the answer; None at the end of the run, however often it is asked.

        Text and reasoning come in pieces as they arrive, tool uses whole. An interrupt is a normal end.
        Raises the `ProviderError` that ended the run, once, after all that came before it; RuntimeError when
        nothing was sent. Cancelling it loses nothing: the next one goes on.
        """
        self._refuse_without_run()
        block = await self._received.block()
        if block is None:
            await self._raise_failure()
        return block

    async def events(self, prompt: Prompt | None = None) -> AsyncGenerator[Event, None]:
        """Send, and yield every event of the run, live: retries, calls, results and its one `RunEnded`.

        An error ends the run, as `RunEnded` and `last_run` say; it is not raised. Closing the generator (use
        `contextlib.aclosing` when you may leave early) interrupts the run and waits for its end. Raises what
        `send` raises.
        """
        await self.send(prompt)
        try:
            while (event := await self._received.event()) is not None:
                yield event
        finally:
            self.interrupt()
            with contextlib.suppress(AgentTuiError):
                await self._raise_failure()

    def interrupt(self) -> bool:
        """Stop the run, from any task or thread; False when there is none.

        The connection is closed, running tools are ended, what came so far is kept in `history`; the receiver
        gets a normal end, and `send` can be called at once.
        """
        task, loop = self._task, self._event_loop
        if task is None or loop is None or task.done():
            return False
        self._stopped = task
        try:
            loop.call_soon_threadsafe(self._cancel, task)
        except RuntimeError:  # the event loop was closed meanwhile
            return False
        return True

    async def aclose(self) -> None:
        """Stop the run and release the connection; a provider that was given stays open."""
        try:
            if self.interrupt() and self._task is not None:
                await asyncio.wait({self._task})
        finally:
            http, self._http, self._loop = self._http, None, None
            if http is not None:
                await http.aclose()

    # --- one run --------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _one_at_a_time(self) -> AsyncIterator[None]:
        if self._task is not None and self._stopped is self._task and not self._sending:
            await asyncio.wait({self._task})
        self._refuse_while_running()
        self._sending = True
        try:
            yield
        finally:
            self._sending = False

    def _cancel(self, task: asyncio.Task[RunEnded]) -> None:
        """Cancel once: a second time would break into the closing of the connection."""
        if not task.done() and self._cancelled is not task:
            self._cancelled = task
            task.cancel()

    def _run_ended(self, task: asyncio.Task[RunEnded], loop: Loop, began: int) -> None:
        ended = loop.ended
        if ended is None and task.cancelled():
            ended = RunEnded("interrupted", "by you", 0, Usage())
        elif ended is None:
            ended = RunEnded("failed", f"a bug ended the run: {task.exception()!r}", 0, Usage())
        self._last_run = last_run(ended, self.history[began:], loop.failure)
        self._received.end()

    async def _raise_failure(self) -> None:
        if self._task is None or self._loop is None:
            return
        await asyncio.wait({self._task})
        if self._told:
            return
        self._told = True
        if not self._task.cancelled():
            self._task.result()
        if self._loop.failure is not None:
            raise self._loop.failure

    def _replace_history(self, messages: tuple[Message, ...]) -> None:
        self._refuse_while_running()
        self._conversation.clear()
        for message in messages:
            self._conversation.append(message)
        self._by_hand.adopt(self._conversation.unanswered())

    async def _made_loop(self) -> Loop:
        if self._loop is not None:
            return self._loop
        options = self._options
        slow = reads_certificates() or (bool(options.tools) and not is_warm())
        provider = await asyncio.to_thread(self._prepared) if slow else self._prepared()
        settings = LoopSettings(
            model=options.model,
            system_prompt=options.system_prompt,
            tools=self._registry,
            max_tokens=options.max_tokens,
            temperature=options.temperature,
            max_tool_iterations=options.max_tool_iterations,
            retries=options.retries,
            context_limit=options.context_limit,
        )
        self._loop = Loop(provider, self._conversation, self._calls, self._received, settings)
        return self._loop

    def _prepared(self) -> ModelProvider:
        """Make the provider, and do what takes a tenth of a second once: schemas and certificates."""
        options = self._options
        if options.tools:
            warm_up()
        if options.provider is not None:
            return options.provider
        if self._http is None:
            self._http = http_client(
                connect_timeout=options.connect_timeout, idle_timeout=options.idle_timeout
            )
        return make_provider(
            options.protocol,
            self._http,
            options.base_url,
            options.key,
            think_tags=options.think_tags,
            thinking=options.thinking,
        )

    def _refuse_while_running(self) -> None:
        if self._sending or (self._task is not None and not self._task.done()):
            raise RuntimeError("a run is going on: receive it to its end, or interrupt it first")

    def _refuse_without_run(self) -> None:
        if self._task is None:
            raise RuntimeError("nothing was sent: call send() first")


async def query(prompt: Prompt, options: AgentOptions) -> AsyncGenerator[ContentBlock, None]:
    """Ask once, without history; yield the blocks of the answer as they arrive.

    Use `contextlib.aclosing` when you may leave early: it hangs up at once. Raises what `Client.send` and
    `Client.receive` raise.
    """
    async with Client(options) as client:
        await client.send(prompt)
        while (block := await client.receive()) is not None:
            yield block
