"""Owns which words of a hook's command name a file of the project, and writes them as whole paths.

Hooks start in an empty folder: one that starts among an agent's files can be made to import them. The few
words whose place in the command says that they are a path count from the project all the same. Refuses every
other word: what `grep` looks for must stay what it is.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from agent_tui_core.records import dataclass

_BREAKS: Final = frozenset(" \t\n;&|<>()")
_OPERATOR: Final = re.compile(r"<<<|<<-?|[0-9]*(?:&>>?|>>|>\||>&|<&|<>|[<>])|&&|\|\||;;&?|;&|\|&|[;&|()\n]")
_REDIRECT: Final = re.compile(r"[0-9]*(?:&>>?|>>|>\||<>|>|<)\Z")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_NOT_LITERAL: Final = frozenset("$`\\*?[")
_BEFORE_COMMANDS: Final = frozenset(
    {
        "!",
        "{",
        "if",
        "then",
        "elif",
        "else",
        "while",
        "until",
        "do",
        "time",
        "exec",
        "command",
        "nohup",
        "env",
    }
)
_INTERPRETER: Final = re.compile(
    r"(?:[bdz]?a?sh|ksh|zsh|fish|python[0-9.]*|node(?:js)?|deno|bun|uv|ruby|perl|php|lua|tsx|ts-node|\.|source)\Z"
)
_RUN: Final = frozenset({"run"})
_CODE: Final = re.compile(r"-[A-Za-z]*[cmeE]\Z|--(?:eval|command|print)\b")
_READERS: Final = frozenset({"head", "tail", "wc", "ls", "stat"})
_OF_PATHS: Final = frozenset({"cat", "tee", "touch", "rm", "mkdir", "rmdir", "cp", "mv"})
"""All that these are given are paths, there or not."""
_SEARCHERS: Final = re.compile(r"[ef]?grep|sed|jq")
_PLAIN_OPTION: Final = re.compile(r"-[qiEFnrRwxsvclhHoz]+\Z")
"""Of a searcher, and with no value of its own: the first word after these is what it looks for."""
_FOLDERS: Final = frozenset({"cd", "pushd"})
_TESTS: Final = frozenset({"test", "[", "[["})
_OF_FILES: Final = frozenset({"-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h"})

_Kind: TypeAlias = Literal["word", "operator"]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: _Kind
    start: int
    end: int
    text: str | None
    """None: a word that only the shell can spell out."""


class _Unreadable(Exception):
    """A quote or a bracket that is never closed."""


def from_project(command: str, project: Path) -> str:
    """Return the command with paths of the project spelt out; as it is where it cannot be read."""
    try:
        tokens = list(_tokens(command))
    except _Unreadable:
        return command
    pieces: list[str] = []
    done = 0
    for token in _paths(tokens, project):
        assert token.text is not None
        pieces += (command[done : token.start], shlex.quote(os.path.normpath(project / token.text)))
        done = token.end
    return "".join((*pieces, command[done:]))


def script_from(argv: Sequence[str], base: Path) -> list[str]:
    """Return the arguments of a program with the script that an interpreter is given as a whole path."""
    known = list(argv)
    tokens = [_Token("word", index, index + 1, word) for index, word in enumerate(known)]
    for token in _script(tokens[1:], tokens[0].text, base) if tokens else ():
        known[token.start] = os.path.normpath(base / known[token.start])
    return known


# --- which words are paths ----------------------------------------------------------------------------------


def _paths(tokens: Sequence[_Token], project: Path) -> Iterator[_Token]:
    """The words to spell out, in their order."""
    found: dict[int, _Token] = {}
    words: list[_Token] = []
    target = False
    for token in (*tokens, _Token("operator", 0, 0, "\n")):
        if token.kind == "word" and target:
            target = False
            if _relative(token) and not (token.text or "").isdigit() and token.text != "-":
                found[token.start] = token
        elif token.kind == "word":
            words.append(token)
        elif _REDIRECT.match(token.text or ""):
            target = True
        else:
            target = (token.text or "").endswith((">&", "<&"))
            if target or (_in_test(words) and token.text != "\n"):
                continue
            found |= {each.start: each for each in _of_command(words, project)}
            words = []
    yield from (found[start] for start in sorted(found))


def _in_test(words: Sequence[_Token]) -> bool:
    """Whether a `[[` is open: `[[ a && b ]]` is one command."""
    return bool(words) and words[-1].text != "]]" and any(word.text == "[[" for word in words)


def _of_command(words: Sequence[_Token], project: Path) -> Iterator[_Token]:
    """The paths among the words of one command."""
    rest = list(words)
    while rest and rest[0].text is not None and _comes_before(rest[0].text):
        rest.pop(0)
    if not rest:
        return
    name, arguments = rest[0], rest[1:]
    if _relative(name) and "/" in (name.text or ""):
        yield name
    program = (name.text or "").rpartition("/")[2]
    if program in _FOLDERS:
        yield from (each for each in arguments[:1] if _relative(each) and _there(each, project))
    elif program in _READERS:
        yield from (each for each in arguments if _relative(each) and _there(each, project))
    elif program in _OF_PATHS:
        yield from (each for each in arguments if _relative(each))
    elif _SEARCHERS.fullmatch(program):
        yield from (each for each in _searched(arguments) if _relative(each))
    elif program in _TESTS:
        pairs = itertools.pairwise(arguments)
        yield from (each for before, each in pairs if before.text in _OF_FILES and _relative(each))
    else:
        yield from _script(arguments, name.text, project)


def _searched(arguments: Sequence[_Token]) -> Sequence[_Token]:
    """The files of a searcher; none where an option could be what takes the pattern's place."""
    rest = list(arguments)
    while rest and rest[0].text is not None and _PLAIN_OPTION.match(rest[0].text):
        rest.pop(0)
    return () if rest and (rest[0].text or "").startswith("-") else rest[1:]


