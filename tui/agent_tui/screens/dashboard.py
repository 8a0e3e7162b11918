"""Owns the one screen of daily work: panes in a grid, prompt, the rows of state and keys, the selection.

Refuses to run agents: it tells workers what a person wants and shows what they say. The prompt box keeps the
keyboard for ever; the *chosen* agent is a selection that prompt, keys and zoom follow.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.geometry import Size
from textual.layout import Layout
from textual.widgets import TextArea

from agent_tui.actions import Action, Actions, bindings
from agent_tui.feed import AgentFeed, Feed
from agent_tui.panes.agent_pane import AgentPane
from agent_tui.panes.beneath import Beneath
from agent_tui.panes.painting import Painter, QuickScreen
from agent_tui.panes.prompt import PromptBox
from agent_tui.panes.roster import Roster
from agent_tui.panes.status import KeyRow, StatusRow
from agent_tui.panes.wording import one_line
from agent_tui.ports import DashboardSession
from agent_tui.screens.returned_prompts import give_back
from agent_tui.screens.tiling import Tiled, tile

ROWS_AROUND = 5
"""Rows of the state, the keys, and a prompt box of one row in its frame."""


class Board(Container):
    """The space of the panes."""

    BLANK = True
    """Nothing of it is ever seen, yet Textual would draw it behind each changed line."""

    _tiled = Tiled()

    @property
    def layout(self) -> Layout:
        """Styles can only name Textual's own layouts; this one is ours."""
        return self._tiled


