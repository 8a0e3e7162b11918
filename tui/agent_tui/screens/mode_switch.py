"""Owns how a person changes the mode of an agent while it works: what is said, and what is asked first.

Refuses to judge calls. The mode that runs nearly everything is asked about; the others come at once.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from textual.app import App

from agent_tui.panes.wording import one_line
from agent_tui.ports import Agent, SandboxState
from agent_tui_core.config.modes import MODES, Mode

if TYPE_CHECKING:
    from agent_tui.panes.beneath import Beneath

MEANINGS: dict[Mode, str] = {
    "ask": "what no rule allows is asked about",
    "accept-edits": "edits in the workspace need no question",
    "plan": "it only reads, the rest is denied",
    "auto": "commands run in the sandbox, and edits in the workspace, unless a rule says otherwise",
}
HELD = (
    "Its commands write to its workspace and a /tmp of its own, nowhere else, and reach no network unless "
    "its profile says so."
)
NOT_HELD = "Without a sandbox there is nothing that holds its commands back: it asks as in the mode ask."


class ModeSwitch:
    """Goes through the modes of one agent."""

    def __init__(
        self,
        app: App[None],
        beneath: Callable[[], Beneath],
        settle: Callable[[str], int],
        sandbox: Callable[[], SandboxState],
        do: Callable[[Coroutine[object, object, object]], None],
    ) -> None:
        """`settle` lets waiting questions go that a mode allows; `do` runs work and tells what goes wrong."""
        self._app = app
        self._beneath = beneath
        self._do = do
        self._settle = settle
        self._sandbox = sandbox

    def next(self, agent: Agent) -> None:
        """The mode after the one it is in."""
        self.set(agent, MODES[(MODES.index(agent.mode.now) + 1) % len(MODES)])

    def set(self, agent: Agent, mode: Mode) -> None:
        """This mode; `auto` after a question, whose No leads back to `ask`."""
        if mode == agent.mode.now:
            self._app.notify(f"It is in the mode {mode} already.", timeout=2, markup=False)
        elif mode != "auto":
            self._become(agent, mode)
        else:
            self._do(self._ask(agent))

    async def _ask(self, agent: Agent) -> None:
        """The sandbox is looked at first: without one the mode means little."""
        from agent_tui.modals.confirm import ConfirmModal

        name = f"{agent.number} {one_line(agent.name)}"
        words = await self._sandbox().look()
        held = HELD if words.startswith("sandbox on") else f"{NOT_HELD} Here: {one_line(words)}."
        body = f"In the mode auto {MEANINGS['auto']}.\n\n{held}\n\nNo means the mode ask."

        def answered(yes: bool | None) -> None:
            self._become(agent, "auto" if yes else "ask")

        self._app.push_screen(
            ConfirmModal(f"Let {name} work unasked?", body, "Mode auto", beneath=self._beneath()), answered
        )

    def _become(self, agent: Agent, mode: Mode) -> None:
        if mode == agent.mode.now:
            return
        agent.mode.become(mode)
        settled = self._settle(f"mode {mode}")
        more = f" {settled} of its questions settled." if settled else ""
        agent.notice(f"Mode {mode}: {MEANINGS[mode]}.{more}")
