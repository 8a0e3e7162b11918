"""Owns one agent's place on the dashboard: header, transcript, queue and footer; refuses I/O and settings.

It reads an `AgentFeed` on the frame clock and changes nothing of it. Rows are drawn anew only when their
words change, and a frame of streaming causes no layout.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Static

from agent_tui.actions import AGENT_KEYS
from agent_tui.feed import WORKING_STATES, AgentFeed, is_silent
from agent_tui.panes.status import Row
from agent_tui.panes.transcript import TranscriptView
from agent_tui.panes.wording import (
    Part,
    count,
    cut,
    cut_middle,
    duration,
    mode_word,
    one_line,
    row,
    silence_words,
    state_words,
)
from agent_tui_core.events import AgentState
from agent_tui_core.messages import QueuedPrompt

ROWS_EVERY = 0.24
"""Seconds between two looks at the numbers of header and footer; a little less than the feed's pulse."""
_GOES_ON = WORKING_STATES | {"waiting"}
QUEUE_SHOWN = 3
"""Queued prompts that a pane lists; more are counted."""


class Banner(Row):
    """A warning that stays until somebody has seen it."""

    class Seen(Message):
        """It was clicked."""

    def on_click(self) -> None:
        self.post_message(self.Seen())


class AgentPane(Container):
    """One agent, as much of it as fits."""

    class Chosen(Message):
        """The pane was clicked: its agent is to be talked to."""

        def __init__(self, agent_id: str) -> None:
            super().__init__()
            self.agent_id = agent_id

    def __init__(self, feed: AgentFeed, wall: Callable[[], float], queue_key: str = "") -> None:
        """`queue_key` sends the oldest queued prompt."""
        super().__init__()
        self._queue_key = queue_key
        self.feed = feed
        self._wall = wall
        self.transcript = TranscriptView(feed.transcript, clock=wall)
        self.is_chosen = False
        self._header = Row(classes="pane-header")
        self._banner = Banner(classes="pane-banner")
        self._footer = Row(classes="pane-footer")
        self._silence = Row(classes="pane-silence")
        self._queue = Static("", classes="pane-queue", markup=False)
        self._empty = Static("", classes="pane-empty", markup=False)
        self._queued: tuple[tuple[QueuedPrompt, ...], bool] = ((), False)
        """What the queue shows, and whether it is sent by itself."""
        self._is_empty: bool | None = None
        self._state: AgentState | None = None
        self._bar: Strip | None = None
        self._rows_key: object = None
        self._rows_at = 0.0

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._banner
        yield self._empty
        yield self.transcript
        yield self._silence
        yield self._queue
        yield self._footer

    def on_mount(self) -> None:
        self._queue.display = self._banner.display = self._silence.display = False
        self._settle_empty()

    def on_click(self) -> None:
        self.post_message(self.Chosen(self.feed.agent.id))

    def on_resize(self) -> None:
        self._show_queue()
        self.tick(self._wall())

    def choose(self, chosen: bool) -> None:
        """Look like the agent that is talked to, or no longer."""
        self.is_chosen = chosen
        self.set_class(chosen, "-chosen", update=self.is_mounted)
        self._empty.update(invitation(self.feed.agent.number, chosen=chosen), layout=False)

    def tick(self, now: float) -> bool:
        """Show what the feed folded since the last time; return whether the next frame has to go on."""
        transcript = self.feed.transcript
        self._settle_empty()
        self.transcript.tick()
        if transcript.state != self._state:
            self._state = transcript.state
            self.set_class(transcript.state == "waiting", "-waiting")
            self.set_class(transcript.state == "failed", "-failed")
        if (transcript.queue, feed_sends(self.feed)) != self._queued:
            self._show_queue()
        self._show_rows(now)
        return self.transcript.behind

    def _show_rows(self, now: float) -> None:
        """Header and footer at once when the state changed; their numbers a few times a second.

        In each frame these two rows would cost as much as the whole transcript.
        """
        transcript, width = self.feed.transcript, self._header.size.width
        silence = silence_words(transcript, now, self.feed.agent.model, chosen=self.is_chosen)
        said = (self.feed.agent.mode.now, len(self.feed.warnings), is_silent(transcript, now), bool(silence))
        key = (transcript.state, transcript.detail, transcript.queue, self.is_chosen, width, *said)
        if key == self._rows_key and 0 <= now - self._rows_at < ROWS_EVERY:
            return
        self._rows_key, self._rows_at = key, now
        feed, chosen = self.feed, self.is_chosen  # rows that hold their pane would be a circle
        self._header.show(lambda width: header_line(feed, width, now, chosen=chosen))
        self._footer.show(lambda width: footer_line(feed, width, now))
        self._silence.display = bool(silence)
        if silence:
            self._silence.show(lambda width: row([(f"  {silence}", "$text-warning")], [], width))
        self._banner.display = bool(feed.warnings)
        if feed.warnings:
            self._banner.show(lambda width: banner_line(feed.warnings, width))

    def on_banner_seen(self) -> None:
        """The person clicked the warning away."""
        self.put_warnings_away()

    def put_warnings_away(self) -> None:
        """The person has seen them; they stay in the transcript."""
        self.feed.warnings.clear()
        self.tick(self._wall())

    def render_lines(self, crop: Region) -> list[Strip]:
        """The bar at the left edge, in the pane's colour; the rest is under the children.

        A border would say the same, but Textual would draw it, and blank, behind each line that changes.
        """
        width, bar = self.outer_size.width, self._bar
        if bar is None or bar.cell_length != width:
            style = self.rich_style
            bar = Strip([Segment("▌", style), Segment(" " * (width - 1), style)], width)
            for line_filter in self.get_line_filters():
                bar = bar.apply_filter(line_filter, self.background_colors[1])
            self._bar = bar
        whole = crop.x == 0 and crop.width == width
        return [bar if whole else bar.crop(crop.x, crop.right)] * crop.height

    def notify_style_update(self) -> None:
        """Textual says that styles or the theme changed."""
        super().notify_style_update()
        self._bar = None

    def scroll_transcript(self, where: str) -> None:
        """Scroll: `page_up`, `page_down`, `home` or `end`; the end follows what comes."""
        match where:
            case "page_up":
                self.transcript.scroll_page(-1)
            case "page_down":
                self.transcript.scroll_page(1)
            case "home":
                self.transcript.scroll_to_start()
            case _:
                self.transcript.scroll_to_end()

    def _settle_empty(self) -> None:
        is_empty = not self.feed.transcript.entries
        if is_empty != self._is_empty:
            self._is_empty = is_empty
            self._empty.display = is_empty
            self.transcript.display = not is_empty

    def _show_queue(self) -> None:
        queue, sends = self._queued = self.feed.transcript.queue, feed_sends(self.feed)
        self._queue.display = bool(queue)
        if queue:
            width = self._queue.size.width or self.size.width - 1
            self._queue.update(queue_lines(queue, width, "" if sends else self._queue_key))


