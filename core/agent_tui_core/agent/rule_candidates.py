"""Owns which rules could have answered a question of the past: narrow ones only.

A rule for a part exactly; a rule for what begins with the same words, or is below the same folder, where at
least three different calls stand behind it. Refuses whatever `suggestions` refuses to remember.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from agent_tui_core.agent.path_rules import EDITORS, PATH_KEYS, PathRule, call_paths
from agent_tui_core.agent.permissions import Permissions
from agent_tui_core.agent.readonly_options import read_data
from agent_tui_core.agent.replay import Question
from agent_tui_core.agent.shell_dangers import table
from agent_tui_core.agent.shell_parse import parse
from agent_tui_core.agent.shell_rules import escape_command
from agent_tui_core.agent.shell_words import Unreadable
from agent_tui_core.agent.suggestions import remembering_problem, suggest_rule
from agent_tui_core.blocks import JsonObject
from agent_tui_core.records import dataclass
from agent_tui_core.tools.paths import inside

LEAST_CALLS: Final = 3
"""Different calls that stand behind a rule which is wider than one call."""
_MOST_WORDS: Final = 4
_SUBCOMMAND: Final = re.compile(r"[A-Za-z][A-Za-z0-9:_-]*\Z")


class _File(msgspec.Struct, forbid_unknown_fields=True):
    programs: str
    subcommands: dict[str, str]


@cache
def _only_exactly() -> tuple[frozenset[str], Mapping[str, frozenset[str]]]:
    """Programs, and subcommands by program, for which no rule on a beginning is proposed."""
    data = msgspec.convert(read_data("only_exactly"), _File)
    return frozenset(data.programs.split()), {
        program: frozenset(words.split()) for program, words in data.subcommands.items()
    }


Piece: TypeAlias = tuple[str, str]
"""Something in a call that nothing allows: a tool and its text; all pieces allowed, the call runs."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule that may be proposed."""

    rule: str
    words: tuple[str, ...] = ()
    """What the pieces that it covers begin with; empty: it covers one piece, or a tool."""

    @property
    def width(self) -> tuple[int, int]:
        """Narrow ones are less: an exact rule first, then the one that spells more."""
        return int(bool(self.words) or "(" not in self.rule), -len(self.rule)


def pieces_of(question: Question, permissions: Permissions) -> frozenset[Piece]:
    """What of a question is open by these rules: one that no rule can settle has been sorted out before."""
    command = question.input.get("command")
    if question.tool != "Bash" or not isinstance(command, str):
        return frozenset({(question.tool, _text_of(question))})
    open_parts = permissions.open_parts(command, cwd=question.cwd)
    if not open_parts:
        return frozenset({("line", command)})
    return frozenset((part.tool, part.text) for part in open_parts)


def words_of(piece: Piece) -> tuple[str, ...]:
    """The words of a piece in front that are plain: what a rule on its beginning can spell."""
    if piece[0] != "Bash":
        return ()
    read = parse(piece[1])
    if isinstance(read, Unreadable) or len(read) != 1:
        return ()
    words: list[str] = []
    for word in read[0].command:
        if not word.plain or word.stars or word.fills or word.tilde or word.braced:
            break
        words.append(word.text)
    return tuple(words)


def exact_candidate(question: Question, piece: Piece, permissions: Permissions) -> Candidate | None:
    """The rule for one piece alone."""
    tool, text = piece
    call: tuple[str, JsonObject]
    match tool:
        case "Bash":
            call, rule = ("Bash", {"command": text}), f"Bash({escape_command(text)})"
        case "Read" | "Write" if question.tool == "Bash":
            call = (tool, {"file_path": text})
            rule = suggest_rule(*call, cwd=question.cwd) or ""
        case _:
            call = (question.tool, question.input)
            rule = suggest_rule(*call, cwd=question.cwd, permissions=permissions) or ""
    return Candidate(rule) if rule and _may_be_kept(rule, *call, question.cwd, permissions) else None


def wider_candidates(
    pieces: Sequence[tuple[Question, Piece]], permissions: Permissions
) -> Iterator[Candidate]:
    """The rules for what at least three of these different pieces have in common."""
    beginnings: dict[tuple[str, ...], list[tuple[Question, Piece]]] = defaultdict(list)
    folders: dict[Path, list[Question]] = defaultdict(list)
    for question, piece in {piece: (question, piece) for question, piece in pieces}.values():
        words = words_of(piece)
        for count in range(1, min(len(words), _MOST_WORDS) + 1):
            beginnings[words[:count]].append((question, piece))
        for folder in _folders_of(question):
            folders[folder].append(question)
    for words, behind in beginnings.items():
        followers = [words_of(piece)[len(words) : len(words) + 1] for _, piece in behind]
        if len(behind) >= LEAST_CALLS and _is_narrow(words, followers):
            rule = f"Bash({' '.join(map(escape_command, words))} *)"
            question, piece = behind[0]
            if _may_be_kept(rule, "Bash", {"command": piece[1]}, question.cwd, permissions):
                yield Candidate(rule, words)
    for folder, questions in folders.items():
        first = questions[0]
        rule = PathRule.exactly("Edit", folder, first.cwd)[:-1] + "/**)"
        if len(questions) >= LEAST_CALLS and _may_be_kept(
            rule, first.tool, first.input, first.cwd, permissions
        ):
            yield Candidate(rule, (rule,))


def _is_narrow(words: tuple[str, ...], followers: Sequence[tuple[str, ...]]) -> bool:
    """Whether the beginning says what is done, and not only with which program."""
    program = words[0].rpartition("/")[2]
    programs, subcommands = _only_exactly()
    told_to_run = table().runs_after.get(program, frozenset())
    if program in programs or program in table().runners or not told_to_run.isdisjoint(words):
        return False
    if len(words) == 1:
        known = program in subcommands or re.sub(r"[0-9.]+\Z", "", program) in table().interpreters
        return not known and not any(_SUBCOMMAND.match(word) for follower in followers for word in follower)
    if words[1] == "-m":
        return len(words) > 2
    return bool(_SUBCOMMAND.match(words[1])) and words[1] not in subcommands.get(program, ())


def _folders_of(question: Question) -> Iterator[Path]:
    """The folders below the workspace that an edited file is in."""
    if question.tool not in EDITORS:
        return
    paths = call_paths(question.tool, question.input, question.cwd)
    root = question.cwd.resolve()
    if len(paths) == 1 and inside(paths[0], question.cwd):
        yield from (folder for folder in paths[0].parents if folder != root and folder.is_relative_to(root))


def _may_be_kept(rule: str, tool: str, input: JsonObject, cwd: Path, permissions: Permissions) -> bool:
    return remembering_problem(rule, tool, input, cwd=cwd, permissions=permissions) is None


def _text_of(question: Question) -> str:
    if question.tool in PATH_KEYS:
        return str(question.input.get(PATH_KEYS[question.tool]))
    return question.shown
