"""Owns the way of a prompt that came back to the draft of its agent; refuses to drop one.

It stands in front of what is half typed for that agent. Where another draft is open, that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent_tui.feed import AgentFeed
from agent_tui.panes.prompt import PromptBox
from agent_tui.panes.wording import one_line


def give_back(feeds: Mapping[str, AgentFeed], box: PromptBox, warn: Callable[[str], None]) -> None:
    """Put what came back since the last frame into the drafts."""
    for key, feed in feeds.items():
        returned, feed.returned = feed.returned, []
        if not returned:
            continue
        reason = one_line(returned[-1].reason).rstrip(".")
        if not box.put_back("\n".join(each.prompt for each in returned), reason, key):
            name = f"{feed.agent.number} {one_line(feed.agent.name)}"
            warn(f"A prompt came back to {name}: {reason}. It is in the draft for that agent.")
