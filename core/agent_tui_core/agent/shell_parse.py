"""Owns a command line taken apart: parts, words, redirections; refuses a line that two parsers read apart.

The lexer of `shell_lexer` reads the words, tree-sitter's grammar of bash reads the same line, and only where
both see the same words and operators is there anything that a rule could allow.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from agent_tui_core.agent.shell_lexer import LONGEST, TOO_LONG, Operator, Token, Unreadable, Word, lex
from agent_tui_core.records import dataclass

if TYPE_CHECKING:
    from tree_sitter import Language, Node

_SEPARATORS: Final = frozenset({"&&", "||", ";", "|", "|&", "&", "\n"})
_REDIRECTIONS: Final = frozenset({"<", ">", ">>", ">|", "&>", "&>>", ">&"})
_RESERVED: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select"}
    | {"function", "in", "coproc", "{", "}", "!", "[[", "]]"}
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_LONGEST_DESCRIPTOR: Final = 3
_HARMLESS_SINKS: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_CONTAINERS: Final = frozenset(
    {"program", "list", "pipeline", "command", "command_name", "redirected_statement", "file_redirect"}
    | {"declaration_command", "unset_command"}
)
_WORDS: Final = frozenset(
    {"word", "number", "string", "raw_string", "concatenation", "file_descriptor", "variable_name"}
    | {"variable_assignment", "test_operator", "extglob_pattern", "regex", "special_variable_name"}
)
_KEYWORDS: Final = frozenset({"declare", "typeset", "export", "readonly", "local", "unset", "unsetenv"})
_WRAPPER_OPTIONS: Final = {
    "timeout": re.compile(
        r"(?:(?:--preserve-status|--foreground|-v|--verbose|(?:-s|-k)\x1f?[A-Za-z0-9.]+"
        r"|--(?:signal|kill-after)[=\x1f][A-Za-z0-9.]+)\x1f)*[0-9.]+[smhd]?\x1f"
    ),
    "time": re.compile(r"(?:-p\x1f)?"),
    "nice": re.compile(r"(?:-n\x1f?-?[0-9]+\x1f|-[0-9]+\x1f|--adjustment=-?[0-9]+\x1f)?"),
    "nohup": re.compile(""),
    "stdbuf": re.compile(r"(?:-[ioe]\x1f?[0-9L]+[KMG]?\x1f|--(?:input|output|error)=[0-9L]+[KMG]?\x1f)+"),
    "command": re.compile(r"(?:-p\x1f)?"),
    "builtin": re.compile(""),
}


@dataclass(frozen=True, slots=True)
class Part:
    """One simple command of a line."""

    text: str
    """As it stands in the line."""
    words: tuple[Word, ...]
    """All words, wrappers included, redirections left out."""
    wrapped: int
    """How many of the words are wrappers with their options."""
    writes: tuple[Word, ...] = ()
    reads: tuple[Word, ...] = ()

    @property
    def command(self) -> tuple[Word, ...]:
        """The words without wrappers."""
        return self.words[self.wrapped :]

    @property
    def argv(self) -> tuple[str, ...]:
        """What the program is started with."""
        return tuple(word.text for word in self.command)


def parse(line: str) -> tuple[Part, ...] | Unreadable:
    """Take a line apart, or say why it cannot be judged by its parts."""
    return _parse(line) if len(line) <= LONGEST else Unreadable(TOO_LONG)


@lru_cache(maxsize=128)
def _parse(line: str) -> tuple[Part, ...] | Unreadable:
    try:
        tokens = lex(line)
        _check_second_reading(line, tokens)
        return _parts(line, tokens)
    except Unreadable as doubt:
        return Unreadable(doubt.reason, doubt.part)


def warm_up() -> None:
    """Load the grammar: the first line that is judged need not wait for it."""
    parse("true")


def _parts(line: str, tokens: tuple[Token, ...]) -> tuple[Part, ...]:
    parts: list[Part] = []
    pending: list[Token] = []
    for token in tokens:
        if isinstance(token, Operator) and token.text in _SEPARATORS:
            if pending:
                parts.append(_part(line, pending))
            elif token.text != "\n":
                raise Unreadable(f"there is nothing before {token.text}")
            pending = []
        else:
            pending.append(token)
    if pending:
        parts.append(_part(line, pending))
    if not parts:
        raise Unreadable("it holds no command")
    return tuple(parts)


def _part(line: str, tokens: list[Token]) -> Part:
    text = line[tokens[0].start : tokens[-1].end]
    words: list[Word] = []
    writes: list[Word] = []
    reads: list[Word] = []
    rest = iter(tokens)
    for token in rest:
        if isinstance(token, Word):
            words.append(token)
            continue
        target = next(rest, None)
        if token.text not in _REDIRECTIONS or not isinstance(target, Word):
            raise Unreadable(f"{token.text} leads nowhere", text)
        if _is_descriptor(words, token) and len(words.pop().raw) > _LONGEST_DESCRIPTOR:
            raise Unreadable("it redirects a descriptor that no shell has", text)
        if target.stars or not target.text:
            raise Unreadable("a redirection leads to a place that only the shell knows", text)
        if token.text == "<":
            reads.append(target)
        elif token.text == ">&":
            if not (target.raw.isdecimal() or target.raw == "-"):
                raise Unreadable("a descriptor is copied from a name", text)
        elif target.text not in _HARMLESS_SINKS:
            writes.append(target)
    if not words:
        raise Unreadable("it redirects without a command", text)
    return Part(text, tuple(words), _wrapped(words, text), tuple(writes), tuple(reads))


def _is_descriptor(words: list[Word], operator: Token) -> bool:
    """A number that touches the operator behind it."""
    return bool(words) and words[-1].end == operator.start and words[-1].raw.isdecimal()


def _wrapped(words: list[Word], text: str) -> int:
    """How many words in front are wrappers, with the plain options that they may have."""
    count = 0
    while True:
        first = words[count]
        if _ASSIGNMENT.match(first.text):
            raise Unreadable("it sets a variable in front of a command", text)
        if first.text in _RESERVED or first.tilde or first.stars:
            raise Unreadable(f"{first.raw} is not the plain name of a program", text)
        options = _WRAPPER_OPTIONS.get(first.text)
        if options is None or count + 1 == len(words):
            return count
        behind = "\x1f".join(word.text for word in words[count + 1 :])
        found = options.match(behind)
        if found is None or behind[found.end() :].startswith("-") or found.end() == len(behind):
            return count
        if any(word.stars or word.tilde for word in words[count : count + 1 + found[0].count("\x1f")]):
            return count
        count += 1 + found[0].count("\x1f")


# --- the second reading -------------------------------------------------------------------------------------


def _check_second_reading(line: str, tokens: tuple[Token, ...]) -> None:
    """Raise `Unreadable` unless the grammar finds the same words and operators."""
    from tree_sitter import Parser

    data = line.encode()
    root = Parser(_language()).parse(data).root_node
    if root.has_error:
        raise Unreadable("it cannot be parsed")
    offsets = _character_offsets(line, len(data))
    seen = [(offsets[node.start_byte], offsets[node.end_byte]) for node in _leaves(root)]
    ours = [
        (token.start, token.end)
        for token in tokens
        if not (isinstance(token, Operator) and token.text == "\n")
    ]
    if sorted(seen) != ours:
        raise Unreadable("two parsers read it differently")


def _leaves(root: Node) -> list[Node]:
    """Words and operators; raises `Unreadable` for every kind of node that is not known to be plain."""
    found: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        kind = node.type
        if kind == "comment" or kind == "\n":
            continue
        if kind in _CONTAINERS:
            stack.extend(node.children)
        elif kind in _WORDS or kind in _KEYWORDS or kind in _SEPARATORS or kind in _REDIRECTIONS:
            found.append(node)
        else:
            raise Unreadable(f"it has a {kind.replace('_', ' ')}")
    return found


def _character_offsets(line: str, size: int) -> list[int]:
    """Of each byte, the character that it belongs to."""
    if size == len(line):
        return list(range(size + 1))
    offsets: list[int] = []
    for index, char in enumerate(line):
        offsets.extend([index] * len(char.encode()))
    return [*offsets, len(line)]


@cache
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())
