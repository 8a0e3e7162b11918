"""Command hooks for tests: real scripts, agents that remember what they were told, and whole sessions.

Refuses to decide what a hook says.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agent_tui_core.hooks.agent_commands import AgentCommands
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.hooks.command import CommandHook
from agent_tui_core.hooks.commands import CommandHooks
from agent_tui_core.hooks.payload import HookedAgent
from agent_tui_core.runtime.entries import NoticeEntry, ToolEntry
from agent_tui_core.runtime.transcript import Transcript
from loopback import LoopbackServer

MATCHERS: Final[Sequence[tuple[str | None, str, bool]]] = (
    (None, "Bash", True),
    ("", "Bash", True),
    ("*", "Bash", True),
    (" * ", "mcp__memory__store", True),
    ("Edit, *", "Bash", True),
    ("Bash", "Bash", True),
    ("Bash", "BashOutput", False),
    ("Edit|Write", "Write", True),
    ("Edit, Write", "Write", True),
    ("Edit|Write", "MultiEdit", False),
    ("mcp__memory", "mcp__memory__store", False),
    ("mcp__memory__.*", "mcp__memory__store", True),
    ("^Read$", "Read", True),
    ("ea.$", "Read", True),
    ("bash", "Bash", False),
    ("mcp__.*__write.*", "mcp__files__write_file", True),
    ("^Notebook", "NotebookEdit", True),
    ("k.E", "NotebookEdit", False),
    ("k.?E", "NotebookEdit", True),
)
"""What a hook has as its matcher, a tool, and whether the hook hears of its calls."""


@dataclass
class Hooked:
    """One agent with command hooks."""

    hooks: Hooks
    commands: CommandHooks
    agent: AgentCommands
    workspace: Path
    told: list[tuple[str, str]] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        return [words for level, words in self.told if level == "warning"]


def hooked(workspace: Path, *hooks: CommandHook, attended: bool = True, mode: str = "ask") -> Hooked:
    told: list[tuple[str, str]] = []
    commands = CommandHooks(hooks)
    agent = HookedAgent(
        id="a1",
        name="ann",
        model="m",
        workspace=workspace,
        session_id="s1",
        attended=attended,
        mode=lambda: mode,
        run_id=lambda: "r1",
        tell=lambda level, words: told.append((level, words)),
    )
    bound = AgentCommands(commands, agent)
    return Hooked(Hooks().with_commands(lambda: bound), commands, bound, workspace, told)


def says(answer: dict[str, Any] | str, code: int = 0, errors: str = "") -> str:
    """A command that says this and ends so."""
    words = answer if isinstance(answer, str) else json.dumps(answer)
    parts = [f"printf %s {shlex.quote(words)}"] if words else []
    parts += [f"printf %s {shlex.quote(errors)} >&2"] if errors else []
    return "; ".join([*parts, f"exit {code}"])


def decides(behavior: str, reason: str = "", **more: Any) -> dict[str, Any]:
    """A decision of a PreToolUse hook."""
    own = {"hookEventName": "PreToolUse", "permissionDecision": behavior, **more}
    return {"hookSpecificOutput": {**own, **({"permissionDecisionReason": reason} if reason else {})}}


BASH: dict[str, object] = {"command": "echo ran >> ran.txt; echo done"}


def configure(folder: Path, hooks: Mapping[str, list[dict[str, Any]]], *, rules: str = "") -> Path:
    """Write hooks into `hooks.json` of the config folder, and rules into the settings; the workspace."""
    (folder / "config").mkdir(exist_ok=True)
    groups = {
        point: [
            {"matcher": hook.pop("matcher", "*"), "hooks": [{"type": "command", **hook}]} for hook in listed
        ]
        for point, listed in hooks.items()
    }
    (folder / "config" / "hooks.json").write_text(json.dumps({"hooks": groups}))
    (folder / "config" / "config.toml").write_text(rules)
    return folder / "workspace"


def entry(transcript: Transcript) -> ToolEntry:
    return next(each for each in transcript.entries if isinstance(each, ToolEntry))


def notices(transcript: Transcript) -> list[str]:
    return [each.text for each in transcript.entries if isinstance(each, NoticeEntry)]


def told(server: LoopbackServer) -> str:
    """What the model read of its last call."""
    content = server.requests[-1].json["messages"][-1]["content"]
    return str(content)


async def written(file: Path) -> str:
    """What a hook wrote into a file, when it did; for hooks that go on running."""
    async with asyncio.timeout(10):
        while not file.exists() or not file.read_text().endswith("\n"):
            await asyncio.sleep(0.01)  # another process writes it: nothing tells us
    return file.read_text().strip()
