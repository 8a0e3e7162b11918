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
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import pytest
from textual import events
from textual.widgets import TextArea

from agent_tui.app import AgentTuiApp
from agent_tui.screens import tidying
from agent_tui_core.agent import requesting as requesting_room
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, Plan, plan
from agent_tui_core.processes.output import OUTPUT_LIMIT
from agent_tui_core.providers import http as http_room
from agent_tui_core.runtime.entries import EndEntry, ProseEntry, ToolEntry, UserEntry
from agent_tui_core.runtime.session import HISTORY_FILE, Session, open_session
from agent_tui_core.runtime.worker import Worker
from dashboard_pilot import Driver
from fault_kinds import GOOD, SECRET, Fault
from fault_server import FaultServer, chunked
from fault_tls import certificates, trusted
from fault_work import Place, WorkFault
from loopback import DONE, Answer, LoopbackServer, Request, finish, text, tool_call, usage
from sessions import Reader
from strict_validator import check_chat_request

MOST_LAG = 0.5 if sys.flags.dev_mode else 0.1
"""Seconds of work, by the thread's own clock, that may stand between a key and its effect."""
MOST_TOLD: Final = OUTPUT_LIMIT + 2_000
"""Characters that the model may get back of one call: its output, and the words beside it."""

AnyFault: TypeAlias = Fault | WorkFault
_Met = TypeVar("_Met", Fault, WorkFault)


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


def planned(folder: Path, faulty: str, healthy: str, more: str) -> Plan:
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
        + more
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

    async def meet_all(self, faults: Sequence[_Met], meet: Callable[[_Met], Awaitable[None]]) -> None:
        """Meet each; one that held up the keys once more, since other programs slow the machine down too."""
        for fault in faults:
            await meet(fault)
        held_up = {
            complaint.partition(": lag: ")[0] for complaint in self.complaints if ": lag: " in complaint
        }
        self.complaints = [each for each in self.complaints if ": lag: " not in each]
        for fault in faults:
            if fault.name in held_up:
                await meet(fault)

    async def meet(self, fault: Fault) -> None:
        """Have a broken network, and look at what came of it."""
        reader = Reader(self.ann)
        told = len(reader.read().entries)
        requests = len(self.server.requests)
        bob = Reader(self.session.workers[1]).read().characters
        self.server.play(*fault.scenario)
        self.server.play(GOOD, times=2)
        worst = await self._asked(fault)
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
        await self._held_together(fault, worst, requests, bob)

    async def meet_work(self, fault: WorkFault, place: Place) -> None:
        """Have a call that goes wrong, and look at what came of it."""
        reader = Reader(self.ann)
        told = len(reader.read().entries)
        requests = len(self.server.requests)
        bob = Reader(self.session.workers[1]).read().characters
        call = tool_call(f"call_{told}", *fault.call)
        self.server.play(chunked(text("I try. "), call, finish("tool_calls"), usage(10, 5), DONE))
        self.server.play(GOOD, times=2)
        fault.before(place)
        meanwhile = asyncio.ensure_future(fault.meanwhile(place))
        worst = await self._asked(fault)
        meanwhile.cancel()
        [broke] = await asyncio.gather(meanwhile, return_exceptions=True)
        self._hold(fault, "what happened meanwhile", not isinstance(broke, BaseException), repr(broke))
        transcript = reader.read()
        new = transcript.entries[told:]
        calls = [entry for entry in new if isinstance(entry, ToolEntry)]
        ends = [entry.end for entry in new if isinstance(entry, EndEntry)]
        results = " ".join(str(entry.result) for entry in calls if entry.result).casefold()
        self._hold(fault, "status", [entry.status for entry in calls] == [fault.status], calls)
        self._hold(fault, "told", fault.tells.casefold() in results, results[-200:])
        told_size = sum(len(entry.result.content) for entry in calls if entry.result)
        self._hold(fault, "what is told is bounded", told_size <= MOST_TOLD, told_size)
        self._hold(fault, "end", (ends or ["completed"]) == [fault.end], ends)
        await self._held_together(fault, worst, requests, bob)

    async def _asked(self, fault: AnyFault) -> float:
        """Ask, type while it happens, and wait; the longest that the event loop was busy, in seconds."""
        async with lag() as measured:
            self.ann.prompt(f"please: {fault.name}")
            await self._typed()
            try:
                async with asyncio.timeout(self.patience):
                    await self.ann.idle()
            except TimeoutError:
                self._hold(fault, "an end", False, self.driver.text()[-1500:])
                self.ann.interrupt()
                await self.ann.idle()
        return measured.worst

    async def _held_together(self, fault: AnyFault, worst: float, requests: int, bob: int) -> None:
        """What holds after each fault."""
        self._hold(fault, "lag", worst < MOST_LAG, f"{worst:.3f} s")
        for request in self.server.requests[requests:]:
            check_chat_request(json.loads(request.partition(b"\r\n\r\n")[2]))
        await self._look(fault)
        self._hold(fault, "bob goes on", Reader(self.session.workers[1]).read().characters > bob, bob)
        self.server.forget()
        await self._goes_on(fault)

    async def _typed(self) -> None:
        """Keys are answered while it happens."""
        box = self.driver.app.dashboard.prompt
        async with asyncio.timeout(5):
            for key in ("k", "y", "backspace", "backspace"):
                before = box.text
                self.driver.app.post_message(events.Key(key, key if len(key) == 1 else None))
                while box.text == before:
                    await asyncio.sleep(0.002)

    async def _look(self, fault: AnyFault) -> None:
        """What a person reads: words for the state and the reason, no traceback, no key."""
        await self.driver.drawn()
        says = "".join(fault.says.split()).casefold() if fault.end in {"failed", "retried"} else ""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                while says not in "".join(self.driver.text().split()).replace("│", "").casefold():
                    await self.driver.drawn()
                says = ""
        screen = " ".join(self.driver.text().replace("│", " ").split())
        self._hold(fault, "words", not says, screen[-300:])
        if fault.end == "failed":
            self._hold(fault, "state in words", "failed" in screen, screen[:200])
        for forbidden in ("Traceback", SECRET, "\x1b"):
            self._hold(fault, f"no {forbidden!r} on the screen", forbidden not in screen, screen[:400])

    async def _goes_on(self, fault: AnyFault) -> None:
        self.driver.app.dashboard.prompt.query_one(TextArea).text = ""
        self.server.play(GOOD)
        self.ann.prompt("and now?")
        async with asyncio.timeout(20):
            await self.ann.idle()
        self._hold(fault, "usable at once", self.ann.state == "idle", self.ann.state)
        self.server.forget()

    def _hold(self, fault: AnyFault, claim: str, holds: bool, found: object) -> None:
        if not holds:
            self.complaints.append(f"{fault.name}: {claim}: {found}")


