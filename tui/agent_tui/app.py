"""Owns the Textual app: it mounts the dashboard, routes what concerns all agents, and ends cleanly.

Refuses to run agents and to close them: the session outlives the app and belongs to the caller. Nothing that
an agent, a tool, a model, a string or a key does ends the app: see `screens.faults`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from pathlib import PurePath
from typing import ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from agent_tui.actions import Actions, bindings
from agent_tui.feed import Feed
from agent_tui.keyboard import Keyboard, is_text
from agent_tui.panes.wording import one_line, plural
from agent_tui.ports import Agent, DashboardSession
from agent_tui.screens.approval_questions import ApprovalQuestions
from agent_tui.screens.commands import Palette, palette_commands
from agent_tui.screens.dashboard import DashboardScreen
from agent_tui.screens.faults import EnduringApp
from agent_tui.screens.form_questions import FormQuestions
from agent_tui.screens.inbox import Inbox
from agent_tui.screens.key_order import keys_before
from agent_tui.screens.later import say_later
from agent_tui.screens.leaving import Leaving
from agent_tui.screens.mode_switch import ModeSwitch
from agent_tui.screens.stopping import Stopping
from agent_tui.screens.terminal_input import quiet_driver
from agent_tui.screens.terminal_keys import learn_alt_keys
from agent_tui.screens.terminal_title import TerminalTitle
from agent_tui.screens.tidying import Tidying
from agent_tui.screens.trust_question import TrustQuestion
from agent_tui.screens.warming import warm_up
from agent_tui.theming import DEFAULT_THEME, register_themes, remember_theme, remembered_theme
from agent_tui_core.config.modes import Mode
from agent_tui_core.errors import AgentTuiError
from agent_tui_core.system_limits import system_limit

_log = logging.getLogger(__name__)

learn_alt_keys()


class AgentTuiApp(EnduringApp[None], inherit_bindings=False):
    """The dashboard over a session that runs already."""

    TITLE = "agent-tui"
    ESCAPE_TO_MINIMIZE = False
    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        "styles/dashboard.tcss",
        "styles/help.tcss",
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(on_app=True),
        Binding("ctrl+c", "quit_key", show=False, priority=True, id="stop_or_quit"),
    ]

    def __init__(
        self,
        session: DashboardSession,
        *,
        prompt: str | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`prompt` goes to every agent at the start; `wall` is the clock that the screen shows."""
        keyboard = Keyboard()
        super().__init__(keyboard, quiet_driver(keyboard.came))
        self.session = session
        self.actions = Actions(session.plan.keys)
        self.feed = Feed(wall=wall, hurried=keyboard.waits)
        self.dashboard = DashboardScreen(session, self.feed, self.actions)
        beneath = self.dashboard.beneath
        self.forms = FormQuestions(self, session.equipment.forms, self.feed, beneath)
        kinds = (
            TrustQuestion(self, session, beneath, self._do, self._begin),
            ApprovalQuestions(self, session.desk, self.feed, beneath),
            self.forms,
        )
        later = partial(say_later, self, self.actions, lambda: self.dashboard.chosen)
        self.inbox = Inbox(self, kinds, self.feed, lambda: self._last_key_at, self._chosen_id, later)
        self.modes = ModeSwitch(
            self, beneath, session.desk.judge_again, lambda: session.equipment.sandbox, self._do
        )
        self._prompt = prompt
        self._last_key_at = float("-inf")
        self._title = TerminalTitle(self)
        self._leaving = Leaving(self, session, self.actions, beneath)
        self._stopping = Stopping(self, session, self.feed, beneath)
        self.set_keymap(self.actions.keymap())
        self._notices = register_themes(self, session.plan.config_dir / "themes")
        self._choose_theme(session.plan.theme or remembered_theme(session.plan.data_dir))

    def get_default_screen(self) -> Screen[None]:
        """The dashboard is the first and last screen."""
        return self.dashboard

    def on_mount(self) -> None:
        self._title.save()
        self.session.watch(self._session_changed)
        self.feed.watch(self._say_title)
        self.feed.watch(Tidying(lambda: self._last_key_at).look)
        self.inbox.start()
        self.feed.start()
        for notice in self._notices:
            self.notify(notice, severity="warning", timeout=8, markup=False)
        if self.session.greeting and not self.session.demo:
            self.notify(one_line(self.session.greeting), timeout=8, markup=False)
        self.call_after_refresh(self._first_frame_is_there)

    def on_unmount(self) -> None:
        self.feed.stop()
        self._title.restore()

    async def on_event(self, event: events.Event) -> None:
        """Note when a key was pressed, whoever takes it: questions wait for a quiet keyboard."""
        if isinstance(event, events.Key | events.Paste):
            self._last_key_at = time.monotonic()
        if isinstance(event, events.Key) and not event.is_forwarded and not is_text(event):
            await keys_before(self)
        await super().on_event(event)

    def _first_frame_is_there(self) -> None:
        """Set the agents to work, and import in a thread what nobody should wait for later."""
        self.endure()
        if self.session.offer is None:
            self.when_seen(self._begin)
        warm_up(self)
        self._do(self._look_at_sandbox())

    async def _look_at_sandbox(self) -> None:
        await self.session.equipment.sandbox.look()
        self.feed.wake()

    def _begin(self) -> None:
        """Nothing has to be decided first any more."""
        self.session.start(self._prompt)

    # --- routes ---------------------------------------------------------------------------------------------

    def _session_changed(self) -> None:
        self.call_later(self.dashboard.follow_session)

    def _chosen_id(self) -> str:
        return chosen.agent.id if (chosen := self.dashboard.chosen) else ""

    def action_approvals(self) -> None:
        """Open the chosen agent's question, else the oldest."""
        if not self.inbox.open_next():
            self.notify("Nobody waits for you.", timeout=2, markup=False)

    def action_forms(self) -> None:
        """Fill in what the focused agent's call waits for, else the oldest form of all."""
        chosen = self.dashboard.chosen
        question = self.forms.next_for(chosen.agent.id if chosen else "")
        if question is None:
            self.notify("No server and no tool waits for your words.", timeout=2, markup=False)
        else:
            self.inbox.open(self.forms, question, by_key=True)

    def action_equipment(self) -> None:
        """Show what agents may do and use."""
        from agent_tui.screens.equipment import EquipmentScreen

        self.push_screen(
            EquipmentScreen(
                lambda: self.session.equipment.reporters,
                self._do,
                waiting=lambda: self.inbox.count,
                open_questions=self.action_approvals,
            )
        )

    def action_next_mode(self) -> None:
        """Change what the focused agent may do unasked."""
        if (chosen := self.dashboard.chosen) is not None:
            self.modes.next(chosen.agent)

    def set_mode(self, mode: Mode) -> None:
        """The same, to this mode."""
        if (chosen := self.dashboard.chosen) is not None:
            self.modes.set(chosen.agent, mode)

    def action_help(self) -> None:
        """Show the keys and how it works."""
        from agent_tui.screens.help import HelpScreen

        self.push_screen(HelpScreen(self.actions, one_line(self.session.greeting)))

    def action_pick_theme(self) -> None:
        """Choose colours, with a live preview."""
        from agent_tui.modals.theme_picker import ThemePicker

        self.push_screen(ThemePicker(self._keep_theme))

    def _keep_theme(self, name: str) -> None:
        try:
            remember_theme(self.session.plan.data_dir, name)
        except OSError as error:
            words = f"The theme holds until you quit: it could not be written down ({error.strerror})."
            self.notify(one_line(words), severity="warning", markup=False)

    def action_new_agent(self, profile: str = "") -> None:
        """Add an agent."""
        self._do(self._add_agent(profile or None))

    async def _add_agent(self, profile: str | None) -> None:
        worker = await self.session.add_worker(profile)
        await self.dashboard.follow_session()
        self.dashboard.choose(worker.id)

    def action_close_agent(self, agent_id: str) -> None:
        """Close an agent after a question."""
        from agent_tui.modals.confirm import ConfirmModal

        feed = self.feed.agents.get(agent_id)
        if feed is None:
            return
        name = f"{feed.agent.number} {one_line(feed.agent.name)}"
        body = "It works now and is stopped first. " if feed.agent.busy else ""
        if queued := len(feed.agent.queue):
            body += f"What is queued ({plural(queued, 'prompt')}) is not sent. "
        body += "Its conversation stays in the history."

        def closed(confirmed: bool | None) -> None:
            if confirmed:
                self._do(self.session.remove_worker(agent_id))

        self.push_screen(
            ConfirmModal(f"Close agent {name}?", body, "Close", beneath=self.dashboard.beneath()), closed
        )

    def action_compact(self) -> None:
        """Summarise the oldest part of the focused agent's conversation, for its model."""
        chosen = self.dashboard.chosen
        if chosen is not None and not chosen.agent.compact():
            self.notify("It works now: stop it first, or wait.", severity="warning", markup=False)

    def action_undo_compaction(self) -> None:
        """Let the focused agent's model read again what a summary stands for."""
        chosen = self.dashboard.chosen
        if chosen is not None:
            self._do(self._undo_compaction(chosen.agent))

    async def _undo_compaction(self, agent: Agent) -> None:
        if not await agent.undo_compaction():
            words = "It works now: stop it first." if agent.busy else "Nothing is summarised here."
            self.notify(words, severity="warning", markup=False)

    def _do(self, work: Coroutine[object, object, object]) -> None:
        self.run_worker(self._told(work), exit_on_error=False)

    async def _told(self, work: Coroutine[object, object, object]) -> None:
        """Do something of the session's; what goes wrong is said, and ends nothing."""
        try:
            await work
        except AgentTuiError as error:
            self.notify(one_line(str(error)), severity="error", markup=False)
        except Exception as bug:  # noqa: BLE001 - the last seam before Textual, which would end the app
            _log.exception("a command of the dashboard failed")
            self.notify(one_line(f"That failed: {system_limit(bug) or bug}"), severity="error", markup=False)

    # --- palette --------------------------------------------------------------------------------------------

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002 - Textual's signature
        """Everything in the registry, by name."""
        yield from palette_commands(
            self.actions,
            self.session.plan.profiles,
            run=self._runner,
            new_agent=self.action_new_agent,
            set_mode=self.set_mode,
        )

    def action_command_palette(self) -> None:
        """Everything in the registry, to choose from."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))  # Textual's own name for it

    def _runner(self, action: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await self.run_action(action, self.dashboard)

        return run

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A modal's question comes before the palette, and the dashboard has a ctrl+c of its own."""
        if action == "command_palette":
            return self.screen is self.dashboard
        if action == "quit_key":
            return self.screen is not self.dashboard
        return super().check_action(action, parameters)

    # --- stopping and leaving -------------------------------------------------------------------------------

    def action_stop_all(self) -> None:
        """Stop every agent, over any question; asks when that is more than one."""
        self._stopping.stop(self.actions["stop_all"].first_key)

    def action_interrupt_key(self, done: str = "") -> None:
        """ctrl+c: stop the chosen agent, unless it has `done` something; twice in a second offers to quit."""
        self._leaving.ctrl_c((lambda: done) if done else self._stop_chosen)

    def action_quit_key(self) -> None:
        """The same over what covers the dashboard: it copies what is selected, and stops nobody."""
        selected = self.screen.get_selected_text() or getattr(self.screen.focused, "selected_text", "")
        if selected:
            self.copy_to_clipboard(selected)
        self._leaving.ctrl_c((lambda: "Copied.") if selected else None)

    def _stop_chosen(self) -> str:
        chosen = self.dashboard.chosen
        if chosen is None or not chosen.agent.interrupt():
            return "Nothing to stop here."
        self.feed.now()
        return f"Stopping {chosen.agent.number} {one_line(chosen.agent.name)}."

    async def action_quit(self) -> None:
        """Leave; asks while agents run."""
        self._leaving.leave()

    def screen_failed(self, screen: Screen[object]) -> None:
        """Do not ask the same question again at once, in a screen that cannot be shown."""
        super().screen_failed(screen)
        self.inbox.put_off()

    # --- look -----------------------------------------------------------------------------------------------

    def _choose_theme(self, wanted: str | None) -> None:
        if wanted is not None and wanted in self.available_themes:
            self._begin_with_theme(wanted)
            return
        if wanted is not None:
            self._notices.append(f"There is no theme {one_line(wanted)!r}; {DEFAULT_THEME} is used.")
        if DEFAULT_THEME in self.available_themes:
            self._begin_with_theme(DEFAULT_THEME)

    def _begin_with_theme(self, name: str) -> None:
        """Do what setting the theme does; that would have all styles parsed twice before the first frame."""
        self.set_reactive(App.theme, name)
        dark = self.current_theme.dark
        for style, holds in ((f"-theme-{name}", True), ("-dark-mode", dark), ("-light-mode", not dark)):
            self.set_class(holds, style, update=False)
        self._refresh_truecolor_filter(self.ansi_theme)
        self.stylesheet.set_variables(self.get_css_variables())

    def _say_title(self) -> None:
        self._title.say(len(self.feed.agents), self.inbox.count)