def _script(arguments: Sequence[_Token], name: str | None, base: Path) -> Iterator[_Token]:
    """The script, where the program of this name is given one."""
    if not _INTERPRETER.match((name or "").rpartition("/")[2] or (name or "")):
        return
    for each in arguments:
        if each.text is None or _CODE.match(each.text):
            return
        if not each.text.startswith("-") and each.text not in _RUN:
            if _relative(each) and (base / each.text).is_file():
                yield each
            return


def _comes_before(word: str) -> bool:
    return word in _BEFORE_COMMANDS or _ASSIGNMENT.match(word) is not None


def _relative(token: _Token) -> bool:
    return bool(token.text) and token.text is not None and token.text[0] not in "/~-"


def _there(token: _Token, project: Path) -> bool:
    try:
        return token.text is not None and (project / token.text).exists()
    except (OSError, ValueError):
        return False


# --- words --------------------------------------------------------------------------------------------------


def _tokens(command: str) -> Iterator[_Token]:
    """Words and operators; the rest of the text behind a line with a here-document is left alone."""
    at = 0
    here = False
    while at < len(command):
        if command[at] in " \t":
            at += 1
        elif command.startswith("\\\n", at):
            at += 2
        elif operator := _OPERATOR.match(command, at):
            here |= operator[0].startswith("<<") and operator[0] != "<<<"
            yield _Token("operator", at, operator.end(), operator[0])
            if here and operator[0] == "\n":
                return
            at = operator.end()
        elif command[at] == "#":
            at = command.find("\n", at) if "\n" in command[at:] else len(command)
        else:
            end, text = _word(command, at)
            yield _Token("word", at, end, text)
            at = end


def _word(command: str, start: int) -> tuple[int, str | None]:
    """Where a word ends, and what it says where that needs no shell."""
    at = start
    parts: list[str] = []
    literal = True
    while at < len(command) and command[at] not in _BREAKS:
        mark = command[at]
        if mark in "'\"":
            end = _closing(command, at)
            inner = command[at + 1 : end]
            literal = literal and (mark == "'" or not set("$`\\") & set(inner))
            parts.append(inner)
            at = end + 1
        elif (mark == "$" and command.startswith(("$(", "${"), at)) or mark == "`":
            literal = False
            at = _closing(command, at) + 1
        else:
            literal = literal and mark not in _NOT_LITERAL
            parts.append(mark)
            at += 2 if mark == "\\" else 1
    if command[start:at] in ("[", "[["):
        literal = True
    return min(at, len(command)), "".join(parts) if literal else None


def _closing(command: str, start: int) -> int:
    """The place of the mark that closes the quote, the `$(`, `${` or the backtick that begins here."""
    closer = {"'": "'", '"': '"', "`": "`"}.get(command[start]) or (")" if command[start + 1] == "(" else "}")
    at = start + (2 if command[start] == "$" else 1)
    depth = 0
    while at < len(command):
        mark = command[at]
        if mark == closer and depth == 0:
            return at
        if closer == "'":
            at += 1
        elif mark == "\\":
            at += 2
        elif (mark in "'\"" and closer not in '"`') or command.startswith(("$(", "${"), at):
            at = _closing(command, at) + 1
        else:
            depth += (mark == "(" and closer == ")") - (mark == ")" and closer == ")")
            at += 1
    raise _Unreadable
