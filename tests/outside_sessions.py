"""Sessions whose agent has an external tool, and a second process that answers; refuses to sleep."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

from agent_tui_core.config.equipment import EquipmentSettings, ExternalToolSettings, PermissionSettings
from agent_tui_core.config.profiles import Plan
from agent_tui_core.runtime import private_sockets
from agent_tui_core.runtime.entries import ToolEntry
from agent_tui_core.runtime.session import Session
from agent_tui_core.runtime.transcript import Transcript
from agent_tui_core.runtime.worker import Worker
from development import DEVELOPMENT
from loopback import DONE, Answer, finish, text, tool_call, usage
from sessions import Reader, planned

WAITING = re.compile(r"call ([0-9a-f]{32})")
CARD = {"type": "object", "properties": {"what": {"type": "string"}}}


def outside_plan(base_url: str, folder: Path, *command: str, timeout: float = 60.0) -> Plan:
    """A plan with the external tool `deploy`, which a rule allows."""
    tool = ExternalToolSettings(
        type="external",
        description="Deploy something.",
        command=command,
        input_schema=CARD,
        timeout=timeout,
    )
    rules = PermissionSettings(allow=("deploy", "Bash(echo *)"))
    equipment = EquipmentSettings(permissions=rules, tools={"deploy": tool})
    return replace(planned(base_url, folder), equipment=equipment)


def calls_answer(*calls: tuple[str, dict[str, object]]) -> Answer:
    """An answer of the model with several calls."""
    steps = [tool_call(f"call_{n}", name, given, index=n) for n, (name, given) in enumerate(calls)]
    return Answer(text("On it. "), *steps, finish("tool_calls"), usage(10, 5), DONE)


def tools_of(transcript: Transcript) -> list[ToolEntry]:
    return [entry for entry in transcript.entries if isinstance(entry, ToolEntry)]


def call_ids(transcript: Transcript) -> list[str]:
    """The ids that the cards of waiting calls show."""
    found = [WAITING.search(entry.progress) for entry in tools_of(transcript)]
    return [match[1] for match in found if match is not None]


async def waits(worker: Worker, count: int = 1) -> list[str]:
    """Wait until so many cards show an id."""
    reader = Reader(worker)
    transcript = await reader.until(lambda seen: len(call_ids(seen)) >= count)
    return call_ids(transcript)


def ended(worker: Worker) -> list[ToolEntry]:
    transcript = Transcript()
    transcript.apply(worker.subscribe().take())
    return tools_of(transcript)


async def second_terminal(folder: Path, *arguments: str, stdin: bytes | None = None) -> tuple[int, str, str]:
    """Run `agent-tui tool-result` as a process of its own; exit code, output, error output."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "agent_tui",
        "tool-result",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=terminal_environment(folder),
    )
    async with asyncio.timeout(30):
        out, err = await child.communicate(stdin)
    assert child.returncode is not None
    return child.returncode, out.decode(), err.decode()


def terminal_environment(folder: Path) -> dict[str, str]:
    return {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "AGENT_TUI_DATA_DIR": str(folder / "data"),
        **DEVELOPMENT,
    }


def sockets(folder: Path) -> list[Path]:
    places = private_sockets.folders(folder / "data", os.environ)
    return [path for place in places for path in private_sockets.sockets_in(place)]


async def form_of(session: Session) -> str:
    """Wait for a form; return its id."""
    changed = asyncio.Event()
    session.equipment.forms.watch(changed.set)
    async with asyncio.timeout(10):
        while not session.equipment.forms.pending:
            changed.clear()
            await changed.wait()
    return session.equipment.forms.pending[0].id
