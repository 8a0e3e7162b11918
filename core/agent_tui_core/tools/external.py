"""Owns the calls of tools whose result somebody else delivers: how each starts, waits and ended.

Refuses to know how an answer travels: whoever has one calls `deliver`, and a `Place` is told of each wait.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from agent_tui_core.blocks import JsonObject
from agent_tui_core.errors import ToolError
from agent_tui_core.processes.empty_folder import SAFE_START, empty_folder
from agent_tui_core.processes.environment import child_environment
from agent_tui_core.processes.project_words import script_from
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_text
from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
from agent_tui_core.tools.deferred import AsyncToolRegistry
from agent_tui_core.tools.errands import Errand, how_it_ended, program

LINGER = 10.0
"""Seconds that a program has to end by itself when its call has a result."""
ENDS_REMEMBERED = 1_000
PROGRESS_LIMIT = 20_000
"""Characters of progress that one call shows."""
INPUT_VARIABLE_LIMIT = 16_000
"""Bytes up to which the input stands in the environment too."""

Accepted: TypeAlias = Literal["accepted", "ended", "unknown"]


@dataclass(frozen=True, slots=True)
class ExternalSpec:
    """What a person's settings say of one such tool."""

    name: str
    description: str
    input_schema: JsonObject
    timeout: float
    """Seconds in which a result has to come."""
    command: tuple[str, ...] = ()
    """The program that is told of a call; empty: nobody is told."""
    env_from: tuple[str, ...] = ()
    base: Path = Path("/")
    """Where a command that is a relative path counts from."""
    doubt: Callable[[str], str] = lambda _: ""
    """Why this command line would not run what was trusted; empty: it would. Reads files."""


@dataclass(frozen=True, slots=True)
class OutsideCall:
    """One call that waits. Times are seconds since the epoch."""

    key: str
    tool: str
    input: JsonObject
    agent_id: str
    agent_name: str
    since: float
    until: float


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of an answer."""

    state: Accepted
    words: str
    """For whoever gave it; may hold the name of a tool."""


class Place(Protocol):
    """Where answers come in."""

    async def open(self, call: OutsideCall) -> Mapping[str, str]:
        """Make it possible to answer, before anybody is told; return variables for who is.

        Raises `ToolError`.
        """
        ...

    async def attend(self, call: OutsideCall) -> None:
        """Do what there is to do while the call waits; cancelled when it ended."""
        ...


@dataclass(slots=True)
class _Wait:
    call: OutsideCall
    report: Callable[[str], None]
    shown: int = 0
    """Characters of progress so far."""
    ended_as: str = ""
    """How it ended, where its output does not tell."""


class ExternalCalls:
    """The calls of all external tools of a session."""

    def __init__(self, place: Place, folder: Path | None = None) -> None:
        """Programs start in an empty folder, below `folder` so that it is there as long as they are."""
        self._place = place
        self._folder = folder
        self._registry = AsyncToolRegistry()
        self._waits: dict[str, _Wait] = {}
        self._ended: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self._lingering: set[asyncio.Task[None]] = set()
        self._leaving = False
        self.left: set[str] = set()
        """The calls that a later life waits for again."""

    @property
    def waiting(self) -> tuple[OutsideCall, ...]:
        """Oldest first."""
        return tuple(wait.call for wait in self._waits.values())

    def tool(self, spec: ExternalSpec) -> Tool:
        """The tool as an agent has it."""

        async def run(input: JsonObject, context: ToolContext) -> ToolOutput:
            return await self._wait(_call(spec.name, input, context, spec.timeout), context, spec)

        # It changes nothing here by itself, and must not hold up what does.
        return Tool(
            spec.name,
            spec.description,
            spec.input_schema,
            run,
            takes_context=True,
            writes=False,
            timeout=None,
            outside=spec.timeout,
        )

    async def wait_again(self, tool: str, input: JsonObject, context: ToolContext) -> ToolOutput:
        """Wait on for a call that was started in an earlier life of the program."""
        return await self._wait(_call(tool, input, context, 0.0), context, None)

    def deliver(self, key: str, value: object) -> Receipt:
        """Give a call its result: text or JSON data. Any thread; the first answer counts.

        Raises `ToolError` when the value cannot be made into text; the call stays open then.
        """
        return self._receipt(key, self._registry.complete(key, value))

    def fail(self, key: str, why: str) -> Receipt:
        """Say why a call has no result; the model reads it. Any thread; the first answer counts."""
        return self._receipt(key, self._registry.fail(key, why))

    def progress(self, key: str, words: str) -> Receipt:
        """Show in its card how far a call is; it waits on. On the loop's thread."""
        wait = self._waits.get(key)
        if wait is None or key not in self._registry.pending:
            return self._receipt(key, False)
        line = f"{safe_text(words[:PROGRESS_LIMIT]).strip()}\n"
        if wait.shown + len(line) > PROGRESS_LIMIT:
            return Receipt("accepted", "not shown: this call has shown enough; it waits on")
        wait.shown += len(line)
        wait.report(line)
        return Receipt("accepted", f"shown: {wait.call.tool} waits on")

    def cancel(self, key: str) -> Receipt:
        """End a wait because a person does not want it any more; the agent goes on."""
        return self._receipt(
            key, self._registry.cancel(key, "a person cancelled this call before a result came")
        )

    def leave(self) -> None:
        """The program ends: waits that are cancelled from now on go on in a later life."""
        self._leaving = True

    async def close(self) -> None:
        """End the programs whose calls ended; call it when nothing waits any more."""
        for task in self._lingering:
            task.cancel()
        if self._lingering:
            await asyncio.wait(self._lingering)

    # --- one call -------------------------------------------------------------------------------------------

    async def _wait(self, call: OutsideCall, context: ToolContext, spec: ExternalSpec | None) -> ToolOutput:
        self._registry.register(call.key)
        wait = self._waits[call.key] = _Wait(call, context.report)
        errand: Errand | None = None
        output: ToolOutput | None = None
        try:
            variables = await self._place.open(call)
            if spec is not None and (doubt := await asyncio.to_thread(spec.doubt, " ".join(spec.command))):
                raise ToolError(f"the program of {spec.name} was not started: {doubt}")
            if spec is not None and spec.command and call.key in self._registry.pending:
                errand = _send(spec, call, context.workspace, variables, self._folder)
            words = f"waiting for a result from outside, until {_clock(call)}"
            context.report(f"{words}\ncall {call.key}\n")
            output = await self._attended(wait, errand, context)
            return output
        finally:
            self._registry.forget(call.key)
            del self._waits[call.key]
            self._remember(wait, output)
            if errand is not None:
                await self._finish(errand, output)

    async def _attended(self, wait: _Wait, errand: Errand | None, context: ToolContext) -> ToolOutput:
        call = wait.call
        async with asyncio.TaskGroup() as group:
            attending = [group.create_task(self._place.attend(call))]
            if errand is not None:
                attending.append(group.create_task(self._follow(wait, errand, context)))
            output = await self._registry.wait(call.key, max(0.0, call.until - time.time()))
            for task in attending:
                task.cancel()
        if output.outcome == "timed_out":
            words = (
                f"no result of {call.tool} came from outside in time: it was waited for until {_clock(call)}"
            )
            return ToolOutput(words, is_error=True, outcome="timed_out")
        return output

    async def _follow(self, wait: _Wait, errand: Errand, context: ToolContext) -> None:
        """A program that failed will not answer; one that ended well may have handed the work over."""
        await errand.exited()
        if errand.exit_code == 0:
            context.report("its program ended; the call waits on\n")
            await errand.empty()
            return
        how = how_it_ended(errand.exit_code)
        words = f"the program of {wait.call.tool} {how} before a result came"
        if last := await errand.last_words():
            words = f"{words}. Its last output:\n{last}"
        if self._registry.fail(wait.call.key, words):
            wait.ended_as = f"failed (its program {how})"

    async def _finish(self, errand: Errand, output: ToolOutput | None) -> None:
        if output is None and self._leaving:
            errand.leave()
        elif output is None or output.outcome is not None:
            await errand.end()
        else:
            task = asyncio.create_task(errand.end(LINGER), name="an errand that lingers")
            self._lingering.add(task)
            task.add_done_callback(self._lingering.discard)

    # --- what became of it ----------------------------------------------------------------------------------

    def _remember(self, wait: _Wait, output: ToolOutput | None) -> None:
        if output is None and self._leaving:
            self.left.add(wait.call.key)
            return
        self._ended[wait.call.key] = (wait.ended_as or _ended_as(output), time.time())
        while len(self._ended) > ENDS_REMEMBERED:
            self._ended.popitem(last=False)

    def _receipt(self, key: str, accepted: bool) -> Receipt:
        wait = self._waits.get(key)
        if accepted:
            name = wait.call.tool if wait is not None else "the tool"
            return Receipt("accepted", f"delivered: {name} has its result, and its agent goes on")
        if (ended := self._ended.get(key)) is not None:
            return Receipt("ended", ended_words(*ended))
        if wait is not None:
            return Receipt("ended", "this call was settled just now; only the first answer counts")
        return Receipt("unknown", "no call with this id waits here")


