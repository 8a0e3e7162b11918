"""Owns what is imported before somebody needs it, and when; refuses to hold up a frame or a first answer.

Imports in threads share one processor with all else: begun at the first frame, they made the first token of
a prompt from the command line a third of a second later. So the request goes first.
"""

from __future__ import annotations

from typing import Final

from textual.app import App

WORDS_AFTER: Final = 0.3
"""Seconds from the first frame to the import of what draws an answer."""
REST_AFTER: Final = 1.2
"""The same, for what colours code, checks a call and takes a command apart."""


def warm_up(app: App[None]) -> None:
    """Import in threads, a little later, what nobody should wait for; call it at the first frame."""
    app.set_timer(WORDS_AFTER, lambda: app.run_worker(_words, thread=True, exit_on_error=False))
    app.set_timer(REST_AFTER, lambda: app.run_worker(_rest, thread=True, exit_on_error=False))


def _words() -> None:
    from agent_tui.panes import cards, prose, rendering

    assert cards.CardPart is not None
    assert prose.ProsePart is not None
    rendering.warm_up()


def _rest() -> None:
    from agent_tui.panes import code
    from agent_tui.screens import tidying
    from agent_tui_core.agent import shell_parse
    from agent_tui_core.tools import registry

    code.warm_up()
    registry.warm_up()
    shell_parse.warm_up()
    tidying.warm_up()
