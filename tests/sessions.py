"""Sessions for tests: a plan on a loopback server, and waiting for what happens; refuses to sleep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from agent_tui_core.agent import approvals
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, Plan, plan
from agent_tui_core.runtime.session import Session
from agent_tui_core.runtime.transcript import Transcript
from agent_tui_core.runtime.worker import Worker
from loopback import DONE, Answer, finish, text, tool_call, usage

ALLOW = approvals.AllowOnce()


class Reader:
    """Follows one agent as a pane does."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.transcript = Transcript()
        self._awake = asyncio.Event()
        self._subscription = worker.subscribe(self._awake.set)

    def read(self) -> Transcript:
        self.transcript.apply(self._subscription.take())
        return self.transcript

    async def until(self, claim: Callable[[Transcript], bool]) -> Transcript:
        async with asyncio.timeout(10):
            while not claim(self.read()):
                self._awake.clear()
                await self._awake.wait()
        return self.transcript


def planned(base_url: str, folder: Path, **flags: object) -> Plan:
    environ = {"AGENT_TUI_DATA_DIR": str(folder / "data"), "AGENT_TUI_CONFIG_DIR": str(folder / "config")}
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    chosen = Flags(base_url=base_url, model="m", workspace=workspace, **flags)  # type: ignore[arg-type]
    return plan(load_settings(None, environ=environ), chosen, environ)


def tool_answer(name: str, arguments: dict[str, object], *, id: str = "call_1") -> Answer:
    return Answer(text("On it. "), tool_call(id, name, arguments), finish("tool_calls"), usage(10, 5), DONE)


async def settled(session: Session) -> None:
    async with asyncio.timeout(30):
        for worker in session.workers:
            await worker.idle()


async def waiting(session: Session, count: int = 1) -> None:
    changed = asyncio.Event()
    session.desk.watch(changed.set)
    async with asyncio.timeout(10):
        while len(session.desk.pending) < count:
            changed.clear()
            await changed.wait()


async def answer_all(session: Session, answer: approvals.Answer = ALLOW) -> list[str]:
    """Give every question this answer until no agent runs; return the tools that were asked about."""
    asked: list[str] = []
    changed = asyncio.Event()
    session.desk.watch(changed.set)
    idle = asyncio.ensure_future(settled(session))
    idle.add_done_callback(lambda _done: changed.set())
    while not idle.done():
        changed.clear()
        for request in session.desk.pending:
            asked.append(request.tool)
            session.desk.answer(request.id, answer)
        await changed.wait()
    await idle
    return asked
