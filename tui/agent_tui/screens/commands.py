"""Owns what the palette lists beside the registry's own names; refuses to do any of it.

The palette reads titles as markup, so no bracket gets into one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial

from textual.app import SystemCommand
from textual.command import CommandPalette

from agent_tui.actions import Action
from agent_tui.panes.painting import QuickScreen
from agent_tui.panes.wording import one_line
from agent_tui_core.config.modes import MODES, Mode

_MODE_HELP: dict[Mode, str] = {
    "ask": "What no rule allows is asked about.",
    "accept-edits": "Edits in the workspace need no question.",
    "plan": "Reads only; the rest is denied.",
    "auto": "Commands in the sandbox and edits in the workspace run unasked.",
}


class Palette(CommandPalette, QuickScreen[None]):
    """Textual's palette, laid out and painted as all other screens are."""


Command = Callable[[], Awaitable[None] | None]


def palette_commands(
    actions: Iterable[Action],
    profiles: Iterable[str],
    *,
    run: Callable[[str], Command],
    new_agent: Callable[[str], None],
    set_mode: Callable[[Mode], None],
) -> Iterator[SystemCommand]:
    """Everything that can be done, by name."""
    for action in actions:
        if action.in_palette and action.action:
            key = f"   {action.display}" if action.display.strip() else ""
            yield SystemCommand(_plain(action.title + key), action.help, run(action.action))
    for mode in MODES:
        yield SystemCommand(
            _plain(f"Mode {mode} for the focused agent"), _MODE_HELP[mode], partial(set_mode, mode)
        )
    for profile in profiles:
        yield SystemCommand(
            _plain(f"New agent of profile {profile}"), "Add an agent.", partial(new_agent, profile)
        )


def _plain(title: str) -> str:
    return one_line(title).replace("[", "(")
