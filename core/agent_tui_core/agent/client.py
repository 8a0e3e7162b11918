"""Owns the library's way to one conversation: send, receive, answer calls, interrupt; refuses to keep it.

What happened is in `history` as long as the client lives; whoever wants it longer stores it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from agent_tui_core.agent.by_hand import CallsByHand
from agent_tui_core.agent.calls import Answers, Calls
from agent_tui_core.agent.client_run import ClientRun, Sending
from agent_tui_core.agent.conversation import Conversation
from agent_tui_core.agent.gate import OpenGate
from agent_tui_core.agent.loop import Loop, LoopSettings
from agent_tui_core.agent.options import AgentOptions
from agent_tui_core.agent.permissions import PermissionRules
from agent_tui_core.agent.prompts import Prompt, user_message
from agent_tui_core.agent.received import LastRun, Received
from agent_tui_core.agent.run import overhead
from agent_tui_core.agent.validity import problem_in
from agent_tui_core.blocks import ContentBlock
from agent_tui_core.errors import AgentTuiError
from agent_tui_core.events import Event
from agent_tui_core.messages import Message
from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.providers.choice import make_provider
from agent_tui_core.providers.direct import reads_certificates
from agent_tui_core.providers.extras import ServerExtras
from agent_tui_core.providers.http import http_client
from agent_tui_core.tools.base import Tool, ToolContext, as_output
from agent_tui_core.tools.registry import ToolRegistry, is_warm, warm_up

__all__ = ["AgentOptions", "Client", "LastRun", "Prompt", "query"]


class Client:
    """One conversation with a model. Use it as an async context manager, or call `aclose`.

    One run at a time: `send` begins it, `receive` follows it to its end, and a `send` before that end waits
    for it. With `auto_execute_tools` a run goes
    on until the model calls no more tools. Without it a run ends when the caller is to run tools: `receive`
    gives the calls that hooks and permissions let through, with the input that hooks made of it,
    `add_tool_result` answers them, and the next `send` goes on. Calls that were denied or cannot be run are
    answered by the client itself; when all calls of an answer were, the run goes on by itself.
    """

    def __init__(self, options: AgentOptions) -> None:
        """Connects to nothing yet. Raises ValueError when two tools have one name."""
        self._options = options
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
        self._run: ClientRun | None = None
        """The one that was sent last."""
        self._before: LastRun | None = None
        """The end of the run before it."""
        self._turn = asyncio.Lock()
        """Whoever sends holds it until the run has begun."""
        self._sending: Sending | None = None
        self._closings = 0

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
        ended = None if self._run is None else self._run.ended
        return self._before if ended is None else ended

    @property
    def context_tokens(self) -> int:
        """Tokens of the next request, before its prompt: counted by the server, plus a guess of the rest."""
        return self._conversation.size(overhead(self._options.system_prompt, self._registry))

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

        While a run is going on it first waits for that run's end; what of it was not received stands in
        `history`, and how it ended in `last_run`. Then it runs the UserPromptSubmit hooks on the prompt and
        the PostToolUse hooks on the results that were added, and returns when the run has begun. Of several
        tasks that send, each has its turn.

        When it raises, nothing was sent and nothing is lost: `PromptBlocked` when a hook refuses the prompt,
        ValueError when there is nothing to send, `ConfigError` when the address or key cannot be used,
        RuntimeError when the client is closed meanwhile, or when a tool or a hook of this very run sends.
        """
        await self._begin(prompt)

    async def receive(self) -> ContentBlock | None:
        """The next piece of the answer; None at the end of the run, however often it is asked.

        It follows the run that was sent last. Text and reasoning come in pieces as they arrive, tool uses
        whole. An interrupt is a normal end. Raises the `ProviderError` that ended the run, once, after all
        that came before it; RuntimeError when nothing was sent. Cancelling it loses nothing: the next one
        goes on.
        """
        run = self._run
        if run is None:
            raise RuntimeError("nothing was sent: call send() first")
        block = await run.reception.block()
        if block is None:
            await run.raise_failure()
        return block

    async def events(self, prompt: Prompt | None = None) -> AsyncGenerator[Event, None]:
        """Send, and yield every event of the run, live: retries, calls, results and its one `RunEnded`.

        It follows its own run, also when another is sent meanwhile. An error ends the run, as `RunEnded` and
        `last_run` say; it is not raised. Closing the generator (use `contextlib.aclosing` when you may leave
        early) interrupts the run and waits for its end. Raises what `send` raises.
        """
        run = await self._begin(prompt)
        try:
            while (event := await run.reception.event()) is not None:
                yield event
        finally:
            run.interrupt()
            with contextlib.suppress(AgentTuiError):
                await run.raise_failure()

    def interrupt(self) -> bool:
        """Stop the run, from any task or thread; False when there is none.

        The connection is closed, running tools are ended, what came so far is kept in `history`; the receiver
        gets a normal end, and `send` can be called at once. A run that is just being sent ends as it begins.
        """
        sending = self._sending
        if sending is not None:
            sending.interrupted = True
        going_on = self._run is not None and self._run.interrupt()
        return going_on or sending is not None

    async def aclose(self) -> None:
        """Stop the run and release the connection; a provider that was given stays open."""
        self._closings += 1
        try:
            if self._run is not None and self._run.interrupt():
                await self._run.over()
        finally:
            await self._release()

    # --- one run --------------------------------------------------------------------------------------------

    async def _begin(self, prompt: Prompt | None) -> ClientRun:
        self._refuse_inside()
        closings = self._closings
        async with self._turn:
            if self._run is not None:
                await self._run.over()
            with self._sent() as sending:
                message, answers = await self._outgoing(prompt)
                loop = await self._made_loop()
                if self._closings != closings:
                    await self._release()
                    raise RuntimeError("the client was closed meanwhile: nothing was sent")
                self._by_hand.adopt(())
                self._before = self.last_run
                self._run = run = ClientRun(loop, self._conversation, self._received.begin())
                run.begin(message, answers)
                if sending.interrupted:
                    run.interrupt()
        return run

    @contextlib.contextmanager
    def _sent(self) -> Iterator[Sending]:
        self._sending = sending = Sending()
        sending.within.enter()
        try:
            yield sending
        finally:
            sending.within.leave()
            self._sending = None

    async def _outgoing(self, prompt: Prompt | None) -> tuple[Message | None, Answers | None]:
        """What hooks make of the prompt and the results; raises ValueError when that is nothing."""
        message = None
        if prompt is not None:
            hooks, agent_id = self._options.hooks, self._received.agent_id
            message = await user_message(prompt, hooks, self.history, agent_id)
        last = self._conversation.messages[-1:]
        answers = await self._by_hand.settle(self.history)
        if message is None and answers is None and (not last or last[0].role == "assistant"):
            raise ValueError("there is nothing to send: give a prompt, or answer the calls first")
        return message, answers

    async def _release(self) -> None:
        http, self._http, self._loop = self._http, None, None
        if http is not None:
            await http.aclose()

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
            options=options.request_options,
            max_tool_iterations=options.max_tool_iterations,
            retries=options.retries,
            progress_timeout=options.progress_timeout,
            key_name=None if options.key is None and options.provider is None else "",
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
            extras=ServerExtras(secret_headers=options.headers),
        )

    def _refuse_while_running(self) -> None:
        if self._sending is not None or (self._run is not None and self._run.going_on):
            raise RuntimeError("a run is going on: receive it to its end, or interrupt it first")

    def _refuse_inside(self) -> None:
        if self._inside():
            raise RuntimeError("a tool or hook sends to the client that runs it: that would wait for itself")

    def _inside(self) -> bool:
        sending, run = self._sending, self._run
        if sending is not None and sending.within.holds_us:
            return True
        return run is not None and run.going_on and run.within.holds_us


async def query(prompt: Prompt, options: AgentOptions) -> AsyncGenerator[ContentBlock, None]:
    """Ask once, without history; yield the blocks of the answer as they arrive.

    Use `contextlib.aclosing` when you may leave early: it hangs up at once. Raises what `Client.send` and
    `Client.receive` raise.
    """
    async with Client(options) as client:
        await client.send(prompt)
        while (block := await client.receive()) is not None:
            yield block