def header_line(feed: AgentFeed, width: int, now: float, *, chosen: bool) -> Content:
    """Number, name, model, state and rate in one line; what matters least gives way first."""
    agent, words = feed.agent, state_words(feed.transcript, now)
    mark: Part = ("▸", "bold $text-primary") if chosen else (" ", "")
    number: Part = (f"{agent.number} ", "bold $text-primary" if chosen else "$text-muted")
    name = one_line(agent.name)
    rate = feed.meter.rate(now) if feed.transcript.state == "streaming" else 0.0
    speed = f" {count(round(rate))} tok/s" if rate >= 1 else ""
    state = f"{words.glyph} {words.words}"
    used = 2 + cell_len(number[0]) + min(cell_len(name), 12)
    if used + cell_len(state) + cell_len(speed) + 1 > width:
        speed = ""
    state = cut(state, max(width - used - 2, 8))
    room = width - cell_len(state) - cell_len(speed) - 3 - cell_len(number[0])
    mode, loud = mode_word(agent.mode.now)
    room -= cell_len(mode)
    left: list[Part] = [mark, number, (cut(name, max(room, 4)), "bold" if chosen else ""), (mode, loud)]
    room -= cell_len(name) + 3
    model = one_line(agent.model)
    if room >= min(8, cell_len(model)) and model:
        left.append((f"  {cut_middle(model, room)}", "$text-muted"))
    return row(left, [(state, words.style), (speed, "$text-muted"), (" ", "")], width)


def banner_line(warnings: list[str], width: int) -> Content:
    """The newest warning, how many more there are, and how it goes away."""
    more = f" +{len(warnings) - 1}" if len(warnings) > 1 else ""
    room = width - cell_len(more) - 5
    style = "bold $text-warning"
    return row([(" ▲ ", style), (cut(one_line(warnings[-1]), room), style)], [(f"{more} × ", style)], width)


def footer_line(feed: AgentFeed, width: int, now: float) -> Content:
    """Tokens, time of the run and queue in one line."""
    transcript, meter = feed.transcript, feed.meter
    words: list[str] = []
    if meter.tokens_in is not None:
        words.append(f"in {count(meter.tokens_in)}")
    if meter.tokens_out:
        words.append(f"out {'~' if meter.is_estimate else ''}{count(meter.tokens_out)}")
    if words:
        words[-1] += " tokens" if width >= 48 else ""
    if transcript.run_started_at is not None:
        words.append(duration((transcript.run_ended_at or now) - transcript.run_started_at))
    if transcript.queue:
        words.append(f"{len(transcript.queue)} queued")
    return row([("  " + " · ".join(words), "$text-muted")], [], width)


def feed_sends(feed: AgentFeed) -> bool:
    """Whether what is queued is sent by itself: something goes on before it."""
    queue = feed.transcript.queue
    return feed.transcript.state in _GOES_ON and not (queue and queue[0].held)


def queue_lines(queue: tuple[QueuedPrompt, ...], width: int, key: str = "") -> Content:
    """The prompts that wait, oldest first, each in one line; a `key` is what sends them then."""
    shown = queue if len(queue) <= QUEUE_SHOWN else queue[: QUEUE_SHOWN - 1]
    lines = [
        Content.assemble(
            ("  queued " if prompt.kept else "  saving ", "$text-secondary"),
            (cut(one_line(prompt.text), max(width - 10, 4)), "$text-muted"),
        )
        for prompt in shown
    ]
    if len(shown) < len(queue):
        lines.append(Content.styled(f"  and {len(queue) - len(shown)} more", "$text-muted"))
    if key:
        words = " sends the next one, ↑ takes the last back" if width >= 50 else " sends the next one"
        lines.append(Content.assemble((f"  {key}", "bold $text-accent"), (words, "$text-muted")))
    return Content("\n").join(lines)


def invitation(number: int, *, chosen: bool) -> Content:
    """What a pane says before its agent was asked anything: what to do next."""
    key = "bold $text-accent"
    if chosen:
        how: list[Part] = [("Type below and press ", "$text-muted"), ("enter", key), (".\n", "$text-muted")]
    elif number <= AGENT_KEYS:
        how = [
            ("Click here or press ", "$text-muted"),
            (f"alt+{number}", key),
            (" to talk to it.\n", "$text-muted"),
        ]
    else:
        how = [("Click here to talk to it.\n", "$text-muted")]
    return Content.assemble(
        ("Nothing asked yet\n\n", "bold"), *how, ("f1", key), (" shows all keys.", "$text-muted")
    )
