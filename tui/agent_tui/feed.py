"""Owns the frame clock and the way from an agent's events to its transcript; refuses to draw.

Events only wake the clock. A frame takes all that came since the last one, folds it and ticks the views that
are on screen; it comes at most 20 times a second, less often when frames are slow, and not at all when idle.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Protocol, get_args

from agent_tui.ports import Agent
from agent_tui_core.events import AgentState, Event, PromptReturned, ReasoningDelta, TextDelta, WorkingState
from agent_tui_core.messages import Usage
from agent_tui_core.runtime.entries import NoticeEntry
from agent_tui_core.runtime.transcript import Transcript

FASTEST = 1 / 20
SLOWEST = 1 / 4
AGAIN = 0.01
"""Seconds until a frame that was broken off is had after all."""
TOGETHER = 8
"""Views that are all ticked at each frame; of more of them every second one, in turns."""
PULSE = 1 / 4
"""Seconds between frames while agents work and nothing comes from them: the clock and the glyph go on."""
SLOW_PULSE = 1.0
"""The same, while agents only wait for a person, are silent or back off: just seconds go on."""
SILENT_AFTER = 10.0
"""Seconds without text, call or usage after which a model is called silent, and no glyph turns any more."""
QUIET_AFTER = 60.0
"""The same for a tool, which owes nobody a word while it works."""
CHARACTERS_PER_TOKEN = 4
MOST_WARNINGS = 99
RATE_SPAN = 2.0
"""Seconds over which a rate of tokens is measured."""

WORKING_STATES: frozenset[AgentState] = frozenset(get_args(WorkingState))

_log = logging.getLogger(__name__)


class Meter:
    """How many tokens an agent used and how fast they come, guessed from characters until it is told."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()
        self._usage = Usage()
        self._counted = 0
        self._characters = 0

    def measure(self, transcript: Transcript, now: float) -> None:
        """Take a look; at most a few times a second is enough."""
        if transcript.usage.output_tokens != self._usage.output_tokens:
            self._counted = transcript.characters
        self._usage, self._characters = transcript.usage, transcript.characters
        self._samples.append((now, transcript.characters))
        while len(self._samples) > 2 and now - self._samples[1][0] > RATE_SPAN:
            self._samples.popleft()

    def rate(self, now: float) -> float:
        """Tokens per second over the last moments."""
        samples = [sample for sample in self._samples if now - sample[0] <= RATE_SPAN * 1.5]
        if len(samples) < 2 or samples[-1][0] - samples[0][0] < RATE_SPAN / 4:
            return 0.0
        return (samples[-1][1] - samples[0][1]) / CHARACTERS_PER_TOKEN / (samples[-1][0] - samples[0][0])

    @property
    def tokens_in(self) -> int | None:
        """Tokens read by the model, as the provider said; None while it did not."""
        return self._usage.input_tokens

    @property
    def tokens_out(self) -> int:
        """Tokens written by the model."""
        guessed = (self._characters - self._counted) // CHARACTERS_PER_TOKEN
        return (self._usage.output_tokens or 0) + guessed

    @property
    def is_estimate(self) -> bool:
        """Whether `tokens_out` is, in part, a guess."""
        return self._characters - self._counted >= CHARACTERS_PER_TOKEN


class AgentFeed:
    """One agent as the dashboard reads it: the worker, its transcript so far and its meter."""

    def __init__(self, agent: Agent, wake: Callable[[], None]) -> None:
        self.agent = agent
        self.transcript = Transcript()
        self.meter = Meter()
        self.warnings: list[str] = []
        """What the program warned of in this pane and nobody has seen yet, the oldest first."""
        self.returned: list[PromptReturned] = []
        """Prompts that came back and are in no draft yet."""
        self._looked_at = 0
        self._now = 0.0
        self._subscription = agent.subscribe(wake, most=None)

    @property
    def pulse(self) -> float | None:
        """Seconds after which its rows look different though nothing came; None: they stay."""
        state = self.transcript.state
        if state not in WORKING_STATES:
            return SLOW_PULSE if state == "waiting" else None
        still = state == "retrying" or is_silent(self.transcript, self._now)
        return SLOW_PULSE if still else PULSE

    def fold(self, now: float) -> bool:
        """Fold what came since the last frame; says whether anything did."""
        self._now = now
        events = self._subscription.take()
        if events:
            self.transcript.apply(merged(events))
            self.returned += [each.body for each in events if isinstance(each.body, PromptReturned)]
            self._note_warnings()
        if events or self.pulse:
            self.meter.measure(self.transcript, now)
        return bool(events)

    def _note_warnings(self) -> None:
        entries = self.transcript.entries
        for entry in entries[self._looked_at :]:
            if isinstance(entry, NoticeEntry) and entry.level != "info":
                self.warnings.append(entry.text)
        self._looked_at = len(entries)
        del self.warnings[:-MOST_WARNINGS]

    def close(self) -> None:
        """Stop listening."""
        self._subscription.close()


