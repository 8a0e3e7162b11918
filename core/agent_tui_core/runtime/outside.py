"""Owns all the ways in which somebody outside ends a waiting call: socket, stored answers, a person's form.

Refuses to start programs and to know agents. The socket is opened by the first call that waits, and nothing
of it is imported before an agent has such a tool.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tui_core.blocks import JsonObject
from agent_tui_core.config.equipment import ExternalToolSettings
from agent_tui_core.errors import AgentTuiError, ToolError
from agent_tui_core.records import dataclass
from agent_tui_core.runtime.forms import Form, Forms
from agent_tui_core.runtime.report import ReportRow, ReportSection

if TYPE_CHECKING:
    from agent_tui_core.config.trusted_files import TrustedFiles
    from agent_tui_core.runtime.delivery import Delivery
    from agent_tui_core.runtime.delivery_socket import DeliverySocket
    from agent_tui_core.runtime.delivery_spool import Spool
    from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
    from agent_tui_core.tools.external import ExternalCalls, OutsideCall, Receipt

_INPUT_SHOWN: Final = 2_000
_EMPTY: Final = "No external tool is set up: [tools.NAME] in the settings file adds one. Its calls wait here."
FORM_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "result": {"type": "string", "title": "Result", "description": "What the model reads."},
        "is_error": {"type": "boolean", "title": "It failed", "default": False},
    },
    "required": ["result"],
}


@dataclass(frozen=True, slots=True)
class _SetUp:
    """One tool of the settings, and who has it."""

    name: str
    said: ExternalToolSettings
    base: Path
    root: Path | None
    trusted: TrustedFiles | None


class Outside:
    """What the session has to do with the world outside, for calls that wait for it."""

    def __init__(self, data_dir: Path, forms: Forms) -> None:
        self._data_dir = data_dir
        self._forms = forms
        self._tools: list[_SetUp] = []
        self._calls: ExternalCalls | None = None
        self._making = threading.Lock()
        self._opening = asyncio.Lock()
        self._socket: DeliverySocket | None = None
        self._spool: Spool | None = None
        self._taken: set[str] = set()

    @property
    def calls(self) -> ExternalCalls:
        """The calls of all agents; made at first use, which may be in a thread."""
        with self._making:
            if self._calls is None:
                from agent_tui_core.tools.external import ExternalCalls

                self._calls = ExternalCalls(self, self._data_dir)
            return self._calls

    def add(
        self,
        tools: Mapping[str, ExternalToolSettings],
        base: Path,
        root: Path | None = None,
        trusted: TrustedFiles | None = None,
    ) -> None:
        """Set up these tools: for the agents that work in `root`, or for all.

        A command that is a relative path counts from `base`.
        """
        self._tools += [_SetUp(name, said, base, root, trusted) for name, said in tools.items()]

    def tools(self, workspace: Path) -> Iterable[Tool]:
        """The tools of an agent that works there. A person's own tool goes before a project's of its name."""
        found: dict[str, Tool] = {}
        for each in self._tools:
            if each.name not in found and each.root in {None, workspace}:
                found[each.name] = self._tool(each)
        return found.values()

    def _tool(self, each: _SetUp) -> Tool:
        from agent_tui_core.tools.external import ExternalSpec

        said = each.said
        spec = ExternalSpec(
            each.name,
            said.description,
            said.input_schema,
            said.timeout,
            said.command,
            said.env_from,
            each.base,
            *(() if each.trusted is None else (each.trusted.doubt,)),
        )
        return self.calls.tool(spec)

    async def wait_again(self, tool: str, input: JsonObject, context: ToolContext) -> ToolOutput:
        """Wait on for a call that was started in an earlier life of the program."""
        return await self.calls.wait_again(tool, input, context)

    def goes_on(self, key: str, until: float) -> bool:
        """Whether to wait on for a call of an earlier life: it has time left, or has its answer."""
        return time.time() < until or self._kept().holds(key)

    def leave(self) -> None:
        """The program ends: what waits goes on in a later life."""
        if self._calls is not None:
            self._calls.leave()

    async def close(self) -> None:
        """End what is left here; call it when no agent runs any more."""
        if self._calls is None:
            return
        await self._calls.close()
        if self._socket is not None:
            await self._socket.close()
        for key in self._taken - self._calls.left:
            self._kept().drop(key)

    # --- one call that waits --------------------------------------------------------------------------------

    async def open(self, call: OutsideCall) -> Mapping[str, str]:
        """Listen; and take the answer that came while no program waited for it."""
        async with self._opening:
            if self._socket is None:
                from agent_tui_core.runtime.delivery_socket import DeliverySocket

                self._socket = await DeliverySocket.listen(self._data_dir, os.environ, self._deliver)
                await asyncio.to_thread(self._kept().tidy)
        if self._kept().holds(call.key):
            await self._take(call)
        return {"AGENT_TUI_SOCKET": str(self._socket.path), "AGENT_TUI_DATA_DIR": str(self._data_dir)}

    async def attend(self, call: OutsideCall) -> None:
        """Let a person answer in the place of somebody else."""
        said = json.dumps(dict(call.input), ensure_ascii=False, indent=1, default=dict)
        if len(said) > _INPUT_SHOWN:
            said = f"{said[:_INPUT_SHOWN]}…"
        while True:
            form = Form(
                "tool-result",
                f"tool {call.tool}",
                f"What is the result of {call.tool}? It was called with\n{said}",
                FORM_SCHEMA,
                agent_id=call.agent_id,
                call_key=call.key,
                urgent=False,
            )
            content = await self._forms.ask(form)
            if content is not None:
                self._give(call.key, content)

    def _give(self, key: str, content: JsonObject) -> None:
        result = str(content.get("result", ""))
        if content.get("is_error") is True:
            self.calls.fail(key, result)
        else:
            self.calls.deliver(key, result)

    def _deliver(self, delivery: Delivery) -> Receipt:
        from agent_tui_core.runtime.delivery import Failure, Progress, Result

        match delivery.outcome:
            case Result(value):
                return self.calls.deliver(delivery.call, value)
            case Failure(why):
                return self.calls.fail(delivery.call, why)
            case Progress(words):
                return self.calls.progress(delivery.call, words)

    async def _take(self, call: OutsideCall) -> None:
        delivery = await asyncio.to_thread(self._kept().get, call.key)
        if delivery is None:
            return
        self._taken.add(call.key)
        with suppress(ToolError):
            self._deliver(delivery)

    def _kept(self) -> Spool:
        if self._spool is None:
            from agent_tui_core.runtime.delivery_spool import Spool

            self._spool = Spool(self._data_dir)
        return self._spool

    # --- what a person sees ---------------------------------------------------------------------------------

    def report(self) -> ReportSection:
        """The calls that wait, and the tools that there are."""
        waiting = [_waiting_row(call) for call in (self._calls.waiting if self._calls is not None else ())]
        tools = [_tool_row(each) for each in self._tools]
        return ReportSection("External tools", (*waiting, *tools), _EMPTY)

    async def act(self, row_id: str) -> str:
        """Cancel a call that waits."""
        receipt = self.calls.cancel(row_id)
        if receipt.state != "accepted":
            raise AgentTuiError(receipt.words)
        return "The call was cancelled; its agent goes on without a result."


def _waiting_row(call: OutsideCall) -> ReportRow:
    since, until = (time.strftime("%H:%M:%S", time.localtime(at)) for at in (call.since, call.until))
    who = call.agent_name or call.agent_id
    detail = f"{who} · since {since} · until {until} · call {call.key}"
    return ReportRow(call.key, call.tool, "waiting", detail, verb="cancel")


def _tool_row(each: _SetUp) -> ReportRow:
    how = " ".join(each.said.command) if each.said.command else "a person or a script answers"
    where = f" · for agents in {each.root}" if each.root is not None else ""
    return ReportRow(f"tool {each.name}", each.name, "set up", f"{how} · {each.said.timeout:g} s{where}")
