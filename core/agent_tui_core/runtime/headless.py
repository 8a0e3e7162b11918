"""Owns a session that nobody watches: what goes in and out of it, when it is over, and with which exit code.

Refuses a terminal, options and signals: whoever starts it has them, and calls `stop`.
"""

from __future__ import annotations

import asyncio
import shlex
from functools import partial
from typing import Final

from agent_tui_core.agent.approvals import DenyCall
from agent_tui_core.agent.policy import NOBODY
from agent_tui_core.events import (
    Body,
    Event,
    Noticed,
    PromptReturned,
    RunEnd,
    RunEnded,
    StateChanged,
    WorkerClosed,
    WorkerFailed,
)
from agent_tui_core.processes.child import end_at_once
from agent_tui_core.runtime.commands import Commands, Reply
from agent_tui_core.runtime.orders import OrderId, OrderRefused, read_order
from agent_tui_core.runtime.outbox import Subscription
from agent_tui_core.runtime.pipes import LineReader
from agent_tui_core.runtime.printing import Printer
from agent_tui_core.runtime.session import Session
from agent_tui_core.runtime.worker import Worker

EXIT_COMPLETED: Final = 0
EXIT_FAILED: Final = 1
EXIT_LIMIT: Final = 3
EXIT_INTERRUPTED: Final = 130

UNTRUSTED: Final = "what this folder brings along (.agent-tui, AGENTS.md) is not trusted and not used"

_CODES: Final[dict[RunEnd, int]] = {
    "completed": EXIT_COMPLETED,
    "failed": EXIT_FAILED,
    "limit": EXIT_LIMIT,
    "interrupted": EXIT_INTERRUPTED,
}
_WORST_FIRST: Final = (EXIT_FAILED, EXIT_INTERRUPTED, EXIT_LIMIT)


