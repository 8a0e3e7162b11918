"""Owns a session whose agents do what a test says: real outboxes and desk, no model; refuses to decide."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

from agent_tui.ports import SandboxState
from agent_tui_core.agent.approvals import ApprovalDesk, Settlement
from agent_tui_core.blocks import Text, ToolUse
from agent_tui_core.config.profiles import Plan
from agent_tui_core.config.project import Project
from agent_tui_core.events import (
    AgentState,
    AnswerEnded,
    ApprovalPreview,
    ApprovalRequest,
    ApprovalRequested,
    ApprovalSettled,
    Body,
    MessageCommitted,
    Noticed,
    QueueChanged,
    RequestStarted,
    RunEnd,
    RunEnded,
    RunStarted,
    StateChanged,
    TextDelta,
    ToolProposed,
)
from agent_tui_core.messages import Message, QueuedPrompt, Usage
from agent_tui_core.runtime.agent_mode import AgentMode
from agent_tui_core.runtime.forms import Forms
from agent_tui_core.runtime.outbox import Outbox, Subscription
from agent_tui_core.runtime.report import Reporter

_numbers = itertools.count(1)


def scripted_plan(folder: Path, *, theme: str | None = None, keys: Mapping[str, str] | None = None) -> Plan:
    """A plan with nothing in it but places."""
    return Plan(
        agents=(),
        profiles={},
        providers={},
        theme=theme,
        demo=False,
        data_dir=folder / "data",
        config_dir=folder / "config",
        workspace=folder,
        keys=keys or {},
        mouse=True,
    )


class ScriptedWorker:
    """An agent that emits what it is told to emit."""

    def __init__(self, session: ScriptedSession, number: int, name: str, model: str) -> None:
        self.session = session
        self.number, self.name, self.model = number, name, model
        self.id = f"agent-{number}"
        self.provider = "scripted"
        self.workspace = session.plan.workspace
        self.branch: str | None = None
        self.state: AgentState = "idle"
        self.prompts: list[str] = []
        self.interrupts = 0
        self.mode = AgentMode()
        self.outbox = Outbox(self.id)
        self._queue: list[QueuedPrompt] = []

    # --- what the dashboard calls ---

    @property
    def busy(self) -> bool:
        return self.state in {"connecting", "streaming", "waiting", "running", "retrying", "stopping"}

    @property
    def queue(self) -> tuple[QueuedPrompt, ...]:
        return tuple(self._queue)

    def prompt(self, prompt: str) -> None:
        text = prompt
        if self.busy:
            self._queue.append(QueuedPrompt(f"prompt-{next(_numbers)}", text, kept=True))
            self.emit(QueueChanged(self.queue))
        else:
            self.begin(text)

    def prompt_now(self, prompt: str) -> None:
        text = prompt
        self.interrupt()
        self.end("interrupted", "by you")
        self.begin(text)

    def unqueue(self, prompt_id: str) -> str | None:
        [taken] = [prompt for prompt in self._queue if prompt.id == prompt_id]
        self._queue.remove(taken)
        self.emit(QueueChanged(self.queue))
        return taken.text

    def go_on(self) -> bool:
        if self.busy or not self._queue:
            return False
        prompt = self._queue.pop(0)
        self.emit(QueueChanged(self.queue))
        self.begin(prompt.text)
        return True

    def compact(self) -> bool:
        return not self.busy

    async def undo_compaction(self) -> bool:
        return False

    def interrupt(self) -> bool:
        if not self.busy:
            return False
        self.interrupts += 1
        self.become("stopping")
        return True

    def notice(self, text: str) -> None:
        self.emit(Noticed("info", text))

    def subscribe(self, wake: Callable[[], None] | None = None, *, most: int | None = None) -> Subscription:
        return self.outbox.subscribe(wake, most=most)

    # --- what a test calls ---

    def emit(self, *bodies: Body) -> None:
        for body in bodies:
            self.outbox.append(body)

    def become(self, state: AgentState, detail: str = "") -> None:
        self.state = state
        self.emit(StateChanged(state, detail))

    def begin(self, text: str) -> None:
        """Start a run that streams."""
        self.prompts.append(text)
        message = Message("user", (Text(text),))
        self.emit(RunStarted(message), MessageCommitted(message), RequestStarted(self.model, 1))
        self.become("streaming")

    def say(self, text: str) -> None:
        """Stream a piece of text."""
        self.emit(TextDelta(text))

    def end(self, end: RunEnd = "completed", reason: str = "") -> None:
        """End the run."""
        self.emit(AnswerEnded("end"), RunEnded(end, reason, 1, Usage()))
        self.become("idle" if end == "completed" else end)

    def ask(
        self,
        tool: str,
        command: str,
        *,
        remember: str | None = None,
        still_asks: Callable[[], bool] = lambda: True,
    ) -> asyncio.Task[Settlement]:
        """Have a call wait at the desk; the task ends with what was settled."""
        key = f"call-{next(_numbers)}"
        request = ApprovalRequest(
            id=f"request-{key}",
            agent_id=self.id,
            agent_name=self.name,
            model=self.model,
            workspace=str(self.workspace),
            branch=None,
            tool=tool,
            input={"command": command},
            preview=ApprovalPreview("command", command),
            reason="no rule allows it",
            remember=remember,
            asked_at=0.0,
        )
        call = ToolUse(key, tool, request.input)
        self.emit(ToolProposed(key, call, "message"), ApprovalRequested(key, request))
        self.become("waiting", tool)
        return asyncio.create_task(self._wait(key, request, still_asks))

    async def _wait(self, key: str, request: ApprovalRequest, still_asks: Callable[[], bool]) -> Settlement:
        try:
            settlement = await self.session.desk.ask(request, still_asks)
        except asyncio.CancelledError:
            self.emit(ApprovalSettled(key, request.id, "withdrawn"))
            raise
        self.emit(ApprovalSettled(key, request.id, "allowed"))
        self.become("running", request.tool)
        return settlement


class ScriptedSandbox:
    """A sandbox that is what a test says."""

    def __init__(self, words: str = "sandbox on", *, bad: bool = False) -> None:
        self.words = words
        self.bad = bad

    async def look(self) -> str:
        return self.words


class ScriptedEquipment:
    """What the dashboard sees of a session's equipment; a test fills it."""

    def __init__(self) -> None:
        self.forms = Forms()
        self.reporters: tuple[Reporter, ...] = ()
        self.sandbox: SandboxState = ScriptedSandbox()