def ended_words(how: str, at: float) -> str:
    """What is told to an answer that came too late."""
    return f"this call ended already: {how} at {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(at))}"


def _ended_as(output: ToolOutput | None) -> str:
    if output is None:
        return "interrupted"
    match output.outcome:
        case "timed_out":
            return "timed out"
        case "cancelled":
            return "cancelled by a person"
        case _:
            return "answered with an error" if output.is_error else "answered"


def _call(tool: str, input: JsonObject, context: ToolContext, timeout: float) -> OutsideCall:
    since = time.time() if context.since is None else context.since
    until = since + timeout if context.until is None else context.until
    return OutsideCall(context.call_key, tool, input, context.agent_id, context.agent_name, since, until)


def _clock(call: OutsideCall) -> str:
    return time.strftime("%H:%M:%S", time.localtime(call.until))


def _send(
    spec: ExternalSpec, call: OutsideCall, workspace: Path, variables: Mapping[str, str], folder: Path | None
) -> Errand:
    said = json.dumps(dict(call.input), default=dict).encode()
    environment = child_environment(os.environ, spec.env_from) | SAFE_START | dict(variables)
    environment |= {"AGENT_TUI_TOOL": call.tool, "AGENT_TUI_CALL_ID": call.key}
    environment["CLAUDE_PROJECT_DIR"] = str(workspace)
    if len(said) <= INPUT_VARIABLE_LIMIT:
        environment["AGENT_TUI_INPUT"] = said.decode()
    try:
        argv = script_from(spec.command, spec.base)
        argv[0] = program(argv[0], spec.base)
        return Errand(argv, empty_folder(folder), environment, said)
    except (ToolError, OSError) as error:
        raise ToolError(f"the program of {spec.name} could not be started: {error}") from error