def is_silent(transcript: Transcript, now: float) -> bool:
    """Whether what should be at work gave no sign of it for so long that a person is told."""
    return transcript.silent_for(now) >= (QUIET_AFTER if transcript.state == "running" else SILENT_AFTER)


View = Callable[[], object]


class Canvas(Protocol):
    """What a frame draws on."""

    def begin_frame(self) -> None:
        """From now on what is drawn need not be painted: the frame has an end."""
        ...

    def end_frame(self) -> None:
        """The frame is over, or was broken off: paint what it drew."""
        ...


class Feed:
    """The frame clock of the app and the agents that it folds."""

    def __init__(
        self, *, wall: Callable[[], float] = time.time, hurried: Callable[[], bool] = lambda: False
    ) -> None:
        """`wall` gives the seconds since the epoch that the screen shows; events bear the same.

        `hurried` says that somebody waits for something else: then a frame breaks off, and is had later.
        """
        self.wall = wall
        self._hurried = hurried
        self._stood_back = False
        self.agents: dict[str, AgentFeed] = {}
        self.period = FASTEST
        self.frames = 0
        self._views: dict[str, View] = {}
        self._behind: set[str] = set()
        """Views whose agent was folded since they were ticked."""
        self._watchers: list[View] = []
        self._canvas: Canvas | None = None
        self._reported: set[str] = set()
        self._handle: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._last = 0.0
        self._context: contextvars.Context | None = None

    def start(self) -> None:
        """Let frames happen from now on, in the caller's context: the app's, which widgets need."""
        self._context = contextvars.copy_context()
        self.wake()

    def stop(self) -> None:
        """No frame comes any more."""
        self._context = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        for agent in self.agents.values():
            agent.close()

    def follow(self, agents: Iterable[Agent]) -> None:
        """Listen to exactly these agents from now on."""
        wanted = {agent.id: agent for agent in agents}
        for gone in self.agents.keys() - wanted.keys():
            self.agents.pop(gone).close()
            self._views.pop(gone, None)
            self._behind.discard(gone)
        known = self.agents
        self.agents = {key: known.get(key) or AgentFeed(agent, self.wake) for key, agent in wanted.items()}
        self.wake()

    def show(self, views: dict[str, View]) -> None:
        """Tick exactly these views at each frame: those on screen, by agent id."""
        self._views = dict(views)
        self._behind = set(views)
        self.wake()

    def watch(self, view: View) -> None:
        """Call this at the end of every frame."""
        self._watchers.append(view)

    def draw_on(self, canvas: Canvas) -> None:
        """Tell it when a frame of the clock begins and ends; a frame of `now` is painted by the key."""
        self._canvas = canvas

    def wake(self) -> None:
        """Something happened: have a frame soon. Cheap, and safe to call from any task of the loop."""
        self._schedule(max(0.0, self._last + self.period - time.monotonic()))

    def wake_in(self, seconds: float) -> None:
        """Have a frame after this time, unless one comes sooner."""
        self._schedule(seconds)

    def now(self) -> None:
        """Have a frame of all views at once: a key was pressed and its answer is due in the same frame."""
        self._frame(0.0, list(self._views))

    def measure_frame(self, cost: float) -> None:
        """Halve the rate after a frame of half its period; double it when half of the shorter one will do."""
        if cost > self.period / 2:
            self.period = min(self.period * 2, SLOWEST)
        elif cost < self.period / 4:
            self.period = max(self.period / 2, FASTEST)

    @property
    def is_idle(self) -> bool:
        """Whether no frame is due."""
        return self._handle is None

    def _schedule(self, seconds: float) -> None:
        if self._context is None:
            return
        due = time.monotonic() + seconds
        if self._handle is not None:
            if self._due <= due:
                return
            self._handle.cancel()
        self._due = due
        loop = asyncio.get_running_loop()
        self._handle = loop.call_later(seconds, self._on_time, context=self._context)

    def _on_time(self) -> None:
        # A late frame says that the loop is full, with drawing or with work: both ask for fewer frames.
        # A person comes before it, but not twice: somebody who types all the time sees the frames as well.
        late = max(0.0, time.monotonic() - self._due)
        if self._canvas is not None:
            self._canvas.begin_frame()
        try:
            self._frame(late, self._in_turn(), breaks_off=not self._stood_back)
        finally:
            if self._canvas is not None:
                self._canvas.end_frame()

    def _in_turn(self) -> list[str]:
        """The views of this frame: with many, half of them, so that frames are short and keys not late."""
        keys = list(self._views)
        return keys if len(keys) <= TOGETHER else keys[self.frames % 2 :: 2]

    def _frame(self, late: float, keys: list[str], breaks_off: bool = False) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        started = self._last = time.monotonic()
        for work in self._works(keys):
            work()
            if breaks_off and self._hurried():
                self._stood_back = True
                self._schedule(AGAIN)
                return
        self._stood_back = False
        self.frames += 1
        self.measure_frame(time.monotonic() - started + late)
        pulses = [pulse for agent in self.agents.values() if (pulse := agent.pulse)]
        if self._behind:
            pulses.append(self.period)
        if pulses:
            self._schedule(max(min(pulses), self.period))

    def _works(self, keys: list[str]) -> Iterator[Callable[[], object]]:
        """The parts of a frame; the rest can be had later after any of them."""
        now = self.wall()
        for key, agent in list(self.agents.items()):
            yield partial(self._fold, key, agent, now)
        for key in keys:
            yield partial(self._tick, key)
        for index, watcher in enumerate(self._watchers):
            yield partial(self._guarded, f"watcher {index}", watcher)

    def _fold(self, key: str, agent: AgentFeed, now: float) -> None:
        if self._guarded(f"fold of {key}", partial(agent.fold, now)) and key in self._views:
            self._behind.add(key)

    def _tick(self, key: str) -> None:
        self._behind.discard(key)
        view = self._views.get(key)
        if view is not None and self._guarded(f"view of {key}", view) is True:
            self._behind.add(key)

    def _guarded(self, what: str, call: Callable[[], object]) -> object:
        try:
            return call()
        except Exception:  # noqa: BLE001 - a bug in one pane must not stop the others
            if what not in self._reported:
                self._reported.add(what)
                _log.exception("the dashboard's %s failed", what)
            return None


def merged(events: list[Event]) -> list[Event]:
    """The same events with neighbouring pieces of text, and of reasoning, made one."""
    kept: list[Event] = []
    pieces: list[str] = []
    for event in events:
        body, last = event.body, kept[-1].body if kept else None
        if isinstance(body, TextDelta) and isinstance(last, TextDelta):
            pieces.append(body.text)
            continue
        if (
            isinstance(body, ReasoningDelta)
            and isinstance(last, ReasoningDelta)
            and body.opaque is last.opaque is None
        ):
            pieces.append(body.text)
            continue
        _join(kept, pieces)
        kept.append(event)
    _join(kept, pieces)
    return kept


def _join(kept: list[Event], pieces: list[str]) -> None:
    if not pieces:
        return
    first, body = kept[-1], kept[-1].body
    if isinstance(body, TextDelta):
        grown: TextDelta | ReasoningDelta = TextDelta(body.text + "".join(pieces))
    elif isinstance(body, ReasoningDelta):
        grown = ReasoningDelta(body.text + "".join(pieces), body.opaque)
    else:  # pragma: no cover - pieces follow only a delta
        return
    kept[-1] = Event(first.agent_id, first.run_id, first.seq, first.at, grown)
    pieces.clear()
