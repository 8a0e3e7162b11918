"""Owns the list of agents for when panes would be too small to read: two rows each; refuses transcripts.

It is one widget that draws the rows on screen; what is not on screen costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from agent_tui.feed import AgentFeed
from agent_tui.panes.painting import PaintedWords
from agent_tui.panes.wording import Part, age, count, cut, cut_start, mode_word, one_line, row, state_words
from agent_tui_core.runtime.entries import NoticeEntry, ProseEntry, ToolEntry, UserEntry
from agent_tui_core.runtime.transcript import Transcript

ROWS_EACH = 2
DRAWN_EVERY = 0.24
"""Seconds between two looks at what an agent says, agents in turns; its state is shown at once."""
_TAIL_READ = 400
"""Characters at the end of an entry in which its last line is looked for."""


class Roster(PaintedWords):
    """The agents as a list: number, name and state, and below it the last line, tokens and age."""

    DEFAULT_CSS = """
    Roster { height: 1fr; width: 1fr; }
    """

    class Chosen(Message):
        """A row was clicked: its agent is to be talked to."""

        def __init__(self, agent_id: str) -> None:
            super().__init__()
            self.agent_id = agent_id

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._ids: Sequence[str] = ()
        """Of the agents; no more of them, since a list that is hidden would keep those that are gone."""
        self._chosen = ""
        self._top = 0
        self._lines: list[Content] = []
        self._strips: list[Strip] = []
        self._rows: list[list[Content]] = []
        """Of each agent that is shown."""
        self._told: Sequence[object] = ()
        """What of each is shown at once."""
        self._place: object = None
        self._turn = 0
        self._looked_at = 0.0

    def report(self, feeds: Sequence[AgentFeed], chosen: str, now: float) -> None:
        """Draw the list; the chosen agent stays in view."""
        moved = chosen != self._chosen
        self._ids, self._chosen = [feed.agent.id for feed in feeds], chosen
        if moved:
            self._keep_in_view()
        # One row is kept for the mark that says how many agents are above or below.
        fitting = self._fitting()
        self._top = max(0, min(self._top, len(feeds) - fitting))
        shown = feeds[self._top : self._top + fitting]
        if not self.size.width or not self._look_at(shown, (chosen, self._top, self.size, len(feeds)), now):
            return
        lines = [line for rows in self._rows for line in rows]
        if fitting < len(feeds) and self.size.height > fitting * ROWS_EACH:
            above, below = self._top, len(feeds) - self._top - fitting
            lines.append(row([(f"  ↑ {above} · ↓ {below} more", "$text-muted")], [], self.size.width))
        self._show(lines)

    def _look_at(self, shown: Sequence[AgentFeed], place: object, now: float) -> bool:
        """Make the rows of those whose turn it is, or whose state is another; says whether any was made.

        In turns, because all at once would hold up a key.
        """
        told = [
            (f.agent.id, f.transcript.state, f.transcript.detail, f.agent.mode.now, len(f.warnings))
            for f in shown
        ]
        since = now - self._looked_at
        everyone = place != self._place or len(told) != len(self._told) or not 0 <= since < DRAWN_EVERY
        turns = len(shown) if everyone else int(len(shown) * since / DRAWN_EVERY)
        due = {(self._turn + step) % len(shown) for step in range(turns)}
        if not everyone:
            due.update(index for index, words in enumerate(told) if words != self._told[index])
        if turns:
            self._turn = (self._turn + turns) % len(shown)
            self._looked_at = now if everyone else self._looked_at + turns * DRAWN_EVERY / len(shown)
        self._place, self._told = place, told
        self._rows = [[]] * len(shown) if everyone else self._rows
        for index in due:
            chosen = shown[index].agent.id == self._chosen
            self._rows[index] = agent_rows(shown[index], self.size.width, now, chosen=chosen)
        return bool(due)

    def _show(self, lines: list[Content]) -> None:
        """Draw the rows that are others than before."""
        old, self._lines = self._lines, lines
        width, strips = self.size.width, self._strips
        whole = len(old) != len(lines) or len(strips) != len(lines)
        changed = [
            y
            for y, line in enumerate(lines)
            if whole or strips[y].cell_length != width or line != old[y] or line.spans != old[y].spans
        ]
        self._strips = [] if whole else strips
        if whole:
            self.refresh()
        elif changed:
            for y in changed:
                strips[y] = self.draw_words(lines[y], width)
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def render(self) -> Content:
        """The words, for those who ask where in them the pointer is."""
        return Content("\n").join(self._lines)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips of the last drawing."""
        width, height = self.outer_size
        if len(self._strips) != len(self._lines) or any(strip.cell_length != width for strip in self._strips):
            self._strips = [self.draw_words(line, width) for line in self._lines]
        blank = self.draw_words(Content(""), width)
        rows = [*self._strips[:height], *[blank] * (height - len(self._strips))]
        shown = rows[crop.y : crop.bottom]
        return shown if crop.width == width else [strip.crop(crop.x, crop.right) for strip in shown]

    def notify_style_update(self) -> None:
        """Textual says that styles or the theme changed."""
        super().notify_style_update()
        self._strips = []

    def on_click(self, event: events.Click) -> None:
        index = self._top + event.y // ROWS_EACH
        if 0 <= index < len(self._ids) and event.y < self._fitting() * ROWS_EACH:
            self.post_message(self.Chosen(self._ids[index]))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._top += 1

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._top = max(0, self._top - 1)

    def _fitting(self) -> int:
        height = self.size.height
        all_fit = len(self._ids) * ROWS_EACH <= height
        return max(1, (height if all_fit else height - 1) // ROWS_EACH)

    def _keep_in_view(self) -> None:
        places = [index for index, each in enumerate(self._ids) if each == self._chosen]
        if not places or not self.size.height:
            return
        self._top = min(self._top, places[0])
        self._top = max(self._top, places[0] - self._fitting() + 1)


def agent_rows(feed: AgentFeed, width: int, now: float, *, chosen: bool) -> list[Content]:
    """The two rows of one agent."""
    agent, words = feed.agent, state_words(feed.transcript, now)
    mark: Part = ("▸", "bold $text-primary") if chosen else (" ", "")
    state = cut(f"{words.glyph} {words.words}", max(18, width // 2))
    first = row(
        [
            mark,
            (f"{agent.number} ", "$text-muted"),
            ("▲ " if feed.warnings else "", "bold $text-warning"),
            (one_line(agent.name), "bold" if chosen else ""),
            mode_word(agent.mode.now),
        ],
        [(state, words.style), (" ", "")],
        width,
    )
    quiet = f"{age(now - feed.transcript.clock.last_at)}" if feed.transcript.clock.last_at else ""
    tokens = f"{'~' if feed.meter.is_estimate else ''}{count(feed.meter.tokens_out)}"
    figures = " · ".join(word for word in (tokens if feed.meter.tokens_out else "", quiet) if word)
    said = cut_start(last_line(feed.transcript), width - len(figures) - 5)
    second = row(
        [("   ", ""), (said, "$text-muted")],
        [(f"{figures} ", "$text-muted")],
        width,
    )
    return [first, second]


def last_line(transcript: Transcript) -> str:
    """The end of what the agent did, in one line."""
    for entry in reversed(transcript.entries):
        match entry:
            case ProseEntry(kind="text", pieces=pieces) if pieces:
                lines = "".join(pieces[-40:])[-_TAIL_READ:].strip().splitlines()
                if lines:
                    return one_line(lines[-1])
            case ToolEntry(name=name, status=status):
                return one_line(f"{name} · {status}")
            case UserEntry(text=text):
                return one_line(f"you: {text[:_TAIL_READ]}")
            case NoticeEntry(text=text):
                return one_line(text[:_TAIL_READ])
            case _:
                continue
    return ""
