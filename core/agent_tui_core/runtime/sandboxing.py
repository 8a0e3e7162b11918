"""Owns the sandbox of a session and what commands left running: made from settings, shown to a person, ended.

Refuses to run a command, and to take a word about the sandbox from anybody but the person's own settings.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tui_core.config.profiles import AgentProfile, Plan
from agent_tui_core.runtime.report import ReportRow, ReportSection

if TYPE_CHECKING:
    from agent_tui_core.processes.background import AgentBackground, Background, LeftRunning
    from agent_tui_core.processes.sandbox import AgentSandbox, Sandbox

_NOTHING_LEFT: Final = (
    "Nothing. What a command of an agent leaves running, like `server &`, is listed here and ends with it."
)


class Sandboxing:
    """Where the commands of a session's agents run."""

    def __init__(self, plan: Plan, kept: Callable[[], Collection[Path]] = tuple) -> None:
        """`kept` are files that no command may change: they run when something happens."""
        self._kept = kept
        self._plan = plan
        self._settings = plan.equipment.sandbox
        self._sandbox: Sandbox | None = None
        self._of: dict[str, AgentSandbox] = {}

    @property
    def words(self) -> str:
        """For the row that shows the state: whether there is a sandbox, and why not. Never blocks."""
        if self._sandbox is not None:
            return self._sandbox.words
        return "sandbox off: by your settings" if self._settings.mode == "off" else "sandbox not tried yet"

    @property
    def bad(self) -> bool:
        """There is none although there should be."""
        return self._sandbox is not None and self._sandbox.known is False and self._settings.mode != "off"

    async def look(self) -> str:
        """Find out whether it works, in a thread; return `words`. After the first frame, not before it."""
        await asyncio.to_thread(self.of_session().works)
        return self.words

    def of_session(self) -> Sandbox:
        """The sandbox, made at its first use."""
        if self._sandbox is None:
            from agent_tui_core.processes.sandbox import Sandbox, SandboxRules

            folders = (Path(word).expanduser() for word in self._settings.writable)
            hidden = (self._plan.config_dir, self._plan.data_dir)
            self._sandbox = Sandbox(SandboxRules(self._settings.mode, tuple(folders), hidden), self._kept)
        return self._sandbox

    def of_agent(
        self, agent_id: str, workspace: Path, profile: AgentProfile, confined: Callable[[], bool]
    ) -> AgentSandbox:
        """The sandbox of one agent, tried already: call this in a thread."""
        said = profile.network
        if said is None and not self._settings.network:
            said = False
        sandbox = self.of_session()
        sandbox.works()
        self._of[agent_id] = sandbox.of(workspace, network=said, confined=confined)
        return self._of[agent_id]

    @property
    def environment(self) -> tuple[str, ...]:
        """Names of further variables that commands inherit."""
        return self._settings.env_from

    async def leave(self, agent_id: str) -> None:
        """Delete what an agent left in its /tmp; most never had one."""
        sandbox = self._of.pop(agent_id, None)
        if sandbox is not None and sandbox.has_scratch:
            await asyncio.to_thread(sandbox.forget)

    async def close(self) -> None:
        """Do that for all of them."""
        for agent_id in list(self._of):
            await self.leave(agent_id)

    def report(self) -> ReportSection:
        """What holds, in words."""
        rows = [ReportRow("state", self.words, detail=self._remedy(), bad=self.bad)]
        if self._sandbox is not None and self._sandbox.known:
            network = "reached" if self._settings.network else "not reached"
            detail = "Agents in the mode auto reach it only when their profile says network = true."
            rows.append(ReportRow("network", f"The network is {network}", detail=detail))
            rows.append(
                ReportRow(
                    "writable", "Writable: the workspace and a private /tmp", detail=self._more_writable()
                )
            )
        return ReportSection("Sandbox", tuple(rows))

    async def act(self, row_id: str) -> str:  # noqa: ARG002 - the protocol's
        """There is nothing to do with these."""
        return ""

    def _remedy(self) -> str:
        if self.bad:
            return "Commands run with all of your rights; the mode auto asks. Install bubblewrap (bwrap)."
        if self._settings.mode == "off":
            return 'Commands run with all of your rights; the mode auto asks. Say [sandbox] mode = "auto".'
        return ""

    def _more_writable(self) -> str:
        more = ", ".join(self._settings.writable)
        return f"and {more}" if more else "Name more folders as [sandbox] writable = [...]."


class LeftBehind:
    """What the commands of a session's agents left running."""

    def __init__(self) -> None:
        self._background: Background | None = None

    def of_agent(self, agent_id: str, name: str) -> AgentBackground:
        """Who takes it over for one agent."""
        if self._background is None:
            from agent_tui_core.processes.background import Background

            self._background = Background()
        return self._background.of(agent_id, name)

    @property
    def running(self) -> tuple[LeftRunning, ...]:
        """All of it, oldest first."""
        return () if self._background is None else self._background.running

    async def end(self, agent_id: str | None = None) -> None:
        """End what this agent left, or all of it."""
        if self._background is not None:
            await self._background.end_all(agent_id)

    def report(self) -> ReportSection:
        """One row for each command that left something."""
        rows = tuple(_row(left) for left in self.running)
        return ReportSection("Left running by commands", rows, empty=_NOTHING_LEFT)

    async def act(self, row_id: str) -> str:
        """End it."""
        left = None if self._background is None else await self._background.end(row_id)
        return "It had ended already." if left is None else f"Ended what {left.agent} had left running."


def _row(left: LeftRunning) -> ReportRow:
    seconds = int(time.time() - left.since)
    since = f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"
    number = f"pid {left.pids[0]}" if left.pids else "no process"
    more = f" and {len(left.pids) - 1} more" if len(left.pids) > 1 else ""
    output = f" · output in {left.file}" if left.file else ""
    return ReportRow(
        left.id,
        left.program or left.command,
        f"running {since}",
        f"{left.agent} · {number}{more} · by: {left.command}{output}",
        verb="end",
    )
