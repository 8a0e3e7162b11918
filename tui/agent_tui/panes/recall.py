"""Owns the prompts that were sent, and walks through them that keep every change made on the way.

Refuses to know agents: all drafts recall from one list, each on a walk of its own.
"""

from __future__ import annotations

_MOST_ENTRIES = 500


class Sent:
    """What was sent, to whomever. An entry keeps its number when the oldest ones are forgotten."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._first = 0

    @property
    def first(self) -> int:
        """The number of the oldest entry that is kept."""
        return self._first

    @property
    def end(self) -> int:
        """The number that the next entry will have."""
        return self._first + len(self._texts)

    def __getitem__(self, number: int) -> str:
        return self._texts[number - self._first]

    def add(self, text: str) -> None:
        """Append a prompt, unless it is the newest already."""
        if self._texts and self._texts[-1] == text:
            return
        self._texts.append(text)
        if len(self._texts) > _MOST_ENTRIES:
            del self._texts[0]
            self._first += 1


class Walk:
    """Where one draft is among the prompts that were sent; its own words wait at the end."""

    def __init__(self, sent: Sent) -> None:
        self._sent = sent
        self._changed: dict[int, str] = {}
        self._at: int | None = None
        self.draft = ""
        """The person's own words, while an entry is shown in their place."""

    @property
    def walking(self) -> bool:
        """Whether an entry is shown."""
        return self._at is not None

    def shows(self, text: str) -> bool:
        """Whether `text` is an entry that is shown unchanged."""
        return self._at is not None and self._at >= self._sent.first and text == self._sent[self._at]

    def rest(self) -> None:
        """End the walk."""
        self._changed.clear()
        self._at = None
        self.draft = ""

    def step(self, by: int, shown: str) -> str | None:
        """The text before (-1) or after (1) the one that is `shown`; None when there is none."""
        here = self._sent.end if self._at is None else self._at
        there = here + by
        if not self._sent.first <= there <= self._sent.end or here < self._sent.first:
            return None
        if self._at is None:
            self.draft = shown
        else:
            self._changed[here] = shown
        if there == self._sent.end:
            self._at = None
            return self.draft
        self._at = there
        return self._changed.get(there, self._sent[there])
