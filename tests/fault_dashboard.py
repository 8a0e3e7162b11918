"""Owns one dashboard that meets broken networks, and the invariants that are looked at after each of them.

One dashboard for each layer: `ann` meets one fault after the other, `bob` streams from a healthy server the
whole time. After each fault the invariants are looked at, and `ann` has to answer a further prompt.
Refuses to know what a fault is: `fault_rows` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from textual import events
from textual.widgets import TextArea

from agent_tui.app import AgentTuiApp
from agent_tui_core.agent import loop as loop_room
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, Plan, plan
from agent_tui_core.providers import http as http_room
from agent_tui_core.runtime.entries import EndEntry, ProseEntry, ToolEntry, UserEntry
from agent_tui_core.runtime.session import Session, open_session
from agent_tui_core.runtime.worker import Worker
from dashboard_pilot import Driver
from fault_kinds import GOOD, SECRET, Fault
from fault_server import FaultServer
from loopback import DONE, Answer, LoopbackServer, Request, finish, text
from sessions import Reader
from strict_validator import check_chat_request

MOST_LAG = 0.5 if sys.flags.dev_mode else 0.1
"""Seconds of work, by the thread's own clock, that may stand between a key and its effect."""
MOST_MEMORY = 300 * 2**20
"""Bytes that the whole table may add to the largest size of this process."""


@dataclass
class Lag:
    """How long the event loop's thread was busy between two turns."""

    worst: float = 0.0
    _task: asyncio.Task[None] | None = field(default=None, repr=False)

    async def watch(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.002)
            self.worst = max(self.worst, time.thread_time() - before)


@contextlib.asynccontextmanager
async def lag() -> AsyncIterator[Lag]:
    measured = Lag()
    task = asyncio.create_task(measured.watch())
    try:
        yield measured
    finally:
        task.cancel()
        await asyncio.wait({task})


def planned(folder: Path, faulty: str, healthy: str) -> Plan:
    environ = {
        "AGENT_TUI_DATA_DIR": str(folder / "data"),
        "AGENT_TUI_CONFIG_DIR": str(folder / "config"),
        "FAULT_KEY": SECRET,
    }
    (folder / "workspace").mkdir()
    (folder / "config").mkdir()
    (folder / "config" / "config.toml").write_text(
        f"""
        [providers.faulty]
        base_url = "{faulty}"
        api_key_env = "FAULT_KEY"
        [providers.healthy]
        base_url = "{healthy}"
        [agents.ann]
        provider = "faulty"
        model = "m"
        [agents.bob]
        provider = "healthy"
        model = "m"
        [dashboard]
        agents = ["ann", "bob"]
        """
    )
    flags = Flags(workspace=folder / "workspace")
    return plan(load_settings(None, environ=environ), flags, environ)


def endless(_request: Request) -> Answer:
    def pieces() -> Iterator[bytes | float]:
        for number in range(100_000):
            yield text(f"bob {number} ")
            yield 0.02
        yield finish() + DONE

    return Answer(lazily=pieces())


