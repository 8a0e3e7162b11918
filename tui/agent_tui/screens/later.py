"""Owns what is said when a question was put off; refuses to put it off."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App

from agent_tui.actions import Actions
from agent_tui.feed import AgentFeed
from agent_tui.panes.wording import one_line


def say_later(app: App[None], actions: Actions, chosen: Callable[[], AgentFeed | None]) -> None:
    """Say what brings the question back, and what the key that put it off does now."""
    words = f"Later: {actions['approvals'].display} brings it back."
    if (feed := chosen()) is not None and feed.agent.busy:
        name = f"{feed.agent.number} {one_line(feed.agent.name)}"
        words += f" {actions['interrupt'].display} now stops {name}."
    app.notify(words, timeout=3, markup=False)
