"""Owns what is half typed for each agent: words, cursor, undo, and prompts that came back meanwhile.

Refuses to know agents: a draft has a key. A prompt that comes back for a draft that is not open waits in it,
and is written in front of its words when it opens, so that this can be undone as well.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from agent_tui.panes.recall import Sent, Walk
from agent_tui_core.records import dataclass

if TYPE_CHECKING:
    from textual.document._history import EditHistory
    from textual.widgets.text_area import Selection


@dataclass(slots=True)
class Returned:
    """A prompt that came back, and why."""

    text: str
    reason: str


@dataclass(slots=True)
class Draft:
    """What one agent's box holds while another's is open. While it is open, the editor has the words."""

    walk: Walk
    text: str = ""
    selection: Selection | None = None
    history: EditHistory | None = None
    note: str = ""
    """What the frame says of a prompt that came back, until the next key."""
    returned: list[Returned] = field(default_factory=list)

    @property
    def blank(self) -> bool:
        """Whether nothing would be lost with it."""
        return not (self.text.strip() or self.walk.draft.strip() or self.returned)


class Drafts:
    """One draft for each key; the empty key is the box without an agent."""

    def __init__(self) -> None:
        self.sent = Sent()
        self._drafts: dict[str, Draft] = {}

    def __getitem__(self, key: str) -> Draft:
        """The draft of this key, made at first use."""
        if key not in self._drafts:
            self._drafts[key] = Draft(Walk(self.sent))
        return self._drafts[key]

    def move(self, old: str, new: str) -> None:
        """Give a draft another key, unless there is one already."""
        if new not in self._drafts or self._drafts[new].blank:
            self._drafts[new] = self._drafts.pop(old)

    def forget(self, key: str) -> bool:
        """Drop a draft; its words can be recalled. Says whether there were any."""
        draft = self._drafts.pop(key, None)
        if draft is None or draft.blank:
            return False
        shown = "" if draft.walk.shows(draft.text) else draft.text
        for text in (*(each.text for each in draft.returned), draft.walk.draft, shown):
            if text.strip():
                self.sent.add(text)
        return True

    @property
    def keys(self) -> tuple[str, ...]:
        """Those that were used, the first used first."""
        return tuple(self._drafts)