WORK_RULES: Final = """
[permissions]
allow = ["Bash", "Grep", "Glob"]
deny = ["Bash(curl *)", "Write(secret.txt)"]
[[hooks.PreToolUse]]
matcher = "Glob"
command = "sh {hook}"
timeout = 0.5
"""


@contextlib.asynccontextmanager
async def work_table(folder: Path) -> AsyncIterator[tuple[Table, Place]]:
    """The same for calls that go wrong; no process may be left of them."""
    hook, before = folder / "hook.sh", descendants()
    async with table(folder, WORK_RULES.format(hook=hook)) as tried:
        workspace = folder / "workspace"
        (workspace / "notes.md").write_text("# Notes\n")
        yield tried, Place(tried.session, workspace, hook, folder / "data" / HISTORY_FILE)
    async with asyncio.timeout(5):
        while left := descendants() - before:
            await asyncio.sleep(0.02)
    assert not left


def descendants() -> set[int]:
    """The processes that come from this one."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found, new = set[int](), {os.getpid()}
    while new := {pid for pid, parent in parents.items() if parent in new}:
        found |= new
    return found


@contextlib.asynccontextmanager
async def table(folder: Path, more: str = "", *, tls: bool = False) -> AsyncIterator[Table]:
    """A dashboard with both agents; `more` ends its settings, `tls` is what ann's server speaks."""
    shown, trust = (certificates(), trusted(folder)) if tls else (None, contextlib.nullcontext())
    async with trust, FaultServer(shown) as server, LoopbackServer(endless) as healthy:
        made = planned(folder, server.base_url, healthy.base_url, more)
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
    """The same program with less patience: 0.4 s of silence in place of five minutes.

    It does not tidy up: the memory of a whole suite takes a hundred times as long to walk as its own.
    """
    monkeypatch.setattr(tidying, "EVERY", float("inf"))
    monkeypatch.setattr(requesting_room, "FIRST_DELAY", 0.01)
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


async def resumed(folder: Path) -> list[list[str]]:
    """What comes back of the agents of this folder's last session."""
    environ = {
        "AGENT_TUI_DATA_DIR": str(folder / "data"),
        "AGENT_TUI_CONFIG_DIR": str(folder / "config"),
        "FAULT_KEY": SECRET,
    }
    made = plan(load_settings(None, environ=environ), Flags(workspace=folder / "workspace"), environ)
    async with open_session(made, resume="") as session:
        return [remembered(worker) for worker in session.workers]
