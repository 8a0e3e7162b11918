"""Owns the run of a dashboard: the only room where a plan becomes objects; refuses to draw or to decide.

`open_session` opens the history, finds the models, makes the agents, and sees to it that all of it ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tui_core.agent.approvals import AllowAlways, ApprovalDesk
from agent_tui_core.blocks import JsonObject
from agent_tui_core.config.profiles import AgentProfile, Plan, check_agent
from agent_tui_core.errors import ConfigError
from agent_tui_core.events import ApprovalRequest
from agent_tui_core.history.holding import HeldSession
from agent_tui_core.history.store import History, StoredConversation, StoredSession
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.messages import new_id
from agent_tui_core.runtime.assembly import Assembly, Birth, free_name, profile_from, stored_profile
from agent_tui_core.runtime.connections import DEMO, Connection, Connections
from agent_tui_core.runtime.demo_stage import DEMO_GREETING as DEMO_GREETING
from agent_tui_core.runtime.demo_stage import DemoStage
from agent_tui_core.runtime.equipment import Equipment
from agent_tui_core.runtime.prompt_run import PromptRun
from agent_tui_core.runtime.resumed import changed_words, check_resumed, resumed_profile
from agent_tui_core.runtime.supervisor import Supervisor
from agent_tui_core.runtime.worker import Worker, WorkerIdentity

if TYPE_CHECKING:
    from agent_tui_core.agent.permissions import Permissions
    from agent_tui_core.agent.policy import Policy
    from agent_tui_core.agent.prompts import Prompt
    from agent_tui_core.config.project import Project
    from agent_tui_core.providers.base import ModelProvider
    from agent_tui_core.tools.base import Tool

log = logging.getLogger(__name__)

HISTORY_FILE = "history.db"
NO_MODEL = (
    "no model is configured, and no local server answers. Start Ollama or LM Studio, set OPENAI_API_KEY or "
    "OPENAI_BASE_URL, say --base-url, or try the scripted one with --demo"
)


class Session:
    """Everything that one dashboard runs on."""

    def __init__(
        self,
        plan: Plan,
        session_id: str,
        history: History,
        connections: Connections,
        equipment: Equipment,
    ) -> None:
        self.plan = plan
        self.id = session_id
        self.desk = ApprovalDesk(self._remember, self.rule_problem)
        self.greeting = ""
        """What a person should know about where the models come from; empty when they said it themselves."""
        self._history = history
        self._connections = connections
        self.equipment = equipment
        equipment.learned.history = history
        self.offer: Project | None = None
        """What the workspace brings along and nobody trusted yet; openings wait for `decide_project`."""
        self._waits: tuple[Prompt | None, ...] = ()
        self._assembly = Assembly(history, self.desk, equipment)
        self._supervisor = Supervisor()
        self._stage = DemoStage()
        self._openings: Sequence[tuple[Worker, Prompt]] = []
        self._conversations: dict[str, str] = {}
        """The conversation of each agent, by agent id."""

    @property
    def permissions(self) -> Permissions:
        """The rules that hold in this session, for all agents."""
        return self.equipment.permissions

    @property
    def demo(self) -> bool:
        """The demo model answers."""
        return self._connections.demo

    @property
    def workers(self) -> tuple[Worker, ...]:
        """The agents, in their order."""
        return self._supervisor.workers

    @property
    def running(self) -> int:
        """How many agents have a run."""
        return self._supervisor.running

    def watch(self, wake: Callable[[], object]) -> None:
        """Call `wake` when agents come or go; it must only set a flag or schedule."""
        self._supervisor.watch(wake)

    def interrupt_all(self) -> int:
        """Interrupt every run; return how many there were."""
        return self._supervisor.interrupt_all()

    async def remove_worker(self, agent_id: str) -> None:
        """End one agent; its history stays, but it does not come back with the session."""
        await self._supervisor.remove(agent_id)
        await self.equipment.leave(agent_id)
        if conversation_id := self._conversations.pop(agent_id, None):
            await self._history.close_conversation(conversation_id)

    async def add_worker(self, profile: str | None = None, *, name: str | None = None) -> Worker:
        """Make an agent of a profile ("default" without one); raises `ConfigError` or `HistoryError`."""
        chosen = self.plan.profiles.get(profile or "default")
        if chosen is None:
            known = ", ".join(self.plan.profiles)
            raise ConfigError(f"there is no profile {profile!r}; there is: {known}", key="agents")
        if self.demo:
            chosen = self._stage.another(chosen, len(self.workers))
        taken = {worker.name for worker in self.workers}
        return (await self._make([replace(chosen, name=free_name(name or chosen.name, taken))]))[0]

    def start(self, prompt: Prompt | None = None) -> tuple[PromptRun, ...]:
        """Give every agent this prompt; without one, a new demo's agents begin with their own. Once.

        Returns what came of it, for each agent. While there is an `offer` it waits until that is decided, and
        returns none.
        """
        openings: Sequence[tuple[Worker, Prompt]] = self._openings
        self._openings = []
        if self.offer is not None:
            self._openings, self._waits = openings, (prompt,)
            return ()
        if prompt is not None:
            openings = [(worker, prompt) for worker in self.workers]
        return tuple(worker.prompt(words) for worker, words in openings)

    def _go_on_outside(self) -> None:
        """Let the agents wait on that an earlier life left while somebody outside had their calls."""
        for worker in self.workers:
            worker.take_up()

    async def decide_project(self, trusted: bool) -> None:
        """Use what the workspace brings along, and record that it is trusted; or leave it alone this time."""
        offer, self.offer = self.offer, None
        if offer is not None and trusted:
            await self._use(offer)
            if problem := await self.equipment.project.trust(offer):
                for worker in self.workers:
                    worker.notice(problem)
        self._go_on_outside()
        waits, self._waits = self._waits, ()
        for prompt in waits:
            self.start(prompt)

    async def _use(self, project: Project) -> None:
        self.plan = replace(self.plan, profiles=self.equipment.project.profiles(project))
        from agent_tui_core.config.trusted_files import TrustedFiles

        self.equipment.rules.protect(project.files)
        trusted = TrustedFiles(project.root, project.digests)
        await self.equipment.use_project(project.equipment, project.hooks_json, project.root, trusted)

    async def close(self) -> None:
        """End all agents, then what they shared, connections and history."""
        self.equipment.outside.leave()
        await self._supervisor.close()
        await self.equipment.close()
        await self._connections.close()
        await self._history.close()

    def rule_problem(self, request: ApprovalRequest, rule: str) -> str | None:
        """Why a rule that a person wrote cannot be saved for that question's call; None when it can."""
        return self.equipment.rules.problem(request, rule)

    def _remember(self, request: ApprovalRequest, answer: AllowAlways) -> None:
        def failed(why: str) -> None:
            for worker in self.workers:
                if worker.id == request.agent_id:
                    worker.notice(f"The rule {answer.rule} holds until you quit: it was not kept. {why}")

        self.equipment.rules.remember(request, answer, failed)

    # --- how it begins --------------------------------------------------------------------------------------

    async def find_project(self) -> None:
        """Use what the workspace brings along, if the person trusted that; else offer it."""
        project = None if self.demo else await self.equipment.project.find()
        if project is None:
            return
        if self.equipment.project.trusted:
            await self._use(project)
            return
        self.offer = project if project.would_run else None
        self.equipment.rules.use_project(project.equipment.permissions, project.root, trusted=False)

    def tell_problems(self) -> None:
        """Say to whoever looks that something of the project is broken."""
        project = self.equipment.project.found
        if project is not None and project.problems and self.workers:
            more = len(project.problems) - 1
            words = f"{project.problems[0]}{f' (and {more} more: agent-tui trust --show)' if more else ''}"
            self.workers[0].notice(f"Of what this folder brings along: {words}")

    async def begin(self) -> None:
        """Make the planned agents."""
        if self.demo:
            await self._begin_demo()
            return
        default = self.plan.profiles["default"]
        planned = self.plan.agents or (replace(default, name="agent-1"),)
        await self._make(planned)
        if self._connections.local is not None:
            model = self.workers[0].model
            self.greeting = f"Found {self._connections.local} on this machine: using its model {model}."

    async def take_up(self, stored: StoredSession) -> None:
        """Make the agents of an earlier session as they were left."""
        for conversation in stored.conversations:
            if not conversation.closed:
                await self._revive(conversation)
        if self.demo:
            self.greeting = DEMO_GREETING
        if self.offer is None:
            self._go_on_outside()

    async def _begin_demo(self) -> None:
        self.greeting = DEMO_GREETING
        named: list[AgentProfile] = []
        prompts: list[str] = []
        for profile, prompt in self._stage.opening(self.plan.agents, self.plan.profiles["default"]):
            named.append(replace(profile, name=free_name(profile.name, {each.name for each in named})))
            prompts.append(prompt)
        self._openings = [*self._openings, *zip(await self._make(named), prompts, strict=True)]

    # --- one agent ------------------------------------------------------------------------------------------

    async def _make(self, profiles: Sequence[AgentProfile]) -> list[Worker]:
        """Make agents; their conversations reach the disk together."""
        connected: list[tuple[AgentProfile, Connection]] = []
        for profile in profiles:
            check_agent(profile, self.plan.providers.get(profile.provider or ""), os.environ)
            connected.append((profile, await self._connections.connect(profile)))
        first = max((worker.number for worker in self.workers), default=0) + 1
        born = [(_identity(new_id(), number, *each), *each) for number, each in enumerate(connected, first)]
        stored = await asyncio.gather(*(self._store(*each) for each in born))
        return [
            self._join(Birth(identity, profile, connection, conversation_id))
            for (identity, profile, connection), conversation_id in zip(born, stored, strict=True)
        ]

    def _join(self, birth: Birth) -> Worker:
        worker = self._assembly.worker(birth)
        self._conversations[worker.id] = birth.conversation_id
        self._supervisor.add(worker)
        return worker

    async def _store(self, identity: WorkerIdentity, profile: AgentProfile, connection: Connection) -> str:
        return await self._history.add_conversation(
            self.id,
            agent_id=identity.id,
            name=identity.name,
            position=identity.number,
            profile=stored_profile(profile, connection),
        )

    async def _revive(self, stored: StoredConversation) -> None:
        profile, changed = resumed_profile(profile_from(stored.name, stored.profile), self._profiles_now)
        profile, lost = self._workspace_of(profile, stored.profile)
        connection = self._connections.reconnect(stored.profile)
        identity = _identity(stored.agent_id, stored.position, profile, connection)
        worker = self._assembly.worker(Birth(identity, profile, connection, stored.id))
        await worker.restore(stored.bodies, self.equipment.outside.goes_on, stored.queue)
        told = changed_words(stored.profile, connection, profile, changed)
        if told is not None:
            await self._history.change_profile(stored.id, stored_profile(profile, connection))
        for words in (lost, told):
            if words is not None:
                worker.notice(words)
        self._conversations[worker.id] = stored.id
        self._supervisor.add(worker)

    @property
    def _profiles_now(self) -> Mapping[str, AgentProfile]:
        """Those that agents of an earlier session go on with; the demo's have parts that no settings say."""
        return {} if self.demo else self.plan.profiles

    def _workspace_of(self, profile: AgentProfile, stored: JsonObject) -> tuple[AgentProfile, str | None]:
        """A demo workspace was temporary: when it is gone, a fresh copy takes its place."""
        if profile.workspace.is_dir():
            if stored.get("provider") == DEMO:
                self._stage.take_up(profile.workspace)
            return profile, None
        if stored.get("provider") == DEMO:
            return replace(profile, workspace=self._stage.folder), "The sample workspace was made anew."
        words = f"The workspace {profile.workspace} is gone: tools will fail until it is back."
        return profile, words


