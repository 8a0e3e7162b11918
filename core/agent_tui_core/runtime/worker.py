"""Owns the life of one agent: its conversation, its run, its queue, its state; refuses to know other agents.

At most one run at a time. Nothing that happens in a run leaves this room as an exception: a bug ends the
run and is told in the agent's own events.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agent_tui_core.agent.conversation import Conversation, ConversationSnapshot
from agent_tui_core.agent.prompts import Prompt, prompt_blocks, words_of
from agent_tui_core.blocks import Image
from agent_tui_core.errors import HistoryError
from agent_tui_core.events import (
    AgentState,
    CompactionUndone,
    Event,
    Noticed,
    PromptReturned,
    QueueChanged,
    RunEnd,
    RunEnded,
    WorkerClosed,
    WorkerFailed,
)
from agent_tui_core.history.queued import PlacedPrompt
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.messages import Message, QueuedPrompt, new_id
from agent_tui_core.records import dataclass
from agent_tui_core.runtime.agent_mode import AgentMode
from agent_tui_core.runtime.journal import WorkerJournal
from agent_tui_core.runtime.outbox import MOST_UNREAD, Outbox, Subscription
from agent_tui_core.runtime.prompt_queue import PromptQueue
from agent_tui_core.runtime.prompt_run import PromptRun, PromptRuns
from agent_tui_core.runtime.prompting import Prompting
from agent_tui_core.runtime.resume import Happened, LeftOpen
from agent_tui_core.runtime.revival import GoesOn, Revival, nothing_goes_on
from agent_tui_core.runtime.runner import Runner
from agent_tui_core.system_limits import how_a_run_broke

log = logging.getLogger(__name__)

GONE = "the agent is gone"


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """Who an agent is; never changes."""

    id: str
    number: int
    """Its place on the dashboard, from 1."""
    name: str
    model: str
    provider: str
    workspace: Path
    profile: str | None = None


class Worker:
    """One agent. All methods but `close` return at once; call them from the event loop's thread."""

    def __init__(
        self,
        identity: WorkerIdentity,
        conversation: Conversation,
        outbox: Outbox,
        journal: WorkerJournal,
        runner: Runner,
        hooks: Hooks,
        branch: Callable[[], str | None] = lambda: None,
        mode: AgentMode | None = None,
        queue: PromptQueue | None = None,
    ) -> None:
        """`queue` keeps what is said to it while it works; without one that is kept nowhere."""
        self.identity = identity
        self.mode = mode or AgentMode()
        """What it may do without a question; a person may change it while it works."""
        self._conversation = conversation
        self._outbox = outbox
        self._journal = journal
        self._runner = runner
        self._prompting = Prompting(identity.id, conversation, journal, hooks)
        self._branch = branch
        self._queue = queue or PromptQueue()
        self._queue.tell, self._queue.warn = self._tell_queue, self._warn
        journal.on_run = self._queue.runs
        self._task: asyncio.Task[None] | None = None
        self._interrupting = False
        self._closed = False
        self._goes_on = False
        self._last_run: str | None = None
        self._unanswered: QueuedPrompt | None = None
        """The prompt whose run has not ended yet."""
        self._runs = PromptRuns()
        self._revival = Revival(conversation, outbox, journal, runner, self._queue)
        self._leaves = False
        """The program ends: what waits for somebody outside goes on in a later life."""

    # --- what it is -----------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """Its key, unique in the history."""
        return self.identity.id

    @property
    def number(self) -> int:
        """Its place on the dashboard, from 1."""
        return self.identity.number

    @property
    def name(self) -> str:
        """What the person calls it."""
        return self.identity.name

    @property
    def model(self) -> str:
        """The model that answers."""
        return self.identity.model

    @property
    def provider(self) -> str:
        """The name of the provider that the model is reached through."""
        return self.identity.provider

    @property
    def workspace(self) -> Path:
        """The folder it works in."""
        return self.identity.workspace

    @property
    def branch(self) -> str | None:
        """The git branch of its workspace, when there is one."""
        return self._branch()

    @property
    def state(self) -> AgentState:
        """What it does now."""
        return self._journal.activity.state

    @property
    def detail(self) -> str:
        """More of its state, in words; may be empty."""
        return self._journal.activity.detail

    @property
    def tokens(self) -> int:
        """Of its conversation, as the next request has it: counted by the provider, else guessed."""
        return self._conversation.size()

    @property
    def busy(self) -> bool:
        """A run is going on."""
        return self._task is not None and not self._task.done()

    @property
    def queue(self) -> tuple[QueuedPrompt, ...]:
        """The prompts that wait until it can take them, oldest first."""
        return self._queue.prompts

    @property
    def conversation(self) -> ConversationSnapshot:
        """Its messages as they are now; what is done to this changes nothing of the agent's."""
        return self._conversation.snapshot()

    # --- what one can tell it -------------------------------------------------------------------------------

    def prompt(self, prompt: Prompt) -> PromptRun:
        """Run this now, or queue it when a run is going on: words, or words and pictures.

        Await what it returns for the answer. Blank words are not sent: their run has ended as failed. A run
        that is stopping counts as stopped: this is sent as soon as it is, before what is queued.
        """
        queued, run = self._given(prompt)
        if queued is not None and self._has_to_wait(queued):
            stops = self._interrupting and not self._goes_on
            self._queue.add(queued, first=stops)
            self._goes_on |= stops
        return run

    def prompt_now(self, prompt: Prompt) -> PromptRun:
        """Interrupt what is going on and go on with this; what is queued stays behind it."""
        queued, run = self._given(prompt)
        if queued is not None and self._has_to_wait(queued):
            self._queue.add(queued, first=True)
            self.interrupt(and_go_on=True)
        return run

    def _given(self, prompt: Prompt) -> tuple[QueuedPrompt | None, PromptRun]:
        """The prompt with an id, unless it is not sent, and what its giver may wait for."""
        blocks = prompt_blocks(prompt)
        words, prompt_id = words_of(blocks), new_id()
        run = self._runs.begin(prompt_id)
        has_pictures = any(isinstance(block, Image) for block in blocks)
        if self._closed or not (words.strip() or has_pictures):
            self._runs.finish(prompt_id, "failed", GONE if self._closed else "the prompt is empty")
            return None, run
        return QueuedPrompt(prompt_id, words, blocks=blocks if has_pictures else ()), run

    def _has_to_wait(self, prompt: QueuedPrompt) -> bool:
        """Whether this has to be queued; it was sent where nothing runs."""
        self._queue.prompted()
        if self.take_up() or self.busy:
            return True
        self._start(prompt)
        return False

    def unqueue(self, prompt_id: str) -> str | None:
        """Take a queued prompt back and return its text; None when it does not wait, or no longer."""
        if self._goes_on and self.queue and self.queue[0].id == prompt_id:
            self._goes_on = False
        text = self._queue.remove(prompt_id)
        if text is not None:
            self._runs.finish(prompt_id, "interrupted", "taken back before it was sent")
        return text

    def edit_queued(self, prompt_id: str, text: str) -> bool:
        """Change the words of a queued prompt; False when it does not wait any more, or for blank words."""
        return self._queue.edit(prompt_id, text)

    def move_queued(self, prompt_id: str, index: int) -> bool:
        """Let a queued prompt wait at another place, from 0; False when it does not wait any more."""
        return self._queue.move(prompt_id, index)

    def interrupt(self, *, and_go_on: bool = False) -> bool:
        """Stop the run; False when there is none. Queued prompts stay, and stay unsent unless `and_go_on`."""
        self.take_up()
        if not self.busy or self._task is None:
            return False
        self._goes_on = and_go_on
        if not self._interrupting:
            self._interrupting = True
            if changed := self._journal.activity.stop():
                self._outbox.append(changed)
            if self._outbox.run_id is not None:
                self._task.cancel()
        return True

    def hurry(self) -> None:
        """Let a run that is stopping stop at once: what it waits for on its way out is cancelled too."""
        if self._interrupting and self.busy and self._task is not None and self._outbox.run_id is not None:
            self._task.cancel()

    def go_on(self) -> bool:
        """Send the oldest queued prompt, when nothing runs; the others follow, one after another."""
        self._queue.release()
        return self._send_next()

    def _send_next(self) -> bool:
        prompt = None if self.busy or self._closed else self._queue.take()
        if prompt is not None:
            self._start(prompt)
        return prompt is not None

    def notice(self, text: str) -> None:
        """Say something in the agent's pane."""
        self._journal.emit(Noticed("info", text))

    def subscribe(
        self, wake: Callable[[], object] | None = None, *, most: int | None = MOST_UNREAD
    ) -> Subscription:
        """Hear of everything: what happened so far comes first.

        `wake` is called when something waits; it should set a flag or schedule. Who leaves more than `most`
        events untaken misses them: the next `take` begins with an `EventsMissed` and tells all anew.
        """
        subscription = self._outbox.subscribe(wake, most=most, resync=self._told)
        subscription.begin_with(self._told())
        return subscription

    def _told(self) -> Iterator[Event]:
        yield from self._journal.told()
        for body in (self._journal.activity.snapshot(), QueueChanged(self.queue)):
            yield self._outbox.latest(body)

    async def idle(self) -> None:
        """Wait until no run is going on."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})

    async def close(self, *, leave: bool = False) -> None:
        """Stop for good. What was committed stays in history.

        With `leave` a run that waits for somebody outside has no end: a later life takes it up.
        """
        self._closed, self._leaves = True, leave and not self._interrupting
        if self._leaves:
            self._revival.take()
            if self._runner.leave():
                self._unanswered = None
            elif self._unanswered is not None:
                self._queue.put_back(self._unanswered)
        self.interrupt()
        await self.idle()
        await self._prompting.end()
        await self._queue.settled()
        self._runs.finish_all("interrupted", GONE)
        self._outbox.append(WorkerClosed())

    def compact(self) -> bool:
        """Summarise the oldest part of the conversation now; False while a run is going on."""
        if self.take_up() or self.busy or self._closed:
            return False
        self._start(None)
        return True

    async def undo_compaction(self) -> bool:
        """Let the model read again what a summary stands for; False when there is none, or during a run.

        Raises `HistoryError`.
        """
        compacted = self._conversation.compaction
        if compacted is None or self.busy:
            return False
        self._outbox.run_id = self._last_run
        await self._journal.commit(CompactionUndone(compacted.id))
        self._conversation.undo_compaction(compacted.id)
        self._outbox.run_id = None
        return True

    # --- how it comes back ----------------------------------------------------------------------------------

    async def restore(
        self,
        past: Sequence[Happened],
        goes_on: GoesOn = nothing_goes_on,
        queue: Sequence[PlacedPrompt] = (),
    ) -> None:
        """Take up what history has of this agent, and end what a crash left open. Raises `HistoryError`.

        A run whose calls wait for somebody outside, where `goes_on(key, until)`, is left to `take_up`.
        What is in the queue stays there until the person goes on with this agent.
        """
        self._queue.restore(queue)
        self._prompting.resumed = bool(past)
        if past:
            self._last_run = past[-1][0]
        await self._revival.restore(past, goes_on)

    def take_up(self) -> bool:
        """Go on with the run of an earlier life whose calls wait outside; False when there is none."""
        left = self._revival.take()
        if left is None:
            return False
        self._start(None, left)
        self._revival.show(left)
        return True

    # --- one run --------------------------------------------------------------------------------------------

    def _start(self, prompt: QueuedPrompt | None, left: LeftOpen | None = None) -> None:
        """Begin a run with a prompt, or one that makes room; or go on with one that was left."""
        self._interrupting = self._goes_on = False
        self._unanswered = prompt
        self._tell_state("connecting" if prompt is None else "queued")
        if prompt is not None:
            self._queue.send(prompt)
        self._task = asyncio.create_task(self._live(prompt, left), name=f"agent {self.number}")

    async def _live(self, prompt: QueuedPrompt | None, left: LeftOpen | None) -> None:
        ended: RunEnded | None = None
        began = len(self._conversation.messages)
        try:
            if self._interrupting and left is None:
                raise asyncio.CancelledError
            self._outbox.run_id = self._last_run = new_id() if left is None else left.run_id
            ended = await self._work(prompt, left)
        except asyncio.CancelledError:
            self._end_early()
        except HistoryError as error:
            self._fail(str(error))
        except Exception as bug:
            log.exception("agent %s (%s) failed", self.number, self.name)
            if self.state != "failed":  # else the run has said so itself, at its end
                self._fail(how_a_run_broke(bug))
        self._outbox.run_id = None
        if prompt is not None:
            self._finish(prompt.id, ended, began)
        self._task = self._unanswered = None
        self._queue.give_up()
        self._queue.retry()
        whole = ended is not None and ended.end == "completed" and not self._interrupting
        if whole or self._goes_on:
            self._send_next()

    async def _work(self, prompt: QueuedPrompt | None, left: LeftOpen | None) -> RunEnded | None:
        if left is not None:
            ended = await self._revival.finish(
                left, stopped=lambda: self._interrupting, leaves=lambda: self._leaves
            )
        elif prompt is None:
            return await self._runner.compact()
        else:
            message = await self._prompting.submit(prompt)
            if message is None:
                self._tell_state("idle")
                return None
            ended = await self._run(message, prompt)
        self._unanswered = None
        while (message := await self._prompting.after(ended, self._heed_hooks)) is not None:
            self._outbox.run_id = self._last_run = new_id()
            ended = await self._run(message, prompt)
        if self.state == "running":
            self._tell_state("idle")
        return ended

    async def _run(self, message: Message, prompt: QueuedPrompt | None) -> RunEnded:
        ended = await self._runner.run(message)
        if prompt is not None:
            self._runs.count(prompt.id, ended)
        return ended

    def _finish(self, prompt_id: str, ended: RunEnded | None, began: int) -> None:
        """Tell whoever gave the prompt what came of it, once nothing more will."""
        refusal, self._prompting.refusal = self._prompting.refusal, ""
        end: RunEnd = "failed"
        reason = refusal or self._journal.activity.detail
        if ended is not None:
            end, reason = ended.end, ended.reason
        elif self.state != "failed" and not refusal:
            end, reason = "interrupted", GONE if self._closed else "by you"
        self._runs.finish(prompt_id, end, reason, self._conversation.messages[began:])

    def _heed_hooks(self) -> None:
        self._tell_state("running", "Stop hooks")

    def _end_early(self) -> None:
        """The interrupt came before the run began or after it ended."""
        if self._journal.activity.state == "stopping":
            if self._unanswered is not None:
                self._journal.emit(PromptReturned(self._unanswered.text, "by you"))
            self._tell_state("interrupted")

    def _fail(self, reason: str) -> None:
        if self._unanswered is not None and self._queue.sends:
            self._journal.emit(PromptReturned(self._unanswered.text, reason))
        self._journal.emit(WorkerFailed(reason))
        self._tell_state("failed", reason)

    def _tell_state(self, state: AgentState, detail: str = "") -> None:
        self._outbox.append(self._journal.activity.become(state, detail))

    def _tell_queue(self) -> None:
        self._outbox.append(QueueChanged(self.queue))

    def _warn(self, words: str) -> None:
        self._journal.emit(Noticed("warning", words))
