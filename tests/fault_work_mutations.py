"""Owns the mutations that take out the handling of faults behind a whole answer, each with its rows.

What a mutation takes out is the program's own, never the table's. Refuses to run a row:
`test_fault_work_handling` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sqlite3
import stat
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

import agent_tui_core.text as text_room
from agent_tui.panes import lines as lines_room
from agent_tui_core.agent import permissions as permissions_room
from agent_tui_core.agent import shell_lexer as lexer_room
from agent_tui_core.agent.approvals import AllowOnce, ApprovalDesk, DenyCall
from agent_tui_core.history import writer as writer_room
from agent_tui_core.hooks import command as hook_room
from agent_tui_core.hooks import contract as contract_room
from agent_tui_core.hooks.contract import HookAnswer
from agent_tui_core.processes import command as command_room
from agent_tui_core.processes import runner as runner_room
from agent_tui_core.processes import warden as warden_room
from agent_tui_core.processes.background import Background
from agent_tui_core.processes.child import Child
from agent_tui_core.processes.output import KeptOutput
from agent_tui_core.processes.pipes import Writer
from agent_tui_core.processes.runner import Run
from agent_tui_core.tools import edits as edits_room
from agent_tui_core.tools import files as files_room
from agent_tui_core.tools import paths as paths_room
from agent_tui_core.tools import shell as shell_room
from agent_tui_core.tools.disk import MAX_FILE_BYTES
from agent_tui_core.tools.paths import resolved_path
from agent_tui_core.tools.registry import ToolRegistry
from agent_tui_core.wire import accumulator as accumulator_room
from agent_tui_core.wire.partial_json import partial_object
from fault_kinds import Layer
from fault_work import WORK_FAULTS, WorkFault


@dataclass(frozen=True, slots=True)
class Mutation:
    """One handling, taken out, and the rows that have to complain."""

    name: str
    take_out: Callable[[pytest.MonkeyPatch], None]
    rows: tuple[WorkFault, ...]
    holds_up: bool = False
    """What it does is to hold up the keys; of others that alone is no complaint, but a busy machine."""


# --- tools --------------------------------------------------------------------------------------------------


def _files_are_just_opened(patch: pytest.MonkeyPatch) -> None:
    def opened(_raw: str, path: Path) -> tuple[bytes, os.stat_result]:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES), path.stat()

    patch.setattr(files_room, "read_file", opened)


def _pipes_are_files(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(stat, "S_ISREG", lambda mode: stat.S_IFMT(mode) != stat.S_IFDIR)


def _links_lead_anywhere(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(files_room, "target_path", resolved_path)


def _paths_have_no_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(paths_room, "_LONGEST", 10**9)


def _noise_is_text(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(files_room, "no_text", lambda _: "")


def _any_words_are_there(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(edits_room, "_places", lambda *_: [0])


def _cut_arguments_are_guessed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(accumulator_room, "parse_arguments", lambda raw: ([partial_object(raw)], None))


def _any_name_is_a_tool(patch: pytest.MonkeyPatch) -> None:
    get = ToolRegistry.get
    patch.setattr(ToolRegistry, "get", lambda tools, name: get(tools, name) or next(iter(tools)))


def _any_input_fits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ToolRegistry, "check", lambda *_: None)


# --- hooks --------------------------------------------------------------------------------------------------


def _broken_hooks_are_silent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(hook_room.CommandHook, "broken", lambda *_, **__: "none")


def _hooks_say_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(hook_room, "read_answer", lambda *_: HookAnswer())


def _hooks_have_to_say_json(patch: pytest.MonkeyPatch) -> None:
    def strictly(point: contract_room.Point, _code: int, output: str, _errors: str) -> HookAnswer:
        return contract_room._decision(point, contract_room._object(output))

    patch.setattr(hook_room, "read_answer", strictly)


def _hooks_have_time(patch: pytest.MonkeyPatch) -> None:
    _have_time(patch, hook_room, "run_process")


def _have_time(patch: pytest.MonkeyPatch, room: ModuleType, name: str) -> None:
    run = getattr(room, name)

    def patient(*given: Any, **named: Any) -> Any:
        return run(*given, **named | {"timeout": 60.0})

    patch.setattr(room, name, patient)


# --- approvals ----------------------------------------------------------------------------------------------


def _every_answer_is_yes(patch: pytest.MonkeyPatch) -> None:
    answer = ApprovalDesk.answer
    patch.setattr(ApprovalDesk, "answer", lambda desk, key, _: answer(desk, key, AllowOnce()))


def _reasons_are_lost(patch: pytest.MonkeyPatch) -> None:
    answer = ApprovalDesk.answer

    def without(desk: ApprovalDesk, key: str, given: Any) -> int:
        return answer(desk, key, DenyCall() if isinstance(given, DenyCall) else given)

    patch.setattr(ApprovalDesk, "answer", without)


def _an_interrupt_is_a_no(patch: pytest.MonkeyPatch) -> None:
    ask = ApprovalDesk.ask

    async def denied(*given: Any) -> Any:
        with contextlib.suppress(asyncio.CancelledError):
            return await ask(*given)
        return DenyCall()

    patch.setattr(ApprovalDesk, "ask", denied)


def _rules_forbid_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(permissions_room, "forbidden", lambda *_: None)


def _every_word_reaches_the_grammar(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lexer_room, "MOST_TOKENS", 10**6)


# --- history ------------------------------------------------------------------------------------------------


def _history_swallows_errors(patch: pytest.MonkeyPatch) -> None:
    apply = writer_room.Writer._apply

    def swallowing(self: Any, connection: Any, write: Any) -> None:
        with contextlib.suppress(sqlite3.Error):
            apply(self, connection, write)

    patch.setattr(writer_room.Writer, "_apply", swallowing)


def _history_has_no_patience(patch: pytest.MonkeyPatch) -> None:
    init = writer_room.Writer.__init__
    patch.setattr(writer_room.Writer, "__init__", lambda self, path, patience: init(self, path, patience=0.0))


# --- processes ----------------------------------------------------------------------------------------------


def _commands_have_time(patch: pytest.MonkeyPatch) -> None:
    _have_time(patch, shell_room, "run_command")


def _exit_codes_do_not_count(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        Child, "exit_code", property(lambda child: None if child._process.returncode is None else 0)
    )


def _commands_wait_for_input(patch: pytest.MonkeyPatch) -> None:
    """In a sandbox and without one they have the end of a pipe to read that nobody writes to or closes."""
    patch.setattr(warden_room, "_SCRIPT", warden_room._SCRIPT.replace("</dev/null", ""))
    patch.setattr(command_room, "Run", partial(Run, input=b""))
    patch.setattr(runner_room, "Writer", lambda descriptor, _: Writer(descriptor, None))


def _output_has_no_bound(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(command_room, "OUTPUT_LIMIT", 10**7)


def _noise_is_read_strictly(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KeptOutput, "text", lambda kept: bytes(kept._head + kept._tail).decode())


def _controls_pass(patch: pytest.MonkeyPatch) -> None:
    """Where foreign text comes in, and once more where a row is drawn."""
    nothing = re.compile("(?!)")
    patch.setattr(text_room, "_NEEDS_CLEANING", nothing)
    patch.setattr(lines_room, "_CONTROL", nothing)


def _what_is_left_is_not_ended(patch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object) -> None:
        pass

    patch.setattr(Background, "end_all", nothing)


# --- the table ----------------------------------------------------------------------------------------------

_BY_NAME: Final = {(fault.layer, fault.name): fault for fault in WORK_FAULTS}


def _rows(layer: Layer, *names: str) -> tuple[WorkFault, ...]:
    return tuple(_BY_NAME[layer, name] for name in names)


MUTATIONS: Final = (
    Mutation(
        "files are just opened",
        _files_are_just_opened,
        _rows(
            "tools",
            "a file that is not there",
            "a folder in place of a file",
            "a file of two gigabytes",
            "a link to itself",
        ),
    ),
    Mutation("pipes are files", _pipes_are_files, _rows("tools", "a pipe in place of a file")),
    Mutation("links lead anywhere", _links_lead_anywhere, _rows("tools", "a link that leads out")),
    Mutation("paths have no end", _paths_have_no_end, _rows("tools", "a path without an end"), holds_up=True),
    Mutation("noise is text", _noise_is_text, _rows("tools", "a file of noise")),
    Mutation("any words are there", _any_words_are_there, _rows("tools", "words that are not there")),
    Mutation(
        "cut arguments are guessed", _cut_arguments_are_guessed, _rows("tools", "arguments that are no JSON")
    ),
    Mutation(
        "any name is a tool",
        _any_name_is_a_tool,
        _rows("tools", "a tool that does not exist", "a name without an end"),
    ),
    Mutation(
        "any input fits",
        _any_input_fits,
        _rows(
            "tools",
            "arguments of another shape",
            "no arguments",
            "a command without an end",
            "thousands of keys",
        ),
    ),
    Mutation(
        "broken hooks are silent",
        _broken_hooks_are_silent,
        _rows(
            "hooks",
            "says JSON of another shape",
            "fails",
            "ends by a signal",
            "hangs",
            "floods",
            "is not there",
        ),
    ),
    Mutation(
        "hooks say nothing", _hooks_say_nothing, _rows("hooks", "denies", "denies in JSON, with escapes")
    ),
    Mutation(
        "hooks have to say JSON", _hooks_have_to_say_json, _rows("hooks", "says something else than JSON")
    ),
    Mutation("hooks have time", _hooks_have_time, _rows("hooks", "hangs", "floods")),
    Mutation(
        "every answer is yes",
        _every_answer_is_yes,
        _rows("approvals", "no", "no, because", "no, and stop", "answered twice", "edited to what is denied"),
    ),
    Mutation(
        "reasons are lost",
        _reasons_are_lost,
        _rows("approvals", "no, because", "no, and stop", "a protected file"),
    ),
    Mutation("an interrupt is a no", _an_interrupt_is_a_no, _rows("approvals", "stopped while it asks")),
    Mutation(
        "rules forbid nothing",
        _rules_forbid_nothing,
        _rows("approvals", "a rule denies", "edited to what is denied"),
    ),
    Mutation(
        "every word reaches the grammar",
        _every_word_reaches_the_grammar,
        _rows("approvals", "a command of thousands of words"),
        holds_up=True,
    ),
    Mutation("history swallows errors", _history_swallows_errors, _rows("history", "writes fail")),
    Mutation("history has no patience", _history_has_no_patience, _rows("history", "locked for a moment")),
    Mutation(
        "commands have time",
        _commands_have_time,
        _rows(
            "process",
            "never ends",
            "is deaf to TERM",
            "stops itself",
            "closes its pipes and stays",
            "floods both pipes",
        ),
    ),
    Mutation(
        "exit codes do not count",
        _exit_codes_do_not_count,
        (
            *_rows("tools", "a pattern that is none"),
            *_rows("hooks", "fails"),
            *_rows("process", "fails", "ends by a signal", "a program that is not there"),
        ),
    ),
    Mutation(
        "commands wait for input", _commands_wait_for_input, _rows("process", "reads what nobody writes")
    ),
    Mutation("output has no bound", _output_has_no_bound, _rows("process", "floods both pipes")),
    Mutation("noise is read strictly", _noise_is_read_strictly, _rows("process", "says noise")),
    Mutation("controls pass", _controls_pass, _rows("process", "says escapes")),
    Mutation(
        "what is left is not ended",
        _what_is_left_is_not_ended,
        _rows("process", "leaves a child", "leaves a child of its own session"),
    ),
)