@dataclass
class Table:
    """One dashboard, and what went wrong on it."""

    driver: Driver
    session: Session
    server: FaultServer
    complaints: list[str] = field(default_factory=list)
    patience: float = 20.0
    """Seconds that a fault may take."""

    @property
    def ann(self) -> Worker:
        return self.session.workers[0]

    async def meet(self, fault: Fault) -> None:
        reader = Reader(self.ann)
        told = len(reader.read().entries)
        requests = len(self.server.requests)
        bob = Reader(self.session.workers[1]).read().characters
        self.server.play(*fault.scenario)
        self.server.play(GOOD, times=2)
        async with lag() as measured:
            self.ann.prompt(f"please: {fault.name}")
            await self._typed()
            async with asyncio.timeout(self.patience):
                await self.ann.idle()
        transcript = reader.read()
        new = transcript.entries[told:]
        ends = [entry.end for entry in new if isinstance(entry, EndEntry)]
        kept = "".join(entry.text for entry in new if isinstance(entry, ProseEntry))
        self._hold(fault, "end", ends == ([fault.end] if fault.end in ("failed", "limit") else []), ends)
        self._hold(
            fault,
            "state",
            transcript.state == (fault.end if ends else "idle"),
            transcript.state,
        )
        self._hold(
            fault,
            "text",
            (fault.keeps or ("All well." if fault.end == "retried" else "")) in kept,
            kept[-80:],
        )
        self._hold(fault, "lag", measured.worst < MOST_LAG, f"{measured.worst:.3f} s")
        for request in self.server.requests[requests:]:
            check_chat_request(json.loads(request.partition(b"\r\n\r\n")[2]))
        await self._look(fault)
        self._hold(fault, "bob goes on", Reader(self.session.workers[1]).read().characters > bob, bob)
        self.server.forget()
        await self._goes_on(fault)

    async def _typed(self) -> None:
        """Keys are answered while it happens."""
        box = self.driver.screen.prompt
        async with asyncio.timeout(5):
            for key in ("k", "y", "backspace", "backspace"):
                before = box.text
                self.driver.app.post_message(events.Key(key, key if len(key) == 1 else None))
                while box.text == before:
                    await asyncio.sleep(0.002)

    async def _look(self, fault: Fault) -> None:
        """What a person reads: words for the state and the reason, no traceback, no key."""
        await self.driver.drawn()
        says = "".join(fault.says.split()).casefold() if fault.end == "failed" else ""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                while says not in "".join(self.driver.text().split()).replace("│", "").casefold():
                    await self.driver.drawn()
                says = ""
        screen = " ".join(self.driver.text().replace("│", " ").split())
        if fault.end == "failed":
            self._hold(fault, "words", not says, screen[-300:])
            self._hold(fault, "state in words", "failed" in screen, screen[:200])
        for forbidden in ("Traceback", SECRET, "\x1b"):
            self._hold(fault, f"no {forbidden!r} on the screen", forbidden not in screen, screen[:400])

    async def _goes_on(self, fault: Fault) -> None:
        self.driver.screen.prompt.query_one(TextArea).text = ""
        self.server.play(GOOD)
        self.ann.prompt("and now?")
        async with asyncio.timeout(20):
            await self.ann.idle()
        self._hold(fault, "usable at once", self.ann.state == "idle", self.ann.state)
        self.server.forget()

    def _hold(self, fault: Fault, claim: str, holds: bool, found: object) -> None:
        if not holds:
            self.complaints.append(f"{fault.name}: {claim}: {found}")


@contextlib.asynccontextmanager
async def table(folder: Path) -> AsyncIterator[Table]:
    async with FaultServer() as server, LoopbackServer(endless) as healthy:
        made = planned(folder, server.base_url, healthy.base_url)
        async with open_session(made) as session:
            app = AgentTuiApp(session)
            async with app.run_test(size=(180, 60)) as pilot:
                driver = Driver(app, pilot, session)  # type: ignore[arg-type]
                session.workers[1].prompt("go on for ever")
                await driver.until(lambda: "bob 1 " in driver.text())
                found = Table(driver, session, server)
                yield found
                session.workers[1].interrupt()
                async with asyncio.timeout(10):
                    await session.workers[1].idle()
        assert server.open_now == 0 or await _closed(server)
        for file in (*made.data_dir.rglob("*"), *made.config_dir.rglob("*")):
            if file.is_file():
                assert SECRET.encode() not in file.read_bytes(), file.name


async def _closed(server: FaultServer) -> bool:
    async with asyncio.timeout(5):
        while server.open_now:
            await asyncio.sleep(0.01)
    return True


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same program with less patience: 0.4 s of silence in place of five minutes."""
    monkeypatch.setattr(loop_room, "FIRST_DELAY", 0.01)
    client = functools.partial(http_room.http_client, connect_timeout=2.0, idle_timeout=0.4)
    monkeypatch.setattr(http_room, "http_client", client)
    monkeypatch.setenv("FAULT_KEY", SECRET)


def remembered(worker: Worker) -> list[str]:
    """What history has to know of an agent, as a person reads it."""
    told: list[str] = []
    for entry in Reader(worker).read().entries:
        match entry:
            case UserEntry(text):
                told.append(text)
            case ProseEntry(kind) if entry.text:
                told.append(f"{kind} {entry.text[-200:]}")
            case ToolEntry(name, call_id):
                told.append(f"{name} {call_id} {entry.status}")
            case EndEntry(end, reason):
                told.append(f"{end} {reason}")
            case _:
                pass
    return told