@asynccontextmanager
async def open_session(
    plan: Plan,
    *,
    resume: str | None = None,
    demo_pace: float = 1.0,
    hooks: Hooks | None = None,
    policy: Policy | None = None,
    tools: Sequence[Tool] = (),
    provider: ModelProvider | None = None,
) -> AsyncIterator[Session]:
    """Open a session by plan, or an earlier one: `resume` is the start of its id, or "" for the newest.

    Without a policy a person answers at the desk. With one nobody may look: the demo has to be asked for.
    `tools` are offered beside the built-in ones, and judged by the same rules; a profile that names its tools
    has those alone. `provider` answers all agents in the place of every server; whoever made it closes it.
    Raises `ConfigError` and `HistoryError` before anything runs. `Session.start` sets the agents to work.
    """
    equipment = Equipment(plan, hooks or Hooks(), policy, tools)
    history = await History.open(plan.data_dir / HISTORY_FILE)
    held: HeldSession | None = None
    try:
        stored = None
        if resume is not None:
            held = HeldSession.hold(plan.data_dir, await history.find(resume or None))
            stored = await history.load(held.session_id)
            check_resumed(plan, demo=stored.demo)
        demo = plan.demo if stored is None else stored.demo
        connections = Connections(plan, demo=demo, demo_pace=demo_pace, given=provider)
        if stored is None:
            await connections.settle()
            if policy is not None and connections.demo and not demo:
                await connections.close()
                raise ConfigError(NO_MODEL)
            begun = await history.start_session(str(plan.workspace), demo=connections.demo)
            held = HeldSession.hold(plan.data_dir, begun)
        assert held is not None
    except BaseException:
        if held is not None:
            held.release()
        await history.close()
        raise
    session = Session(plan, held.session_id, history, connections, equipment)
    try:
        await equipment.start()
        await session.find_project()
        if stored is None:
            await session.begin()
        else:
            await session.take_up(stored)
        session.tell_problems()
        yield session
    finally:
        await session.close()
        held.release()


def _identity(agent_id: str, number: int, profile: AgentProfile, connection: Connection) -> WorkerIdentity:
    return WorkerIdentity(
        id=agent_id,
        number=number,
        name=profile.name,
        model=connection.model,
        provider=connection.name,
        workspace=profile.workspace,
    )
