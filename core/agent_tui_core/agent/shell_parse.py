"""Takes a command line apart into simple commands, or says why it cannot be judged by its parts.

Our own lexer and grammar read the line, tree-sitter's grammar of bash reads it too, and only a line in which
both see the same is read at all.
"""

from __future__ import annotations

from functools import lru_cache

from agent_tui_core.agent import shell_second_reading
from agent_tui_core.agent.shell_grammar import Grammar
from agent_tui_core.agent.shell_lexer import LONGEST, TOO_LONG, lex
from agent_tui_core.agent.shell_parts import Part as Part
from agent_tui_core.agent.shell_words import Unreadable


def parse(line: str) -> tuple[Part, ...] | Unreadable:
    """Take a line apart, or say why it cannot be judged by its parts."""
    return _parse(line) if len(line) <= LONGEST else Unreadable(TOO_LONG)


@lru_cache(maxsize=128)
def _parse(line: str) -> tuple[Part, ...] | Unreadable:
    try:
        tokens = lex(line)
        grammar = Grammar(line, tokens)
        parts = grammar.parts()
        shell_second_reading.check(line, tokens, grammar.keywords)
    except Unreadable as doubt:
        return Unreadable(doubt.reason, doubt.part)
    return parts


def warm_up() -> None:
    """Load the grammar: the first line that is judged need not wait for it."""
    parse("true")
