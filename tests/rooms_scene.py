"""Scenes for pictures of what is beside the panes: rooms, a form, a folder's own things; fixed, no clocks."""

from __future__ import annotations

import asyncio
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from agent_tui.app import AgentTuiApp
from agent_tui_core.config.project import Project
from agent_tui_core.runtime.forms import Form
from agent_tui_core.runtime.report import ReportRow
from reporters import Room
from scene import FOLDER, play, scene
from scripted_session import ScriptedSession

_WAITING: list[asyncio.Future[Any]] = []
"""Kept, so that the form stays open."""
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["branch", "times"],
    "properties": {
        "branch": {"type": "string", "title": "Branch", "description": "Where the release is made from."},
        "times": {"type": "integer", "title": "Attempts", "default": 3},
        "force": {"type": "boolean", "title": "Overwrite what is there"},
    },
}


def _session(app: object) -> ScriptedSession:
    assert isinstance(app, AgentTuiApp)
    assert isinstance(app.session, ScriptedSession)
    return app.session


def rooms_scene() -> AgentTuiApp:
    """The same scene with rooms that can be looked at."""
    app = scene()
    _session(app).equipment.reporters = (
        Room(
            "Project",
            ReportRow("p", str(FOLDER), "trusted", "2 hooks, 1 server, 3 allow rules", verb="forget"),
        ),
        Room(
            "Rules",
            ReportRow("a", "Bash(npm run *)", "allow", "remembered for this project", verb="forget"),
            ReportRow("b", "Read(.env)", "deny", "the settings file"),
        ),
        Room(
            "Hooks",
            ReportRow("c", "PreToolUse on Bash: ./check.sh --strict", "ok", "12 runs · p95 40 ms"),
            ReportRow("d", "Stop: notify-send done", "failed", "exit code 127: no such program", bad=True),
        ),
        Room("MCP servers", empty="None. [mcp.servers.NAME] in the settings file adds one."),
        Room("Left running", ReportRow("e", "python3 -m http.server", "4 min", "by 2 fixer", verb="end")),
    )
    return app


async def rooms(pilot: Pilot[None]) -> None:
    """They are looked at."""
    await play(pilot)
    await pilot.press("f7")
    await pilot.pause()
    await pilot.press("tab")
    await pilot.pause()


async def form(pilot: Pilot[None]) -> None:
    """A server asks, and somebody writes."""
    await play(pilot)
    app = pilot.app
    asked = Form("elicitation", "MCP server release", "What should be released?", _SCHEMA, "agent-2")
    _WAITING.append(asyncio.ensure_future(_session(app).equipment.forms.ask(asked)))
    async with asyncio.timeout(10):
        while getattr(app.screen, "hearing", "") != "armed":
            await pilot.pause(0.05)
        await pilot.press("e")
        while app.screen.focused is None:
            await pilot.pause(0.05)
    for line in app.screen.query(Input):
        line.cursor_blink = False
    await pilot.press(*"main")
    await pilot.pause()


def offered_scene() -> AgentTuiApp:
    """The same scene in a folder that brings things along."""
    app = scene()
    _session(app).offer = Project(
        FOLDER,
        "hash",
        would_run=(
            "hook PreToolUse runs: ./check.sh --strict",
            "MCP server pantry runs: npx -y pantry-server",
            "allow rule: Bash(npm run *)",
            "AGENTS.md is read by every agent: 40 lines",
        ),
        problems=("[providers] is not a project's to say: the person's own settings name servers",),
    )
    return app


async def offered(pilot: Pilot[None]) -> None:
    """It is asked about, and listens."""
    async with asyncio.timeout(10):
        while getattr(pilot.app.screen, "hearing", "") != "armed":
            await pilot.pause(0.05)