class ScriptedSession:
    """What the dashboard sees of a session."""

    def __init__(self, plan: Plan, *names: str, demo: bool = False) -> None:
        self.plan = plan
        self.id = "scripted"
        self.desk = ApprovalDesk()
        self.equipment = ScriptedEquipment()
        self.offer: Project | None = None
        self.decided: list[bool] = []
        self.started: list[str | None] = []
        self.demo = demo
        self.greeting = "This is a script." if demo else ""
        self._watchers: list[Callable[[], None]] = []
        self.workers: tuple[ScriptedWorker, ...] = ()
        for name in names:
            self._make(name)

    @property
    def running(self) -> int:
        return sum(worker.busy for worker in self.workers)

    async def decide_project(self, trusted: bool) -> None:
        self.offer = None
        self.decided.append(trusted)

    def start(self, prompt: str | None = None) -> None:
        self.started.append(prompt)
        for worker in self.workers if prompt is not None else ():
            worker.prompt(prompt or "")

    async def add_worker(self, profile: str | None = None, *, name: str | None = None) -> ScriptedWorker:
        worker = self._make(name or profile or "new")
        self._tell()
        return worker

    async def remove_worker(self, agent_id: str) -> None:
        self.workers = tuple(worker for worker in self.workers if worker.id != agent_id)
        self._tell()

    def interrupt_all(self) -> int:
        return sum(worker.interrupt() for worker in self.workers)

    def watch(self, wake: Callable[[], None]) -> None:
        self._watchers.append(wake)

    def _make(self, name: str) -> ScriptedWorker:
        number = max((worker.number for worker in self.workers), default=0) + 1
        worker = ScriptedWorker(self, number, name, f"demo/{name}")
        self.workers = (*self.workers, worker)
        return worker

    def _tell(self) -> None:
        for wake in self._watchers:
            wake()
