"""The second reading of a command line, by tree-sitter's grammar of bash.

Only where both readers see the same words, signs, operators and insertions, letter by letter, is there
anything that a rule could allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tui_core.agent.shell_words import HereDocument, Operator, Token, Unreadable, Word

if TYPE_CHECKING:
    from tree_sitter import Language, Node

_CONTAINERS: Final = frozenset(
    {"program", "list", "pipeline", "command", "command_name", "redirected_statement", "file_redirect"}
    | {"declaration_command", "unset_command", "subshell", "compound_statement", "negated_command"}
    | {"if_statement", "elif_clause", "else_clause", "while_statement", "for_statement", "do_group"}
    | {"heredoc_redirect"}
)
_TESTS: Final = frozenset({"test_command", "unary_expression", "binary_expression"})
_WORDS: Final = frozenset(
    {"word", "number", "string", "raw_string", "concatenation", "file_descriptor", "variable_name"}
    | {"variable_assignment", "extglob_pattern", "regex", "special_variable_name", "heredoc_start"}
    | {"simple_expansion", "expansion", "arithmetic_expansion", "command_substitution", "brace_expression"}
    | {"declare", "typeset", "export", "readonly", "local", "unset", "unsetenv", "test_operator"}
)
_SIGNS: Final = frozenset(
    {"if", "then", "elif", "else", "fi", "for", "in", "while", "until", "do", "done", "{", "}", "!"}
)
_OPERATORS: Final = frozenset(
    {"&&", "||", ";", "|", "|&", "&", "<", ">", ">>", ">|", "&>", "&>>", ">&", "<<", "(", ")"}
)
_VARIABLES: Final = frozenset({"simple_expansion", "expansion"})

Sighting: TypeAlias = tuple[int, int, str]
"""Where something begins and ends in the line, and what it is."""


def check(line: str, tokens: Sequence[Token], keywords: Iterable[Word]) -> None:
    """Raise `Unreadable` unless the grammar of tree-sitter sees in the line what our own readers saw."""
    data = line.encode()
    root = syntax_tree(line)
    if root.has_error:
        raise Unreadable("it cannot be parsed")
    offsets = _character_offsets(line, len(data))
    theirs = {(offsets[start], offsets[end], kind) for start, end, kind in _theirs(root)}
    signs = {(word.start, word.end) for word in keywords}
    ours = {
        (start, end, "sign" if kind == "word" and (start, end) in signs else kind)
        for start, end, kind in _ours(tokens)
    }
    if theirs != ours:
        raise Unreadable("two parsers read it differently")


def syntax_tree(line: str) -> Node:
    """The whole line as the grammar of tree-sitter sees it."""
    from tree_sitter import Parser

    return Parser(_language()).parse(line.encode(errors="replace")).root_node


def _ours(tokens: Iterable[Token]) -> Iterator[Sighting]:
    for token in tokens:
        match token:
            case Word():
                yield token.start, token.end, "word"
                for fill in token.fills:
                    yield fill.start, fill.end, fill.kind
                    yield from _ours(fill.tokens)
            case Operator() if token.text != "\n":
                yield token.start, token.end, "operator"
            case HereDocument() if token.start < token.end:
                yield token.start, token.end, "document"


def _theirs(root: Node) -> Iterator[Sighting]:
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, tested = stack.pop()
        kind = node.type
        if kind in _CONTAINERS or kind in _TESTS:
            stack.extend((child, kind in _TESTS) for child in node.children)
        elif kind in {"comment", "\n", "heredoc_end"}:
            continue
        elif tested or kind in _WORDS:
            yield node.start_byte, node.end_byte, "word"
            yield from _insertions(node)
        elif kind in _SIGNS:
            yield node.start_byte, node.end_byte, "sign"
        elif kind in _OPERATORS:
            yield node.start_byte, node.end_byte, "operator"
        elif kind == "heredoc_body":
            yield node.start_byte, node.end_byte, "document"
        else:
            raise Unreadable(f"it has a {kind.replace('_', ' ')}")


def _insertions(node: Node) -> Iterator[Sighting]:
    """Where the shell puts something into a word, and the commands that it runs for it."""
    if node.type in _VARIABLES:
        yield node.start_byte, node.end_byte, "variable"
    elif node.type == "command_substitution":
        yield node.start_byte, node.end_byte, "command"
        for child in node.children[1:-1]:
            yield from _theirs(child)
    else:
        for child in node.children:
            yield from _insertions(child)


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
