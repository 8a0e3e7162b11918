"""Owns the person of the live soak: prompts, interrupts, stops, answers and renewed agents, all by one seed.

Refuses to judge: what went wrong is written down, and whoever measures asks for a rest.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import Final

from live_settings import profile_of

from agent_tui_core.agent.approvals import AllowAlways, AllowOnce, Answer, DenyCall
from agent_tui_core.events import ApprovalRequest
from agent_tui_core.runtime.session import Session
from agent_tui_core.runtime.worker import Worker

TURNS: Final = (6, 20)
"""Prompts to an agent before another takes its seat."""
HANGS_AFTER: Final = 180.0
"""Seconds after which a prompt that is still worked on counts as lost."""
STOP_ALL_EVERY: Final = 45.0


class Person:
    """Sits before the agents: each seat has one agent after the other."""

    def __init__(self, session: Session, seats: int, seed: int, acknowledged: Path) -> None:
        """Turns that ended well are noted in the file `acknowledged`: history has to know them."""
        self.session = session
        self.did: Counter[str] = Counter()
        self.complaints: list[str] = []
        self._seats, self._seed = seats, seed
        self._file = acknowledged.open("w")
        self._works = asyncio.Event()
        self._works.set()
        self._full = 0
        self._filling_is_over = asyncio.Event()
        """Until then every conversation becomes as long as any will be, and stays; a rest ends that too."""
        self._parked = 0
        self._changed = asyncio.Event()
        self._asked: dict[str, asyncio.TimerHandle] = {}
        self._dice = random.Random(seed)

    async def live(self) -> None:
        """Use all seats until cancelled."""
        self.session.desk.watch(self._look_at_desk)
        async with asyncio.TaskGroup() as group:
            for seat, worker in enumerate(self.session.workers):
                group.create_task(self._sit(seat, worker.id), name=f"seat {seat}")
            group.create_task(self._stop_all(), name="stop all")

    async def rest(self) -> None:
        """Return when every agent is idle and gone; nothing is begun before `go_on`."""
        self._works.clear()
        self._filling_is_over.set()
        while self._parked < self._seats:
            self._changed.clear()
            await self._changed.wait()

    def go_on(self) -> None:
        """Take new agents and prompt them, each for as long as chance has it."""
        self._works.set()

    def close(self) -> None:
        """Write what is left to write."""
        for timer in self._asked.values():
            timer.cancel()
        self._file.close()

    async def take_turns(self, worker: Worker, first: int, count: int, name: str = "keeps") -> None:
        """Take quick turns with one agent that is never renewed."""
        for turn in range(first, first + count):
            await self._turn(worker, f"{_prompt(name, turn)} quick")
            self._acknowledge(worker, name, turn)

    # --- one seat -------------------------------------------------------------------------------------------

    async def _sit(self, seat: int, agent_id: str) -> None:
        dice = random.Random(f"{self._seed} seat {seat}")
        life = 0
        while True:
            life += 1
            await self._converse(self._worker(agent_id), dice, f"s{seat}x{life}")
            await self.session.remove_worker(agent_id)
            self.did["agents renewed"] += 1
            if not self._works.is_set():
                self._parked += 1
                self._changed.set()
                await self._works.wait()
                self._parked -= 1
            agent_id = (await self.session.add_worker(profile_of(seat))).id

    def _worker(self, agent_id: str) -> Worker:
        return next(worker for worker in self.session.workers if worker.id == agent_id)

    async def _converse(self, worker: Worker, dice: random.Random, name: str) -> None:
        turn = 0
        fewest, most = TURNS
        fills = not self._filling_is_over.is_set()
        for _ in range(most if fills else dice.randint(fewest, most)):
            if not self._works.is_set():
                return
            await asyncio.sleep(dice.uniform(0.1, 3.0))
            turn += 1
            chance = dice.random()
            if chance < 0.70:
                await self._turn(worker, _prompt(name, turn))
                self._acknowledge(worker, name, turn)
            elif chance < 0.82:
                await self._interrupted(worker, _prompt(name, turn), dice.uniform(0.0, 4.0))
            elif chance < 0.89:
                turn += 1
                await self._redirected(
                    worker, _prompt(name, turn - 1), _prompt(name, turn), dice.uniform(0, 3)
                )
            elif chance < 0.96 or fills:
                turn += 1
                worker.prompt(_prompt(name, turn - 1))
                await self._turn(worker, _prompt(name, turn))
            else:
                worker.prompt(_prompt(name, turn))
                await asyncio.sleep(dice.uniform(0.0, 3.0))
                self.did["closed at work"] += 1
                return
        if fills:
            await self._filled()

    async def _filled(self) -> None:
        """Wait until the others are, too; from then on chance has its way."""
        self._full += 1
        if self._full == self._seats:
            self._filling_is_over.set()
        await self._filling_is_over.wait()

    async def _turn(self, worker: Worker, words: str) -> None:
        worker.prompt(words)
        self.did["prompts"] += 1
        await self._idle(worker)

    async def _interrupted(self, worker: Worker, words: str, after: float) -> None:
        worker.prompt(words)
        self.did["prompts"] += 1
        await asyncio.sleep(after)
        self.did["interrupts"] += worker.interrupt()
        await self._idle(worker)

    async def _redirected(self, worker: Worker, words: str, better: str, after: float) -> None:
        worker.prompt(words)
        await asyncio.sleep(after)
        worker.prompt_now(better)
        self.did["prompts"] += 2
        self.did["redirections"] += 1
        await self._idle(worker)

    async def _idle(self, worker: Worker) -> None:
        """Wait for the end of its run; what a stop left in its queue is taken back."""
        try:
            async with asyncio.timeout(HANGS_AFTER):
                while worker.busy:
                    await worker.idle()
        except TimeoutError:
            self.complaints.append(f"{worker.name} was {worker.state} for {HANGS_AFTER:g} s")
            worker.interrupt()
            await worker.idle()
        self.did[f"ended {worker.state}"] += 1
        for prompt in worker.queue:
            worker.unqueue(prompt.id)

    def _acknowledge(self, worker: Worker, name: str, turn: int) -> None:
        if worker.state == "idle":
            self._file.write(json.dumps([name, turn]) + "\n")

    # --- all of them ----------------------------------------------------------------------------------------

    async def _stop_all(self) -> None:
        while True:
            await asyncio.sleep(self._dice.uniform(0.5, 1.5) * STOP_ALL_EVERY)
            self.did["interrupts"] += self.session.interrupt_all()
            self.did["stops of all"] += 1

    def _look_at_desk(self) -> None:
        pending = {request.id: request for request in self.session.desk.pending}
        for gone in self._asked.keys() - pending.keys():
            self._asked.pop(gone).cancel()
        for key in pending.keys() - self._asked.keys():
            loop = asyncio.get_running_loop()
            after = self._dice.uniform(0.2, 4.0)
            self._asked[key] = loop.call_later(after, self._answer, pending[key])

    def _answer(self, request: ApprovalRequest) -> None:
        chosen = self._dice.choice((_once, _once, _always, _no, _no_because, _stop))(request)
        self.did["answers"] += self.session.desk.answer(request.id, chosen)


def _prompt(name: str, turn: int) -> str:
    return f"turn {name} {turn}"


def _once(_request: ApprovalRequest) -> Answer:
    return AllowOnce()


def _always(request: ApprovalRequest) -> Answer:
    return AllowOnce() if request.remember is None else AllowAlways(request.remember, "agent")


def _no(_request: ApprovalRequest) -> Answer:
    return DenyCall()


def _no_because(_request: ApprovalRequest) -> Answer:
    return DenyCall("not this time")


def _stop(_request: ApprovalRequest) -> Answer:
    return DenyCall(stop=True)