class DashboardScreen(QuickScreen[None]):
    """All agents side by side, or one of them beside a list, or one alone."""

    BLANK = True
    ESCAPE_TO_MINIMIZE = False
    AUTO_FOCUS = "PromptBox TextArea"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(on_app=False)]

    def __init__(self, session: DashboardSession, feed: Feed, actions: Actions) -> None:
        super().__init__()
        self._compositor = Painter()
        self.session = session
        self.feed = feed
        self.actions = actions
        self.prompt = PromptBox(id="prompt")
        self.zoomed = False
        self._chosen_id = ""
        self._panes: dict[str, AgentPane] = {}
        self._board = Board(id="board")
        self._roster = Roster(id="roster")
        self._status = StatusRow(id="status")
        self._footer = actions.footer
        self._keys = KeyRow(self._footer, id="keys")

    def compose(self) -> ComposeResult:
        yield self._status
        with self._board:
            yield self._roster
        yield self.prompt
        yield self._keys

    async def on_mount(self) -> None:
        self.feed.draw_on(self)
        self.feed.watch(self.report)
        await self.follow_session()

    # --- which agents, and which of them is talked to -------------------------------------------------------

    @property
    def chosen(self) -> AgentFeed | None:
        """The agent that prompt and keys go to; None when there is none."""
        return self.feed.agents.get(self._chosen_id)

    async def follow_session(self) -> None:
        """Have a pane for each agent of the session, and none for those that are gone."""
        before = list(self._panes)
        place = before.index(self._chosen_id) if self._chosen_id in before else 0
        self.feed.follow(self.session.workers)
        for gone in self._panes.keys() - self.feed.agents.keys():
            await self._panes.pop(gone).remove()
        fresh = {
            key: AgentPane(feed, self.feed.wall, self._key("go_on"))
            for key, feed in self.feed.agents.items()
            if key not in self._panes
        }
        if fresh:
            self._panes |= fresh
            chosen = self._chosen_or_near(place)
            for key, pane in fresh.items():  # before they are mounted: that costs no styles
                pane.choose(key == chosen)
            await self._board.mount(*fresh.values())
        self._panes = {key: self._panes[key] for key in self.feed.agents}
        if self.prompt.keep_only(self.feed.agents):
            self.notify("What was half typed for an agent that is gone: up recalls it.", markup=False)
        self.choose(self._chosen_or_near(place))

    def _chosen_or_near(self, place: int) -> str:
        """The chosen agent, or who has its place now that it is gone; empty when there is none."""
        order = list(self.feed.agents)
        if self._chosen_id in order or not order:
            return self._chosen_id if order else ""
        return order[min(place, len(order) - 1)]

    def choose(self, agent_id: str) -> None:
        """Talk to this agent from now on."""
        self._chosen_id = agent_id
        self.prompt.open(agent_id)
        for key, pane in self._panes.items():
            pane.choose(key == agent_id)
        self._arrange()
        self.feed.now()

    def _arrange(self) -> None:
        size = self._board.size or self._board_to_come()
        alone = self.zoomed or not size
        grid = None if alone else tile(len(self._panes), size)
        self._roster.display = not alone and grid is None and len(self._panes) > 1
        for key, pane in self._panes.items():
            pane.display = grid is not None or key == self._chosen_id
        self.set_class(self.zoomed, "-zoomed")
        self.feed.show({key: partial(self._tick, pane) for key, pane in self._panes.items() if pane.display})

    def _board_to_come(self) -> Size:
        """The space that the panes will have, before the first layout: so that one layout is enough."""
        width, height = self.app.size
        return Size(width, max(height - ROWS_AROUND, 0))

    def _tick(self, pane: AgentPane) -> bool:
        return pane.tick(self.feed.wall())

    # --- what it shows --------------------------------------------------------------------------------------

    def report(self) -> None:
        """Write the rows that speak of all agents; called after each frame."""
        feeds = list(self.feed.agents.values())
        forms = self.session.equipment.forms.pending
        waiting = len(self.session.desk.pending) + sum(form.urgent for form in forms)
        keys, sandbox = self.actions, self.session.equipment.sandbox
        chosen = self.chosen
        self._status.report(
            (feed.transcript.state for feed in feeds),
            waiting,
            approve_key=keys["approvals"].first_key,
            wanted=sum(not form.urgent for form in forms),
            forms_key=keys["forms"].first_key,
            sandbox=one_line(sandbox.words.partition(":")[0]),
            is_bad=sandbox.bad,
            demo=self.session.demo,
            workspace=chosen.agent.workspace if chosen else None,
        )
        if self._roster.display:
            self._roster.report(feeds, self._chosen_id, self.feed.wall())
        busy = chosen is not None and chosen.agent.busy
        useful = {
            "interrupt": busy,
            "approvals": waiting > 0,
            "stop_all": self.session.running > 0,
            "next_agent": len(feeds) > 1,
            "zoom": len(feeds) > 1,
        }
        covered = self.app.screen is not self
        self._keys.report(
            lit=["approvals"] if waiting and not covered else [],
            useless=[
                action.id
                for action in self._footer
                if not useful.get(action.id, True) or (covered and not self._reaches(action))
            ],
        )
        self._address()
        give_back(self.feed.agents, self.prompt, partial(self.notify, severity="warning", markup=False))

    def _reaches(self, action: Action) -> bool:
        """Whether its key works although something covers the dashboard."""
        from agent_tui.modals.arming import ArmedScreen

        leads = action.leads and isinstance(self.app.screen, ArmedScreen)
        bound = action.on_app and bool(self.app.check_action(action.action.removeprefix("app."), ()))
        return leads or bound

    def beneath(self) -> Beneath:
        """What a question covers: the prompt, and the keys that lead somewhere."""
        return Beneath(self.prompt.receive, self.prompt.insert, self._navigate)

    async def _navigate(self, key: str) -> bool:
        """Do what this key is for, if that only leads somewhere."""
        if action := self.actions.leading(key):
            await self.run_action(action.action)
        return action is not None

    def _address(self) -> None:
        if (chosen := self.chosen) is None:
            self.prompt.address("")
            return
        words = f"{chosen.agent.number} {one_line(chosen.agent.name)}"
        if chosen.transcript.state == "stopping":
            words += " · stopping, enter goes on"
        elif chosen.agent.busy:
            words += " · busy, enter queues"
        self.prompt.address(words)

    # --- what comes from widgets ----------------------------------------------------------------------------

    def on_resize(self) -> None:
        self.call_after_refresh(self._rearrange)

    def on_screen_suspend(self) -> None:
        """Something covers the dashboard: few of its keys still do what the last row says."""
        self.report()

    def on_screen_resume(self) -> None:
        """It is free again."""
        self.report()

    def _rearrange(self) -> None:
        self._arrange()
        self.feed.wake()

    def on_agent_pane_chosen(self, message: AgentPane.Chosen) -> None:
        self.choose(message.agent_id)

    def on_roster_chosen(self, message: Roster.Chosen) -> None:
        self.choose(message.agent_id)

    def on_prompt_box_submitted(self, message: PromptBox.Submitted) -> None:
        whose = self.feed.agents.get(message.to)
        if whose is None:
            none = f"there is no agent: {self._key('new_agent')} adds one"
            self.prompt.put_back(message.text, "that agent is gone" if message.to else none)
            return
        if self.session.offer is not None:
            reason = "first answer the question about this folder: f2 shows it"
            self.prompt.put_back(message.text, reason, message.to)
            return
        if (pane := self._panes.get(message.to)) is not None:
            pane.put_warnings_away()
        if message.now:
            whose.agent.prompt_now(message.text)
        else:
            whose.agent.prompt(message.text)
        self.feed.now()

    def on_prompt_box_take_back(self, message: PromptBox.TakeBack) -> None:
        whose = self.feed.agents.get(message.to)
        if whose is None or not whose.agent.queue:
            return
        if (text := whose.agent.unqueue(whose.agent.queue[-1].id)) is not None:
            self.prompt.put_back(text, "taken back from the queue", message.to)
            self.feed.now()

    async def on_key_row_pressed(self, message: KeyRow.Pressed) -> None:
        await self.run_action(message.action.action)

    def on_click(self) -> None:
        self.prompt.focus()

    # --- keys -----------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Give keys back to the prompt where it needs them."""
        if action == "scroll_empty":
            return not self.prompt.text
        return super().check_action(action, parameters)

    def action_interrupt(self) -> None:
        """Stop the chosen agent, and say which."""
        chosen = self.chosen
        if chosen is None:
            return
        name = f"{chosen.agent.number} {one_line(chosen.agent.name)}"
        if not chosen.agent.interrupt():
            self.notify(f"{name} is not working.", timeout=2, markup=False)
        self.feed.now()

    def action_focus_next_agent(self, step: int) -> None:
        """Talk to the agent after (or before) the chosen one."""
        if order := list(self._panes):
            here = order.index(self._chosen_id) if self._chosen_id in order else 0
            self.choose(order[(here + step) % len(order)])

    def action_focus_agent(self, number: int) -> None:
        """Talk to the agent with this number."""
        if found := [key for key, feed in self.feed.agents.items() if feed.agent.number == number]:
            self.choose(found[0])

    def action_zoom(self) -> None:
        """Show the chosen agent alone, or all again."""
        self.zoomed = not self.zoomed
        self._rearrange()

    def action_scroll(self, where: str) -> None:
        """Scroll the chosen agent's transcript."""
        if (pane := self._panes.get(self._chosen_id)) is not None:
            pane.scroll_transcript(where)
            self.feed.now()

    def action_scroll_empty(self, where: str) -> None:
        """The same, for keys that a prompt with text needs itself."""
        self.action_scroll(where)

    def action_toggle_reasoning(self) -> None:
        """Fold or unfold the model's reasoning in the chosen pane."""
        if (pane := self._panes.get(self._chosen_id)) is not None:
            pane.transcript.toggle_reasoning()
            self.feed.now()

    def action_go_on(self) -> None:
        """Send the oldest queued prompt of the chosen agent."""
        if (chosen := self.chosen) is not None and not chosen.agent.go_on():
            self.notify("Nothing is queued that could be sent now.", timeout=2, markup=False)
        self.feed.now()

    async def action_close_agent(self) -> None:
        """Close the chosen agent after a question; in a prompt with text the key deletes a word."""
        if self.prompt.text:
            self.prompt.query_one(TextArea).action_delete_word_left()
            return
        if (chosen := self.chosen) is not None:
            await self.run_action(f"app.close_agent({chosen.agent.id!r})")

    async def action_stop_or_quit(self) -> None:
        """Copy what is selected, else stop the chosen agent; twice within a second offers to quit."""
        selected = self.get_selected_text() or self.prompt.query_one(TextArea).selected_text
        if selected:
            self.app.copy_to_clipboard(selected)
        await self.run_action("app.interrupt_key('Copied.')" if selected else "app.interrupt_key")

    def _key(self, action_id: str) -> str:
        return self.actions[action_id].first_key or action_id