class Headless:
    """One run of a session without a person."""

    def __init__(self, session: Session, printer: Printer) -> None:
        self._session = session
        self._printer = printer
        self._awake = asyncio.Event()
        self._listening: dict[str, tuple[Worker, Subscription]] = {}
        self._watched: dict[str, asyncio.Task[None]] = {}
        """For each busy agent a task that ends when it is idle."""
        self._ends: dict[str, int] = {}
        """What came of the last run of each agent, as an exit code."""
        self._forms: set[str] = set()
        """Those that were told and wait."""
        self._commands = Commands(session, self.stop)
        self._lines: asyncio.Queue[tuple[int, bytes | None] | None] = asyncio.Queue()
        self._input_open = False
        self._stopping = False
        self._code: int | None = None

    async def run(self, prompt: str | None, orders: int | None = None) -> int:
        """Follow the agents until nothing runs and no order can come; return the exit code.

        All of them get the prompt. `orders` is a descriptor with lines of JSON. Without both, the agents of a
        demo start with words of their own.
        """
        self._printer.opened(self._session)
        if self._session.offer is not None:
            folder = shlex.quote(str(self._session.offer.root))
            self._printer.told(f"{UNTRUSTED}; to see it and decide: agent-tui trust {folder}")
            await self._session.decide_project(False)
        for worker in self._session.workers:
            self._listen(worker)
        self._session.watch(self._awake.set)
        self._session.equipment.forms.watch(self._awake.set)
        carrying_out: asyncio.Task[None] | None = None
        if orders is not None:
            self._input_open = True
            carrying_out = asyncio.create_task(self._carry_out_lines(), name="orders")
            LineReader(orders, line=self._take_line, ended=partial(self._lines.put_nowait, None))
        if prompt is not None or orders is None:
            self._session.start(prompt)
        try:
            while self._goes_on():
                await self._awake.wait()
                self._awake.clear()
        finally:
            if tasks := [*self._watched.values(), *([carrying_out] if carrying_out else [])]:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
        code = self._exit_code()
        self._printer.closed(code)
        return code

    def stop(self, code: int | None = None) -> None:
        """Interrupt all runs, and end when they have ended: with this code, or with what came of them."""
        self._stopping = True
        self._code = code if self._code is None else self._code
        self._session.interrupt_all()
        self._awake.set()

    def hurry(self) -> None:
        """After `stop`: give what still ends no time."""
        end_at_once()
        for worker in self._session.workers:
            worker.hurry()

    # --- what comes out -------------------------------------------------------------------------------------

    def _listen(self, worker: Worker) -> None:
        """Follow an agent from now on; of what a resumed one tells of its past only notices are new."""
        subscription = worker.subscribe(self._awake.set, most=None)
        self._listening[worker.id] = worker, subscription
        for event in subscription.take():
            if isinstance(event.body, Noticed | PromptReturned):
                self._printer.happened(worker, event)

    def _meet_new_agents(self) -> None:
        for worker in self._session.workers:
            if worker.id not in self._listening:
                self._printer.added(worker)
                self._listen(worker)

    def _goes_on(self) -> bool:
        """Tell what happened; say whether there is more to come."""
        self._meet_new_agents()
        for worker, subscription in list(self._listening.values()):
            for event in subscription.take():
                self._happened(worker, event)
                if isinstance(event.body, WorkerClosed):
                    del self._listening[worker.id]
        self._tell_forms()
        if not self._input_open:
            self._answer_for_nobody()
        if self._stopping:
            self._session.interrupt_all()
        busy = self._watch()
        return busy or (self._input_open and not self._stopping)

    def _tell_forms(self) -> None:
        waiting = {form.id: form for form in self._session.equipment.forms.pending}
        for form_id in sorted(self._forms - waiting.keys()):
            self._printer.form_settled(form_id)
        for form_id, form in waiting.items():
            if form_id not in self._forms:
                self._printer.form_requested(form)
        self._forms = set(waiting)

    def _happened(self, worker: Worker, event: Event) -> None:
        code = _code_of(event.body)
        if code is not None:
            self._ends[worker.id] = code
        self._printer.happened(worker, event)

    def _watch(self) -> bool:
        """See to it that the end of each run wakes us: the last event comes a little before it."""
        busy = [worker for worker in self._session.workers if worker.busy]
        for worker in busy:
            if worker.id not in self._watched:
                task = asyncio.create_task(worker.idle())
                self._watched[worker.id] = task
                task.add_done_callback(partial(self._idle, worker.id))
        return bool(busy)

    def _idle(self, agent_id: str, _done: asyncio.Task[None]) -> None:
        self._watched.pop(agent_id, None)
        self._awake.set()

    def _exit_code(self) -> int:
        if self._code is not None:
            return self._code
        ends = set(self._ends.values())
        return next((code for code in _WORST_FIRST if code in ends), EXIT_COMPLETED)

    # --- what comes in --------------------------------------------------------------------------------------

    def _take_line(self, number: int, line: bytes | None) -> None:
        if line is None or line.strip():
            self._lines.put_nowait((number, line))

    async def _carry_out_lines(self) -> None:
        """One after the other: what a line makes, the next one may name."""
        while (numbered := await self._lines.get()) is not None:
            if not self._stopping:
                await self._carry_out(*numbered)
        self._input_open = False
        self._awake.set()

    async def _carry_out(self, number: int, line: bytes | None) -> None:
        order_id: OrderId | None = None
        try:
            if line is None:
                raise OrderRefused("the line is too long")
            order = read_order(line)
            order_id = order.id
            reply = await self._commands.do(order.verb, order_id)
        except OrderRefused as refused:
            order_id, reply = refused.id, Reply(error=refused.code, words=str(refused))
        self._meet_new_agents()
        if order_id is not None:
            self._printer.replied(order_id, reply)
        elif reply.error is not None:
            self._printer.refused(number, reply.words)

    def _answer_for_nobody(self) -> None:
        """The input ended: whoever could have answered is gone."""
        forms = self._session.equipment.forms
        for form in forms.pending:
            if form.kind == "elicitation":
                forms.answer(form.id, None)
        for request in self._session.desk.pending:
            words = f"{request.reason}, and {NOBODY}: the input ended"
            self._session.desk.answer(request.id, DenyCall(words, by="policy"))


def _code_of(body: Body) -> int | None:
    match body:
        case RunEnded(end=end):
            return _CODES[end]
        case WorkerFailed() | PromptReturned():
            return EXIT_FAILED
        case StateChanged(state="interrupted"):
            return EXIT_INTERRUPTED
        case _:
            return None
