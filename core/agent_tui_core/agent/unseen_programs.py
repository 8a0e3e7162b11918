"""Owns what a line runs that nobody can read in it: programs by variables, text that comes from elsewhere.

In the mode auto a line runs because it cannot remove the whole; this is the part of that claim that words
cannot prove. A variable as an argument is no matter, one that is the program is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agent_tui_core.agent.shell_dangers import danger, table
from agent_tui_core.agent.shell_parse import parse
from agent_tui_core.agent.shell_second_reading import syntax_tree
from agent_tui_core.agent.shell_words import Unreadable

if TYPE_CHECKING:
    from tree_sitter import Node

_OPEN: Final = re.compile(r"[$`*?\[]|<\(")
_FILLED: Final = re.compile(r"[$`]")
_NUMBER: Final = re.compile(r"[0-9.]+[smhd]?\Z")
_REMOVES: Final = re.compile(
    r"rmtree|\brm\w*\b|remove-item|file\s+delete|unlink|\.remove|remove_?(?:tree|dir)|removedirs|\bremove\w*\s*\(|delete\w*\s*\(|File\.delete"
    r"|trash|shutil|fileutils|file::path|\bsystem|popen|spawn|\bexec\w*\b|subprocess|child_process|\beval\b"
    r"|(?<!re\.)compile\s*\(|getattr|setattr|__\w+|\bglobals|\blocals|vars\s*\(|import_module|importlib|ctypes"
    r"|os\.(?:rename|replace|truncate)|\bmove\s*\(|`|\bqx\b|%x|&\{|&\$|->\s*\$|\.send\b|\bmethod\s*\(|\]\s*\("
    r"|require\s*\(\s*[^\"'\s]|import\s*\(",
    re.IGNORECASE,
)
_RM: Final = re.compile(r"\brm\b\s[^|;&]*-\w*[rR]|\b(?:rmtree|remove_tree|rmSync)\b")
_DEEPEST: Final = 4
_SHELLS: Final = frozenset(
    {"ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "sh", "tcsh", "toybox", "zsh"}
)
_SCRIPT_LETTERS: Final = {"php": "r", "deno": "", "osascript": "e", "tclsh": "", "pwsh": "c"}


def unseen(line: str) -> str | None:
    """Why nobody can say what a line runs; None when each of its programs stands in it."""
    return _unseen(line.strip(), 0)


@lru_cache(maxsize=64)
def _unseen(line: str, depth: int) -> str | None:
    if depth > _DEEPEST:
        return "it runs shells within shells"
    read = parse(line)
    if isinstance(read, Unreadable) and read.reason.startswith("it has more than"):
        return read.reason
    root = syntax_tree(line)
    if root.has_error:
        return "it cannot be parsed"
    found = (_of_command(node, line, depth) for node in _commands(root))
    return next((reason for reason in found if reason), None)


def _commands(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "command":
            yield node
        stack.extend(node.children)


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _plain(word: str) -> str:
    return re.sub(r"[\"'\\]", "", word)


def _of_command(node: Node, line: str, depth: int) -> str | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    words = [_text(name), *(_text(each) for each in node.children_by_field_name("argument"))]
    for at in _starts(words):
        program = _plain(words[at]).rpartition("/")[2]
        if _OPEN.search(program) and program not in {"[", "[["}:
            return f"only the shell knows which program {words[at][:60]} is"
        reason = _by_program(program, words[at:], node, line, depth)
        if reason:
            return reason
    return None


def _starts(words: list[str]) -> Iterator[int]:
    """Where a program stands in the words of a command: in front, and behind those that run another."""
    yield 0
    at = 0
    while (name := _plain(words[at]).rpartition("/")[2]) in table().runners - _SHELLS:
        spare = 1 if name in table().takes_a_word else 0
        at += 1
        while at < len(words) and (spare or _leads(words, at)):
            spare -= not _leads(words, at)
            at += 1
        if at >= len(words):
            return
        yield at


def _leads(words: list[str], at: int) -> bool:
    return words[at].startswith(("-", "+")) or "=" in words[at] or bool(_NUMBER.match(words[at]))


def _by_program(program: str, words: list[str], node: Node, line: str, depth: int) -> str | None:
    name = re.sub(r"[0-9.]+\Z", "", program)
    rest = words[1:]
    if program in {"eval", "trap"} or (program in {"source", "."} and "<(" in _text(node)):
        open_ = _FILLED.search(" ".join(rest)) or "<(" in _text(node)
        return f"{program} runs what only the shell knows" if open_ else None
    if program in _SHELLS:
        return _shell(program, rest, node, depth)
    if name in {"deno", "bun"} and rest[:1] == ["eval"]:
        return _by_text(name, line)
    if name in {"pwsh", "powershell", "tclsh", "guile", "osascript"}:
        return _by_text(name, line)
    if name in {"find", "fd"} and (shell := next((word for word in rest if _plain(word) in _SHELLS), None)):
        return f"{name} runs {shell} on what it finds"
    if name in table().interpreters or name in _SCRIPT_LETTERS:
        return _interpreter(name, rest, line)
    if program == "git" and any("=!" in _plain(word) or "=sh " in word for word in rest):
        return "git runs a command that its settings name"
    argv = tuple(_plain(word) for word in words)
    if danger(argv) and _RM.search(_plain(" ".join(words))):
        return f"{program} may run rm"
    return None


def _shell(program: str, rest: list[str], node: Node, depth: int) -> str | None:
    for at, word in enumerate(rest):
        if re.match(r"-\w*c\w*\Z", word):
            script = next((each for each in rest[at + 1 :] if not each.startswith("-")), "")
            if script.startswith("'") and script.endswith("'") and script.count("'") == 2:
                return _unseen(script[1:-1], depth + 1)
            if _FILLED.search(script):
                return f"{program} runs what only the shell knows"
            return _unseen(_plain(script), depth + 1)
        if not word.startswith("-") or word == "-":
            if program in {"busybox", "toybox"}:
                return None
            return f"{program} runs what it reads" if word.startswith(("-", "/dev/", "<(")) else None
    document = _document(node)
    if document is not None:
        return _unseen(document, depth + 1)
    return None if "--version" in rest else f"{program} runs what it reads"


def _document(node: Node) -> str | None:
    """The lines that a command reads as its input, where they stand in the line."""
    parent = node.parent
    if parent is None or parent.type != "redirected_statement":
        return None
    for redirect in parent.children_by_field_name("redirect"):
        body = next((each for each in redirect.children if each.type == "heredoc_body"), None)
        if body is not None:
            return _text(body)
    return None


def _interpreter(name: str, rest: list[str], line: str) -> str | None:
    letters = table().interpreters.get(name, frozenset(_SCRIPT_LETTERS.get(name, ""))) - {
        "W",
        "X",
        "I",
        "M",
        "m",
    }
    for at, word in enumerate(rest):
        if word == "-" or word.startswith(("/dev/", "<(", "<")):
            break
        if not word.startswith("-"):
            return None
        if word in {"--version", "--help", "-V", "-v"} or (name in {"python", "pypy"} and word == "-m"):
            return None
        inline = (
            letters & set(word[1:]) if not word.startswith("--") else word.startswith(("--eval", "--print"))
        )
        if inline:
            script = word + " " + " ".join(rest[at + 1 : at + 2])
            if not script.rstrip().endswith("'") and _FILLED.search(script):
                return f"{name} runs text that only the shell knows"
            break
    return _by_text(name, line)


def _by_text(name: str, line: str) -> str | None:
    found = _REMOVES.search(line)
    return f"{name} runs text that may remove much ({found[0].strip()[:40]})" if found else None
