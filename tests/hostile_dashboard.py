"""A program: the real app over a scripted session in which every foreign field is hostile.

Run by a test in a pseudo-terminal. Refuses to judge; it only offers each field to the screen.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from agent_tui.app import AgentTuiApp
from agent_tui_core.blocks import Json, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.config.project import Project
from agent_tui_core.events import (
    AnswerEnded,
    Body,
    MessageCommitted,
    Noticed,
    PromptReturned,
    QueueChanged,
    ReasoningDelta,
    RequestStarted,
    RunEnded,
    RunStarted,
    StateChanged,
    TextDelta,
    ToolEnded,
    ToolJudged,
    ToolProgressed,
    ToolProposed,
    ToolStarted,
    ToolUseDelta,
    WorkerFailed,
)
from agent_tui_core.messages import Message, QueuedPrompt, Usage
from agent_tui_core.runtime.forms import Form
from agent_tui_core.runtime.report import ReportRow, ReportSection
from hostile_strings import numbered
from reporters import Room
from scripted_session import ScriptedSession, scripted_plan

ALL = numbered()
LINES = "\n".join(ALL)
_SHORT = [line for line in ALL if len(line) < 40]
TOASTS = [" ".join(_SHORT[at : at + 7]) for at in range(0, len(_SHORT), 7)]


class Toasting(Room):
    """A room that answers each verb with other hostile words."""

    def report(self) -> ReportSection:
        shown = TOASTS[len(self.acted) % len(TOASTS)]
        self.answer = f"toast {shown}"
        return super().report()


def transcript() -> list[Body]:
    """A run in which everything that a model, a tool and a server say is hostile."""
    prompt = Message("user", (Text(LINES),))
    bodies: list[Body] = [RunStarted(prompt), MessageCommitted(prompt), RequestStarted(ALL[10], 1)]
    bodies += [ReasoningDelta(f"thought {line}\n\n") for line in ALL]
    bodies += [TextDelta(f"said {line}\n\n") for line in ALL]
    bodies += [TextDelta(f"```{ALL[3]}\n{LINES}\n```\n\n| {ALL[4]} |\n|---|\n| {ALL[5]} |\n\n")]
    calls = [ToolUse(f"c{n}", f"tool {line}", {"file_path": line, line: line}) for n, line in enumerate(ALL)]
    for n, call in enumerate(calls):
        bodies.append(ToolUseDelta(n, call.id, call.name, f'{{"command": "{n} \\u001b[5m {ALL[n][:30]}'))
    answer = Message("assistant", (Reasoning(LINES), Text(LINES), *calls), "tool_use")
    bodies += [AnswerEnded("tool_use"), MessageCommitted(answer)]
    for n, call in enumerate(calls):
        line = ALL[n]
        result = ToolResult(call.id, f"result {line}\n{LINES if n == 0 else line}", is_error=bool(n % 2))
        bodies += [
            ToolProposed(call.id, call, answer.id),
            ToolJudged(call.id, True, "rule", line, line, call.input, 0.0),
            ToolStarted(call.id, call.input),
            ToolProgressed(call.id, f"progress {line}"),
            ToolEnded(call.id, result, "error" if n % 2 else "ok", 0.1),
        ]
    bodies += [Noticed("warning", f"notice {line}") for line in ALL]
    bodies += [
        StateChanged("retrying", ALL[0]),
        QueueChanged(tuple(QueuedPrompt(str(n), words) for n, words in enumerate(ALL[:4]))),
        RunEnded("failed", LINES, 1, Usage(10, 5)),
        WorkerFailed(LINES),
        StateChanged("failed", ALL[1]),
        PromptReturned(LINES, ALL[6]),
    ]
    return bodies


def form() -> Form:
    """A form of which every word is hostile."""
    thirds = list(zip(ALL[:30], ALL[30:60], ALL[60:90], strict=True))
    properties: dict[str, Json] = {
        one: {"type": "string", "title": one, "description": two, "default": three}
        for one, two, three in thirds
    }
    properties["choice"] = {"enum": ALL[:40], "title": "choice"}
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": list(ALL[:5])}
    return Form("elicitation", f"server {ALL[1]}", f"message {LINES}", schema, "agent-1")


async def main(folder: Path) -> None:
    """Offer everything; the test presses the keys."""
    workspace = folder / ALL[0].replace("/", "_")
    profiles = {f"profile {line}": object() for line in ALL}
    plan = replace(scripted_plan(workspace), data_dir=folder / "data", config_dir=folder / "config")
    object.__setattr__(plan, "profiles", profiles)
    session = ScriptedSession(plan, *(f"name {line}" for line in ALL))
    session.greeting = f"greeting {ALL[2]} {ALL[30]}"
    session.offer = Project(workspace, "hash", would_run=tuple(ALL), problems=tuple(ALL[:3]))
    rows = [
        ReportRow(str(n), f"row {line}", line, line, n % 2 == 0, verb=line[:9]) for n, line in enumerate(ALL)
    ]
    room = Toasting("room " + ALL[40], *rows)
    session.equipment.reporters = (room, Room(ALL[50], empty=LINES))
    for worker, line in zip(session.workers, ALL, strict=True):
        worker.model = f"model {line}"
        worker.branch = line
    app = AgentTuiApp(session)

    async def happen() -> None:
        while not session.decided:
            await asyncio.sleep(0.05)
        session.workers[0].emit(*transcript())
        for worker, line in zip(session.workers[1:], ALL[1:], strict=True):
            worker.emit(RunStarted(Message("user", (Text(line),))), StateChanged("running", f"{line}"))
        asking = session.workers[2].ask(f"tool {ALL[33]}", LINES, remember=f"Bash({ALL[5]})")
        await asyncio.wait([asking])
        await session.equipment.forms.ask(form())
        for worker in session.workers[1:]:
            worker.become("idle")

    task = asyncio.create_task(happen())
    await app.run_async()
    task.cancel()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
