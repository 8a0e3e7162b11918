"""One scene for pictures: four agents in four states, at fixed times; refuses clocks and real files."""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import TextArea

from agent_tui.app import AgentTuiApp
from agent_tui_core.blocks import Text, ToolResult, ToolUse
from agent_tui_core.events import (
    AnswerEnded,
    ApprovalPreview,
    ApprovalRequest,
    Body,
    MessageCommitted,
    QueueChanged,
    ReasoningDelta,
    RequestStarted,
    RunEnded,
    RunStarted,
    StateChanged,
    TextDelta,
    ToolEnded,
    ToolJudged,
    ToolProposed,
    ToolStarted,
    ToolUseDelta,
    UsageReported,
)
from agent_tui_core.messages import Message, QueuedPrompt, Usage
from dashboard_pilot import Driver
from scripted_session import ScriptedSession, ScriptedWorker, scripted_plan

_ASKING: list[asyncio.Future[object]] = []
"""Kept, so that the questions stay open."""
NOW = 1_750_000_000.0
FOLDER = Path("/home/ada/pantry")
DIFF = """\
--- /home/ada/pantry/pricing.py
+++ /home/ada/pantry/pricing.py
@@ -10,6 +10,6 @@
 def line_total(line: Line) -> int:
     price = line.unit_cents
-    if line.quantity > BULK_FROM:
+    if line.quantity >= BULK_FROM:
         price -= price * BULK_PERCENT // 100
     return price * line.quantity
"""
REVIEW = """\
## Review of `pantry`

Readable, small, **tested** at the right places. Two findings:

| # | Where | What |
|---|---|---|
| 1 | `pricing.py` | the border of the bulk price |
| 2 | `stock.py` | one limit for all articles |

```python
if line.quantity > BULK_FROM:
    price -= price * BULK_PERCENT // 100
```

1. Ten pieces are *bulk* by the README.
2. Eleven pieces are, by the code.
"""


def scene() -> AgentTuiApp:
    """The dashboard before anything happened; `play` does it."""
    session = ScriptedSession(scripted_plan(FOLDER), "reviewer", "fixer", "tester", "writer")
    return AgentTuiApp(session, wall=lambda: NOW)


async def play(pilot: Pilot[None]) -> None:
    """Let it happen, and wait until it is on the screen."""
    app = pilot.app
    assert isinstance(app, AgentTuiApp)
    session = app.session
    assert isinstance(session, ScriptedSession)
    driver = Driver(app, pilot, session)
    await driver.until(lambda: len(app.feed.agents) == 4 and app.feed.frames > 0)
    await driver.drawn()
    for area in app.dashboard.query(TextArea):
        area.cursor_blink = False
    reviewer, fixer, tester, writer = session.workers
    _happen(reviewer, -40.0, *_review())
    _happen(fixer, -30.0, *_fix())
    _happen(tester, -20.0, *_test())
    begun, words = _write()[:3], _write()[3:]
    _happen(writer, -10.0, *begun)
    _happen(writer, -1.0, *words)
    await driver.shows("free delivery")
    await driver.drawn()


async def ask(pilot: Pilot[None]) -> None:
    """The same, and the fixer's question is open and listens."""
    await play(pilot)
    app = pilot.app
    assert isinstance(app, AgentTuiApp)
    request = ApprovalRequest(
        id="request",
        agent_id="agent-2",
        agent_name="fixer",
        model="qwen3:8b",
        workspace=str(FOLDER),
        branch="main",
        tool="Edit",
        input={"file_path": "pricing.py", "old_string": ">", "new_string": ">="},
        preview=ApprovalPreview("diff", DIFF, str(FOLDER / "pricing.py")),
        reason="no rule allows Edit on this file",
        remember="Edit(/pricing.py)",
        asked_at=NOW - 12,
    )
    _ASKING.append(asyncio.ensure_future(app.session.desk.ask(request, lambda: True)))
    await pilot.press("f2")
    async with asyncio.timeout(10):
        while getattr(app.screen, "hearing", "") != "armed":
            await pilot.pause(0.05)


def _happen(worker: ScriptedWorker, ago: float, *bodies: Body) -> None:
    for body in bodies:
        worker.outbox.replay("run", NOW + ago, body)
        if isinstance(body, StateChanged):
            worker.state = body.state


def _begin(prompt: str) -> list[Body]:
    message = Message("user", (Text(prompt),))
    return [RunStarted(message), MessageCommitted(message), RequestStarted("qwen3:8b", 1)]


def _review() -> list[Body]:
    answer = Message("assistant", (Text(REVIEW),), "end", Usage(2_900, 187))
    return [
        *_begin("Review the package, please."),
        ReasoningDelta("I look at the prices first.\nThen at the stock."),
        *(TextDelta(piece) for piece in REVIEW.splitlines(keepends=True)),
        UsageReported(Usage(2_900, 187)),
        AnswerEnded("end"),
        MessageCommitted(answer),
        RunEnded("completed", "", 1, Usage(2_900, 187)),
        StateChanged("idle"),
    ]


def _fix() -> list[Body]:
    call = ToolUse("c", "Read", {"file_path": "pricing.py"})
    result = ToolResult("c", "     1\tBULK_FROM = 10\n     2\tBULK_PERCENT = 10")
    answer = Message("assistant", (Text("I look at the rule."), call), "tool_use")
    return [
        *_begin("Fix the bulk price."),
        TextDelta("I look at the rule."),
        ToolUseDelta(0, "c", "Read", '{"file_path": "pricing.py"}'),
        MessageCommitted(answer),
        ToolProposed("k", call, answer.id),
        ToolJudged("k", True, "rule", "reading is allowed", "Read(./**)", call.input, 0.0),
        ToolStarted("k", call.input),
        ToolEnded("k", result, "ok", 0.012),
        MessageCommitted(Message("tool", (result,))),
        RequestStarted("qwen3:8b", 2),
        TextDelta("The README says **from** ten on, the code says *more than* ten."),
        StateChanged("waiting", "Edit"),
    ]


def _test() -> list[Body]:
    call = ToolUse("t", "Bash", {"command": "python3 -m unittest -v"})
    answer = Message("assistant", (Text("I run the suite."), call), "tool_use")
    return [
        *_begin("Run the tests."),
        TextDelta("I run the suite."),
        MessageCommitted(answer),
        ToolProposed("b", call, answer.id),
        ToolStarted("b", call.input),
        StateChanged("running", "Bash"),
        QueueChanged((QueuedPrompt("q", "and then tell me what was slow", kept=True),)),
    ]


def _write() -> list[Body]:
    return [
        *_begin("Write the changelog."),
        TextDelta("# Changes\n\n- free delivery from 50.00\n- a list of what "),
        StateChanged("streaming"),
    ]
